"""Native consultations read out of responses: F19-F21, F24-F26, OpenRouter's counts and the money of both."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic_ai import (
    Agent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.capabilities import AbstractCapability, WebSearch
from pydantic_ai.messages import ModelMessagesTypeAdapter, NativeToolCallPart, NativeToolReturnPart
from pydantic_ai.usage import UsageLimits

from advisor_harness import Advisor, Consultation, Outcome
from advisor_harness.advisor.native import repaired
from advisor_harness.telemetry import read
from advisor_harness.telemetry.facts import ClaimFacts

from .conftest import Spans
from .scripts import (
    HAIKU,
    OPUS,
    Provider,
    client_call,
    completion,
    iterations,
    message,
    native_advice,
    native_error,
    outcomes,
    server_call,
    server_result,
    server_tool_usage,
    text,
)

pytestmark = pytest.mark.anyio

NAME = f'anthropic:{OPUS}'
ROUTER = 'openrouter:anthropic/claude-opus-4.8'


async def native(provider: Provider, *capabilities: Any, **options: Any) -> tuple[Any, list[Consultation]]:
    """A run of an Anthropic executor with a native advisor and a tool `look`; the result and the records."""
    records: list[Consultation] = []
    ours = Advisor(NAME, on_consultation=records.append, **options)
    agent = Agent(provider.anthropic(), capabilities=[*capabilities, ours])
    agent.tool_plain(lambda: 'a race', name='look')
    return await agent.run('Go.'), records


async def routed(provider: Provider, *capabilities: Any, **options: Any) -> list[Consultation]:
    records: list[Consultation] = []
    ours = Advisor(ROUTER, on_consultation=records.append, **options)
    await Agent(provider.openrouter(), capabilities=[*capabilities, ours]).run('Go.')
    return records


async def test_a_native_consultation_has_the_same_record_as_a_local_one() -> None:
    """All that the provider says is in the record; what it does not say is `None`."""
    body = message(*native_advice(), text('done'), iterations=iterations((1000, 200)))
    _, records = await native(Provider(body))
    assert records == [
        Consultation(
            path='native',
            outcome=Outcome.ADVISED,
            index=1,
            run_step=1,
            call_id='srvtoolu_1',
            executor_model=f'anthropic:{HAIKU}',
            advisor_model=NAME,
            prompt=None,
            advice='Use a lock.',
            truncated=None,
            error_code=None,
            input_tokens=1000,
            output_tokens=200,
            requests=1,
            cost_usd=Decimal('0.01'),
            duration_s=None,
        )
    ]


@pytest.mark.parametrize(
    ('content', 'outcome', 'advice', 'truncated', 'code'),
    [
        ({'type': 'advisor_result', 'text': 'Yes.', 'stop_reason': 'end_turn'}, 'advised', 'Yes.', False, None),
        ({'type': 'advisor_result', 'text': 'Ye', 'stop_reason': 'max_tokens'}, 'truncated', 'Ye', True, None),
        ({'type': 'advisor_result', 'text': ' '}, 'empty', None, None, 'empty'),
        ({'type': 'advisor_redacted_result', 'encrypted_content': 'x'}, 'redacted', None, None, None),
        (
            {'type': 'advisor_redacted_result', 'encrypted_content': 'x', 'stop_reason': 'max_tokens'},
            'redacted',
            None,
            True,
            None,
        ),
    ],
    ids=['advised', 'truncated', 'empty', 'redacted', 'redacted and truncated'],
)
async def test_f20_f21_results_are_told_apart(
    content: dict[str, Any], outcome: str, advice: str | None, truncated: bool | None, code: str | None
) -> None:
    """Complete, cut, empty and unreadable advice are different outcomes; unreadable is never empty."""
    _, records = await native(Provider(message(*native_advice(**content), text('done'))))
    (record,) = records
    assert (record.outcome.value, record.advice, record.truncated, record.error_code) == (
        outcome,
        advice,
        truncated,
        code,
    )


@pytest.mark.parametrize(
    ('code', 'outcome'),
    [
        ('too_many_requests', 'error'),
        ('overloaded', 'error'),
        ('prompt_too_long', 'error'),
        ('execution_time_exceeded', 'timeout'),
        ('model_not_found', 'error'),
        ('unavailable', 'error'),
        ('max_uses_exceeded', 'limit_reached'),
    ],
)
async def test_f19_every_error_code_has_its_outcome(code: str, outcome: str) -> None:
    """A failed native consultation is recorded under the provider's own code, and the run goes on."""
    result, records = await native(Provider(message(*native_error(code), text('done'))))
    (record,) = records
    assert (result.output, record.outcome.value, record.error_code, record.advice) == ('done', outcome, code, None)


