"""Anthropic Messages as the real SDK and pydantic-ai read them, over HTTP."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.messages import ModelResponse
from pydantic_ai.native_tools import AdvisorTool

from . import ADVISOR_ERRORS
from .clients import Clients, ask, both, conversation, refused, told

ADVICE = {'text': 'Say 4.'}
PAUSE = {'parts': [{'text': 'Wait.'}, {'pending_advice': True}]}
LOOK = {'name': 'look', 'args': {'q': 'a b'}}


SCRIPT = {
    'name': 'anthropic',
    'conversations': [
        conversation('text', {'text': 'It is Paris, in France.', 'usage': {'input_tokens': 9, 'output_tokens': 7}}),
        conversation('thinking', {'parts': [{'thinking': 'Hm, hm.'}, {'redacted_thinking': 'blob'}, {'text': 'Yes.'}]}),
        conversation('tools', {'text': 'Looking.', 'tool_calls': [LOOK, LOOK]}, {'text': 'Done.'}),
        conversation('advice', {'parts': [{'text': 'I will ask.'}, {'advice': ADVICE}, {'text': 'It is 4.'}]}),
        conversation('redacted', {'advice': {'redacted': 'blob'}, 'text': 'Fine.'}),
        conversation('truncated', {'advice': {'text': 'Say', 'truncated': True}, 'text': 'Fine.'}),
        *(conversation(code, {'advice': {'error': code}, 'text': 'Alone then.'}) for code in ADVISOR_ERRORS),
        conversation(
            'usage',
            {
                'parts': [{'text': 'a'}, {'advice': {**ADVICE, 'usage': {'input_tokens': 2518, 'output_tokens': 22}}}],
                'usage': {'input_tokens': 2390, 'output_tokens': 121, 'thinking_tokens': 28, 'cached_tokens': 5},
            },
        ),
        conversation(
            'pauses',
            PAUSE,
            {'parts': [{'advice': ADVICE}, {'text': 'Again.'}, {'pending_advice': True}]},
            {'parts': [{'advice': {'text': 'Say 5.'}}, {'tool_call': LOOK}]},
            {'text': 'It is 5.'},
        ),
        conversation(
            'split',
            {'parts': [{'pending_advice': True}, {'tool_call': LOOK}]},
            {'parts': [{'advice': ADVICE}, {'text': 'It is 4.'}]},
        ),
        conversation('cut short', {'text': 'It is', 'stop_reason': 'max_tokens', 'model': 'claude-served'}),
        conversation('empty', {'parts': []}, {'text': 'Something.'}),
    ],
}


async def parts(clients: Clients, name: str, *, streamed: bool, **options: Any) -> list[Any]:
    """The parts of all responses of a run."""
    return [
        part for response in await responses(clients, name, streamed=streamed, **options) for part in response.parts
    ]


async def responses(
    clients: Clients, name: str, *, streamed: bool, advisor: dict[str, Any] | None = None
) -> list[ModelResponse]:
    """The responses of a run of an agent with the advisor tool."""
    tool = AdvisorTool(**(advisor or {'model': 'claude-opus-4-8', 'max_tokens': 1024}))
    model = clients.model('anthropic', 'claude-sonnet-5')
    return await ask(model, f'[{name}]', streamed=streamed, capabilities=[NativeTool(tool)])


@pytest.mark.anyio
@both
async def test_text(clients: Clients, streamed: bool) -> None:
    """A plain answer has the text and the usage of the script, and deterministic ids."""
    [response] = await responses(clients, 'text', streamed=streamed)
    assert list(map(told, response.parts)) == [('text', 'It is Paris, in France.')]
    assert (response.usage.input_tokens, response.usage.output_tokens) == (9, 7)
    assert (response.model_name, response.finish_reason) == ('claude-sonnet-5', 'stop')
    assert response.provider_response_id == 'msg_016ZnhsC10SG1gZ5jDOMbS0r'


@pytest.mark.anyio
@both
async def test_thinking(clients: Clients, streamed: bool) -> None:
    """Thinking is signed, redacted thinking keeps its data."""
    found = await parts(clients, 'thinking', streamed=streamed)
    assert list(map(told, found)) == [('thinking', 'Hm, hm.'), ('thinking', ''), ('text', 'Yes.')]
    assert [bool(part.signature) for part in found[:2]] == [True, True]
    assert found[1].signature == 'blob'


@pytest.mark.anyio
@both
async def test_parallel_tool_calls(clients: Clients, streamed: bool) -> None:
    """Calls of one turn have ids of their own, and the next reply comes when their results are in."""
    found = await parts(clients, 'tools', streamed=streamed)
    call = ('look', {'q': 'a b'})
    assert list(map(told, found)) == [('text', 'Looking.'), call, call, ('text', 'Done.')]
    assert found[1].tool_call_id != found[2].tool_call_id


@pytest.mark.anyio
@both
async def test_advice(clients: Clients, streamed: bool) -> None:
    """A consultation is a call without arguments and a result, with a stop reason where a cap is set."""
    advice = {'type': 'advisor_result', 'text': 'Say 4.', 'stop_reason': 'end_turn'}
    found = await parts(clients, 'advice', streamed=streamed)
    told_parts = [('text', 'I will ask.'), ('consult', {}), ('advice', advice), ('text', 'It is 4.')]
    assert list(map(told, found)) == told_parts
    assert found[1].tool_call_id == found[2].tool_call_id


@pytest.mark.anyio
@both
async def test_advice_without_a_cap_has_no_stop_reason(clients: Clients, streamed: bool) -> None:
    """The provider says why the advisor stopped only if the client set `max_tokens`."""
    found = await parts(clients, 'advice', streamed=streamed, advisor={'model': 'claude-opus-4-8'})
    assert told(found[2]) == ('advice', {'type': 'advisor_result', 'text': 'Say 4.', 'stop_reason': None})


@pytest.mark.anyio
@both
async def test_redacted_advice(clients: Clients, streamed: bool) -> None:
    """Redacted advice keeps its encrypted content."""
    found = await parts(clients, 'redacted', streamed=streamed)
    expected = {'type': 'advisor_redacted_result', 'encrypted_content': 'blob', 'stop_reason': 'end_turn'}
    assert told(found[1]) == ('advice', expected)


@pytest.mark.anyio
@both
async def test_truncated_advice(clients: Clients, streamed: bool) -> None:
    """Truncated advice says so in its stop reason and in its text."""
    found = await parts(clients, 'truncated', streamed=streamed)
    text = 'Say\n\n[Advisor output truncated at max_tokens=1024.]'
    assert told(found[1]) == ('advice', {'type': 'advisor_result', 'text': text, 'stop_reason': 'max_tokens'})


@pytest.mark.anyio
@both
@pytest.mark.parametrize('code', ADVISOR_ERRORS)
async def test_failed_consultations(clients: Clients, code: str, streamed: bool) -> None:
    """A failed consultation is a result with its code; the executor goes on, and no advisor tokens are billed."""
    [response] = await responses(clients, code, streamed=streamed)
    expected = [('consult', {}), ('advice', {'type': 'advisor_tool_result_error', 'error_code': code})]
    assert list(map(told, response.parts)) == [*expected, ('text', 'Alone then.')]
    assert 'advisor_iterations' not in response.usage.details


@pytest.mark.anyio
@both
async def test_usage_is_the_sum_over_the_iterations_of_the_executor(clients: Clients, streamed: bool) -> None:
    """Top-level counts are those of the script; the advisor's stand beside them."""
    [response] = await responses(clients, 'usage', streamed=streamed)
    assert response.usage.details == {
        'input_tokens': 2390,
        'output_tokens': 121,
        'cache_creation_input_tokens': 0,
        'cache_read_input_tokens': 5,
        'thinking_tokens': 28,
        'message_iterations': 2,
        'advisor_iterations': 1,
        'advisor_input_tokens': 2518,
        'advisor_output_tokens': 22,
    }


