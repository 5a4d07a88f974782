"""respx's routes for clients of httpx2, which respx 0.23 does not see by itself. Nothing is patched.

    router = respx.Router()
    route = router.post('https://api.openai.com/v1/chat/completions')
    route.mock(side_effect=[httpx.ConnectError, httpx.Response(200, json=...)])
    http_client = httpx2.AsyncClient(transport=RespxTransport(router))

Routes speak the older `httpx`: answers are `httpx.Response`, faults are classes of `httpx`, and the client gets the
class of the same name in `httpx2`, in the middle of a body too.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator

import httpx
import httpx2
import respx

__all__ = ['RespxTransport']


class RespxTransport(httpx2.AsyncBaseTransport):
    """Answers requests by the routes of a router.

    A request that no route fits raises `respx.models.AllMockedAssertionError`: as it is from OpenAI's SDK, as a
    connection error after its retries from Anthropic's.

    Args:
        router: Use `respx.Router`: a `respx.MockRouter` would patch `httpx` as well.
    """

    def __init__(self, router: respx.Router) -> None:
        self._router = router

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request."""
        twin = httpx.Request(
            request.method,
            str(request.url),
            headers=request.headers.raw,
            content=await request.aread(),
            extensions=request.extensions,
        )
        with _translated():
            response = await self._router.async_handler(twin)
        return httpx2.Response(
            response.status_code,
            headers=response.headers.raw,
            # As it would come from the network: undoing its content encoding is the client's part.
            stream=_Stream(response),
            extensions={k: v for k, v in response.extensions.items() if k in ('http_version', 'reason_phrase')},
        )


class _Stream(httpx2.AsyncByteStream):
    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        stream = self._response.stream
        with _translated():
            if isinstance(stream, httpx.AsyncByteStream):
                async for chunk in stream:
                    yield chunk
            else:
                for chunk in stream:
                    yield chunk

    async def aclose(self) -> None:
        stream = self._response.stream
        if isinstance(stream, httpx.AsyncByteStream):
            await stream.aclose()
        else:
            stream.close()


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except httpx.RequestError as error:
        names = (base.__name__ for base in type(error).__mro__)
        twin = next(found for name in names if (found := getattr(httpx2, name, None)) is not None)
        raise twin(str(error)) from error
