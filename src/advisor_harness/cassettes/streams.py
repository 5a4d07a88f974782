"""Streams that replay a recorded answer, and streams that record one while they pass it on."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import NoReturn

import anyio
import anyio.lowlevel
import httpx2

__all__ = ['Passed', 'RecordingStream', 'ReplayStream', 'is_terminated', 'split_events']

_EVENT = re.compile(rb'.+?(?:\r\n\r\n|\n\r\n|\n\n|\r\r)|.+', re.DOTALL)
# Where the SDKs stop reading without waiting for the connection to end.
_TERMINATOR = re.compile(
    rb'^(?:data:[ ]?\[DONE\]|event:[ ]?message_stop|event:[ ]?response\.(?:completed|failed|incomplete)'
    rb'|data:.*"type":[ ]?"(?:message_stop|response\.(?:completed|failed|incomplete))")',
    re.MULTILINE,
)


def split_events(body: bytes) -> list[bytes]:
    """The server-sent events of a body, each with the blank line that ends it; nothing is lost."""
    return _EVENT.findall(body)


def is_terminated(body: bytes) -> bool:
    """Whether a stream of server-sent events says itself that it has ended."""
    return _TERMINATOR.search(body) is not None


class ReplayStream(httpx2.AsyncByteStream):
    """Yields recorded chunks one by one, and lets other tasks run between them.

    Args:
        chunks: The recorded body in pieces.
        ending: Awaited when a consumer reads past the last piece, to raise; `None` if the body ended there.
    """

    def __init__(self, chunks: list[bytes], ending: Callable[[], Awaitable[NoReturn]] | None = None) -> None:
        self._chunks = chunks
        self._ending = ending

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the chunks in order."""
        for chunk in self._chunks:
            await anyio.lowlevel.checkpoint()
            yield chunk
        if self._ending is not None:
            await self._ending()


@dataclass(frozen=True)
class Passed:
    """What went through a stream until it ended."""

    body: bytes
    """The bytes of the network, in their content encoding."""
    complete: bool = False
    """Whether the network said that this is all."""
    error: httpx2.RequestError | None = None
    """The network's failure that ended it."""
    abandoned: bool = False
    """Whether the reader was cancelled while it waited for more."""


class RecordingStream(httpx2.AsyncByteStream):
    """Passes chunks on at once and reports all of them once, when the stream ends or is closed.

    Args:
        stream: The stream of the network.
        done: Called once.
    """

    def __init__(self, stream: httpx2.AsyncByteStream, done: Callable[[Passed], None]) -> None:
        self._stream = stream
        self._done: Callable[[Passed], None] | None = done
        self._chunks: list[bytes] = []

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield what the network yields."""
        chunks = aiter(self._stream)
        while True:
            try:
                chunk = await anext(chunks)
            except StopAsyncIteration:
                self._finish(complete=True)
                return
            except httpx2.RequestError as error:
                self._finish(error=error)
                raise
            except anyio.get_cancelled_exc_class():
                self._finish(abandoned=True)
                raise
            self._chunks.append(chunk)
            yield chunk

    async def aclose(self) -> None:
        """Close the stream; what was not read by now stays unknown."""
        try:
            await self._stream.aclose()
        finally:
            self.cut()

    def cut(self) -> None:
        """Report what has passed so far, if nothing was reported yet."""
        self._finish()

    def _finish(
        self, *, complete: bool = False, error: httpx2.RequestError | None = None, abandoned: bool = False
    ) -> None:
        done, self._done = self._done, None
        if done is not None:
            done(Passed(b''.join(self._chunks), complete, error, abandoned))
