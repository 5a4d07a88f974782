"""What real provider SDKs do with a cassette: recording, replay, misses, retries."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelAPIError, ModelConnectionError, ModelHTTPError, ModelTimeoutError
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.test import TestModel

from advisor_harness.cassettes import Cassette, CassetteModels, UnmatchedRequest, cassette_client, use_cassette

from .support import (
    ScriptedServer,
    ServerRequest,
    anthropic_events,
    anthropic_message,
    entry,
    head,
    json_reply,
    openai_chat,
    openai_chunks,
    read_yaml,
    sse,
    write_cassette,
)

pytestmark = pytest.mark.anyio

ORIGINS = (
    'https://api.openai.com',
    'https://api.anthropic.com',
    'https://openrouter.ai',
    'https://generativelanguage.googleapis.com',
    'https://api.mistral.ai',
    'https://api.groq.com',
)
MODELS = {
    'openai': 'openai-chat:gpt-test',
    'responses': 'openai-responses:gpt-test',
    'anthropic': 'anthropic:claude-test',
    'openrouter': 'openrouter:openai/gpt-test',
    'google': 'google:gemini-test',
    'mistral': 'mistral:mistral-test',
    'groq': 'groq:groq-test',
}
TEXT = 'It’s “four” — naïve… ½'


def google_answer(text: str) -> dict[str, Any]:
    content = {'parts': [{'text': text}], 'role': 'model'}
    usage = {'promptTokenCount': 3, 'candidatesTokenCount': 2, 'totalTokenCount': 5}
    return {
        'candidates': [{'content': content, 'finishReason': 'STOP', 'index': 0}],
        'usageMetadata': usage,
        'modelVersion': 'gemini-test',
        'responseId': 'r1',
    }


def responses_answer(text: str) -> dict[str, Any]:
    content = [{'type': 'output_text', 'text': text, 'annotations': []}]
    return {
        'id': 'resp_1',
        'object': 'response',
        'created_at': 1,
        'status': 'completed',
        'model': 'gpt-test',
        'output': [{'type': 'message', 'id': 'msg_1', 'role': 'assistant', 'status': 'completed', 'content': content}],
        'parallel_tool_calls': True,
        'tool_choice': 'auto',
        'tools': [],
        'usage': {
            'input_tokens': 3,
            'output_tokens': 2,
            'total_tokens': 5,
            'input_tokens_details': {'cached_tokens': 0, 'cache_write_tokens': 0},
            'output_tokens_details': {'reasoning_tokens': 0},
        },
    }


def responses_events(*texts: str) -> bytes:
    message = {'type': 'message', 'id': 'msg_1', 'role': 'assistant', 'status': 'in_progress', 'content': []}
    place = {'item_id': 'msg_1', 'output_index': 0, 'content_index': 0}
    started = {**responses_answer(''), 'status': 'in_progress', 'output': [], 'usage': None}
    events = [
        {'type': 'response.created', 'response': started},
        {'type': 'response.output_item.added', 'output_index': 0, 'item': message},
        *({'type': 'response.output_text.delta', **place, 'delta': text, 'logprobs': []} for text in texts),
        {'type': 'response.completed', 'response': responses_answer(''.join(texts))},
    ]
    numbered = [{**event, 'sequence_number': number} for number, event in enumerate(events)]
    return ''.join(f'event: {event["type"]}\ndata: {json.dumps(event)}\n\n' for event in numbered).encode()


async def provider(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
    """Answers like whichever provider the request is for; streams arrive in two writes."""
    body, target = request.json, request.target
    if 'streamGenerateContent' in target:
        stream = sse(json.dumps(google_answer(TEXT[:5])), json.dumps(google_answer(TEXT[5:])))
    elif target.startswith('/v1/messages'):
        stream = anthropic_events(TEXT[:5], TEXT[5:])
    elif target.startswith('/v1/responses'):
        stream = responses_events(TEXT[:5], TEXT[5:])
    else:
        stream = sse(*openai_chunks(TEXT[:5], TEXT[5:]))
    if body.get('stream') or 'streamGenerateContent' in target:
        writer.write(head(content_type='text/event-stream') + stream[:200])
        await writer.drain()
        writer.write(stream[200:])
    elif 'generateContent' in target:
        writer.write(json_reply(google_answer(TEXT)))
    elif target.startswith('/v1/messages'):
        writer.write(json_reply(anthropic_message(TEXT)))
    elif target.startswith('/v1/responses'):
        writer.write(json_reply(responses_answer(TEXT)))
    else:
        writer.write(json_reply(openai_chat(TEXT)))


def agent_of(model: str) -> Agent[None, str]:
    return Agent(MODELS[model], capabilities=[CassetteModels()], model_settings={'max_tokens': 100})


async def both_ways(agent: Agent[None, str]) -> list[Any]:
    """A whole and a streamed run: texts, deltas, usage."""
    whole = await agent.run('What is 2+2?')
    async with agent.run_stream('And 3+3?') as stream:
        deltas = [delta async for delta in stream.stream_text(delta=True, debounce_by=None)]
    return [whole.output, whole.usage.output_tokens, deltas, stream.usage.output_tokens]


@pytest.mark.parametrize('model', MODELS)
async def test_what_was_recorded_is_replayed(tmp_path: Path, model: str) -> None:
    """C1: a run and a streamed run give the same when recorded and when replayed; nothing is patched."""
    path, agent = tmp_path / 'x.yaml', agent_of(model)
    before = httpx2.AsyncHTTPTransport.handle_async_request

    async with ScriptedServer.run(provider) as server:
        with use_cassette(path, mode='record', upstream=dict.fromkeys(ORIGINS, server.origin)):
            recorded = await both_ways(agent)
            assert httpx2.AsyncHTTPTransport.handle_async_request is before
    with use_cassette(path) as cassette:
        replayed = await both_ways(agent)
        assert httpx2.AsyncHTTPTransport.handle_async_request is before
        cassette.check()

    assert replayed == recorded
    assert (recorded[0], ''.join(recorded[2]), len(recorded[2])) == (TEXT, TEXT, 2)
    assert (len(server.requests), cassette.played) == (2, 2)
    assert 'truncated' not in path.read_text()


@pytest.mark.parametrize('model', [name for name in MODELS if name != 'groq'])
async def test_a_miss_reaches_the_caller_after_one_send(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """C11: the SDKs neither wrap nor retry nor wait for a miss, and a `FallbackModel` does not hide it."""
    slept = spy_on_sleep(monkeypatch)
    path = write_cassette(tmp_path / 'x.yaml', entry({'model': 'other'}, {}))

    with use_cassette(path) as cassette:
        fallback = FallbackModel(CassetteModels.model(MODELS[model]), TestModel())
        for run in (agent_of(model).run, Agent(fallback).run):
            with pytest.raises(UnmatchedRequest) as caught:
                await run('What is 2+2?')
            assert (cassette.misses[-1], slept) == (caught.value, [])
            assert 'nearest    interaction 1' in str(caught.value)
        assert len(cassette.misses) == 2


@pytest.mark.parametrize('model', [name for name in MODELS if name != 'groq'])
async def test_a_miss_in_a_stream_reaches_the_caller(tmp_path: Path, model: str) -> None:
    """C11: a streamed request that misses fails as a whole one does."""
    with use_cassette(write_cassette(tmp_path / 'x.yaml')) as cassette:
        with pytest.raises(UnmatchedRequest):
            async with agent_of(model).run_stream('What is 2+2?'):
                raise AssertionError('the stream was opened')
        assert len(cassette.misses) == 1


async def test_groq_hides_a_miss_but_the_list_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C11: groq's SDK turns every exception into a connection error, so only `misses` proves it."""
    slept = spy_on_sleep(monkeypatch)

    with use_cassette(write_cassette(tmp_path / 'x.yaml')) as cassette:
        with pytest.raises(ModelConnectionError):
            await agent_of('groq').run('What is 2+2?')
        with pytest.raises(UnmatchedRequest):
            cassette.check()

    assert (len(cassette.misses), len(slept)) == (3, 2)


