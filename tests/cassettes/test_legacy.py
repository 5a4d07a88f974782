from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest

from advisor_harness.cassettes import (
    CassetteTransport,
    UnmatchedRequest,
    cassette_client,
    legacy_cassette_client,
    use_cassette,
)
from advisor_harness.cassettes.cassette import Cassette
from advisor_harness.cassettes.legacy import LegacyCassetteTransport, _twin

from .support import URL, ScriptedServer, ServerRequest, answering, entry, head, read_yaml, streamed, write_cassette

pytestmark = pytest.mark.anyio

ASK = {'q': 1}


def client_of(cassette: Cassette, *answers: httpx2.Response | Exception) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=LegacyCassetteTransport(CassetteTransport(answering(*answers), cassette=cassette))
    )


async def test_both_libraries_replay_one_file(tmp_path: Path) -> None:
    """C29: the older client is answered by the same active cassette as the newer one."""
    path = write_cassette(tmp_path / 'x.yaml', entry(ASK, ['first'], status=201), entry(ASK, ['second']))

    with use_cassette(path) as cassette:
        old = await legacy_cassette_client().post(URL, json=ASK)
        new = await cassette_client().post(URL, json=ASK)
        cassette.check()

    assert (old.status_code, old.json(), new.json()) == (201, ['first'], ['second'])


async def test_recordings_of_the_older_client_replay_in_the_newer(tmp_path: Path) -> None:
    """What one library records, compressed and rerouted, the other replays."""

    async def handler(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
        import gzip

        body = gzip.compress(b'{"a": 1}')
        writer.write(
            head(content_type='application/json', content_encoding='gzip', content_length=str(len(body))) + body
        )

    path = tmp_path / 'x.yaml'
    async with ScriptedServer.run(handler) as server:
        with use_cassette(path, mode='record', upstream={'https://api.example.com': server.origin}):
            assert (await legacy_cassette_client().post(URL, json=ASK)).json() == {'a': 1}
    with use_cassette(path):
        assert (await cassette_client().post(URL, json=ASK)).json() == {'a': 1}

    assert read_yaml(path)['interactions'][0]['response']['parsed_body'] == {'a': 1}


async def test_a_miss_is_the_same_error(tmp_path: Path) -> None:
    """A miss is no error of the network, so it is not translated."""
    with use_cassette(write_cassette(tmp_path / 'x.yaml')), pytest.raises(UnmatchedRequest):
        await legacy_cassette_client().post(URL, json=ASK)


@pytest.mark.parametrize('name', ['ReadTimeout', 'ConnectError', 'RemoteProtocolError'])
async def test_network_errors_are_those_of_the_older_library(tmp_path: Path, name: str) -> None:
    """C29: a recorded or live failure is raised as the class of the same name, with the caller's request."""
    cassette = Cassette.open(tmp_path / 'x.yaml', mode='record')
    error: type[Exception] = getattr(httpx, name)

    async with client_of(cassette, getattr(httpx2, name)('live')) as client:
        with pytest.raises(error) as live:
            await client.post(URL, json=ASK)
    cassette.save()
    async with client_of(Cassette.open(tmp_path / 'x.yaml')) as client:
        with pytest.raises(error) as replayed:
            await client.post(URL, json=ASK)

    for caught in (live.value, replayed.value):
        assert isinstance(caught, httpx.RequestError)
        assert str(caught.request.url) == URL


async def test_errors_in_a_stream_are_translated(tmp_path: Path) -> None:
    """A connection that breaks in the middle raises the older library's error too."""
    cassette = Cassette.open(tmp_path / 'x.yaml', mode='record')

    async with (
        client_of(cassette, streamed(b'data: 1\n\n', httpx2.ReadError('gone'))) as client,
        client.stream('POST', URL, json=ASK) as response,
    ):
        chunks = response.aiter_raw()
        assert await anext(chunks) == b'data: 1\n\n'
        with pytest.raises(httpx.ReadError, match='gone'):
            await anext(chunks)


def test_unknown_errors_have_the_nearest_twin() -> None:
    """An error that only the newer library has becomes the nearest base that both have."""

    class Brandnew(httpx2.NetworkError):
        pass

    assert _twin(Brandnew) is httpx.NetworkError
    assert _twin(httpx2.RequestError) is httpx.RequestError


async def test_timeouts_reach_the_network(tmp_path: Path) -> None:
    """The timeout that the older client sets is the network's to keep."""
    seen: list[Any] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.extensions['timeout'])
        return httpx2.Response(200)

    transport = CassetteTransport(
        lambda: httpx2.MockTransport(handler), cassette=Cassette.open(tmp_path / 'x.yaml', mode='live')
    )
    async with httpx.AsyncClient(transport=LegacyCassetteTransport(transport)) as client:
        await client.get(URL, timeout=httpx.Timeout(7, connect=2))

    assert seen == [{'connect': 2, 'read': 7, 'write': 7, 'pool': 7}]


async def test_the_legacy_client_is_one_and_comes_back() -> None:
    """Everybody gets the same client, and a new one if somebody closed it; it keeps no cookies."""
    client = legacy_cassette_client()

    assert legacy_cassette_client() is client
    assert client.timeout == httpx.Timeout(600, connect=5)
    await client.aclose()
    assert legacy_cassette_client() is not client