async def test_f19_an_unknown_code_is_passed_through(spans: Spans) -> None:
    """A code of a later version of the provider is an error under its own name, in record and span."""
    with pytest.warns(UserWarning, match='Pydantic serializer warnings'):
        _, records = await native(Provider(message(*native_error('out_of_ink'), text('done'))), spans.capability())
    assert [(record.outcome.value, record.error_code) for record in records] == [('error', 'out_of_ink')]
    (facts,) = read.consultations(spans.finished)
    assert (facts.error_code, facts.native_error) == ('out_of_ink', 'out_of_ink')


async def test_a_refusal_by_the_provider_is_a_claim_and_no_consultation_span(spans: Spans) -> None:
    """`max_uses_exceeded` is a refused claim with the limit that was sent; nothing was consulted or spent."""
    body = message(*native_advice('s1'), *native_error('max_uses_exceeded', 's2'), text('done'))
    _, records = await native(Provider(body), spans.capability(), max_uses=1)
    assert [(record.call_id, record.outcome.value, record.requests) for record in records] == [
        ('s1', 'advised', None),
        ('s2', 'limit_reached', 0),
    ]
    assert [facts.call_id for facts in read.consultations(spans.finished)] == ['s1']
    (claim,) = read.claims(spans.finished)
    expected = ClaimFacts(
        granted=False, scope='request', enforcer='provider', call_id='s2', limit=1, origin=claim.origin
    )
    assert claim == expected


@pytest.mark.parametrize(
    ('max_uses', 'max_uses_per_run', 'scope', 'limit'),
    [(1, None, 'request', 1), (2, 2, 'request', 2), (None, 1, 'run', 1), (3, 2, 'run', 2), (1, 5, 'request', 1)],
)
async def test_f2_a_refusal_by_the_provider_names_the_limit_that_it_was_sent(
    max_uses: Any, max_uses_per_run: Any, scope: str, limit: int, spans: Spans
) -> None:
    """The smaller of both limits is what the provider keeps, and what its refusal is told under."""
    provider = Provider(message(*native_error('max_uses_exceeded'), text('done')))
    ours = Advisor[object](NAME, max_uses=max_uses, max_uses_per_run=max_uses_per_run)
    await Agent(provider.anthropic(), capabilities=[spans.capability(), ours]).run('Go.')
    (claim,) = [dict(span.attributes or {}) for span in spans.finished if span.name == 'claim advisor quota']
    assert (claim['advisor.quota.scope'], claim['advisor.quota.limit']) == (scope, limit)
    assert provider.bodies[0]['tools'][0]['max_uses'] == limit


async def test_totals_stand_on_the_first_consultation_only() -> None:
    """Anthropic's totals of several consultations are counted once, on the first that was not refused."""
    body = message(
        *native_error('max_uses_exceeded', 's1'),
        *native_advice('s2'),
        *native_advice('s3'),
        text('done'),
        iterations=iterations((1000, 200), (500, 100)),
    )
    _, records = await native(Provider(body))
    assert [(r.index, r.requests, r.input_tokens, r.output_tokens, r.cost_usd) for r in records] == [
        (1, 0, None, None, None),
        (2, 2, 1500, 300, Decimal('0.0150')),
        (3, None, None, None, None),
    ]


async def test_f24_a_paused_turn_is_one_response_with_one_consultation() -> None:
    """Call before the pause, result after it: one record, of the one executor request."""
    provider = Provider(
        message(text('I ask.'), server_call(), stop='pause_turn'), message(server_result(), text('done'))
    )
    result, records = await native(provider)
    assert (result.output, len(provider.bodies), result.usage.requests) == ('done', 2, 1)
    assert [(record.call_id, record.run_step, record.index) for record in records] == [('srvtoolu_1', 1, 1)]
    assert [block['type'] for block in provider.bodies[1]['messages'][1]['content']] == ['text', 'server_tool_use']


async def test_f24_call_and_result_in_different_responses_are_one_consultation() -> None:
    """With a tool of ours in the same turn the advisor runs in the next request, and is recorded there, once."""
    provider = Provider(
        message(server_call(), client_call('look'), stop='tool_use'),
        message(server_result(), client_call('look', 'toolu_2'), stop='tool_use'),
        message(text('done')),
    )
    _, records = await native(provider)
    assert [(record.call_id, record.run_step, record.advice) for record in records] == [
        ('srvtoolu_1', 2, 'Use a lock.')
    ]
    sent = [block['type'] for sent in provider.bodies[2]['messages'] for block in sent['content']]
    assert sent == [
        'text',
        'server_tool_use',
        'tool_use',
        'tool_result',
        'advisor_tool_result',
        'tool_use',
        'tool_result',
    ]


