"""The cases of a suite: what makes a dataset usable, and its fingerprints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Contains, EqualsExpected, Evaluator, EvaluatorContext

from advisor_harness.evals import Suite, SuiteError
from advisor_harness.evals.datasets import SuiteCases, load_cases
from tests.evals.support import case, mirror, suite

FILE = Path('evals/mirror.yaml')


def loaded(text: str, **options: Any) -> SuiteCases:
    """The cases of a suite with a dataset file of that text."""
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text)
    return load_cases(Suite(name='mirror', dataset='mirror.yaml', task=mirror, folder=FILE.parent, **options))


def test_a_dataset_from_a_file() -> None:
    """Cases come with their tags; evaluators of the dataset score every case, before the suite's own scorers."""
    found = loaded(
        """
        cases:
        - {name: a, inputs: x, metadata: {tags: [easy, text]}, evaluators: [{Contains: x}]}
        - {name: b, inputs: y}
        evaluators: [NotTruncated]
        """,
        scorers=(EqualsExpected(),),
    )
    assert found.tags == {'a': ('easy', 'text'), 'b': ()}
    assert [type(each).__name__ for each in found.every_scorer()] == ['NotTruncated', 'EqualsExpected', 'Contains']


def test_metrics_that_scorers_promise() -> None:
    """A scorer that returns a bool is an assertion, one that returns numbers a score; others show in a run."""

    @dataclass
    class Share(Evaluator[Any, Any, Any]):
        def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> float:
            return 1.0

    @dataclass
    class Right(Evaluator[Any, Any, Any]):
        def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> bool:
            return True

    found = load_cases(suite(case('a'), scorers=(Share(), Right(), Contains('x'))))
    assert found.metrics == {'Share': 'score', 'Right': 'assertion', 'Contains': None}


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (
            'cases: [',
            "dataset evals/mirror.yaml is not valid YAML: expected the node content, but found '<stream end>'",
        ),
        ('', 'dataset evals/mirror.yaml is not a dataset: the file must be a mapping; got nothing'),
        ('cases: []', 'dataset evals/mirror.yaml is empty: a suite needs at least one case'),
        ('cases: [{name: a}]', 'dataset evals/mirror.yaml is not a dataset: case 1 has no `inputs`'),
        (
            'cases: [{name: a, inputs: 1}, {nam: b, input: 1, outputs: 2}]',
            'dataset evals/mirror.yaml is not a dataset: case 2 has no `inputs`; case 2 has an unknown key `nam`; '
            'case 2 has an unknown key `input`; and 1 more',
        ),
        ('cases: 3', 'dataset evals/mirror.yaml is not a dataset: `cases` of the file must be a list; got 3'),
        ('cases: [a]', "dataset evals/mirror.yaml is not a dataset: case 1 must be a mapping; got 'a'"),
        (
            'cases: [{name: a, inputs: 1, evaluators: [{Contains: 1, Equals: 2}]}]',
            'dataset evals/mirror.yaml is not a dataset: each entry of `evaluators` in case 1 must be a name, or one '
            'name with its arguments: `Contains: text`',
        ),
        (
            'cases: [{name: a, inputs: 1, evaluators: [{Contains: {valu: 1}}]}]',
            "dataset evals/mirror.yaml is not a dataset: scorer 'Contains' for case 'a' has no argument `valu`",
        ),
        (
            'cases: [{name: a, inputs: 1, evaluators: [Contains]}]',
            "dataset evals/mirror.yaml is not a dataset: scorer 'Contains' for case 'a' needs 'value'",
        ),
        (
            'cases: [{name: a, inputs: 1, evaluators: [Contians: x]}]',
            "dataset evals/mirror.yaml is not a dataset: there is no scorer 'Contians': did you mean 'Contains'? One "
            'of your own goes into `Suite.scorer_types`',
        ),
        (
            'cases: [{name: a, inputs: 1}, {name: a, inputs: 2}]',
            "dataset evals/mirror.yaml is not a dataset: two cases are named 'a': every name must be used once",
        ),
        (
            'cases: [{name: a, inputs: 1}, {inputs: 2}]',
            'case 2 of dataset evals/mirror.yaml has no name: records and recordings are kept by it',
        ),
        (
            'cases: [{name: a, inputs: 1, metadata: {tags: easy}}]',
            "`metadata.tags` of case 'a' must be a list of words; got 'easy'",
        ),
        (
            'cases: [{name: a, inputs: 1, metadata: {tags: [1]}}]',
            "`metadata.tags` of case 'a' must be a list of words; got [1]",
        ),
        (
            'cases: [{name: a, inputs: 1, evaluators: [Unknown]}]',
            "dataset evals/mirror.yaml is not a dataset: there is no scorer 'Unknown': one of your own goes into "
            '`Suite.scorer_types`',
        ),
        (
            'cases: [{name: a, inputs: 1}]\n'
            'report_evaluators: [{KolmogorovSmirnovEvaluator: {score_key: x, positive_from: assertions}}]',
            'dataset evals/mirror.yaml has report evaluators, which no gate reads: leave them out',
        ),
    ],
)
def test_a_dataset_that_cannot_be_used(text: str, message: str) -> None:
    """One clear message names the dataset and what is wrong with it."""
    with pytest.raises(SuiteError) as caught:
        loaded(text)
    assert caught.value.message.startswith(message)


