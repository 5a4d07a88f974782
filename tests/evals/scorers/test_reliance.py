"""Worked examples of the scorers of decisions, advice and what was made of it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_evals.evaluators import EvaluationReason

from advisor_harness.evals.scorers import Adherence, AdviceCorrectness, Confidence, ExpectedDecision
from tests.evals.spans import Trace


def outcome(scorer: Any, trace: Trace | None = None, **case: Any) -> tuple[Any, str | None] | None:
    results = scorer.evaluate((trace or Trace()).context(**case))
    found = results.get(type(scorer).__name__)
    assert found is None or isinstance(found, EvaluationReason)
    return None if found is None else (found.value, found.reason)


@pytest.mark.parametrize(
    ('said', 'wanted', 'right'),
    [
        ('42', 42, True),
        ('1,200.', '1200.0', True),
        ('-0.50', -0.5, True),
        (' Request  changes. ', 'request changes', True),
        ('ask', ['stop', 'ask'], True),
        ('ask', 'stop', False),
        ('12,00', 1200, False),
        (True, 1, False),
        ('1', True, False),
        (None, 'stop', False),
    ],
)
def test_expected_decision(said: object, wanted: object, right: bool) -> None:
    """Numbers are equal by value, texts by their words, truth values are no numbers."""
    reason = None if right else f'{said!r}, expected {wanted!r}'
    assert outcome(ExpectedDecision(), output={'decision': said}, expected={'decision': wanted}) == (right, reason)


def test_a_task_that_decides_nothing() -> None:
    """No decision is a wrong one; a case that expects none has no result."""
    assert outcome(ExpectedDecision(), output={}, expected={'decision': 'stop'}) == (False, "nothing, expected 'stop'")
    assert outcome(ExpectedDecision(), output={'decision': 'stop'}, expected={}) is None


def test_advice_correctness_is_a_share() -> None:
    """Of two pieces of advice one is right."""
    output = {'advice': [{'decision': 'stop'}, {'decision': 'go'}]}
    assert outcome(AdviceCorrectness(), output=output, expected={'decision': 'stop'}) == (
        0.5,
        "advised ['stop', 'go'], expected 'stop'",
    )
    assert outcome(AdviceCorrectness(accept='go'), output={'advice': {'decision': 'go'}}) == (1.0, None)


@pytest.mark.parametrize('advice', [[], None, 'Stop, I say.', [{'reason': 'because'}]])
def test_advice_that_cannot_be_graded(advice: object) -> None:
    """No advice, free text and advice without a decision are neither right nor wrong, neither followed nor not."""
    output = {'decision': 'stop', 'advice': advice}
    assert outcome(AdviceCorrectness(), output=output, expected={'decision': 'stop'}) is None
    assert outcome(Adherence(), output=output) is None


def test_adherence_is_about_the_last_advice() -> None:
    """The executor did what it was told last, right or wrong."""
    advice = [{'decision': 'go'}, {'decision': 'stop'}]
    assert outcome(Adherence(), output={'decision': 'Stop', 'advice': advice}) == (1.0, None)
    assert outcome(Adherence(), output={'decision': 'go', 'advice': advice}) == (0.0, "decided 'go', advised 'stop'")


def tools(*calls: tuple[str, str]) -> Trace:
    """A consultation, then tool calls with their arguments."""
    trace = Trace().add('execute_tool early', {}).consult()
    for name, arguments in calls:
        trace.add(f'execute_tool {name}', {'gen_ai.tool.call.arguments': arguments})
    return trace


@pytest.mark.parametrize(
    ('advice', 'result'),
    [
        ({'constraints': {'send': {'limit': 5}}}, (1.0, None)),
        ({'constraints': {'send': {'limit': 4}}}, (0.0, 'called send with limit=5, advised 4')),
        ({'constraints': {'send': {'to': 'ann'}}}, (0.0, "called send with to=None, advised 'ann'")),
        ({'constraints': {'other': {'limit': 4}}}, (1.0, None)),
        ({'banned_tools': ['send']}, (0.0, 'called send, advised not to')),
        ({'banned_tools': ['early']}, (1.0, None)),
    ],
)
def test_adherence_of_later_calls(advice: dict[str, Any], result: tuple[float, str | None]) -> None:
    """Constraints and bans hold for calls after the advice, not for those before it."""
    assert outcome(Adherence(), tools(('send', '{"limit": 5}')), output={'advice': advice}) == result


def test_confidence() -> None:
    """A number from 0 to 1, or nothing; anything else is a mistake of the task."""
    assert outcome(Confidence(), output={'confidence': 0.25}) == (0.25, None)
    assert outcome(Confidence(), output={'confidence': None}) is None
    for wrong in (1.5, True, 'high'):
        with pytest.raises(ValueError, match="field 'confidence' of the output must be a number from 0 to 1; got "):
            outcome(Confidence(), output={'confidence': wrong})
