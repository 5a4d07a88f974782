from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from httpx2 import AsyncHTTPTransport

from advisor_harness.cassettes import (
    CassetteError,
    SecretLeak,
    UnmatchedRequest,
    cassette_client,
    use_cassette,
)
from advisor_harness.cassettes.active import active_cassette

from .support import URL, ScriptedServer, ServerRequest, entry, head, json_reply, read_yaml, write_cassette

ASK = {'q': 1}
UPSTREAM = 'https://api.example.com'


async def ask(body: Any = ASK) -> Any:
    return (await cassette_client().post(URL, json=body)).json()


async def echo(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
    """Answers with the request's body."""
    writer.write(json_reply({'echo': request.json}))


@pytest.mark.anyio
async def test_the_shared_client_follows_the_block(tmp_path: Path) -> None:
    """Inside a block the shared client is answered by its file, inside an inner block by the inner one's."""
    outer = write_cassette(tmp_path / 'a.yaml', entry(ASK, ['a']), entry(ASK, ['a2']))
    inner = write_cassette(tmp_path / 'b.yaml', entry(ASK, ['b']))

    with use_cassette(outer) as cassette:
        assert active_cassette() is cassette
        first = await ask()
        with use_cassette(str(inner)) as other:
            second = await ask()
            other.check()
        third = await ask()
        cassette.check()

    assert [first, second, third] == [['a'], ['b'], ['a2']]
    assert active_cassette() is None
    with pytest.raises(CassetteError, match='outside of any cassette'):
        await ask()


@pytest.mark.anyio
async def test_a_hundred_tasks_each_have_their_own_cassette(tmp_path: Path) -> None:
    """C13: the same request gets each task's own answer, however tasks take turns, also in tasks that they start."""
    for n in range(100):
        write_cassette(tmp_path / f'{n}.yaml', entry(ASK, [n, 1]), entry(ASK, [n, 2]))
    results: dict[int, list[Any]] = {}

    async def case(n: int) -> None:
        with use_cassette(tmp_path / f'{n}.yaml') as cassette:
            for _ in range(n % 7):
                await anyio.lowlevel.checkpoint()
            first = await ask()
            second = await asyncio.create_task(ask())
            cassette.check()
        results[n] = [first, second]

    async with anyio.create_task_group() as group:
        for n in range(100):
            group.start_soon(case, n)

    assert results == {n: [[n, 1], [n, 2]] for n in range(100)}


@pytest.mark.anyio
async def test_a_hundred_tasks_record_their_own_file(tmp_path: Path) -> None:
    """Concurrent recordings never mix, and no class of the HTTP library is touched."""
    before = AsyncHTTPTransport.handle_async_request

    async def case(n: int) -> None:
        path = tmp_path / f'{n}.yaml'
        with use_cassette(path, mode='record', upstream={UPSTREAM: server.origin}):
            assert AsyncHTTPTransport.handle_async_request is before
            await ask({'n': n})
            await ask({'n': -n})

    async with ScriptedServer.run(echo) as server, anyio.create_task_group() as group:
        for n in range(100):
            group.start_soon(case, n)

    files = [read_yaml(tmp_path / f'{n}.yaml')['interactions'] for n in range(100)]
    assert [[i['response']['parsed_body']['echo']['n'] for i in file] for file in files] == [
        [n, -n] for n in range(100)
    ]
    assert AsyncHTTPTransport.handle_async_request is before


@pytest.mark.anyio
async def test_threads_and_sync_code_see_the_cassette(tmp_path: Path) -> None:
    """C15: a sync task in a thread, with an event loop of its own, is answered by the same file."""
    path = write_cassette(tmp_path / 'x.yaml', entry(ASK, [1]), entry(ASK, [2]))

    with use_cassette(path) as cassette:
        answers = [await asyncio.to_thread(asyncio.run, ask()), await ask()]
        cassette.check()

    assert answers == [[1], [2]]


@pytest.mark.anyio
async def test_a_worker_that_was_started_before_fails_loudly(tmp_path: Path) -> None:
    """C15: a task older than the cassette is outside of it, and says so."""
    go = asyncio.Event()

    async def worker() -> Any:
        await go.wait()
        return await ask()

    task = asyncio.create_task(worker())
    with use_cassette(write_cassette(tmp_path / 'x.yaml', entry(ASK, [1]))):
        go.set()
        with pytest.raises(CassetteError, match='outside of any cassette'):
            await task


@pytest.mark.anyio
async def test_what_was_recorded_is_saved_when_the_block_raises(tmp_path: Path) -> None:
    """A failing block keeps what it recorded until then."""
    path = tmp_path / 'x.yaml'

    async with ScriptedServer.run(echo) as server:
        with pytest.raises(KeyError), use_cassette(path, mode='record', upstream={UPSTREAM: server.origin}):
            (await ask())['absent']

    assert [i['response']['parsed_body'] for i in read_yaml(path)['interactions']] == [{'echo': ASK}]


def test_a_block_that_fails_before_its_first_request_keeps_the_old_file(tmp_path: Path) -> None:
    """Nothing was recorded, so a good recording is not replaced by an empty one."""
    path = write_cassette(tmp_path / 'x.yaml', entry(ASK, [1]))
    before = path.read_text()

    with pytest.raises(ZeroDivisionError), use_cassette(path, mode='record'):
        _ = 1 / 0

    assert path.read_text() == before


def test_a_block_without_requests_records_an_empty_cassette(tmp_path: Path) -> None:
    """A case that sends nothing has a file too, so that its replay can prove it."""
    path = tmp_path / 'x.yaml'

    with use_cassette(path, mode='record', recorded_with={'by': 'emulator'}):
        pass
    with use_cassette(path) as cassette:
        cassette.check()

    assert read_yaml(path)['interactions'] == []


@pytest.mark.anyio
async def test_a_leak_is_raised_when_the_block_is_left(tmp_path: Path) -> None:
    """C26: the tripwire speaks where the file would be written."""
    path = tmp_path / 'x.yaml'

    async def leak(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(json_reply({'your_header': request.headers['x-api-key']}))

    async with ScriptedServer.run(leak) as server:
        with pytest.raises(SecretLeak), use_cassette(path, mode='record', upstream={UPSTREAM: server.origin}):
            await cassette_client().post(URL, json=ASK, headers={'x-api-key': 'live-credential-1'})

    assert os.listdir(tmp_path) == []


@pytest.mark.anyio
async def test_leaving_a_replay_raises_nothing_by_itself(tmp_path: Path) -> None:
    """A swallowed miss and leftovers are the caller's to check."""
    path = write_cassette(tmp_path / 'x.yaml', entry(ASK, [1]))

    with use_cassette(path) as cassette, pytest.raises(UnmatchedRequest):
        await ask({'q': 2})

    assert (len(cassette.misses), len(cassette.unused)) == (1, 1)


@pytest.mark.anyio
async def test_a_replay_refuses_the_network_to_everybody(tmp_path: Path) -> None:
    """While a replay runs, other clients cannot connect either, unless their host is named."""
    path = write_cassette(tmp_path / 'x.yaml')

    async with ScriptedServer.run(echo) as server, httpx2.AsyncClient(trust_env=False) as other:
        with use_cassette(path), pytest.raises(ExceptionGroup) as caught:
            await other.post(server.origin, json=ASK)
        assert caught.group_contains(CassetteError, match="A connection to '127.0.0.1' was refused")
        with use_cassette(path, allow_hosts=['127.0.0.1']):
            assert (await other.post(server.origin, json=ASK)).json() == {'echo': ASK}
        assert (await other.post(server.origin, json=ASK)).json() == {'echo': ASK}


@pytest.mark.anyio
async def test_a_recording_beside_a_replay_reaches_its_upstream(tmp_path: Path) -> None:
    """A task that records in a process that replays names its hosts by its upstream."""
    path = write_cassette(tmp_path / 'a.yaml')

    async with ScriptedServer.run(echo) as server:
        with use_cassette(path), use_cassette(tmp_path / 'b.yaml', mode='record', upstream={UPSTREAM: server.origin}):
            assert await ask() == {'echo': ASK}


@pytest.mark.anyio
async def test_the_shared_client_keeps_no_cookies(tmp_path: Path) -> None:
    """A cookie that one case was given is not sent by the next, nor written down."""

    async def cookie(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(head(set_cookie='sid=1; Path=/', content_length='2') + b'{}')

    path = tmp_path / 'x.yaml'
    async with ScriptedServer.run(cookie) as server:
        with use_cassette(path, mode='record', upstream={UPSTREAM: server.origin}):
            await cassette_client().post(URL, json=ASK)
            await cassette_client().post(URL, json=ASK)

    assert ['cookie' in request.headers for request in server.requests] == [False, False]
    assert 'sid' not in path.read_text()


def test_the_shared_client_is_one_and_comes_back() -> None:
    """Everybody gets the same client, and a new one if somebody closed it."""
    client = cassette_client()

    assert cassette_client() is client
    asyncio.run(client.aclose())
    assert cassette_client() is not client
    assert cassette_client() is cassette_client()


def test_the_shared_client_has_the_timeouts_of_pydantic_ai() -> None:
    """Recording waits as long as Pydantic AI's own client would."""
    assert cassette_client().timeout == httpx2.Timeout(600, connect=5)
    assert cassette_client().headers['user-agent'].startswith('pydantic-ai/')


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'mode': 'once'}, "mode is 'once'; it must be one of 'replay', 'record', 'record-missing', 'live'."),
        (
            {'mode': 'record', 'upstream': {'https://api.example.com/v1': 'http://127.0.0.1:1'}},
            "`upstream` holds 'https://api.example.com/v1'; origins look like https://api.example.com or "
            'http://127.0.0.1:8000.',
        ),
        (
            {'mode': 'live', 'allow_hosts': ['http://localhost']},
            "'http://localhost' is not a host: give a name or an IP address, without scheme and port.",
        ),
    ],
)
def test_arguments_without_meaning_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    """Mistakes in arguments are told before anything happens."""
    with pytest.raises(ValueError) as caught, use_cassette(tmp_path / 'x.yaml', **options):
        pass
    assert str(caught.value) == message
