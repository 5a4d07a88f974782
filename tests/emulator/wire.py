"""Sending a response, and everything that can go wrong with it on the way."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.types import Receive, Scope, Send

from .requests import Json
from .script import Fault

JSON_UNIT = 32
"""Bytes in which a body that is not a stream is sent when a fault counts or delays units."""

EVENT_STREAM = 'text/event-stream; charset=utf-8'
_GZIP_FORMAT = 31  # zlib's window bits for a gzip header; without a time stamp, so equal bodies give equal bytes


class Connections(Protocol):
    """Access to the sockets below the responses."""

    def close(self, client: tuple[str, int], *, reset: bool) -> None:
        """End the connection of a client, in order or with a reset."""

    async def stopped(self) -> None:
        """Return when the server is asked to stop."""


def json_units(body: Json) -> list[bytes]:
    """A JSON body in units."""
    return text_units(json.dumps(body, ensure_ascii=False, separators=(',', ':')))


def text_units(text: str) -> list[bytes]:
    """Any body in units of `JSON_UNIT` bytes."""
    data = text.encode()
    return [data[start : start + JSON_UNIT] for start in range(0, len(data), JSON_UNIT)]


def damaged(units: Sequence[bytes], *, stream: bool) -> list[bytes]:
    """The body with broken JSON: a stream's middle event loses its end, any other body its second half."""
    if not stream:
        whole = b''.join(units)
        return [whole[: len(whole) // 2]]
    middle = len(units) // 2
    event = units[middle].rstrip()
    return [*units[:middle], event[: -max(1, len(event) // 4)] + b'\n\n', *units[middle + 1 :]]


@dataclass(frozen=True)
class FaultyResponse:
    """A response, as an ASGI application, sent unit by unit with the faults that a script asks for."""

    units: Sequence[bytes]
    status: int
    headers: Mapping[str, str]
    fault: Fault
    connections: Connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response, or as much of it as the fault lets through."""
        fault = self.fault
        if not await self._wait(fault.delay_s, receive):
            return
        if fault.reset:
            await self._break(scope, receive)
            return
        await send(self._start())
        compressor = zlib.compressobj(wbits=_GZIP_FORMAT) if fault.gzip else None
        last = fault.cut_after if fault.cut_after is not None else fault.end_after
        for unit in self.units[:last]:
            data = unit if compressor is None else compressor.compress(unit) + compressor.flush(zlib.Z_SYNC_FLUSH)
            await send({'type': 'http.response.body', 'body': data, 'more_body': True})
            if not await self._wait(fault.drip_s, receive):
                return
        if fault.cut_after is not None:
            await self._break(scope, receive)
            return
        rest = compressor.flush() if compressor and fault.end_after is None else b''
        await send({'type': 'http.response.body', 'body': rest, 'more_body': False})

    def _start(self) -> dict[str, Any]:
        fault, headers = self.fault, dict(self.headers)
        streaming = headers['content-type'].startswith('text/event-stream')
        if not streaming and fault.end_after is None and not fault.gzip:
            headers['content-length'] = str(sum(map(len, self.units)))
        if fault.gzip:
            headers['content-encoding'] = 'gzip'
        if fault.content_type is not None:
            headers['content-type'] = fault.content_type
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        return {'type': 'http.response.start', 'status': self.status, 'headers': encoded}

    async def _wait(self, seconds: float, receive: Receive) -> bool:
        """Wait, and tell whether the client is still there; a stopping server does not keep it waiting."""
        if not seconds:
            return True
        gone = asyncio.ensure_future(_disconnect(receive))
        stopped = asyncio.ensure_future(self.connections.stopped())
        try:
            await asyncio.wait({gone, stopped}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return not gone.done()
        finally:
            gone.cancel()
            stopped.cancel()

    async def _break(self, scope: Scope, receive: Receive) -> None:
        self.connections.close(scope['client'], reset=self.fault.reset)
        await _disconnect(receive)


async def _disconnect(receive: Receive) -> None:
    while (await receive())['type'] != 'http.disconnect':
        pass
