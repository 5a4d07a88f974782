from __future__ import annotations

import asyncio
import gzip
import json
import threading
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from advisor_harness.cassettes import CassetteError, CassetteTransport, UnmatchedRequest, use_cassette

from .support import (
    URL,
    Chunks,
    ScriptedServer,
    ServerRequest,
    answering,
    client_of,
    entry,
    head,
    json_reply,
    no_inner,
    open_cassette,
    read_yaml,
    sse,
    streamed,
    write_cassette,
)

pytestmark = pytest.mark.anyio

ASK = {'q': 1}
STREAM = {'content-type': ['text/event-stream']}


def events_entry(text: str, **response: Any) -> dict[str, Any]:
    return entry(ASK, headers=STREAM, body={'string': text}, **response)


async def test_replay_gives_status_headers_and_body(tmp_path: Path) -> None:
    """A replayed answer has the recorded status, reason, headers and decoded body, with the length it really has."""
    recorded = entry(
        ASK,
        {'a': 'é'},
        status=201,
        headers={
            'content-type': ['application/json'],
            'content-length': ['999'],
            'vary': ['a', 'b'],
            'transfer-encoding': ['chunked'],
        },
    )
    recorded['response']['status']['message'] = 'Made'
    cassette = open_cassette(write_cassette(tmp_path / 'x.yaml', recorded))

    async with client_of(cassette) as client:
        response = await client.post(URL, json=ASK)

    assert (response.status_code, response.reason_phrase, response.json()) == (201, 'Made', {'a': 'é'})
    assert response.headers.multi_items() == [
        ('content-type', 'application/json'),
        ('content-length', '11'),
        ('vary', 'a'),
        ('vary', 'b'),
    ]
    cassette.check()


async def test_outside_of_any_cassette_nothing_is_sent() -> None:
    """C2: a request without an open cassette fails loudly, without its query, and makes no network transport."""
    async with httpx2.AsyncClient(transport=CassetteTransport(no_inner)) as client:
        with pytest.raises(CassetteError) as caught:
            await client.post(f'{URL}?key=abc', json=ASK)
    assert str(caught.value) == (
        f'POST {URL} was sent outside of any cassette. Open one around it with `use_cassette(path)`, in the task that '
        'sends the request or in one that started it.'
    )


async def test_after_its_block_a_cassette_answers_nothing(tmp_path: Path) -> None:
    """A background task that outlives its cassette fails instead of being answered behind the verdict's back."""
    path = write_cassette(tmp_path / 'x.yaml', entry(ASK, [1]))
    go = asyncio.Event()
    async with httpx2.AsyncClient(transport=CassetteTransport(no_inner)) as client:

        async def late() -> None:
            await go.wait()
            await client.post(URL, json=ASK)

        with use_cassette(path):
            task = asyncio.create_task(late())
        go.set()
        with pytest.raises(CassetteError) as caught:
            await task
    assert str(caught.value) == (
        f'POST {URL} was sent after its cassette {path} was closed. Wait for background tasks before leaving '
        '`use_cassette`.'
    )


def test_synchronous_clients_are_refused(tmp_path: Path) -> None:
    """A client that cannot wait is told so, instead of failing on an attribute."""
    cassette = open_cassette(write_cassette(tmp_path / 'x.yaml', entry(ASK, [1])))

    with (
        httpx2.Client(transport=CassetteTransport(no_inner, cassette=cassette)) as client,
        pytest.raises(CassetteError) as caught,
    ):
        client.post(f'{URL}?key=abc', json=ASK)
    assert str(caught.value) == (
        f'POST {URL} was sent by a synchronous client, which cassettes do not answer. Use an `httpx2.AsyncClient`, '
        'such as `cassette_client()`; `Agent.run_sync` works with it too.'
    )