def test_a_dataset_that_is_not_there() -> None:
    """A missing file is named with its suite."""
    with pytest.raises(SuiteError) as caught:
        load_cases(Suite(name='mirror', dataset='nowhere.yaml', task=mirror, folder=Path('evals')))
    assert caught.value.message == "dataset evals/nowhere.yaml of suite 'mirror' does not exist"


def test_cases_that_would_share_a_file() -> None:
    """Dots in names never make two cases read one recording."""
    with pytest.raises(SuiteError) as caught:
        load_cases(suite(case('a'), case('a.b'), arms=('c', 'b.c')))
    assert caught.value.message == (
        "in the dataset of suite 'mirror' case 'a', arm 'b.c', repeat 1 and case 'a.b', arm 'c', repeat 1 "
        'would share their files: rename one of them'
    )


def test_a_scorer_that_cannot_be_described() -> None:
    """A scorer without a description has no version that a baseline could notice."""

    class Bare(Evaluator[Any, Any, Any]):
        def __init__(self) -> None:
            self.limit = 3

        def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> bool:
            return True

        def build_serialization_arguments(self) -> dict[str, Any]:
            raise TypeError('no')

    with pytest.raises(SuiteError) as caught:
        load_cases(suite(scorers=(Bare(),)))
    assert caught.value.message == (
        "scorer Bare of suite 'mirror' cannot say what it is: is it a dataclass? TypeError: no"
    )


def test_fingerprints_follow_content_only() -> None:
    """Comments and order of keys change nothing; inputs, expectations and scorers do."""
    one = loaded('cases: [{name: a, inputs: {x: 1, y: 2}}]', scorers=(Contains('x'),))
    same = loaded('# new\ncases:\n- inputs: {y: 2, x: 1}\n  name: a\n', scorers=(Contains('x'),))
    other = loaded('cases: [{name: a, inputs: {x: 1, y: 3}}]', scorers=(Contains('y'),))
    assert (one.dataset_sha256, one.scorers_sha256) == (same.dataset_sha256, same.scorers_sha256)
    assert one.dataset_sha256 != other.dataset_sha256
    assert one.scorers_sha256 != other.scorers_sha256


def test_tags_of_typed_metadata() -> None:
    """Metadata may be an object with `tags`, or have none."""

    @dataclass
    class Metadata:
        tags: list[str]

    cases = [Case(name='a', inputs=1, metadata=Metadata(['x'])), Case(name='b', inputs=1, metadata=None)]
    found = load_cases(Suite(name='s', task=mirror, dataset=Dataset[Any, Any, Any](name='d', cases=cases)))
    assert found.tags == {'a': ('x',), 'b': ()}


def test_the_order_of_cases_makes_no_other_scorers() -> None:
    """Scorers of single cases are the same scorers, whichever case comes first."""
    cases = ['{name: a, inputs: 1, evaluators: [Contains: x]}', '{name: b, inputs: 2, evaluators: [Contains: y]}']
    first, second = (loaded(f'cases: [{", ".join(rows)}]') for rows in (cases, reversed(cases)))
    assert (first.scorers_sha256, first.case_sha256) == (second.scorers_sha256, second.case_sha256)
    assert first.scorers_sha256 != loaded(f'cases: [{cases[0]}]').scorers_sha256


def test_the_content_of_a_case_has_no_name() -> None:
    """A renamed case is known by its content; another input is another content."""
    first = loaded('cases: [{name: a, inputs: 1}, {name: b, inputs: 1}, {name: c, inputs: 2}]').case_sha256
    assert first['a'] == first['b'] != first['c']


def test_names_that_are_known_before_a_run() -> None:
    """Scorers that promise one value are known by name; one that may give several makes the names unknown."""
    known = loaded('cases: [{name: a, inputs: 1, evaluators: [Contains: x, EqualsExpected]}]').known_names
    assert known == {'Contains', 'EqualsExpected'}
    assert loaded('cases: [{name: a, inputs: 1, evaluators: [{LLMJudge: "is it right?"}]}]').known_names is None
