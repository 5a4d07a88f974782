"""Worked examples of the scorers of decisions."""

from __future__ import annotations

import pytest
from pydantic_evals.evaluators import EvaluationReason

from advisor_harness.evals.scorers import ExpectedSelection
from tests.evals.spans import Trace

LOCAL = Trace().select('local', 'provider_mismatch')
BOTH = Trace().select('local', 'provider_mismatch').select('native', 'native_match')


@pytest.mark.parametrize(
    ('trace', 'expected', 'value', 'reason'),
    [
        (LOCAL, {'path': 'local', 'reason': 'provider_mismatch'}, True, None),
        (LOCAL, {'path': 'local'}, True, None),
        (
            LOCAL,
            {'path': 'native', 'reason': 'native_match'},
            False,
            'path local, reason provider_mismatch; expected path native, reason native_match',
        ),
        (BOTH, {'path': 'local'}, False, 'path native, reason native_match; expected path local'),
        (Trace(), {'path': 'local'}, False, 'no selection was made'),
    ],
)
def test_expected_selection(trace: Trace, expected: object, value: bool, reason: str | None) -> None:
    """Every selection has the path and the reason that the case expects; none at all is not one."""
    assert ExpectedSelection().evaluate(trace.context(expected=expected)) == {
        'ExpectedSelection': EvaluationReason(value=value, reason=reason)
    }


def test_a_case_that_expects_nothing_gets_no_result() -> None:
    """There is nothing to compare."""
    assert ExpectedSelection().evaluate(LOCAL.context(expected={'other': 1})) == {}
    assert ExpectedSelection().evaluate(LOCAL.context()) == {}


def test_the_scorers_own_expectation_goes_first() -> None:
    """What a single case's scorer is told overrides the case."""
    result = ExpectedSelection(path='local').evaluate(LOCAL.context(expected={'path': 'native'}))
    assert result == {'ExpectedSelection': EvaluationReason(value=True, reason=None)}