def spy_on_sleep(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that SDKs ask to sleep; nobody really does."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(anyio, 'sleep', sleep)
    return slept


Failure = tuple[int, dict[str, str]]
FAILURES: dict[str, list[Failure]] = {
    'retry-after 1': [(429, {'retry-after': '1'})],
    'retry-after-ms 1500': [(429, {'retry-after-ms': '1500'})],
    'retry-after 300': [(429, {'retry-after': '300'})],
    '500, 500': [(500, {}), (500, {})],
    'retry-after 0': [(429, {'retry-after': '0'})],
    '408, 409': [(408, {}), (409, {})],
    '529': [(529, {'x-should-retry': 'true'})],
    'never': [(500, {'x-should-retry': 'false'})],
    'three times': [(503, {})] * 3,
}


def answers(model: str, failures: list[Failure]) -> list[bytes]:
    error = {'type': 'error', 'error': {'type': 'some_error', 'message': 'no'}}
    success = openai_chat('four') if model == 'openai' else anthropic_message('four')
    failed = [
        json_reply(error, f'{status} X', **{k.replace('-', '_'): v for k, v in headers.items()})
        for status, headers in failures
    ]
    return [*failed, json_reply(success)]


async def outcome_of(agent: Agent[None, str]) -> Any:
    try:
        return (await agent.run('What is 2+2?')).output
    except ModelAPIError as error:
        return type(error), getattr(error, 'status_code', None), getattr(error, 'body', None)


@pytest.mark.parametrize('failures', FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize('model', ['openai', 'anthropic'])
async def test_retries_are_replayed_as_they_were_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, failures: list[Failure]
) -> None:
    """C17: a replay sends as often as the recording did, ends the same way, and does not wait."""
    slept, path, agent = spy_on_sleep(monkeypatch), tmp_path / 'x.yaml', agent_of(model)
    remaining = answers(model, failures)

    async def handler(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(remaining.pop(0))

    async with ScriptedServer.run(handler) as server:
        with use_cassette(path, mode='record', upstream=dict.fromkeys(ORIGINS, server.origin)):
            recorded = await outcome_of(agent)
    slept.clear()
    with use_cassette(path) as cassette:
        replayed = await outcome_of(agent)
        cassette.check()

    assert replayed == recorded
    assert cassette.played == len(server.requests)
    assert sum(slept) < 0.05


@pytest.mark.parametrize('model', ['openai', 'anthropic'])
async def test_a_refused_retry_stays_visible(tmp_path: Path, model: str) -> None:
    """C18: after a forbidden retry that a higher layer made all the same, the replay fails first and then succeeds."""
    first, second = (json.loads(answer.split(b'\r\n\r\n')[1]) for answer in answers(model, [(429, {})]))
    sent: list[dict[str, Any]] = []

    async def handler(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
        sent.append(request.json)
        writer.write(json_reply(second))

    async with ScriptedServer.run(handler) as server:
        with use_cassette(tmp_path / 'r.yaml', mode='record', upstream=dict.fromkeys(ORIGINS, server.origin)):
            await agent_of(model).run('What is 2+2?')
    url = read_yaml(tmp_path / 'r.yaml')['interactions'][0]['request']['uri']
    headers = {'content-type': ['application/json'], 'x-should-retry': ['false'], 'retry-after': ['5']}
    path = write_cassette(
        tmp_path / 'x.yaml',
        entry(sent[0], first, url=url, status=429, headers=headers),
        entry(sent[0], second, url=url),
    )

    with use_cassette(path) as cassette:
        with pytest.raises(ModelHTTPError):
            await agent_of(model).run('What is 2+2?')
        assert (await agent_of(model).run('What is 2+2?')).output == 'four'
        cassette.check()


NETWORK: dict[str, tuple[Callable[[], Exception], type[Exception]]] = {
    'timeout': (lambda: httpx2.ReadTimeout('slow'), ModelTimeoutError),
    'refused': (lambda: httpx2.ConnectError('refused'), ModelConnectionError),
}


@pytest.mark.parametrize('kind', NETWORK)
@pytest.mark.parametrize('model', ['openai', 'anthropic'])
async def test_network_errors_are_replayed_to_the_sdk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, kind: str
) -> None:
    """C20: a failed exchange is one send of its own; the SDK retries it, or gives up, as it did, without waiting."""
    slept = spy_on_sleep(monkeypatch)
    make, raised = NETWORK[kind]
    network_of(monkeypatch, make(), json.loads(answers(model, [])[0].split(b'\r\n\r\n')[1]), make(), make(), make())
    path, agent = tmp_path / 'x.yaml', agent_of(model)

    async def twice() -> None:
        assert (await agent.run('What is 2+2?')).output == 'four'
        with pytest.raises(raised):
            await agent.run('And again?')

    with use_cassette(path, mode='record', upstream=dict.fromkeys(ORIGINS, 'http://127.0.0.1:9')):
        await twice()
    assert sum(slept) > 0.5
    slept.clear()
    with use_cassette(path) as cassette:
        await twice()
        cassette.check()

    assert (cassette.played, len(slept)) == (5, 3)
    assert sum(slept) < 0.05


@pytest.mark.parametrize('model', ['openai', 'anthropic'])
async def test_an_error_that_a_higher_layer_answered_stays_visible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """C18: without retries of the SDK, the caller that asked again sees the error again, of the same class."""
    success = json.loads(answers(model, [])[0].split(b'\r\n\r\n')[1])
    network_of(monkeypatch, httpx2.ConnectError('refused'), success)
    path, agent = tmp_path / 'x.yaml', agent_of(model)

    async def twice() -> None:
        with pytest.raises(ModelConnectionError):
            await agent.run('What is 2+2?', model_settings={'max_retries': 0})
        assert (await agent.run('What is 2+2?')).output == 'four'

    with use_cassette(path, mode='record', upstream=dict.fromkeys(ORIGINS, 'http://127.0.0.1:9')):
        await twice()
    with use_cassette(path) as cassette:
        await twice()
        cassette.check()


@pytest.mark.parametrize('model', ['openai', 'anthropic'])
async def test_a_limit_that_the_sdk_did_not_wait_for_stays_visible(tmp_path: Path, model: str) -> None:
    """C18: the number of attempts in the recording tells a retry of the SDK from a new request of a higher layer."""
    failed, success = answers(model, [(429, {})])
    remaining, path, agent = [failed, success], tmp_path / 'x.yaml', agent_of(model)

    async def handler(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(remaining.pop(0))

    async def twice(**settings: Any) -> None:
        with pytest.raises(ModelHTTPError):
            await agent.run('What is 2+2?', model_settings=settings or None)
        assert (await agent.run('What is 2+2?')).output == 'four'

    async with ScriptedServer.run(handler) as server:
        with use_cassette(path, mode='record', upstream=dict.fromkeys(ORIGINS, server.origin)):
            await twice(max_retries=0)
    with use_cassette(path) as cassette:
        await twice()
        cassette.check()


def network_of(monkeypatch: pytest.MonkeyPatch, *outcomes: Any) -> None:
    """Let the shared client's network give these outcomes in order."""
    remaining = list(outcomes)

    def handler(request: httpx2.Request) -> httpx2.Response:
        outcome = remaining.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return httpx2.Response(200, json=outcome)

    transport: Any = cassette_client()._transport
    monkeypatch.setattr(transport, '_make_inner', lambda: httpx2.MockTransport(handler))


@pytest.mark.parametrize('model', ['openai', 'anthropic'])
async def test_a_truncated_stream_is_no_success(tmp_path: Path, model: str) -> None:
    """C22: a recording that was cut is not replayed as a short answer: reading on raises and is listed."""
    path, agent, left = tmp_path / 'x.yaml', agent_of(model), asyncio.Event()

    async def stalling(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
        whole = sse(*openai_chunks('4', '2')) if model == 'openai' else anthropic_events('4', '2')
        writer.write(head(content_type='text/event-stream') + whole[: whole.index(b'"2"') + 10])
        await writer.drain()
        await left.wait()

    async with ScriptedServer.run(stalling) as server:
        with use_cassette(path, mode='record', upstream=dict.fromkeys(ORIGINS, server.origin)):
            async with agent.run_stream('What is 2+2?') as stream:
                deltas = stream.stream_text(delta=True, debounce_by=None)
                assert await anext(deltas) == '4'
                await stream.cancel()
        left.set()
    assert read_yaml(path)['interactions'][0]['response']['truncated'] is True

    with use_cassette(path) as cassette, pytest.raises(UnmatchedRequest) as caught:
        async with agent.run_stream('What is 2+2?') as stream:
            await stream.get_output()

    assert [miss.reason for miss in cassette.misses] == ['truncated']
    assert caught.value is cassette.misses[0]


async def test_recording_through_a_retrying_transport(tmp_path: Path) -> None:
    """C19: inside a retrying transport a cassette records and replays every attempt, outside the last one only."""
    from pydantic_ai.retries import AsyncHTTPX2TenacityTransport, RetryConfig, wait_retry_after
    from tenacity import retry_if_exception_type, stop_after_attempt

    from advisor_harness.cassettes import CassetteTransport

    config = RetryConfig(
        retry=retry_if_exception_type(httpx2.HTTPStatusError),
        wait=wait_retry_after(max_wait=0.05),
        stop=stop_after_attempt(3),
        reraise=True,
    )

    def retrying(inner: httpx2.AsyncBaseTransport) -> httpx2.AsyncBaseTransport:
        return AsyncHTTPX2TenacityTransport(
            config=config, wrapped=inner, validate_response=lambda response: response.raise_for_status()
        )

    def network() -> httpx2.AsyncBaseTransport:
        replies = [httpx2.Response(429, headers={'retry-after': '1'}), httpx2.Response(200, json=[1])]
        return httpx2.MockTransport(lambda request: replies.pop(0))

    async def ask(transport: httpx2.AsyncBaseTransport) -> Any:
        async with httpx2.AsyncClient(transport=transport) as client:
            return (await client.post('https://api.example.com/', json={})).json()

    outside = Cassette.open(tmp_path / 'outside.yaml', mode='record')
    inside = Cassette.open(tmp_path / 'inside.yaml', mode='record')
    assert await ask(CassetteTransport(lambda: retrying(network()), cassette=outside)) == [1]
    assert await ask(retrying(CassetteTransport(network, cassette=inside))) == [1]
    inside.save()
    replay = Cassette.open(tmp_path / 'inside.yaml')
    assert await ask(retrying(CassetteTransport(cassette=replay))) == [1]

    assert [i.response.status for i in outside.interactions] == [200]
    assert [i.response.status for i in inside.interactions] == [429, 200]
    replay.check()


@pytest.mark.parametrize('model', ['openai', 'anthropic'])
async def test_fifty_agents_share_a_client(tmp_path: Path, model: str) -> None:
    """Concurrent runs with the same prompt each get the answer of their own file."""
    url = read_url(tmp_path, model)
    success = openai_chat if model == 'openai' else anthropic_message
    sent = await recorded_request(tmp_path, model)
    for n in range(50):
        write_cassette(tmp_path / f'{n}.yaml', entry(sent, success(f'answer {n}'), url=url))
    results: dict[int, str] = {}

    async def case(n: int) -> None:
        with use_cassette(tmp_path / f'{n}.yaml') as cassette:
            results[n] = (await agent_of(model).run('What is 2+2?')).output
            cassette.check()

    async with anyio.create_task_group() as group:
        for n in range(50):
            group.start_soon(case, n)

    assert results == {n: f'answer {n}' for n in range(50)}


def read_url(tmp_path: Path, model: str) -> str:
    return (
        'https://api.openai.com/v1/chat/completions' if model == 'openai' else 'https://api.anthropic.com/v1/messages'
    )


async def recorded_request(tmp_path: Path, model: str) -> Any:
    async with ScriptedServer.run(provider) as server:
        with use_cassette(tmp_path / 'r.yaml', mode='record', upstream=dict.fromkeys(ORIGINS, server.origin)):
            await agent_of(model).run('What is 2+2?')
    return server.requests[0].json


async def spans_of(agent: Agent[None, str]) -> list[tuple[str, dict[str, Any]]]:
    """Names and attributes of a run's spans, without what is new in every run."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    agent.instrument = InstrumentationSettings(tracer_provider=provider, include_content=False)
    await agent.run('What is 2+2?')
    new = ('gen_ai.conversation.id', 'gen_ai.agent.call.id')
    return [
        (span.name, {k: v for k, v in (span.attributes or {}).items() if k not in new})
        for span in exporter.get_finished_spans()
    ]


@pytest.mark.parametrize('model', ['openai', 'anthropic'])
async def test_a_replay_leaves_the_same_spans(tmp_path: Path, model: str) -> None:
    """C28: a replayed run is traced as the recorded one was: names, models, usage."""
    path = tmp_path / 'x.yaml'
    async with ScriptedServer.run(provider) as server:
        with use_cassette(path, mode='record', upstream=dict.fromkeys(ORIGINS, server.origin)):
            recorded = await spans_of(agent_of(model))
    with use_cassette(path):
        replayed = await spans_of(agent_of(model))

    assert recorded[0][0].startswith('chat ')
    assert replayed == recorded


@pytest.mark.parametrize('model', ['openai', 'anthropic'])
async def test_an_instrumented_client_leaves_a_span_for_every_request(tmp_path: Path, model: str) -> None:
    """C28: spans of HTTP come from the client, so a replay has as many as the recording."""
    instrumentation = pytest.importorskip('opentelemetry.instrumentation.httpx')
    exporter, spans = InMemorySpanExporter(), TracerProvider()
    spans.add_span_processor(SimpleSpanProcessor(exporter))
    client, path = cassette_client(), tmp_path / 'x.yaml'
    instrumentor = instrumentation.HTTPX2ClientInstrumentor
    instrumentor.instrument_client(client, tracer_provider=spans)
    try:
        async with ScriptedServer.run(provider) as server:
            with use_cassette(path, mode='record', upstream=dict.fromkeys(ORIGINS, server.origin)):
                await both_ways(agent_of(model))
        with use_cassette(path):
            await both_ways(agent_of(model))
    finally:
        instrumentor.uninstrument_client(client)

    assert [span.name for span in exporter.get_finished_spans()] == ['POST'] * 4
