"""The twin of `CassetteTransport` for the older `httpx`, which some provider SDKs still need."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Generator

import httpx2

from .transport import CassetteTransport

try:
    import httpx
except ModuleNotFoundError as e:
    if e.name != 'httpx':
        raise
    raise ModuleNotFoundError(
        'A cassette for Groq or Cohere needs the older HTTP library: `python -m pip install httpx`.', name='httpx'
    ) from e

__all__ = ['LegacyCassetteTransport', 'create_client']


class LegacyCassetteTransport(httpx.AsyncBaseTransport):
    """Plays and records like `CassetteTransport`, for clients of the older `httpx`; raises that library's errors.

    Args:
        transport: What answers.
    """

    def __init__(self, transport: CassetteTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request; errors as in `CassetteTransport`, with `httpx` classes for those of the network."""
        content = await request.aread()
        twin = httpx2.Request(
            request.method,
            str(request.url),
            headers=request.headers.raw,
            stream=httpx2.ByteStream(content),
            extensions=request.extensions,
        )
        with _translated(request):
            response = await self._transport.handle_async_request(twin)
        assert isinstance(response.stream, httpx2.AsyncByteStream), 'an async transport answers with async streams'
        return httpx.Response(
            response.status_code,
            headers=response.headers.raw,
            stream=_Stream(response.stream, request),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close the connections of the current event loop."""
        await self._transport.aclose()


class _Stream(httpx.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, request: httpx.Request) -> None:
        self._stream = stream
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translated(self._request):
            async for chunk in self._stream:
                yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


@contextlib.contextmanager
def _translated(request: httpx.Request) -> Generator[None]:
    try:
        yield
    except httpx2.RequestError as error:
        raise _twin(type(error))(str(error), request=request) from error


def _twin(error: type[httpx2.RequestError]) -> type[httpx.RequestError]:
    # Both libraries name their errors alike; a newer class falls back to the nearest base that both have.
    for base in error.__mro__:
        twin = getattr(httpx, base.__name__, None)
        if isinstance(twin, type) and issubclass(twin, httpx.RequestError):
            return twin
    return httpx.RequestError


def create_client(transport: CassetteTransport) -> httpx.AsyncClient:
    """A client with Pydantic AI's timeouts and user agent over a cassette transport."""
    from pydantic_ai.models import get_user_agent

    return httpx.AsyncClient(
        transport=LegacyCassetteTransport(transport),
        timeout=httpx.Timeout(600, connect=5),
        headers={'User-Agent': get_user_agent()},
    )