@pytest.mark.parametrize('location', ['/v2?key=hidden-key', '{origin}/v2?key=hidden-key'])
async def test_redirects_are_followed_as_recorded(tmp_path: Path, location: str) -> None:
    """A redirect leads on in the replay too, at the provider's own address, and its secrets are scrubbed."""

    async def handler(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
        if request.target == '/v1/chat':
            writer.write(head('307 Moved', location=location.format(origin=server.origin), content_length='0'))
        else:
            writer.write(json_reply(request.json))

    path = tmp_path / 'x.yaml'
    async with ScriptedServer.run(handler) as server:
        cassette = open_cassette(path, 'record', upstream={'https://api.example.com': server.origin})
        async with httpx2.AsyncClient(transport=CassetteTransport(cassette=cassette), follow_redirects=True) as client:
            live = await client.post(URL, json=ASK)
        cassette.save()
    replay = open_cassette(path)
    async with httpx2.AsyncClient(
        transport=CassetteTransport(no_inner, cassette=replay), follow_redirects=True
    ) as client:
        replayed = await client.post(URL, json=ASK)

    replay.check()
    assert live.json() == replayed.json() == ASK
    assert [request.target for request in server.requests] == ['/v1/chat', '/v2?key=hidden-key']
    assert str(live.url) == 'https://api.example.com/v2?key=hidden-key'
    first, second = read_yaml(path)['interactions']
    assert first['response']['headers']['location'][0].endswith('/v2?key=scrubbed')
    assert second['request']['uri'] == 'https://api.example.com/v2?key=scrubbed'


async def test_a_miss_never_makes_a_network_transport(tmp_path: Path) -> None:
    """C2: in `replay` there is nothing to fall through to."""
    cassette = open_cassette(write_cassette(tmp_path / 'x.yaml', entry(ASK, [1])))

    async with client_of(cassette, no_inner) as client:
        with pytest.raises(UnmatchedRequest) as caught:
            await client.post(URL, json={'q': 2})

    assert cassette.misses == [caught.value]


async def test_record_missing_plays_and_records(tmp_path: Path) -> None:
    """C2: what matches is played, the rest is fetched and appended, also when the same request comes again."""
    path = write_cassette(tmp_path / 'x.yaml', entry(ASK, ['old']))
    cassette = open_cassette(path, 'record-missing')
    network = answering(httpx2.Response(200, json=['new']), httpx2.Response(200, json=['newer']))

    async with client_of(cassette, network) as client:
        answers = [(await client.post(URL, json=body)).json() for body in (ASK, ASK, {'q': 2})]
    cassette.save()

    assert answers == [['old'], ['new'], ['newer']]
    assert [i['response']['parsed_body'] for i in read_yaml(path)['interactions']] == [['old'], ['new'], ['newer']]


async def test_record_always_calls_and_rewrites(tmp_path: Path) -> None:
    """C2: `record` ignores what the file holds."""
    path = write_cassette(tmp_path / 'x.yaml', entry(ASK, ['old']), entry({'q': 3}, ['gone']))
    cassette = open_cassette(path, 'record')

    async with client_of(cassette, answering(httpx2.Response(200, json=['new']))) as client:
        assert (await client.post(URL, json=ASK)).json() == ['new']
    cassette.save()

    assert [i['response']['parsed_body'] for i in read_yaml(path)['interactions']] == [['new']]


async def test_live_calls_and_keeps_nothing(tmp_path: Path) -> None:
    """C2: `live` passes everything through and writes no file."""
    cassette = open_cassette(tmp_path / 'x.yaml', 'live')

    async with client_of(cassette, answering(httpx2.Response(200, json=['now']))) as client:
        assert (await client.post(URL, json=ASK)).json() == ['now']
    cassette.save()

    assert (cassette.interactions, (tmp_path / 'x.yaml').exists()) == ([], False)


@pytest.mark.parametrize(
    ('encoding', 'module'), [('gzip', 'gzip'), ('deflate', 'zlib'), ('br', 'brotli'), ('zstd', 'backports.zstd')]
)
async def test_compressed_answers_are_stored_readable(tmp_path: Path, encoding: str, module: str) -> None:
    """C23: the caller gets the compressed stream decoded once; the file holds JSON without the encoding."""
    path = tmp_path / 'x.yaml'
    body = pytest.importorskip(module).compress(b'{"a": 1}')
    network = httpx2.Response(
        200,
        headers={'content-encoding': encoding, 'content-type': 'application/json', 'content-length': str(len(body))},
        stream=Chunks(body[:5], body[5:]),
    )
    cassette = open_cassette(path, 'record')

    async with client_of(cassette, answering(network)) as client:
        assert (await client.post(URL, json=ASK)).json() == {'a': 1}
    cassette.save()

    response = read_yaml(path)['interactions'][0]['response']
    assert response['parsed_body'] == {'a': 1}
    assert response['headers'] == {'content-length': ['8'], 'content-type': ['application/json']}
    async with client_of(open_cassette(path)) as client:
        assert (await client.post(URL, json=ASK)).json() == {'a': 1}


async def test_answers_that_were_read_are_not_decoded_again(tmp_path: Path) -> None:
    """C23: a transport that looks into an answer has decoded it already."""
    path = tmp_path / 'x.yaml'
    network = httpx2.Response(200, headers={'content-encoding': 'gzip'}, content=gzip.compress(b'hello'))
    assert network.read() == b'hello'
    cassette = open_cassette(path, 'record')

    async with client_of(cassette, answering(network)) as client:
        assert (await client.post(URL, json=ASK)).content == b'hello'
    cassette.save()

    assert read_yaml(path)['interactions'][0]['response']['body'] == {'string': 'hello'}


async def test_unknown_encodings_are_kept_as_they_came(tmp_path: Path) -> None:
    """What cannot be decoded here is stored as bytes under its encoding."""
    path = tmp_path / 'x.yaml'
    network = httpx2.Response(200, headers={'content-encoding': 'exi'}, stream=Chunks(b'\xff\x01'))
    cassette = open_cassette(path, 'record')

    async with client_of(cassette, answering(network)) as client:
        await client.post(URL, json=ASK)
    cassette.save()

    response = read_yaml(path)['interactions'][0]['response']
    assert (response['headers'], response['body']) == ({'content-encoding': ['exi']}, {'string': b'\xff\x01'})


@pytest.mark.parametrize('end', ['\n', '\r\n'])
async def test_streams_replay_event_by_event(tmp_path: Path, end: str) -> None:
    """C21: server-sent events arrive one at a time, with their line endings."""
    text = f'data: 1{end}{end}data: 2{end}{end}'
    path = tmp_path / 'x.yaml'
    cassette = open_cassette(path, 'record')
    async with client_of(cassette, answering(streamed(text.encode()))) as client:
        await client.post(URL, json=ASK)
    cassette.save()

    async with (
        client_of(open_cassette(path)) as client,
        client.stream('POST', URL, json=ASK) as response,
    ):
        assert [chunk async for chunk in response.aiter_raw()] == [
            f'data: 1{end}{end}'.encode(),
            f'data: 2{end}{end}'.encode(),
        ]


async def test_the_first_event_passes_before_the_last_is_sent(tmp_path: Path) -> None:
    """C21: while recording, a reader gets each event when the server sends it."""
    read_first = asyncio.Event()

    async def handler(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(head(content_type='text/event-stream') + b'data: 1\n\n')
        await writer.drain()
        await read_first.wait()
        writer.write(b'data: [DONE]\n\n')

    path = tmp_path / 'x.yaml'
    async with ScriptedServer.run(handler) as server:
        cassette = open_cassette(path, 'record', upstream={'https://api.example.com': server.origin})
        async with (
            httpx2.AsyncClient(transport=CassetteTransport(cassette=cassette)) as client,
            client.stream('POST', URL, json=ASK) as response,
        ):
            chunks = response.aiter_raw()
            assert await anext(chunks) == b'data: 1\n\n'
            read_first.set()
            assert [chunk async for chunk in chunks] == [b'data: [DONE]\n\n']
        cassette.save()

    assert read_yaml(path)['interactions'][0]['response']['body'] == {'string': 'data: 1\n\ndata: [DONE]\n\n'}
    assert 'truncated' not in read_yaml(path)['interactions'][0]['response']


async def closed_after(tmp_path: Path, count: int, *chunks: bytes, **headers: str) -> dict[str, Any]:
    path = tmp_path / 'x.yaml'
    cassette = open_cassette(path, 'record')
    network = httpx2.Response(200, headers={'content-type': 'text/event-stream', **headers}, stream=Chunks(*chunks))
    async with (
        client_of(cassette, answering(network)) as client,
        client.stream('POST', URL, json=ASK) as response,
    ):
        reader = response.aiter_raw()
        for _ in range(count):
            await anext(reader)
    cassette.save()
    return read_yaml(path)['interactions'][0]['response']


@pytest.mark.parametrize(
    'last',
    [
        b'data: [DONE]\n\n',
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
        b'data: {"type":"response.completed"}\n\n',
        b'data: {"type":"response.failed"}\n\n',
        b'data: {"type":"response.incomplete"}\n\n',
    ],
)
async def test_a_stream_left_at_its_end_mark_is_whole(tmp_path: Path, last: bytes) -> None:
    """C22: SDKs stop at a stream's end mark without exhausting it; that is no truncation."""
    assert 'truncated' not in await closed_after(tmp_path, 2, b'data: 1\n\n', last, b': more')


async def test_a_stream_left_early_is_truncated(tmp_path: Path) -> None:
    """C22: a stream that was closed before its end says so in the file."""
    response = await closed_after(tmp_path, 1, b'data: 1\n\n', b'data: [DONE]\n\n')

    assert (response['truncated'], response['body']) == (True, {'string': 'data: 1\n\n'})


async def test_a_body_of_known_length_is_whole_when_it_has_come(tmp_path: Path) -> None:
    """A reader that stops after the announced number of bytes has everything."""
    assert 'truncated' not in await closed_after(tmp_path, 1, b'{}', b'', **{'content-length': '2'})


async def test_reading_past_a_truncated_end_is_a_miss(tmp_path: Path) -> None:
    """C22: stopping where the recording stopped is fine; reading on raises and is noted."""
    path = write_cassette(
        tmp_path / 'x.yaml', events_entry('data: 1\n\n', truncated=True), events_entry('data: 1\n\n', truncated=True)
    )
    cassette = open_cassette(path)

    async with client_of(cassette) as client:
        async with client.stream('POST', URL, json=ASK) as response:
            assert await anext(response.aiter_raw()) == b'data: 1\n\n'
        assert cassette.misses == []
        with pytest.raises(UnmatchedRequest) as caught:
            await client.post(URL, json=ASK)

    assert str(caught.value) == (
        f'the recorded answer ends early for POST {URL}\n'
        f'  cassette   {path}: 2 recorded, 0 not played yet\n'
        '  because    the stream was closed here when it was recorded; how it went on is not known\n'
        f"  re-record  `use_cassette('{path}', mode='record')`"
    )
    assert cassette.misses == [caught.value]


async def test_open_streams_are_saved_as_far_as_they_came(tmp_path: Path) -> None:
    """Saving while a stream is open keeps what has passed, as truncated; what comes later is not added."""
    path = tmp_path / 'x.yaml'
    cassette = open_cassette(path, 'record')

    async with (
        client_of(cassette, answering(streamed(b'data: 1\n\n', b'data: 2\n\n'))) as client,
        client.stream('POST', URL, json=ASK) as response,
    ):
        await anext(response.aiter_raw())
        cassette.save()
    cassette.save()

    response = read_yaml(path)['interactions'][0]['response']
    assert (response['truncated'], response['body']) == (True, {'string': 'data: 1\n\n'})
    assert len(cassette.interactions) == 1


@pytest.mark.parametrize(
    'error', [httpx2.ReadTimeout, httpx2.ConnectError, httpx2.RemoteProtocolError, httpx2.PoolTimeout]
)
async def test_network_errors_are_recorded_and_replayed(tmp_path: Path, error: type[httpx2.RequestError]) -> None:
    """C20: a failed exchange is kept with its class, and the answer after it is the second one."""
    path = tmp_path / 'x.yaml'
    cassette = open_cassette(path, 'record')

    async def twice(client: httpx2.AsyncClient) -> httpx2.Response:
        with pytest.raises(error) as caught:
            await client.post(URL, json=ASK)
        assert type(caught.value) is error
        return await client.post(URL, json=ASK)

    async with client_of(cassette, answering(error('live'), httpx2.Response(200, json=[1]))) as client:
        await twice(client)
    cassette.save()
    replay = open_cassette(path)
    async with client_of(replay) as client:
        assert (await twice(client)).json() == [1]

    replay.check()
    response = read_yaml(path)['interactions'][0]['response']
    assert response == {
        'body': {'string': ''},
        'headers': {},
        'network_error': error.__name__,
        'status': {'code': 0, 'message': ''},
    }


async def test_an_error_in_the_middle_replays_in_the_middle(tmp_path: Path) -> None:
    """What came before a connection broke is replayed before it breaks again."""
    path = tmp_path / 'x.yaml'
    cassette = open_cassette(path, 'record')

    async def read(client: httpx2.AsyncClient) -> list[bytes]:
        async with client.stream('POST', URL, json=ASK) as response:
            chunks = response.aiter_raw()
            seen = [await anext(chunks)]
            with pytest.raises(httpx2.ReadError):
                await anext(chunks)
        return seen

    async with client_of(cassette, answering(streamed(b'data: 1\n\n', httpx2.ReadError('gone')))) as client:
        assert await read(client) == [b'data: 1\n\n']
    cassette.save()
    async with client_of(open_cassette(path)) as client:
        assert await read(client) == [b'data: 1\n\n']

    response = read_yaml(path)['interactions'][0]['response']
    assert (response['network_error'], response['status']) == ('ReadError', {'code': 200, 'message': 'OK'})


async def test_other_errors_are_not_recorded(tmp_path: Path) -> None:
    """A programming error in a transport is no answer of a provider."""
    cassette = open_cassette(tmp_path / 'x.yaml', 'record')

    async with client_of(cassette, answering(KeyError('bug'))) as client:
        with pytest.raises(KeyError):
            await client.post(URL, json=ASK)

    assert cassette.interactions == []


class Stalling(httpx2.AsyncBaseTransport):
    """A network that never answers; `started` is set when a request has reached it."""

    def __init__(self) -> None:
        self.started = anyio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.started.set()
        await anyio.sleep_forever()
        raise AssertionError


async def test_an_abandoned_request_replays_as_waiting(tmp_path: Path) -> None:
    """A caller that was cancelled while it waited waits again in the replay until it is cancelled."""
    path = tmp_path / 'x.yaml'
    cassette = open_cassette(path, 'record')
    network = Stalling()
    async with client_of(cassette, lambda: network) as client, anyio.create_task_group() as group:
        group.start_soon(client.post, URL)
        await network.started.wait()
        group.cancel_scope.cancel()
    cassette.save()

    replay = open_cassette(path)
    async with client_of(replay) as client, anyio.create_task_group() as group:
        group.start_soon(client.post, URL)
        await anyio.wait_all_tasks_blocked()
        assert replay.played == 1
        group.cancel_scope.cancel()

    replay.check()
    assert read_yaml(path)['interactions'][0]['response'] == {
        'abandoned': True,
        'body': {'string': ''},
        'headers': {},
        'status': {'code': 0, 'message': ''},
    }


async def test_waiting_longer_than_an_abandoned_request_did_is_a_miss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller that does not go away again gets an explanation after the recorded time and some patience."""
    monkeypatch.setattr('advisor_harness.cassettes.transport._PATIENCE', 0)
    abandoned = {**entry(ASK, abandoned=True), 'recorded': {'latency_s': 0.0}}
    abandoned['response']['status']['code'] = 0
    path = write_cassette(tmp_path / 'x.yaml', abandoned)

    async with client_of(open_cassette(path)) as client:
        with pytest.raises(UnmatchedRequest) as caught:
            await client.post(URL, json=ASK)

    assert caught.value.reason == 'abandoned'
    assert 'because    the caller went away here when it was recorded; what would have come is not known' in str(
        caught.value
    )


async def test_concurrent_answers_are_saved_in_sending_order(tmp_path: Path) -> None:
    """C24: the file's order is the order of requests, however their answers overlap."""
    gates = [asyncio.Event(), asyncio.Event()]

    async def handler(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
        await gates[request.json['n']].wait()
        writer.write(json_reply({'n': request.json['n']}))

    path = tmp_path / 'x.yaml'
    async with ScriptedServer.run(handler) as server:
        cassette = open_cassette(path, 'record', upstream={'https://api.example.com': server.origin})
        async with httpx2.AsyncClient(transport=CassetteTransport(cassette=cassette)) as client:
            first = asyncio.create_task(client.post(URL, json={'n': 0}))
            await anyio.wait_all_tasks_blocked()
            second = asyncio.create_task(client.post(URL, json={'n': 1}))
            gates[1].set()
            await second
            gates[0].set()
            await first
        cassette.save()

    assert [i['response']['parsed_body'] for i in read_yaml(path)['interactions']] == [{'n': 0}, {'n': 1}]


async def test_rerouted_requests_keep_their_url_in_the_file(tmp_path: Path) -> None:
    """While recording, an origin can be answered by another one; timeouts, path and query go along."""

    async def handler(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(json_reply([request.method, request.target, request.headers['host'], request.json]))

    path = tmp_path / 'x.yaml'
    async with ScriptedServer.run(handler) as server:
        cassette = open_cassette(path, 'record', upstream={'https://api.example.com': server.origin})
        async with httpx2.AsyncClient(transport=CassetteTransport(cassette=cassette)) as client:
            response = await client.post(f'{URL}?a=1', json=ASK, timeout=5)
        cassette.save()

    assert response.json() == ['POST', '/v1/chat?a=1', server.origin.removeprefix('http://'), ASK]
    request = read_yaml(path)['interactions'][0]['request']
    assert (request['uri'], request['headers']['host']) == (f'{URL}?a=1', ['api.example.com'])


async def test_timeouts_reach_the_network(tmp_path: Path) -> None:
    """The timeout of a request is the network's to keep, also when the request is rerouted."""
    seen: list[Any] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.extensions['timeout'])
        return httpx2.Response(200)

    for upstream in ({}, {'https://api.example.com': 'http://127.0.0.1:9'}):
        cassette = open_cassette(tmp_path / 'x.yaml', 'record', upstream=upstream)
        async with client_of(cassette, lambda: httpx2.MockTransport(handler)) as client:
            await client.post(URL, json=ASK, timeout=httpx2.Timeout(7, connect=2))

    assert seen == [{'connect': 2, 'read': 7, 'write': 7, 'pool': 7}] * 2


async def test_streamed_request_bodies_are_matched(tmp_path: Path) -> None:
    """A body that is sent as a stream is read before it is compared."""

    async def body() -> Any:
        yield b'{"q":'
        yield b' 1}'

    cassette = open_cassette(write_cassette(tmp_path / 'x.yaml', entry(ASK, [1])))
    async with client_of(cassette) as client:
        response = await client.post(URL, content=body(), headers={'content-type': 'application/json'})

    assert response.json() == [1]


async def test_closing_the_client_closes_the_network(tmp_path: Path) -> None:
    """The network transport is closed with the client, and made again if it is needed once more."""
    made: list[httpx2.MockTransport] = []

    class Network(httpx2.MockTransport):
        closed = False

        async def aclose(self) -> None:
            self.closed = True

    def make() -> httpx2.AsyncBaseTransport:
        made.append(Network(lambda request: httpx2.Response(200)))
        return made[-1]

    transport = CassetteTransport(make, cassette=open_cassette(tmp_path / 'x.yaml', 'live'))
    await transport.aclose()
    for _ in range(2):
        await transport.handle_async_request(httpx2.Request('GET', URL))
        await transport.handle_async_request(httpx2.Request('GET', URL))
        await transport.aclose()

    assert [network.closed for network in made] == [True, True]  # pyright: ignore  # attributes of the class above


def test_each_event_loop_has_its_own_network(tmp_path: Path) -> None:
    """Connections belong to the loop that opened them: one network transport per loop, one transport for all."""
    made: list[int] = []

    def make() -> httpx2.AsyncBaseTransport:
        made.append(threading.get_ident())
        return httpx2.MockTransport(lambda request: httpx2.Response(200, json=[1]))

    client = httpx2.AsyncClient(transport=CassetteTransport(make, cassette=open_cassette(tmp_path / 'x.yaml', 'live')))

    async def two() -> None:
        await client.post(URL, json=ASK)
        await client.post(URL, json=ASK)

    asyncio.run(two())
    asyncio.run(two())
    thread = threading.Thread(target=asyncio.run, args=(two(),))
    thread.start()
    thread.join()

    assert len(made) == 3


def test_replay_works_across_event_loops(tmp_path: Path) -> None:
    """One client replays in successive loops."""
    cassette = open_cassette(write_cassette(tmp_path / 'x.yaml', entry(ASK, [1]), entry(ASK, [2])))
    client = client_of(cassette)

    async def ask() -> Any:
        return (await client.post(URL, json=ASK)).json()

    assert [asyncio.run(ask()), asyncio.run(ask())] == [[1], [2]]


async def test_recorded_failures_are_retried_by_the_recording(tmp_path: Path) -> None:
    """A failure with a further answer asks for an immediate retry, the last one for none."""
    failing = entry(ASK, {'e': 1}, status=429, headers={'content-type': ['application/json'], 'retry-after': ['300']})
    cassette = open_cassette(write_cassette(tmp_path / 'x.yaml', failing, failing))

    async with client_of(cassette) as client:
        first, last = await client.post(URL, json=ASK), await client.post(URL, json=ASK)

    wanted = ('retry-after', 'retry-after-ms', 'x-should-retry')
    assert [first.headers.get(name) for name in wanted] == ['0', '1', 'true']
    assert [last.headers.get(name) for name in wanted] == [None, None, 'false']


async def test_headers_outside_latin_1_replay_as_utf_8(tmp_path: Path) -> None:
    """A header value that a hand put into a file is sent in the encoding that can hold it."""
    cassette = open_cassette(write_cassette(tmp_path / 'x.yaml', entry(ASK, [1], headers={'vary': ['é', '€']})))

    async with client_of(cassette) as client:
        response = await client.post(URL, json=ASK)

    assert [value for _, value in response.headers.raw] == ['é'.encode('latin-1'), '€'.encode()]


async def test_json_bodies_are_rebuilt_from_yaml(tmp_path: Path) -> None:
    """C3: the order of members and the characters of text survive the file."""
    path = tmp_path / 'x.yaml'
    body = {'z': '“smart” — quotes…', 'a': {'y': 1, 'b': 2.0}}
    cassette = open_cassette(path, 'record')
    async with client_of(cassette, answering(httpx2.Response(200, json=body))) as client:
        await client.post(URL, json=ASK)
    cassette.save()

    async with client_of(open_cassette(path)) as client:
        replayed = (await client.post(URL, json=ASK)).text

    assert json.dumps(json.loads(replayed)) == json.dumps(body)


def test_sse_helper_shapes_events() -> None:
    """The events of these tests have the shape that providers send."""
    assert sse('1', '[DONE]') == b'data: 1\n\ndata: [DONE]\n\n'