@pytest.mark.anyio
@both
async def test_paused_turns(clients: Clients, streamed: bool) -> None:
    """Two pauses, their results and a tool call are one response of the client; then comes the next reply."""
    first, last = await responses(clients, 'pauses', streamed=streamed)
    results = [{'type': 'advisor_result', 'text': f'Say {n}.', 'stop_reason': 'end_turn'} for n in (4, 5)]
    assert list(map(told, first.parts)) == [
        ('text', 'Wait.'),
        ('consult', {}),
        ('advice', results[0]),
        ('text', 'Again.'),
        ('consult', {}),
        ('advice', results[1]),
        ('look', {'q': 'a b'}),
    ]
    assert list(map(told, last.parts)) == [('text', 'It is 5.')]
    assert clients.attempts == 4


@pytest.mark.anyio
@both
async def test_a_client_tool_beside_a_pending_consultation(clients: Clients, streamed: bool) -> None:
    """Call and advice come in different responses when the client has a tool to run in between."""
    first, second = await responses(clients, 'split', streamed=streamed)
    assert list(map(told, first.parts)) == [('consult', {}), ('look', {'q': 'a b'})]
    advice = {'type': 'advisor_result', 'text': 'Say 4.', 'stop_reason': 'end_turn'}
    assert list(map(told, second.parts)) == [('advice', advice), ('text', 'It is 4.')]
    assert first.parts[0].tool_call_id == second.parts[0].tool_call_id  # type: ignore[union-attr]  # told apart above


@pytest.mark.anyio
@both
async def test_stop_reason_and_served_model(clients: Clients, streamed: bool) -> None:
    """The script may name the stop reason and the model that served."""
    [response] = await responses(clients, 'cut short', streamed=streamed)
    assert (response.finish_reason, response.model_name) == ('length', 'claude-served')


