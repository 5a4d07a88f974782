"""Consultations that bring no advice: what is recorded, what the executor reads, what ends the run."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelResponse, ThinkingPart
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

from advisor_harness import Advisor, Consultation
from advisor_harness.telemetry import read

from .conftest import Spans
from .scripts import (
    OPUS,
    Provider,
    Script,
    answers,
    asks,
    consulted,
    executor,
    failing,
    gives,
    outcomes,
    says,
    skip,
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


async def test_a_fallback_advisor_that_failed_sent_a_request() -> None:
    """The group of its candidates' errors counts as one unanswered request of unknown cost."""
    _, records = await recorded(FallbackModel(Provider(failing(529)).anthropic(OPUS)), on_error='continue')
    assert [(record.requests, record.input_tokens, record.cost_usd) for record in records] == [(1, None, None)]


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


async def test_a_timeout_of_someone_else_is_not_taken_for_ours() -> None:
    """A timeout inside the advisor ends the run as it is, although `timeout` is set and has not expired."""
    with pytest.raises(TimeoutError, match='theirs') as raised:
        await consulted(Advisor(Script(TimeoutError('theirs')).model(), timeout=30), asks('How?'))
    assert type(raised.value) is TimeoutError


async def test_f8_a_timeout_is_a_failed_result_with_continue() -> None:
    """The advisor is cancelled, the claim stays spent and the run goes on."""
    stopped: list[str] = []

    async def watched(messages: Any, info: Any) -> ModelResponse:
        try:
            return await hang(messages, info)
        except asyncio.CancelledError:
            stopped.append('cancelled')
            raise

    ours = Advisor(Script(watched).model(), timeout=30, on_error='continue', max_uses_per_run=1)
    result, _ = await consulted(ours, asks('One?'), asks('Two?', first=2))
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
