"""Worked examples of the scorers of consulting, limits and context, on runs of a real advisor."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai.exceptions import ModelHTTPError

from advisor_harness.evals.scorers import (
    AdviceSize,
    AdvisorFailures,
    AdvisorLatency,
    Consulted,
    ConsultTiming,
    ContextHygiene,
    QuotaCompliance,
    Redundancy,
    StructuredAttempts,
)
from tests.evals.scorers.runs import ask, book, read, scored
from tests.evals.spans import Trace

pytestmark = pytest.mark.anyio


class Plan(BaseModel):
    """Advice in a fixed format."""

    decision: str


async def test_consulted() -> None:
    """One consultation is enough, and none is 0."""
    assert await scored(Consulted(), [ask('Left?'), 'Left.'], ['Yes.']) == {'Consulted': 1.0}
    assert await scored(Consulted(), ['Left.']) == {'Consulted': 0.0}


async def test_a_refused_call_is_no_consultation() -> None:
    """Of two calls one is refused: one of two calls, and the limits held."""
    found = await scored(QuotaCompliance(), [ask('Left?', 'Right?'), 'Left.'], ['Yes.'], max_uses=1)
    assert found == {'QuotaCompliance': 1.0, 'RefusedCalls': 0.5}


async def test_no_call_no_compliance() -> None:
    """Limits that nothing came near to were not kept."""
    assert await scored(QuotaCompliance(), ['Left.'], max_uses=1) == {}


def test_too_many_consultations_are_a_breach() -> None:
    """Two consultations in a request that allows one, whatever else the spans say."""
    trace = Trace().add('select advisor', {**_selected(), 'advisor.max_uses': 1}).consult().consult()
    found: Any = QuotaCompliance().evaluate(trace.context())
    assert found['QuotaCompliance'].value == 0.0
    assert found['QuotaCompliance'].reason == '2 consultations in a request that allows 1'


def test_a_refusal_that_ends_the_run_is_a_breach() -> None:
    """After a refusal of ours the executor must be asked again."""
    found: Any = QuotaCompliance().evaluate(Trace().claim(granted=False).context())
    assert found['QuotaCompliance'].reason == 'the executor was not asked again after a refusal'


@pytest.mark.parametrize(
    ('steps', 'expected'),
    [
        ([[('read', {'name': 'a'})], ask('Left?'), [('book', {'slot': '9'})], 'Done.'], (1.0, 0.5)),
        ([[('book', {'slot': '9'})], ask('Left?'), 'Done.'], (0.0, 1.0)),
        ([ask('Left?'), 'Done.'], (1.0, 0.0)),
    ],
)
async def test_consult_timing(steps: list[Any], expected: tuple[float, float]) -> None:
    """Before or after the first side effect, and after which share of the other calls."""
    found = await scored(ConsultTiming(side_effects=('book',)), steps, ['Yes.'], tools=(read, book))
    assert (found['ConsultTiming'], found['ConsultPosition']) == expected


async def test_no_consultation_no_timing() -> None:
    """Nothing came before or after; and a provider does not say when it consulted."""
    assert await scored(ConsultTiming(), ['Done.']) == {}
    assert ConsultTiming().evaluate(Trace().consult(path='native').context()) == {}


async def test_redundancy() -> None:
    """Of three consultations the second has the words of the first question, the third those of the first advice."""
    executor = [ask('Go left here?'), ask('Here, go LEFT!'), ask('Something else entirely?'), 'Left.']
    found = await scored(Redundancy(), executor, ['Yes, left it is.', 'No.', 'Left it is, yes!'])
    assert found['Redundancy'] == pytest.approx(2 / 3)


async def test_overlap_with_what_was_known() -> None:
    """Two of the four different sequences of three words of the advice stood in the executor's context."""
    found = await scored(
        Redundancy(), [ask('Which way?'), 'Left.'], ['go left at the church then'], prompt='Do not go left at the pub.'
    )
    assert found == {'Redundancy': 0.0, 'AdviceOverlap': 0.5}


