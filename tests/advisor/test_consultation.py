"""One local consultation: its record, its endings, what the executor gets of each."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelResponse, RunContext, ThinkingPart, ToolOutput
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
    UserError,
)
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.usage import UsageLimits

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
    failing,
    gives,
    message,
    outcomes,
    says,
    skip,
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


async def test_a_local_consultation_is_recorded_completely() -> None:
    """The record says who asked whom what, what came of it, what it took and for how long."""
    own = Provider(message(text('Use a lock.'), model=OPUS))
    _, records = await recorded(own.anthropic(OPUS))
    assert [timeless(record) for record in records] == [LOCAL]
    assert records[0].duration_s is not None
    assert records[0].duration_s > 0


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
    assert refused == Consultation(
        path='local',
        outcome=Outcome.LIMIT_REACHED,
        index=2,
        run_step=1,
        call_id='call-2',
        executor_model='function:executor',
        advisor_model='function:advisor',
        prompt='Two?',
        input_tokens=0,
        output_tokens=0,
        requests=0,
        cost_usd=Decimal(0),
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
    ('answer', 'requests', 'truncated'),
    [
        (says(' \n'), 1, False),
        (says(''), 2, None),
        (says(ThinkingPart('Hmm.')), 2, None),
        (says(ThinkingPart('Hmm.'), finish_reason='length'), 1, True),
    ],
    ids=['blank', 'nothing', 'thinking', 'thinking cut'],
)
@pytest.mark.parametrize('on_error', ['raise', 'continue'])
async def test_f12_f13_an_answer_without_advice_is_empty(
    answer: ModelResponse, requests: int, truncated: bool | None, on_error: Any
) -> None:
    """Nothing, blanks and mere thoughts are `empty`; the executor is never told to change the advisor's settings."""
    result, records = await recorded(Script(answer).model(), on_error=on_error)
    (part,) = tool_returns(result.all_messages())
    assert [(r.outcome.value, r.error_code, r.requests, r.truncated) for r in records] == [
        ('empty', 'empty', requests, truncated)
    ]
    assert (part.outcome, part.content) == (
        ('failed', 'Advisor unavailable (empty). Continue without advice.')
        if on_error == 'continue'
        else ('retried', 'The advisor gave no usable answer (empty). Ask again, or continue without advice.')
    )


TOO_LONG = failing(400, text='prompt is too long: 9 tokens > 8 maximum', kind='invalid_request_error')
OPTIONAL: list[tuple[Any, str, str]] = [
    (failing(404), 'error', 'model_not_found'),
    (failing(429), 'error', 'too_many_requests'),
    (failing(402), 'error', 'too_many_requests'),
    (failing(500), 'error', 'unavailable'),
    (failing(503), 'error', 'overloaded'),
    (failing(529), 'error', 'overloaded'),
    (
        failing(400, text='prompt is too long: 9 tokens > 8 maximum', kind='invalid_request_error'),
        'error',
        'prompt_too_long',
    ),
    (httpx2.ConnectError('refused'), 'error', 'unavailable'),
    (httpx2.ReadTimeout('slow'), 'timeout', 'execution_time_exceeded'),
]


@pytest.mark.parametrize(('answer', 'outcome', 'code'), OPTIONAL, ids=lambda value: repr(value)[:30])
async def test_f6_f9_with_continue_a_failing_provider_costs_only_the_advice(
    answer: Any, outcome: str, code: str, spans: Spans
) -> None:
    """What an executor can do without is a failed result with a fixed text; no retry is used up, the run goes on."""
    records: list[Consultation] = []
    ours = Advisor(Provider(answer).anthropic(OPUS), on_error='continue', on_consultation=records.append)
    script = executor(asks('How?'), asks('How?', first=2), asks('How?', first=3))
    result = await Agent(script.model(), capabilities=[spans.capability(), ours]).run('Go.')
    expected = ('failed', f'Advisor unavailable ({code}). Continue without advice.')
    assert [(p.outcome, p.content) for p in tool_returns(result.all_messages())] == [expected] * 3
    assert [(r.outcome.value, r.error_code, r.requests, r.cost_usd) for r in records] == [(outcome, code, 1, None)] * 3
    assert {(facts.outcome, facts.error_code) for facts in read.consultations(spans.finished)} == {(outcome, code)}


