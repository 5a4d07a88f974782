"""OpenAI Chat Completions and Responses as the real SDK and pydantic-ai read them, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.messages import ThinkingPart, ToolCallPart

from . import EmulatorError
from .clients import Clients, ask, both, conversation, emulating, refused, script, told
from .script import Api

LOOK = {'name': 'look', 'args': {'q': 'a b'}}

SCRIPT = {
    'name': 'openai',
    'conversations': [
        conversation(
            'text',
            {
                'text': 'It is Paris, in France.',
                'usage': {'input_tokens': 9, 'output_tokens': 7, 'thinking_tokens': 3, 'cached_tokens': 2},
            },
        ),
        conversation('tools', {'text': 'Looking.', 'tool_calls': [LOOK, LOOK]}, {'text': 'Done.'}),
        conversation('no text', {'tool_calls': [{**LOOK, 'id': 'call_own'}]}, {'text': 'Done.'}),
        conversation('not json', {'tool_calls': [{'name': 'look', 'args': '{"q": '}]}, {'text': 'Sorry.'}),
        conversation('thinking', {'thinking': 'Hm, hm, hm.', 'text': 'Yes.'}),
        conversation('cut short', {'text': 'It is', 'stop_reason': 'length', 'model': 'gpt-served'}),
        conversation('incomplete', {'text': 'It is', 'stop_reason': 'max_output_tokens'}),
        conversation('empty', {'text': ''}, {'parts': []}, {'text': 'Something.'}),
    ],
}

openai = pytest.mark.parametrize('api', ['openai-chat', 'openai-responses'])


@pytest.mark.anyio
@both
@openai
async def test_text(clients: Clients, api: Api, streamed: bool) -> None:
    """A plain answer has the text and the usage of the script, and deterministic ids."""
    [response] = await ask(clients.model(api), '[text]', streamed=streamed)
    assert list(map(told, response.parts)) == [('text', 'It is Paris, in France.')]
    usage = response.usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.details['reasoning_tokens'])
    assert counts == (9, 7, 2, 3)
    assert (response.model_name, response.finish_reason) == ('gpt-4o-mini', 'stop')
    assert (
        response.provider_response_id
        == {
            'openai-chat': 'chatcmpl-jhWTY2QQTPgf8B0IGgXskB0fxootL',
            'openai-responses': 'resp_04d2e10904d4d5bb4654619e582fbd9f259b41f6cbe7231b',
        }[api]
    )


@pytest.mark.anyio
@both
@openai
async def test_parallel_tool_calls(clients: Clients, api: Api, streamed: bool) -> None:
    """Calls of one turn have ids of their own, and the next reply comes when their results are in."""
    first, last = await ask(clients.model(api), '[tools]', streamed=streamed)
    call = ('look', {'q': 'a b'})
    assert list(map(told, first.parts)) == [('text', 'Looking.'), call, call]
    assert list(map(told, last.parts)) == [('text', 'Done.')]
    ids = [part.tool_call_id for part in first.parts if isinstance(part, ToolCallPart)]
    assert len(set(ids)) == 2
    assert first.finish_reason == {'openai-chat': 'tool_call', 'openai-responses': 'stop'}[api]


@pytest.mark.anyio
@both
@openai
async def test_calls_without_text_and_with_an_id_of_the_script(clients: Clients, api: Api, streamed: bool) -> None:
    """A script may name the id of a call, and needs no text beside it."""
    first, _ = await ask(clients.model(api), '[no text]', streamed=streamed)
    assert [(part.part_kind, getattr(part, 'tool_call_id', None)) for part in first.parts] == [
        ('tool-call', 'call_own')
    ]


@pytest.mark.anyio
@both
@openai
async def test_arguments_that_are_no_json(clients: Clients, api: Api, streamed: bool) -> None:
    """Arguments given as a string are sent as they are; the client complains and gets the next reply."""
    first, last = await ask(clients.model(api), '[not json]', streamed=streamed)
    [call] = first.parts
    assert isinstance(call, ToolCallPart)
    assert call.args == '{"q": '
    assert list(map(told, last.parts)) == [('text', 'Sorry.')]


@pytest.mark.anyio
@both
async def test_thinking(clients: Clients, streamed: bool) -> None:
    """Reasoning of the Responses API has a summary, and a signature as the client asks for it."""
    [response] = await ask(clients.model('openai-responses', 'gpt-5'), '[thinking]', streamed=streamed)
    assert list(map(told, response.parts)) == [('thinking', 'Hm, hm, hm.'), ('text', 'Yes.')]
    assert isinstance(response.parts[0], ThinkingPart)
    assert bool(response.parts[0].signature)


@pytest.mark.anyio
@both
@pytest.mark.parametrize(
    ('api', 'name', 'served'),
    [('openai-chat', 'cut short', 'gpt-served'), ('openai-responses', 'incomplete', 'gpt-4o-mini')],
)
async def test_stop_reason_and_served_model(clients: Clients, api: Api, name: str, served: str, streamed: bool) -> None:
    """The script may name the stop reason, in the API's own words, and the model that served."""
    [response] = await ask(clients.model(api), f'[{name}]', streamed=streamed)
    assert list(map(told, response.parts)) == [('text', 'It is')]
    assert (response.finish_reason, response.model_name) == ('length', served)