async def test_a_result_that_a_later_response_repeats_is_recorded_once() -> None:
    """The call id decides whether a result is new."""
    provider = Provider(
        message(*native_advice(), client_call('look'), stop='tool_use'), message(*native_advice(), text('done'))
    )
    _, records = await native(provider)
    assert [record.run_step for record in records] == [1]


def call(call_id: str) -> NativeToolCallPart:
    return NativeToolCallPart('advisor', {}, call_id, provider_name='anthropic')


def result(call_id: str) -> NativeToolReturnPart:
    content = {'type': 'advisor_result', 'text': 'Use a lock.'}
    return NativeToolReturnPart('advisor', content, call_id, provider_name='anthropic')


def asked(*parts: Any) -> ModelRequest:
    return ModelRequest(parts=list(parts) or [UserPromptPart('Go.')])


def answered(*parts: Any, **more: Any) -> ModelResponse:
    return ModelResponse(parts=list(parts), provider_name='anthropic', **more)


LOOK, LOOKED = ToolCallPart('look', {}, 't1'), ToolReturnPart('look', 'a race', 't1')


@pytest.mark.parametrize(
    ('history', 'blocks'),
    [
        ([asked(), answered(call('s1'), TextPart('a'))], ['text', 'text', 'text']),
        ([asked(), answered(result('s1'), TextPart('a'))], ['text', 'text', 'text']),
        (
            [asked(), answered(call('s1'), result('s1'), result('s2'), TextPart('a'))],
            ['text', 'server_tool_use', 'advisor_tool_result', 'text', 'text'],
        ),
        (
            [asked(), answered(call('s1'), LOOK), asked(LOOKED), answered(result('s1'), TextPart('a'))],
            ['text', 'server_tool_use', 'tool_use', 'tool_result', 'advisor_tool_result', 'text', 'text'],
        ),
        (
            [asked(), answered(call('s1'), LOOK), asked(LOOKED), answered(TextPart('a'))],
            ['text', 'tool_use', 'tool_result', 'text', 'text'],
        ),
    ],
    ids=['lost result', 'lost call', 'one of two', 'split pair', 'split pair without result'],
)
async def test_f25_a_half_without_its_other_half_is_not_sent(history: list[ModelMessage], blocks: list[str]) -> None:
    """Anthropic rejects halves: the copy that is sent has pairs only, and the history stays as it was."""
    provider = Provider(message(text('done')))
    before = ModelMessagesTypeAdapter.dump_json(history)
    outcome = await Agent(provider.anthropic(), capabilities=[Advisor(NAME)]).run('And?', message_history=history)
    sent = [block['type'] for sent in provider.bodies[0]['messages'] for block in sent['content']]
    assert sent == blocks
    assert ModelMessagesTypeAdapter.dump_json(history) == before
    assert ModelMessagesTypeAdapter.dump_json(outcome.all_messages()[: len(history)]) == before


async def test_f25_a_pending_call_at_the_end_is_sent() -> None:
    """A call whose turn goes on, with our tool's result next, is not lost: the provider is about to run it."""
    provider, records = Provider(message(server_result('s1'), text('done'))), list[Consultation]()
    history = [asked(), answered(call('s1'), LOOK), asked(LOOKED)]
    agent = Agent(provider.anthropic(), capabilities=[Advisor(NAME, on_consultation=records.append)])
    await agent.run(message_history=history)
    sent = [block['type'] for sent in provider.bodies[0]['messages'] for block in sent['content']]
    assert sent == ['text', 'server_tool_use', 'tool_use', 'tool_result']
    assert outcomes(records) == ['advised']


def test_f25_messages_without_halves_are_sent_as_they_are() -> None:
    """Nothing is copied where nothing is amiss."""
    history: list[ModelMessage] = [asked(), answered(call('s1'), result('s1'))]
    assert repaired(history) is history


async def test_f26_without_the_tool_both_halves_stay_away() -> None:
    """A request that does not offer the tool carries neither its blocks nor its header."""
    provider = Provider(message(text('done')))
    history = [asked(), answered(call('s1'), result('s1'), TextPart('a'))]
    await Agent(provider.anthropic(), capabilities=[Advisor(NAME, mode='local')]).run('And?', message_history=history)
    sent = [block['type'] for sent in provider.bodies[0]['messages'] for block in sent['content']]
    assert (sent, provider.requests[0].headers.get('anthropic-beta')) == (['text', 'text', 'text'], None)


