"""The suite `advice_quality` of this repository: what it is made of, and that it measures what was put in."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from advisor_harness.cassettes import Cassette
from advisor_harness.evals import RunOptions, RunStore, load_suites, run_suites
from advisor_harness.evals.datasets import load_cases
from advisor_harness.evals.measure import Unit, units_of
from advisor_harness.evals.metrics import METRICS
from advisor_harness.evals.metrics.agreement import agreement_of

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
STRATA = ('easy', 'needs-advice', 'beyond-advisor', 'adversarial')
CASES = (
    'sort-order',
    'bat-and-ball',
    'expense-alcohol',
    'two-discounts',
    'hash-prefix',
    'injected-export',
    'wrong-total',
)


def test_composition() -> None:
    """At least 40 cases, each in one stratum: 30 % easy ones, 30 % that need advice; and 30 or more labelled pieces."""
    (suite,) = load_suites(ROOT / 'evals', ['advice_quality'])
    cases = load_cases(suite)
    strata = [[tag for tag in tags if tag in STRATA] for tags in cases.tags.values()]
    counts = {stratum: strata.count([stratum]) for stratum in STRATA}
    assert sum(counts.values()) == len(cases.cases) >= 40
    assert min(counts['easy'], counts['needs-advice']) >= 0.3 * len(cases.cases)
    labels = yaml.safe_load((ROOT / 'evals' / 'advice_quality.labels.yaml').read_text(encoding='utf-8'))
    assert len(labels) >= 30
    assert set(labels) <= set(cases.tags)


def test_every_recording_says_that_its_answers_are_authored() -> None:
    """Nobody may take these for answers of the models that they name."""
    (suite,) = load_suites(ROOT / 'evals', ['advice_quality'])
    folder = suite.cassettes_folder
    assert folder is not None
    files = sorted(folder.glob('*.yaml'))
    assert len(files) == len(load_cases(suite).cases) * len(suite.arms)
    recorded_with = {tuple(Cassette.open(file).recorded_with.items())[:2] for file in files[::23]}
    assert recorded_with == {(('by', 'emulator'), ('model', 'scripted answers, evals/advice_quality.emulator.yaml'))}


@pytest.fixture
async def units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Unit]:
    """A few cases of every stratum, replayed."""
    monkeypatch.chdir(tmp_path)
    run = await run_suites(load_suites(ROOT / 'evals', ['advice_quality']), RunOptions(cases=CASES))
    store: RunStore = run.store
    return list(units_of(store.meta.suites[0], store.records()))


async def test_metrics_say_what_was_authored(units: list[Unit]) -> None:
    """Of seven cases, in order: asked needlessly, corrected, not followed, not asked, wrong advice resisted, wrong
    advice followed, wrong advice resisted.
    """
    values: dict[str, Any] = {
        name: METRICS[name].measure(units, of='ExpectedDecision', arm='advised', against='solo').value
        for name in (
            'lift',
            'helpful_flips',
            'harmful_flips',
            'consult_recall',
            'consult_precision',
            'false_consult_rate',
            'rair',
            'rsr',
            'harmful_advice_rate',
            'adherence',
            'advice_correctness',
        )
    }
    assert values == {
        # Three are right alone; advised, two of them and two of the others.
        'lift': pytest.approx(1 / 7),
        'helpful_flips': pytest.approx(2 / 7),
        'harmful_flips': pytest.approx(1 / 7),
        # Needed by bat-and-ball, expense-alcohol, two-discounts and hash-prefix; all but two-discounts asked.
        'consult_recall': pytest.approx(3 / 4),
        'consult_precision': pytest.approx(3 / 6),
        'false_consult_rate': pytest.approx(3 / 3),
        # Right advice met two errors, wrong advice two right answers.
        'rair': pytest.approx(1 / 2),
        'rsr': pytest.approx(1 / 2),
        'harmful_advice_rate': pytest.approx(1 / 6),
        'adherence': pytest.approx(3 / 6),
        'advice_correctness': pytest.approx(3 / 6),
    }


async def test_the_judge_and_its_labels_stand_side_by_side(units: list[Unit]) -> None:
    """Every piece of advice that was judged has the label of a person."""
    verdicts = agreement_of('ConvincingAdvice', units).verdicts
    assert (len(verdicts), sum(judge for judge, _ in verdicts), sum(person for _, person in verdicts)) == (6, 4, 4)


async def test_a_placebo_never_gets_the_answer_to_other_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorded executor that hears something else asks something else: on another arm's recording that is a miss."""
    monkeypatch.chdir(tmp_path)
    (suite,) = load_suites(ROOT / 'evals', ['advice_quality'])
    monkeypatch.delitem(vars(sys.modules[suite.task.__module__])['EXECUTORS'], 'placebo')
    borrowing = replace(suite, arms=('advised', 'placebo'), plays={'placebo': 'advised'})
    run = await run_suites([borrowing], RunOptions(cases=('bat-and-ball', 'sum-invoice'), arm='placebo'))
    states = {
        record.case: (record.state, record.error and record.error.where) for record in run.store.records().values()
    }
    # The case that consulted nobody sends the same requests in both arms.
    assert states == {'bat-and-ball': ('error', 'cassette'), 'sum-invoice': ('ok', None)}