async def test_advice_size() -> None:
    """Means of two consultations: 100 and 300 tokens, one of them cut; a failed one does not count."""
    trace = (
        Trace()
        .consult(usage__output_tokens=100, consultation__truncated=False)
        .consult('truncated', usage__output_tokens=300)
        .consult('error', usage__output_tokens=900)
    )
    assert AdviceSize().evaluate(trace.context()) == {
        'AdviceTokens': 200.0,
        'AdviceTruncated': 0.5,
        'AdviceEmpty': 0.0,
    }
    assert AdviceSize().evaluate(Trace().consult('empty').context()) == {'AdviceEmpty': 1.0}
    assert AdviceSize().evaluate(Trace().context()) == {}


async def test_structured_attempts() -> None:
    """The advisor's first answer lacks a field, its second does not: not at first, but in the end."""
    executor = [ask('Left?'), 'Left.']
    wrong, right = [('final_result', {'choice': 'left'})], [('final_result', {'decision': 'left'})]
    found = await scored(StructuredAttempts(), executor, [wrong, right], output_type=Plan)
    assert found == {'StructuredFirst': 0.0, 'StructuredEventually': 1.0}
    found = await scored(StructuredAttempts(), executor, [right], output_type=Plan)
    assert found == {'StructuredFirst': 1.0, 'StructuredEventually': 1.0}


async def test_advice_in_text_has_no_format() -> None:
    """Where text was asked for there is no format to keep."""
    assert await scored(StructuredAttempts(), [ask('Left?'), 'Left.'], ['Yes.']) == {}


async def test_a_failure_that_ends_the_run() -> None:
    """An error of the provider goes to the caller by default."""
    error = ModelHTTPError(503, 'sage')
    found = await scored(AdvisorFailures(), [ask('Left?')], [error], error=ModelHTTPError)
    assert (found['AdvisorFailures'], found['AdvisorEndedRun']) == (1, 1.0)
    assert isinstance(found['AdvisorError'], str)


async def test_a_failure_that_the_executor_hears_of() -> None:
    """The executor goes on, and with it the run."""
    executor = [ask('Left?'), 'I go on alone.']
    found = await scored(AdvisorFailures(), executor, [ModelHTTPError(503, 'sage')], on_error='continue')
    assert (found['AdvisorFailures'], found['AdvisorEndedRun']) == (1, 0.0)


async def test_no_failure() -> None:
    """Consultations that went well are 0 failures; without any there is nothing to count."""
    assert await scored(AdvisorFailures(), [ask('Left?'), 'Left.'], ['Yes.']) == {'AdvisorFailures': 0}
    assert await scored(AdvisorFailures(), ['Left.']) == {}


async def test_context_hygiene() -> None:
    """The canary of the prompt stays with the executor unless it goes along with the history or the question."""
    scorer, prompt = ContextHygiene(canaries=('s3cret',)), 'The password is s3cret. Which way?'
    executor, advisor = [ask('Left?'), 'Left.'], ['Yes.']
    assert await scored(scorer, executor, advisor, prompt=prompt) == {'ContextHygiene': 1.0}
    assert await scored(scorer, executor, advisor, prompt=prompt, forward_history=True) == {'ContextHygiene': 0.0}
    assert await scored(scorer, [ask('With s3cret?'), 'Left.'], advisor) == {'ContextHygiene': 0.0}
    assert await scored(scorer, ['Left.'], prompt=prompt) == {}


async def test_what_advice_must_not_say() -> None:
    """Advice for the executor does not address the end user."""
    scorer = ContextHygiene(never_said=('(?i)dear customer',))
    assert await scored(scorer, [ask('Left?'), 'Left.'], ['Dear Customer, left.']) == {'ContextHygiene': 0.0}
    assert await scored(scorer, [ask('Left?'), 'Left.'], ['Left.']) == {'ContextHygiene': 1.0}


async def test_no_recording_no_latency() -> None:
    """Without recorded times there is no latency: how long this machine took is none."""
    assert await scored(AdvisorLatency(), [ask('Left?'), 'Left.'], ['Yes.']) == {}


def _selected() -> dict[str, Any]:
    (span,) = Trace().select('local', 'mode_local').spans
    return dict(span.attributes or {})