@pytest.mark.anyio
@both
@openai
async def test_empty_answers_and_what_follows(clients: Clients, api: Api, streamed: bool) -> None:
    """After each empty answer the client complains, and gets the next reply."""
    responses = await ask(clients.model(api), '[empty]', streamed=streamed, retries=2)
    assert ''.join(str(response.text or '') for response in responses) == 'Something.'
    assert clients.attempts == 3


@pytest.mark.anyio
@pytest.mark.parametrize(
    ('api', 'reply', 'problem'),
    [
        ('openai-chat', {'thinking': 'Hm.', 'text': 'x'}, 'openai-chat has no `thinking`'),
        ('openai-chat', {'advice': {'text': 'a'}, 'text': 'x'}, 'openai-chat has no `advice`'),
        ('openai-responses', {'parts': [{'pending_advice': True}]}, 'openai-responses has no `pending_advice`'),
    ],
)
async def test_replies_that_the_api_cannot_express(api: Api, reply: dict[str, Any], problem: str) -> None:
    """A script that the provider could not follow is an error of the script, told to client and author."""
    told_author, told_client = await refused(api, reply)
    assert told_author == f'requests without a reply in the scripts: 1\n{problem}'
    detail = {'message': f'emulator: {problem}', 'type': 'invalid_request_error', 'param': None, 'code': None}
    assert (told_client.status_code, told_client.body) == (418, detail)


@pytest.mark.anyio
async def test_what_is_reported_only_on_request(clients: Clients) -> None:
    """Usage in a chat stream and encrypted reasoning in a response are there only for a client that asks."""
    url = 'https://api.openai.com/v1'
    prompt = [{'role': 'user', 'content': '[text]'}]
    chat = await clients.http.post(f'{url}/chat/completions', json={'model': 'm', 'messages': prompt, 'stream': True})
    thinking = {'model': 'm', 'input': '[thinking]'}
    response = await clients.http.post(f'{url}/responses', json=thinking)
    assert 'usage' not in chat.text
    assert [sorted(item) for item in response.json()['output'][:1]] == [['id', 'summary', 'type']]


@pytest.mark.anyio
async def test_responses_are_not_kept() -> None:
    """The emulator has no memory, so a request that relies on one is refused."""
    problem = 'the emulator keeps no responses; send the history instead of `previous_response_id`'
    body = {'model': 'm', 'input': 'hi', 'previous_response_id': 'resp_1'}
    with pytest.raises(EmulatorError) as caught:
        async with emulating(script({'text': 'x'})) as clients:
            await clients.http.post('https://api.openai.com/v1/responses', json=body)
    assert str(caught.value) == f'requests without a reply in the scripts: 1\n{problem}'