@pytest.mark.anyio
@both
async def test_an_empty_answer_and_what_follows(clients: Clients, streamed: bool) -> None:
    """After an empty answer the client complains, and gets the next reply."""
    found = await responses(clients, 'empty', streamed=streamed)
    assert [list(map(told, response.parts)) for response in found] == [[], [('text', 'Something.')]]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ('change', 'problem'),
    [
        (
            {'headers': {}},
            "tools.0: 'advisor_20260301' needs the header anthropic-beta: advisor-tool-2026-03-01",
        ),
        ({'max_tokens': 512}, 'tools.0.max_tokens: Input should be greater than or equal to 1024'),
        (
            {'history': [{'type': 'advisor_tool_result', 'tool_use_id': 's', 'content': {}}]},
            'messages: advisor_tool_result without its server_tool_use: s',
        ),
        (
            {'history': [{'type': 'server_tool_use', 'id': 's', 'name': 'advisor', 'input': {}}], 'tools': []},
            'tools: the advisor tool must stay in the request while a call of it is pending',
        ),
    ],
)
async def test_the_rules_of_the_advisor_tool(clients: Clients, change: dict[str, Any], problem: str) -> None:
    """Requests that the provider refuses are refused with its error, and are no fault of the script."""
    tool = {'type': 'advisor_20260301', 'name': 'advisor', 'model': 'claude-opus-4-8'}
    tool |= {'max_tokens': change.get('max_tokens', 1024)}
    messages = [{'role': 'user', 'content': '[text]'}]
    if 'history' in change:
        messages.append({'role': 'assistant', 'content': change['history']})
    body = {'model': 'm', 'max_tokens': 10, 'messages': messages, 'tools': change.get('tools', [tool])}
    headers = change.get('headers', {'anthropic-beta': 'advisor-tool-2026-03-01'})
    response = await clients.http.post('https://api.anthropic.com/v1/messages', json=body, headers=headers)
    assert (response.status_code, response.json()) == (
        400,
        {
            'type': 'error',
            'error': {'type': 'invalid_request_error', 'message': problem},
            'request_id': 'req_emulator',
        },
    )


@pytest.mark.anyio
@pytest.mark.parametrize(
    ('reply', 'advisor', 'problem'),
    [
        (
            {'text': 'x', 'advice': ADVICE},
            None,
            "the script asks the advisor, and the request does not offer 'advisor_20260301'",
        ),
        (PAUSE, None, "the script asks the advisor, and the request does not offer 'advisor_20260301'"),
        (
            {'text': 'x', 'advice': [ADVICE, ADVICE]},
            {'model': 'claude-opus-4-8', 'max_uses': 1},
            'the script advises 2 times, and the request allows 1 (`max_uses`)',
        ),
        (
            {'text': 'x', 'advice': {'text': 'a', 'truncated': True}},
            {'model': 'claude-opus-4-8'},
            'the advice is truncated, and the request sets no `max_tokens` for the advisor',
        ),
        (
            {'tool_calls': [{'name': 'look', 'args': 'no object'}]},
            None,
            "the arguments of 'look' are a string, and Anthropic sends objects only",
        ),
    ],
)
async def test_replies_that_the_api_cannot_express(reply: Any, advisor: Any, problem: str) -> None:
    """A script that the provider could not follow is an error of the script, told to client and author."""
    tools = [NativeTool(AdvisorTool(**advisor))] if advisor else []
    told_author, told_client = await refused('anthropic', reply, capabilities=tools)
    assert told_author == f'requests without a reply in the scripts: 1\n{problem}'
    assert (told_client.status_code, told_client.body) == (
        418,
        {
            'type': 'error',
            'error': {'type': 'invalid_request_error', 'message': f'emulator: {problem}'},
            'request_id': 'req_emulator',
        },
    )


@pytest.mark.anyio
async def test_a_stream_pings_while_the_advisor_thinks(clients: Clients) -> None:
    """The result of the advisor comes in one event, after a ping and without deltas."""
    tool = {'type': 'advisor_20260301', 'name': 'advisor', 'model': 'claude-opus-4-8'}
    body = {'model': 'm', 'messages': [{'role': 'user', 'content': '[advice]'}], 'tools': [tool], 'stream': True}
    headers = {'anthropic-beta': 'advisor-tool-2026-03-01'}
    response = await clients.http.post('https://api.anthropic.com/v1/messages', json=body, headers=headers)
    assert re.findall(r'^event: (\w+)$', response.text, flags=re.MULTILINE) == [
        'message_start',
        *('content_block_start', 'ping', 'content_block_delta', 'content_block_stop'),
        *('content_block_start', 'content_block_delta', 'content_block_stop'),
        *('ping', 'content_block_start', 'content_block_stop'),
        *('content_block_start', 'content_block_delta', 'content_block_stop'),
        *('message_delta', 'message_stop'),
    ]
