from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import httpx
import httpx2
import pytest
import respx
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelConnectionError, ModelServerError, ModelTimeoutError
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from respx.models import AllMockedAssertionError

from .respx_adapter import RespxTransport
from .support import anthropic_events, anthropic_message, openai_chat, openai_chunks, sse

pytestmark = pytest.mark.anyio

OPENAI = 'https://api.openai.com/v1/chat/completions'
ANTHROPIC = 'https://api.anthropic.com/v1/messages'
URLS = {'openai': OPENAI, 'anthropic': ANTHROPIC}
ANSWERS = {'openai': openai_chat('four'), 'anthropic': anthropic_message('four')}
STREAMS = {'openai': sse(*openai_chunks('fo', 'ur')), 'anthropic': anthropic_events('fo', 'ur')}
SSE = {'content-type': 'text/event-stream'}


def agent_of(provider: str, router: respx.Router) -> Agent[None, str]:
    client = httpx2.AsyncClient(transport=RespxTransport(router))
    if provider == 'openai':
        model: Any = OpenAIChatModel('gpt-test', provider=OpenAIProvider(api_key='none', http_client=client))
    else:
        model = AnthropicModel('claude-test', provider=AnthropicProvider(api_key='none', http_client=client))
    return Agent(model, model_settings={'max_tokens': 100})


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the SDKs would have waited."""
    seconds: list[float] = []

    async def sleep(delay: float) -> None:
        seconds.append(delay)

    monkeypatch.setattr(anyio, 'sleep', sleep)
    return seconds


@pytest.mark.parametrize('compressed', [False, True])
@pytest.mark.parametrize('provider', URLS)
async def test_an_answer_of_a_route(provider: str, compressed: bool) -> None:
    """The SDK gets what the route answers, decoded once, and the route sees what the SDK sent."""
    body = json.dumps(ANSWERS[provider]).encode()
    headers = {'content-type': 'application/json', **({'content-encoding': 'gzip'} if compressed else {})}
    router = respx.Router()
    route = router.post(URLS[provider]).mock(
        return_value=httpx.Response(200, headers=headers, stream=Body(gzip.compress(body) if compressed else body))
    )

    assert (await agent_of(provider, router).run('What is 2+2?')).output == 'four'

    sent = json.loads(route.calls.last.request.content)
    assert (sent['model'], sent['max_tokens' if provider == 'anthropic' else 'max_completion_tokens']) == (
        ('claude-test', 100) if provider == 'anthropic' else ('gpt-test', 100)
    )


class Body(httpx.AsyncByteStream, httpx.SyncByteStream):
    """A body of these pieces, an exception among them is raised; it may be read by either kind of client."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self.pieces = pieces
        self.closed = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def close(self) -> None:
        self.closed += 1

    async def aclose(self) -> None:
        self.close()


@pytest.mark.parametrize('provider', URLS)
async def test_a_stream_of_a_route(provider: str) -> None:
    """Events arrive in the pieces of the route, and its stream is closed."""
    body = Body(STREAMS[provider][:300], STREAMS[provider][300:])
    router = respx.Router()
    router.post(URLS[provider]).mock(return_value=httpx.Response(200, headers=SSE, stream=body))

    async with agent_of(provider, router).run_stream('What is 2+2?') as stream:
        deltas = [delta async for delta in stream.stream_text(delta=True, debounce_by=None)]

    assert (deltas, body.closed > 0) == (['fo', 'ur'], True)


@pytest.mark.parametrize('provider', URLS)
async def test_faults_before_an_answer_are_retried(provider: str, slept: list[float]) -> None:
    """A limit, a broken connection and then an answer are three sends."""
    router = respx.Router()
    route = router.post(URLS[provider]).mock(
        side_effect=[
            httpx.Response(429, headers={'retry-after': '2'}),
            httpx.ConnectError,
            httpx.Response(200, json=ANSWERS[provider]),
        ]
    )

    assert (await agent_of(provider, router).run('What is 2+2?')).output == 'four'
    assert (route.call_count, slept[0], len(slept)) == (3, 2, 2)


@pytest.mark.parametrize(
    ('fault', 'raised'),
    [
        (httpx.ConnectError, ModelConnectionError),
        (httpx.RemoteProtocolError('no answer'), ModelConnectionError),
        (httpx.ReadTimeout, ModelTimeoutError),
        (httpx.Response(500, json={'error': {'message': 'no'}}), ModelServerError),
    ],
)
@pytest.mark.parametrize('provider', URLS)
async def test_a_fault_that_stays(provider: str, fault: Any, raised: type[Exception], slept: list[float]) -> None:
    """Errors of `httpx` reach the SDK as those of `httpx2`, so they end as the same fault of a network would."""
    router = respx.Router()
    mocked = {'return_value': fault} if isinstance(fault, httpx.Response) else {'side_effect': fault}
    route = router.post(URLS[provider]).mock(**mocked)

    with pytest.raises(raised):
        await agent_of(provider, router).run('What is 2+2?')
    assert route.call_count == 3


@pytest.mark.parametrize('provider', URLS)
async def test_a_fault_in_the_middle(provider: str) -> None:
    """A stream may break after its first text."""
    first = STREAMS[provider].index(b'ur')
    body = Body(STREAMS[provider][:first], httpx.ReadError('cut'))
    router = respx.Router()
    router.post(URLS[provider]).mock(return_value=httpx.Response(200, headers=SSE, stream=body))

    with pytest.raises(ModelConnectionError):
        async with agent_of(provider, router).run_stream('What is 2+2?') as stream:
            await stream.get_output()


async def test_a_request_without_a_route_says_so() -> None:
    """What nobody mocked is an error, never a request to the network."""
    with pytest.raises(AllMockedAssertionError):
        await agent_of('openai', respx.Router()).run('What is 2+2?')


def test_nothing_is_patched() -> None:
    """The classes of both libraries stay as they are while routes answer."""
    before = httpx.AsyncHTTPTransport.handle_async_request, httpx2.AsyncHTTPTransport.handle_async_request
    router = respx.Router()
    router.post(OPENAI).mock(return_value=httpx.Response(200, json=ANSWERS['openai']))

    assert asyncio.run(agent_of('openai', router).run('What is 2+2?')).output == 'four'
    assert (httpx.AsyncHTTPTransport.handle_async_request, httpx2.AsyncHTTPTransport.handle_async_request) == before