@pytest.mark.parametrize(
    ('error', 'code'),
    [
        (ModelRequestTimeout('advisor', 1.0), 'execution_time_exceeded'),
        (TimeoutError(), 'execution_time_exceeded'),
        (ModelConnectionError('advisor', 'reset'), 'unavailable'),
        (ModelAPIError('advisor', 'odd'), 'unavailable'),
        (ContentFilterError('filtered', body='{}'), 'content_filter'),
        (UnexpectedModelBehavior('odd'), 'invalid_output'),
        (ModelContextWindowExceededError('advisor', 'long'), 'prompt_too_long'),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_with_continue_every_optional_error_is_a_failed_result(error: Exception, code: str) -> None:
    """Errors that no HTTP answer stands behind have the same texts."""
    result, _ = await recorded(Script(error).model(), on_error='continue')
    assert answers(result.all_messages()) == [f'Advisor unavailable ({code}). Continue without advice.']


async def test_f15_with_continue_invalid_output_is_a_failed_result() -> None:
    """After the advisor's own retry an output that does not fit fails without a retry of the executor's tool."""
    result, records = await recorded(Script(gives(wrong=1)).model(), output_type=Verdict, on_error='continue')
    assert answers(result.all_messages()) == ['Advisor unavailable (invalid_output). Continue without advice.']
    assert [(r.outcome.value, r.requests, r.input_tokens, r.output_tokens) for r in records] == [
        ('invalid_output', 2, 14, 6)
    ]


@pytest.mark.parametrize(
    ('answer', 'error', 'code'),
    [
        (failing(400), ModelHTTPError, 'unavailable'),
        (failing(401), ModelHTTPError, 'auth'),
        (failing(403), ModelHTTPError, 'auth'),
    ],
    ids=['400', '401', '403'],
)
async def test_f10_with_continue_what_must_be_fixed_still_ends_the_run(answer: Any, error: Any, code: str) -> None:
    """A rejected request and refused credentials are for the developer, under either policy."""
    records: list[Consultation] = []
    ours = Advisor(Provider(answer).anthropic(OPUS), on_error='continue', on_consultation=records.append)
    with pytest.raises(error):
        await consulted(ours, asks('How?'))
    assert [(record.outcome.value, record.error_code) for record in records] == [('error', code)]


@pytest.mark.parametrize('error', [UserError('wrong'), ZeroDivisionError('bug'), RuntimeError('not allowed')])
async def test_with_continue_programming_errors_still_end_the_run(error: Exception) -> None:
    """A wrong setup or a bug is not an advisor that is down."""
    records: list[Consultation] = []
    with pytest.raises(type(error), match=str(error)):
        await consulted(
            Advisor(Script(error).model(), on_error='continue', on_consultation=records.append), asks('How?')
        )
    assert [(record.outcome.value, record.error_code) for record in records] == [('error', 'unavailable')]


async def test_f4_with_continue_the_executors_usage_limits_still_end_the_run() -> None:
    """A limit of the run is not the advisor's failure; the record says what stopped it, with no request sent."""
    records: list[Consultation] = []
    ours = Advisor(Script(says('Use a lock.')).model(), on_error='continue', on_consultation=records.append)
    with pytest.raises(UsageLimitExceeded):
        await consulted(ours, asks('How?'), usage_limits=UsageLimits(request_limit=1))
    assert [(record.outcome.value, record.error_code, record.requests) for record in records] == [
        ('usage_limit', 'usage_limit', 0)
    ]


async def test_a_limit_that_the_advisors_answer_crosses_keeps_its_usage() -> None:
    """An answer that was billed and then stopped by a token limit is counted."""
    records: list[Consultation] = []
    ours = Advisor(Script(says('Use a lock.')).model(), on_consultation=records.append)
    with pytest.raises(UsageLimitExceeded):
        await consulted(ours, asks('How?'), usage_limits=UsageLimits(output_tokens_limit=5))
    assert [(r.outcome.value, r.requests, r.output_tokens) for r in records] == [('usage_limit', 1, 3)]


async def test_the_last_candidate_decides_how_a_fallback_advisor_failed() -> None:
    """When every candidate of an advisor failed, the code is that of the last; both errors are in the group."""
    advisor = FallbackModel(Provider(failing(401)).anthropic(OPUS), Provider(failing(429)).anthropic(OPUS))
    result, records = await recorded(advisor, on_error='continue')
    assert answers(result.all_messages()) == ['Advisor unavailable (too_many_requests). Continue without advice.']
    with pytest.raises(ExceptionGroup, match='All models from FallbackModel failed'):
        await recorded(advisor)
    assert [record.error_code for record in records] == ['too_many_requests']


async def test_f28_a_failing_sibling_stops_no_other_with_continue() -> None:
    """Two parallel consultations, one of which fails: the other finishes, and its advice arrives."""

    def by_question(messages: Any, info: Any) -> ModelResponse:
        if 'bad' in messages[0].parts[-1].content:
            raise ModelHTTPError(529, 'advisor')
        return says('Use a lock.')

    result, records = await recorded(Script(by_question).model(), asks('bad?', 'good?'), on_error='continue')
    assert answers(result.all_messages())[1] == 'Use a lock.'
    assert sorted(outcomes(records)) == ['advised', 'error']


async def hang(messages: Any, info: Any) -> ModelResponse:
    """Never answers; a minute passes at once."""
    skip(60)
    return await asyncio.Future()


async def test_f8_a_timeout_raises_by_default() -> None:
    """An advisor that takes longer than `timeout` ends the run with a timeout error that names the option."""
    records: list[Consultation] = []
    ours = Advisor(Script(hang).model('slow'), timeout=30, on_consultation=records.append)
    with pytest.raises(ModelTimeoutError) as raised:
        await consulted(ours, asks('How?'))
    assert (raised.value.model_name, raised.value.message) == (
        'slow',
        'The advisor gave no answer within `Advisor.timeout`, 30 seconds.',
    )
    assert [(r.outcome.value, r.error_code, r.requests, r.input_tokens, r.cost_usd) for r in records] == [
        ('timeout', 'execution_time_exceeded', 1, None, None)
    ]


async def test_f8_a_timeout_is_a_failed_result_with_continue() -> None:
    """The advisor is cancelled, the claim stays spent and the run goes on."""
    stopped: list[str] = []

    async def watched(messages: Any, info: Any) -> ModelResponse:
        try:
            return await hang(messages, info)
        except asyncio.CancelledError:
            stopped.append('cancelled')
            raise

    result, _ = await recorded(
        Script(watched).model(),
        asks('One?'),
        asks('Two?', first=2),
        timeout=0.01,
        on_error='continue',
        max_uses_per_run=1,
    )
    assert answers(result.all_messages()) == [
        'Advisor unavailable (execution_time_exceeded). Continue without advice.',
        'Advisor consultation limit reached for this run. Continue without further advice.',
    ]
    assert stopped == ['cancelled']


async def test_a_timeout_covers_the_advisors_own_retries() -> None:
    """The seconds are for the whole consultation."""
    first = Script(gives(wrong=1), hang)
    _, records = await recorded(first.model(), output_type=Verdict, timeout=30, on_error='continue')
    assert [(record.outcome.value, record.requests) for record in records] == [('timeout', 2)]


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
