"""One local consultation: its record, and what the executor gets of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelResponse, RunContext, ToolOutput

from advisor_harness import Advisor, Consultation, Outcome
from advisor_harness.telemetry import read

from .conftest import Spans
from .scripts import (
    OPUS,
    Provider,
    Script,
    answers,
    asks,
    calls,
    consulted,
    executor,
    gives,
    message,
    outcomes,
    says,
    text,
    timeless,
    together,
    tool_returns,
)

pytestmark = pytest.mark.anyio


class Verdict(BaseModel):
    sound: bool


async def recorded(model: Any, *steps: Any, **options: Any) -> tuple[Any, list[Consultation]]:
    """A run that consults `model`; its result and the records."""
    records: list[Consultation] = []
    result, _ = await consulted(Advisor(model, on_consultation=records.append, **options), *(steps or [asks('How?')]))
    return result, records


LOCAL = Consultation(
    path='local',
    outcome=Outcome.ADVISED,
    index=1,
    run_step=1,
    call_id='call-1',
    executor_model='function:executor',
    advisor_model=f'anthropic:{OPUS}',
    prompt='How?',
    advice='Use a lock.',
    truncated=False,
    error_code=None,
    input_tokens=10,
    output_tokens=5,
    requests=1,
    cost_usd=Decimal('0.000175'),
)


NOTHING_SENT: Any = {'input_tokens': 0, 'output_tokens': 0, 'requests': 0, 'cost_usd': Decimal(0)}


async def test_a_local_consultation_is_recorded_completely() -> None:
    """The record says who asked whom what, what came of it, what it took and for how long."""
    own = Provider(message(text('Use a lock.'), model=OPUS))
    _, records = await recorded(own.anthropic(OPUS))
    assert [timeless(record) for record in records] == [LOCAL]
    assert records[0].duration_s is not None
    assert records[0].duration_s > 0


async def test_forwarded_messages_are_not_the_advisors_own() -> None:
    """What the executor's earlier responses took is not counted as the advisor's."""
    records: list[Consultation] = []
    advisor = Script(says('Use a lock.')).model()
    agent = Agent(
        executor(calls('look'), asks('How?')).model(),
        capabilities=[Advisor(advisor, forward_history=True, on_consultation=records.append)],
    )
    agent.tool_plain(lambda: 'a race', name='look')
    await agent.run('Go.')
    assert [(record.requests, record.input_tokens, record.output_tokens) for record in records] == [(1, 7, 3)]


async def test_calls_of_one_request_are_numbered() -> None:
    """`index` counts the consultations of one executor request, refused ones included."""
    _, records = await recorded(
        Script(says('Use a lock.')).model(), asks('One?', 'Two?'), asks('Three?', first=3), max_uses=1
    )
    found = {record.call_id: (record.run_step, record.index, record.outcome.value) for record in records}
    assert found == {
        'call-1': (1, 1, 'advised'),
        'call-2': (1, 2, 'limit_reached'),
        'call-3': (2, 1, 'advised'),
    }


async def test_a_refused_call_makes_a_record_without_a_request(spans: Spans) -> None:
    """A refusal is a consultation of no request and no cost; it has a claim span and no consultation span."""
    records: list[Consultation] = []
    ours = Advisor[object](Script(says('Use a lock.')).model('advisor'), max_uses=1, on_consultation=records.append)
    agent = Agent(executor(asks('One?', 'Two?')).model(), capabilities=[spans.capability(), ours])
    await agent.run('Go.')
    refused = next(record for record in records if record.outcome is Outcome.LIMIT_REACHED)
    assert refused == replace(
        LOCAL,
        outcome=Outcome.LIMIT_REACHED,
        index=2,
        call_id='call-2',
        advisor_model='function:advisor',
        prompt='Two?',
        advice=None,
        truncated=None,
        **NOTHING_SENT,
    )
    assert [facts.call_id for facts in read.consultations(spans.finished)] == ['call-1']
    assert sorted((c.call_id, c.granted, c.used, c.remaining) for c in read.claims(spans.finished)) == [
        ('call-1', True, 1, 0),
        ('call-2', False, 1, 0),
    ]


async def test_the_callback_may_be_async_and_gets_the_record_before_the_run_goes_on() -> None:
    """An async `on_consultation` is awaited."""
    seen: list[str] = []

    async def keep(record: Consultation) -> None:
        await asyncio.sleep(0)
        seen.append(record.outcome)

    script = executor(asks('How?'), lambda messages, info: says(f'{len(seen)} seen'))
    agent = Agent(script.model(), capabilities=[Advisor(Script(says('Use a lock.')).model(), on_consultation=keep)])
    assert (await agent.run('Go.')).output == '1 seen'


@pytest.mark.parametrize(
    ('max_tokens', 'marker'),
    [(None, '[Advisor output truncated.]'), (2048, '[Advisor output truncated at max_tokens=2048.]')],
)
async def test_f14_advice_cut_at_the_token_limit_says_so(max_tokens: int | None, marker: str) -> None:
    """Truncated text ends in a line that the executor reads, and the record holds what the executor got."""
    advisor = Script(says('Use a lo\n', finish_reason='length')).model()
    result, records = await recorded(advisor, max_tokens=max_tokens)
    advice = f'Use a lo\n\n{marker}'
    assert answers(result.all_messages()) == [advice]
    assert [(r.outcome.value, r.truncated, r.advice) for r in records] == [('truncated', True, advice)]


async def test_structured_advice_is_never_cut() -> None:
    """What validated is whole, also where the provider reports its limit."""

    def limited(messages: Any, info: Any) -> ModelResponse:
        response: Any = gives(sound=True)
        answer: ModelResponse = response(messages, info)
        answer.finish_reason = 'length'
        return answer

    _, records = await recorded(Script(limited).model(), output_type=ToolOutput(Verdict))
    assert [(r.outcome.value, r.truncated, r.advice) for r in records] == [('advised', False, Verdict(sound=True))]


@pytest.mark.parametrize(
    ('strategy', 'expected'),
    [
        ('early', 'Tool not executed - a final result was already processed.'),
        ('graceful', 'Advisor consultation skipped: this response already gives the final output.'),
        ('exhaustive', 'Advisor consultation skipped: this response already gives the final output.'),
    ],
)
@pytest.mark.parametrize('first', [True, False])
async def test_f34_beside_a_final_output_nothing_is_asked(strategy: Any, expected: str, first: bool) -> None:
    """Advice that could no longer matter is not asked for, whichever stands first in the response."""
    advisor, records = Script(says('Use a lock.')), list[Consultation]()
    final, question = calls('final_result', sound=True), asks('How?')
    script = executor(together(question, final) if first else together(final, question))
    ours = Advisor[object](advisor.model(), max_uses=1, on_consultation=records.append)
    agent = Agent(script.model(), output_type=ToolOutput(Verdict), end_strategy=strategy, capabilities=[ours])
    result = await agent.run('Go.')
    assert (result.output, answers(result.all_messages()), advisor.requests) == (Verdict(sound=True), [expected], [])
    assert [(r.outcome.value, r.requests) for r in records] == ([] if strategy == 'early' else [('skipped', 0)])


async def test_f34_early_consults_when_the_final_output_was_invalid() -> None:
    """With `early` core runs the tool only because the output failed: then the advice still matters."""
    script = executor(together(asks('How?'), calls('final_result', wrong=1)), calls('final_result', sound=True))
    ours = Advisor[object](Script(says('Use a lock.')).model())
    agent = Agent(script.model(), output_type=ToolOutput(Verdict), end_strategy='early', capabilities=[ours])
    result = await agent.run('Go.')
    assert (result.output, answers(result.all_messages())) == (Verdict(sound=True), ['Use a lock.'])


async def test_a_skipped_call_claims_nothing(spans: Spans) -> None:
    """The claim span of a skipped call is refused with nothing used, and no consultation span exists."""
    script = executor(together(asks('How?'), calls('final_result', sound=True)))
    ours = Advisor[object](Script(says('Use a lock.')).model(), max_uses=1)
    agent = Agent(script.model(), output_type=ToolOutput(Verdict), capabilities=[spans.capability(), ours])
    await agent.run('Go.')
    assert [(c.granted, c.enforcer, c.used, c.remaining) for c in read.claims(spans.finished)] == [
        (False, 'capability', 0, 1)
    ]
    assert read.consultations(spans.finished) == []


async def test_structured_advice_says_so_in_its_span(spans: Spans) -> None:
    """The form of the advice and the length of its JSON are on the span."""
    ours = Advisor(Script(gives(sound=True)).model(), output_type=Verdict)
    await Agent(executor(asks('Sound?')).model(), capabilities=[spans.capability(), ours]).run('Go.')
    facts = [(f.outcome, f.advice_form, f.advice_length) for f in read.consultations(spans.finished)]
    assert facts == [('advised', 'structured', len('{"sound":true}'))]


async def test_an_advisor_that_cancels_its_own_run_is_a_cancelled_consultation() -> None:
    """An output function may stop the advisor's run; the executor's goes on with a failed result."""
    records: list[Consultation] = []

    async def stop(ctx: RunContext[Any], sound: bool) -> str:
        ctx.cancel()
        return await asyncio.Future()

    ours = Advisor(Script(gives(sound=True)).model(), output_type=stop, on_consultation=records.append)
    result, _ = await consulted(ours, asks('Sound?'))
    (part,) = tool_returns(result.all_messages())
    assert (result.output, part.outcome, outcomes(records)) == ('done', 'failed', ['cancelled'])


def raw(sound: bool) -> Any:
    return {'raw': b'\xff'}


def circle(sound: bool) -> Any:
    ring: list[Any] = []
    ring.append(ring)
    return ring


@pytest.mark.parametrize(('output_type', 'length'), [(raw, len('{"raw":"_w=="}')), (circle, None)])
async def test_advice_that_is_hard_to_serialize_is_measured_where_it_can_be(
    output_type: Any, length: int | None, spans: Spans
) -> None:
    """Telemetry measures the JSON of structured advice where it has one, and never changes a result."""
    records: list[Consultation] = []
    ours = Advisor[object](Script(gives(sound=True)).model(), output_type=output_type, on_consultation=records.append)
    script = Script(asks('Sound?'), ZeroDivisionError('the executor stops here'))
    with pytest.raises(ZeroDivisionError):
        await Agent(script.model(), capabilities=[spans.capability(), ours]).run('Go.')
    assert outcomes(records) == ['advised']
    assert [facts.advice_length for facts in read.consultations(spans.finished)] == [length]