async def test_openrouter_consultations_are_counted_and_cannot_be_read() -> None:
    """OpenRouter gives no call ids and no advice: ids of our own, `redacted`, and the difference of the two costs."""
    records = await routed(Provider(completion(**server_tool_usage(2))))
    shared = {
        'path': 'native',
        'outcome': Outcome.REDACTED,
        'run_step': 1,
        'executor_model': 'openrouter:openai/gpt-4o-mini',
        'advisor_model': ROUTER,
        'prompt': None,
    }
    assert records == [
        Consultation(**shared, index=1, call_id='gen-1#1', requests=2, cost_usd=Decimal('0.0158850')),
        Consultation(**shared, index=2, call_id='gen-1#2'),
    ]


async def test_openrouter_without_consultations_has_no_records() -> None:
    """An executor that did not consult leaves none, whether the count is missing or zero."""
    assert await routed(Provider(completion())) == []
    assert await routed(Provider(completion(**server_tool_usage(0)))) == []


async def test_openrouter_cost_is_unknown_with_a_key_of_the_users_own() -> None:
    """With BYOK the total leaves out the upstream price, so no difference says anything."""
    records = await routed(Provider(completion(**server_tool_usage(1), is_byok=True)))
    assert [record.cost_usd for record in records] == [None]


async def test_openrouter_counts_of_several_server_tools_say_nothing() -> None:
    """Beside another server tool the count is not the advisor's alone, and is not taken for it."""
    assert await routed(Provider(completion(**server_tool_usage(3))), WebSearch(local=False)) == []


async def test_the_price_of_an_unknown_advisor_is_unknown() -> None:
    """Tokens of a model without a list price cost `None`, not 0."""
    body = message(*native_advice(), text('done'), iterations=iterations((1000, 200), model='claude-new'))
    records: list[Consultation] = []
    ours = Advisor('anthropic:claude-new', on_consultation=records.append)
    await Agent(Provider(body).anthropic(), capabilities=[ours]).run('Go.')
    assert [(record.input_tokens, record.cost_usd) for record in records] == [(1000, None)]


async def test_native_consultations_spend_the_run_limit() -> None:
    """What the provider ran counts in `max_uses_per_run`; its refusals do not."""
    provider = Provider(
        message(*native_advice('s1'), *native_error('max_uses_exceeded', 's2'), client_call('look'), stop='tool_use'),
        message(text('done')),
    )
    await native(provider, max_uses_per_run=3)
    assert [body['tools'][1]['max_uses'] for body in provider.bodies] == [3, 2]


async def test_a_cached_response_spends_nothing() -> None:
    """A response that no provider gave was not consulted for: its blocks are another request's."""

    class Cache(AbstractCapability[Any]):
        async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> ModelResponse:
            return answered(call('s1'), result('s1'), TextPart('done'))

    provider = Provider()
    outcome, records = await native(provider, Cache())
    assert (outcome.output, records, provider.requests) == ('done', [], [])


async def test_the_executors_limits_do_not_stop_a_native_advisor() -> None:
    """The provider consults inside the request: only the executor's own tokens count."""
    body = message(*native_advice(), text('done'), iterations=iterations((100_000, 200)))
    agent = Agent(Provider(body).anthropic(), capabilities=[Advisor(NAME)])
    result = await agent.run('Go.', usage_limits=UsageLimits(total_tokens_limit=1000))
    assert result.output == 'done'


def recorded(folder: Path, name: str) -> list[Any]:
    """The response bodies of a recording."""
    interactions = yaml.safe_load((folder / f'{name}.yaml').read_text())['interactions']
    return [interaction['response']['parsed_body'] for interaction in interactions]


async def test_a_recording_of_anthropic_is_read(shared_cassettes: Path) -> None:
    """What Anthropic really sent gives one complete record, priced at the advisor's model."""
    provider, records = Provider(*recorded(shared_cassettes, 'anthropic_advisor_tool')), list[Consultation]()
    ours = Advisor(NAME, max_tokens=1024, on_consultation=records.append)
    agent = Agent(provider.anthropic('claude-sonnet-5'), capabilities=[ours])
    await agent.run('Go.', model_settings={'max_tokens': 4096})
    assert [(r.outcome.value, r.truncated, r.input_tokens, r.output_tokens, r.cost_usd) for r in records] == [
        ('advised', False, 2518, 22, Decimal('0.013140'))
    ]


async def test_a_recording_of_openrouter_is_read(shared_cassettes: Path) -> None:
    """What OpenRouter really sent gives one unreadable record with the advisor's share of the cost."""
    records = await routed(Provider(*recorded(shared_cassettes, 'openrouter_advisor_tool')), max_tokens=1024)
    assert [(r.outcome.value, r.call_id, r.cost_usd) for r in records] == [
        ('redacted', 'gen-1784878106-cv1uPhnXxL6Fwc7jmglL#1', Decimal('0.0158850'))
    ]
