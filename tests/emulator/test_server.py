"""Serving: readiness, determinism, loud failures, and a clean end."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AsyncExitStack
from typing import Any

import httpx2
import pytest

from . import EmulatorError, ScriptError, load_script, serve, serving
from .clients import emulating, script

PATHS = ['/v1/messages', '/v1/chat/completions', '/v1/responses', '/api/v1/chat/completions']


def request(path: str, text: str, *, stream: bool = False) -> dict[str, Any]:
    messages = [{'role': 'user', 'content': text}]
    key = 'input' if path == '/v1/responses' else 'messages'
    return {'model': 'm', key: messages, 'stream': stream, 'stream_options': {'include_usage': True}}


async def answers(origin: str, texts: list[str]) -> list[tuple[bytes, list[tuple[str, str]]]]:
    """Bodies and headers of all endpoints, plain and streamed, asked for all texts at the same time."""
    asked = [(path, text, stream) for text in texts for path in PATHS for stream in (False, True)]
    async with httpx2.AsyncClient() as client:
        sent = [client.post(origin + path, json=request(path, text, stream=stream)) for path, text, stream in asked]
        return [(response.content, response.headers.multi_items()) for response in await asyncio.gather(*sent)]


@pytest.mark.anyio
async def test_two_servers_answer_alike_whatever_the_order() -> None:
    """Bodies and headers are equal, byte for byte, from run to run and under concurrency."""
    source = script({'text': 'It is Paris.', 'tool_calls': [{'name': 'look'}]})
    texts = [f'case {number}' for number in range(4)]
    async with serve(source) as origin:
        first = await answers(origin, texts)
    async with serve(source) as origin:
        second = await answers(origin, texts[::-1])
    per_text = len(PATHS) * 2
    batches = [second[start : start + per_text] for start in range(0, len(second), per_text)]
    assert first == [answer for batch in batches[::-1] for answer in batch]
    assert len({body for body, _ in first}) == len(first)  # each prompt and endpoint has ids of its own


def test_serving_works_without_an_event_loop() -> None:
    """The synchronous form serves to a synchronous client."""
    with serving(script({'text': 'Hi.'})) as origin:
        response = httpx2.post(f'{origin}/v1/chat/completions', json=request(PATHS[1], 'hi'))
    assert response.json()['choices'][0]['message']['content'] == 'Hi.'


@pytest.mark.anyio
async def test_several_scripts_share_a_server() -> None:
    """A conversation is looked for in all scripts."""
    named = [{**script({'text': name}, when={'user': name}), 'name': name} for name in ('one', 'two')]
    async with serve(*named) as origin, httpx2.AsyncClient() as client:
        responses = [await client.post(origin + PATHS[1], json=request(PATHS[1], text)) for text in ('two', 'one')]
    assert [r.json()['choices'][0]['message']['content'] for r in responses] == ['two', 'one']


@pytest.mark.anyio
async def test_requests_without_a_reply_fail_at_the_end() -> None:
    """The client sees an error at once, and the block does not end as if all were well."""

    async def asking() -> None:
        source = script({'text': 'x'}, when={'model': 'other'})
        async with serve(source) as origin, httpx2.AsyncClient() as client:
            responses.append(await client.post(origin + PATHS[1], json=request(PATHS[1], 'hi')))
            responses.append(await client.get(f'{origin}/v1/models'))

    responses: list[httpx2.Response] = []
    with pytest.raises(EmulatorError) as caught:
        await asking()
    unanswered, unknown = responses
    asked = "the openai-chat request to 'm' (tools: none; newest user text: 'hi')"
    problems = [
        f'no conversation answers {asked}; there are: only',
        f'GET /v1/models is not emulated; there are: {", ".join(PATHS)}',
    ]
    assert str(caught.value) == '\n'.join(['requests without a reply in the scripts: 2', *problems])
    assert (unanswered.status_code, unanswered.headers['x-should-retry']) == (418, 'false')
    assert unanswered.json()['error']['message'] == f'emulator: {problems[0]}'
    assert (unknown.status_code, unknown.json()) == (418, {'error': {'message': f'emulator: {problems[1]}'}})


@pytest.mark.anyio
async def test_an_error_of_the_block_is_not_replaced() -> None:
    """What went wrong in the block is told, not what the emulator has to say as well."""

    async def failing() -> None:
        async with serve(script({'text': 'x'})) as origin, httpx2.AsyncClient() as client:
            await client.get(f'{origin}/v1/models')
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await failing()


@pytest.mark.anyio
async def test_a_body_that_is_no_json_is_refused() -> None:
    """A request that is not JSON gets the provider's error 400."""
    async with serve(script({'text': 'x'})) as origin, httpx2.AsyncClient() as client:
        response = await client.post(f'{origin}/v1/messages', content=b'{')
    problem = 'The request body is not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2'
    assert response.status_code == 400
    assert response.json()['error'] == {'type': 'invalid_request_error', 'message': f'{problem} (char 1)'}


@pytest.mark.anyio
async def test_a_failure_of_the_emulator_is_told() -> None:
    """Error 500 of the emulator itself cannot pass for one of the provider."""
    headers = {'x-stainless-retry-count': 'many'}
    with pytest.raises(EmulatorError) as caught:
        async with emulating(script({'text': 'x'})) as clients:
            await clients.http.post('https://api.anthropic.com/v1/messages', json=request('', 'hi'), headers=headers)
    failed = """the emulator failed: ValueError("invalid literal for int() with base 10: 'many'")"""
    assert str(caught.value) == f'requests without a reply in the scripts: 1\n{failed}'


@pytest.mark.anyio
async def test_a_broken_stream_needs_a_stream() -> None:
    """`error_after` says how a stream breaks, so a request that is not streamed has no reply."""
    reply = {'text': 'x', 'fault': {'error_after': 1, 'error': 500}}
    with pytest.raises(EmulatorError) as caught:
        async with emulating(script(reply)) as clients:
            await clients.http.post('https://api.openai.com/v1/chat/completions', json=request('', 'hi'))
    problem = 'the script breaks a stream (`error_after`), and the request is not streamed'
    assert str(caught.value) == f'requests without a reply in the scripts: 1\n{problem}'


@pytest.mark.anyio
async def test_stopping_does_not_wait_for_slow_answers() -> None:
    """A server that is stopped sends the rest of what it was sending at once, and leaves no thread behind."""
    before = set(threading.enumerate())
    source = script({'text': 'one two three four five six', 'fault': {'drip_s': 5}})
    async with httpx2.AsyncClient(timeout=60) as client, AsyncExitStack() as stack:
        async with serve(source) as origin:
            sent = client.stream('POST', origin + PATHS[1], json=request(PATHS[1], 'hi', stream=True))
            lines = (await stack.enter_async_context(sent)).aiter_lines()
            first = await anext(lines)
        rest = [line async for line in lines]
    assert first.startswith('data: {"id":"chatcmpl-')
    assert rest[-2:] == ['data: [DONE]', '']
    assert [thread.name for thread in set(threading.enumerate()) - before if thread.name == 'emulator'] == []


def test_a_script_is_checked_before_anything_is_served() -> None:
    """A script that breaks a rule never gets a port."""
    with pytest.raises(ScriptError), serving({'name': 's', 'conversations': []}):
        raise AssertionError('served')
    assert load_script(script({'text': 'x'})).name == 'test'
