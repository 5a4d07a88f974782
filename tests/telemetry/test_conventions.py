"""The vocabulary itself: generated files, names, enumerations, and what Logfire would blank."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields as fields_of
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from advisor_harness.telemetry import (
    ClaimFacts,
    ConsultationFacts,
    RouteFacts,
    SelectionFacts,
    conventions as names,
    fields,
)
from advisor_harness.telemetry.validate import SCRUB_PATTERNS

ROOT = Path(__file__).parents[2]
KEY = re.compile(r'^[a-z][a-z0-9_]*(\.[a-z0-9_]+)+$')
OWN_KEYS = [key for key in names.ATTRIBUTE_TYPES if key.startswith(('advisor.', 'model_routing.'))]


@pytest.fixture
def generator() -> ModuleType:
    pytest.importorskip('yaml')
    from scripts import generate_conventions

    return generate_conventions


def test_generated_files_are_up_to_date(generator: ModuleType) -> None:
    """`conventions.py` and `docs/spans.md` say what `conventions.yaml` says."""
    assert generator.outdated() == []


def test_source_has_the_layout_of_weaver() -> None:
    """Every group, attribute and member has what Weaver's schema demands, and no id is given twice."""
    yaml = pytest.importorskip('yaml')
    source = Path(names.__file__).with_suffix('.yaml').read_text('utf-8')
    groups: list[dict[str, Any]] = yaml.safe_load(source)['groups']
    definitions = [spec for group in groups for spec in group['attributes'] if 'id' in spec]
    members = [member for spec in definitions if isinstance(spec['type'], dict) for member in spec['type']['members']]
    ids = [spec['id'] for spec in (*groups, *definitions)]
    assert [group['id'] for group in groups if not {'type', 'brief', 'attributes'} <= {*group}] == []
    assert [group['id'] for group in groups if group['type'] == 'span' and 'span_kind' not in group] == []
    assert [spec['id'] for spec in definitions if not {'type', 'brief', 'stability'} <= {*spec}] == []
    assert [member for member in members if {*member} != {'id', 'value', 'brief', 'stability'}] == []
    assert len(ids) == len({*ids})


def test_check_names_the_outdated_file(
    generator: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--check` names a file that differs and exits 1; writing it makes the check pass."""
    monkeypatch.setattr(generator, 'ROOT', tmp_path)
    monkeypatch.setattr(generator, 'CONSTANTS', tmp_path / 'conventions.py')
    monkeypatch.setattr(generator, '__file__', str(tmp_path / 'generate_conventions.py'))
    assert generator.main(['--check']) == 1
    assert capsys.readouterr().out == (
        'conventions.py is not up to date: run `python scripts/generate_conventions.py`\n'
    )
    monkeypatch.setattr(generator, 'REFERENCE', tmp_path / 'spans.md')
    assert generator.main([]) == 0
    assert generator.main(['--check']) == 0


@pytest.mark.parametrize('key', OWN_KEYS)
def test_own_names_are_well_formed(key: str) -> None:
    """A name is lower case with dots between its parts, and is not the namespace of another one."""
    assert KEY.match(key)
    assert [other for other in OWN_KEYS if other.startswith(f'{key}.')] == []


def test_span_names() -> None:
    """There are four spans, and their names do not change with the data."""
    assert list(names.SPAN_ATTRIBUTES) == [
        'select advisor',
        'claim advisor quota',
        'consult advisor',
        'route model request',
    ]


@pytest.mark.parametrize('span', list(names.SPAN_ATTRIBUTES))
def test_spans_carry_nothing_that_is_added_up(span: str) -> None:
    """No span of ours has what pydantic-evals and Logfire sum over all spans, or what makes it look like a tool."""
    forbidden = re.compile(r'gen_ai\.(request|usage|operation|tool)\.|operation\.cost')
    assert [key for key in names.SPAN_ATTRIBUTES[span] if forbidden.match(key)] == []


@pytest.mark.parametrize(
    ('facts', 'table', 'by_hand'),
    [
        (SelectionFacts, fields.SELECTION, {'origin'}),
        (ClaimFacts, fields.CLAIM, {'origin'}),
        (ConsultationFacts, fields.CONSULTATION, {'origin', 'error_code', 'cost_usd', 'duration_s'}),
        (RouteFacts, fields.ROUTE, {'origin'}),
    ],
)
def test_every_fact_has_an_attribute(facts: Any, table: Mapping[str, str], by_hand: set[str]) -> None:
    """A field of the facts is carried by an attribute or is one of the few that `emit` and `read` handle themselves."""
    assert {field.name for field in fields_of(facts)} == {*table, *by_hand}


@pytest.mark.parametrize(
    ('span', 'table'),
    [
        (names.SELECT_ADVISOR, fields.SELECTION),
        (names.CLAIM_ADVISOR_QUOTA, fields.CLAIM),
        (names.CONSULT_ADVISOR, fields.CONSULTATION),
        (names.ROUTE_MODEL_REQUEST, fields.ROUTE),
    ],
)
def test_every_carrier_is_on_its_span(span: str, table: Mapping[str, str]) -> None:
    """The attributes of the tables are those that the vocabulary lists for the span, the common ones aside."""
    common = {
        *(key for key in names.SPAN_ATTRIBUTES[span] if not key.startswith(('advisor.', 'model_routing.'))),
        fields.STEP[span],
        fields.VERSION[span],
        names.ADVISOR_COST_KNOWN,
        names.ADVISOR_COST_USD,
    }
    assert {*names.SPAN_ATTRIBUTES[span]} - common == {*table.values()}


def test_outcomes_are_those_of_the_advisor() -> None:
    """`advisor.consultation.outcome` has exactly the values of `Outcome`."""
    from advisor_harness.advisor.outcome import Outcome

    assert sorted(names.ADVISOR_CONSULTATION_OUTCOME_VALUES) == sorted(Outcome)


def test_scrub_patterns_are_those_of_logfire() -> None:
    """What counts as blanked by Logfire is what the installed Logfire blanks."""
    scrubbing = pytest.importorskip('logfire._internal.scrubbing')
    assert list(SCRUB_PATTERNS) == scrubbing.DEFAULT_PATTERNS


def test_logfire_blanks_no_name_and_no_value_of_an_enumeration() -> None:
    """Logfire's own scrubber leaves every attribute name and every value of an enumeration alone."""
    scrubbing = pytest.importorskip('logfire._internal.scrubbing')
    attributes: dict[str, list[str]] = {
        key: [str(value) for value in names.ATTRIBUTE_VALUES.get(key, ())] for key in names.ATTRIBUTE_TYPES
    }
    # One value inside a longer text, too: a value that is a forbidden word and nothing more is kept.
    attributes['text'] = [f'advisor {value} x' for values in names.ATTRIBUTE_VALUES.values() for value in values]
    assert scrubbing.Scrubber(None).scrub_value(('attributes',), attributes) == (attributes, [])
