"""Worked examples of the scorers of failures."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_evals.evaluators import EvaluationReason

from advisor_harness.evals.scorers import (
    ExpectedError,
    ExpectedErrorCode,
    ExpectedOutcomes,
    ExpectedRefusals,
    RequestCount,
)
from tests.evals.spans import Trace


def outcome(scorer: Any, trace: Trace | None = None, **case: Any) -> tuple[Any, str | None] | None:
    results = scorer.evaluate((trace or Trace()).context(**case))
    found = results.get(type(scorer).__name__)
    assert found is None or isinstance(found, EvaluationReason)
    return None if found is None else (found.value, found.reason)


@pytest.mark.parametrize(
    ('output', 'expected', 'result'),
    [
        ({'error': 'ModelHTTPError'}, {'error': 'ModelHTTPError'}, (True, None)),
        ({'error': 'UserError'}, {'error': 'ModelHTTPError'}, (False, "'UserError', expected 'ModelHTTPError'")),
        ('fine', {'error': None}, (True, None)),
        ({'error': None}, {'error': 'UserError'}, (False, "None, expected 'UserError'")),
        ({'error': 'UserError'}, {'other': 1}, None),
    ],
)
def test_expected_error(output: object, expected: object, result: tuple[bool, str | None] | None) -> None:
    """The error in the output is the one that the case expects, or there is none."""
    assert outcome(ExpectedError(), output=output, expected=expected) == result


@pytest.mark.parametrize(
    ('trace', 'expected', 'result'),
    [
        (Trace().consult('error', error__type='overloaded'), 'overloaded', (True, None)),
        (Trace().consult(), None, (True, None)),
        (Trace().consult(), 'overloaded', (False, "None, expected 'overloaded'")),
        (
            Trace().consult('error', error__type='overloaded').consult('error', error__type='model_not_found'),
            'overloaded',
            (False, "'model_not_found', expected 'overloaded'"),
        ),
        (Trace(), 'overloaded', (False, "no consultation; expected 'overloaded'")),
    ],
)
def test_expected_error_code(trace: Trace, expected: str | None, result: tuple[bool, str | None]) -> None:
    """The last consultation has the code that the case expects, or none."""
    assert outcome(ExpectedErrorCode(), trace, expected={'error_code': expected}) == result
    assert outcome(ExpectedErrorCode(), trace, expected={}) is None


@pytest.mark.parametrize(
    ('wanted', 'result'),
    [
        (['invalid_output', 'advised'], (True, None)),
        (['advised'], (False, "['invalid_output', 'advised'], expected ['advised']")),
        (
            ('advised', 'invalid_output'),
            (False, "['invalid_output', 'advised'], expected ['advised', 'invalid_output']"),
        ),
    ],
)
def test_expected_outcomes(wanted: object, result: tuple[bool, str | None]) -> None:
    """The consultations ended as expected, in the order in which they started."""
    trace = Trace().consult('invalid_output').claim(granted=False).consult()
    assert outcome(ExpectedOutcomes(), trace, expected={'outcomes': wanted}) == result
    assert outcome(ExpectedOutcomes(), trace, expected='text') is None


def test_expected_refusals() -> None:
    """Claims that were not granted are counted."""
    trace = Trace().claim(granted=True).claim(granted=False).claim(granted=False)
    assert outcome(ExpectedRefusals(), trace, expected={'refusals': 2}) == (True, None)
    assert outcome(ExpectedRefusals(refusals=1), trace) == (False, '2, expected 1')
    assert outcome(ExpectedRefusals(), trace) is None


def test_request_count() -> None:
    """Model requests are counted, give or take the tolerance."""
    assert outcome(RequestCount(), expected={'requests': 3}, requests=3) == (True, None)
    assert outcome(RequestCount(2), requests=3) == (False, '3 requests, expected 2')
    assert outcome(RequestCount(2, tolerance=1), requests=3) == (True, None)
    assert outcome(RequestCount(1)) == (False, '0 requests, expected 1')
    assert outcome(RequestCount(), requests=3) is None
