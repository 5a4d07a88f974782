"""The transport that plays and records: one for all providers, tasks and event loops."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NoReturn

import anyio
import anyio.lowlevel
import httpx2

from .active import active_cassette
from .cassette import Cassette
from .codings import decode
from .errors import CassetteError
from .interaction import Interaction, RecordedResponse
from .retries import RETRY_NOW, attempt_of, retry_headers
from .streams import Passed, RecordingStream, ReplayStream, is_terminated, split_events
from .upstream import NetworkTransport

__all__ = ['CassetteTransport']

_PATIENCE = 5
"""Seconds that a replay waits, beyond the recorded ones, for a caller that went away when it was recorded."""


class CassetteTransport(httpx2.AsyncBaseTransport, httpx2.BaseTransport):
    """Answers requests from a cassette, and records what it does not hold where the cassette's mode allows that.

    Nothing is patched and nothing is shared but this object: the cassette is the one that `use_cassette` opened in the
    current task, so any number of tasks replay their own files at the same time. In `replay` the network transport is
    never even made.

    Args:
        inner: Makes the transport to the network, called at most once per event loop and only when a mode needs it;
            by default connections of their own through the environment's proxies, except to loopback.
        cassette: The cassette to use everywhere; `None` follows the current task.
    """

    def __init__(
        self, inner: Callable[[], httpx2.AsyncBaseTransport] | None = None, *, cassette: Cassette | None = None
    ) -> None:
        self._make_inner = inner or NetworkTransport
        self._cassette = cassette
        self._inner = anyio.lowlevel.RunVar[httpx2.AsyncBaseTransport | None](f'advisor_harness.cassettes {id(self)}')

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request.

        Raises:
            UnmatchedRequest: `replay`, and the cassette holds no answer.
            CassetteError: no cassette is open here.
            httpx2.RequestError: the network failed, now or when it was recorded.
        """
        await request.aread()
        cassette = self._open_cassette(request)
        await anyio.lowlevel.checkpoint()
        if (hit := cassette.take(request)) is not None:
            return await _answer(*hit, request, cassette)
        if cassette.mode == 'replay':
            raise cassette.miss(request)
        if cassette.mode == 'live':
            response = await self._network().handle_async_request(cassette.rerouting.apply(request))
            _restore_location(response, request, cassette)
            return response
        return await self._record(request, cassette)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Refuse a synchronous client.

        Raises:
            CassetteError: always.
        """
        raise CassetteError(
            f'{_name(request)} was sent by a synchronous client, which cassettes do not answer. Use an '
            '`httpx2.AsyncClient`, such as `cassette_client()`; `Agent.run_sync` works with it too.'
        )

    async def aclose(self) -> None:
        """Close the connections of the current event loop."""
        inner = self._inner.get(None)
        if inner is not None:
            self._inner.set(None)
            await inner.aclose()

    def _open_cassette(self, request: httpx2.Request) -> Cassette:
        cassette = self._cassette or active_cassette()
        if cassette is None:
            raise CassetteError(
                f'{_name(request)} was sent outside of any cassette. Open one around it with `use_cassette(path)`, in '
                'the task that sends the request or in one that started it.'
            )
        if cassette.is_closed:
            raise CassetteError(
                f'{_name(request)} was sent after its cassette {cassette.path} was closed. Wait for background tasks '
                'before leaving `use_cassette`.'
            )
        return cassette

    def _network(self) -> httpx2.AsyncBaseTransport:
        # Connections belong to the event loop that opened them.
        inner = self._inner.get(None)
        if inner is None:
            inner = self._make_inner()
            self._inner.set(inner)
        return inner

    async def _record(self, request: httpx2.Request, cassette: Cassette) -> httpx2.Response:
        recording = _Recording(request, cassette)
        try:
            response = await self._network().handle_async_request(cassette.rerouting.apply(request))
        except httpx2.RequestError as error:
            recording.failed(error)
            raise
        except anyio.get_cancelled_exc_class():
            recording.abandoned()
            raise
        _restore_location(response, request, cassette)
        return recording.passed_on(response)


class _Recording:
    """One exchange with the network, from the sending of the request to the end of the answer."""

    def __init__(self, request: httpx2.Request, cassette: Cassette) -> None:
        self._request = request
        self._cassette = cassette
        self._place = cassette.begin(request)
        self._started = time.perf_counter()

    def failed(self, error: httpx2.RequestError) -> None:
        """No response came."""
        self._keep(RecordedResponse(status=0, reason='', headers={}, body=b'', network_error=type(error).__name__))

    def abandoned(self) -> None:
        """The caller did not wait for a response."""
        self._keep(RecordedResponse(status=0, reason='', headers={}, body=b'', abandoned=True))

    def passed_on(self, response: httpx2.Response) -> httpx2.Response:
        """The response for the caller, which records its body while the caller reads it."""
        try:
            content = response.content
        except httpx2.ResponseNotRead:
            return self._streamed(response)
        return self._already_read(response, content)

    def _already_read(self, response: httpx2.Response, content: bytes) -> httpx2.Response:
        # A mock, or a transport that looks into answers, has decoded the body: it must not be decoded again.
        headers = [(k, v) for k, v in response.headers.multi_items() if k.lower() != 'content-encoding']
        self._keep(_recorded(response, _by_name(headers), content, Passed(content, complete=True)))
        return httpx2.Response(
            response.status_code, headers=headers, content=content, extensions=_plain_extensions(response)
        )

    def _streamed(self, response: httpx2.Response) -> httpx2.Response:
        headers = _by_name(response.headers.multi_items())

        def done(passed: Passed) -> None:
            self._cassette.unwatch(stream)
            plain, decoded = decode(headers, passed.body)
            kept = {k: v for k, v in headers.items() if not (decoded and k == 'content-encoding')}
            self._keep(_recorded(response, kept, plain, passed))

        assert isinstance(response.stream, httpx2.AsyncByteStream), 'an async transport answers with async streams'
        stream = RecordingStream(response.stream, done)
        self._cassette.watch(stream)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
        )

    def _keep(self, response: RecordedResponse) -> None:
        self._cassette.keep(self._place, self._request, response, time.perf_counter() - self._started)


async def _answer(
    interaction: Interaction, answered_later: bool, request: httpx2.Request, cassette: Cassette
) -> httpx2.Response:
    recorded, retried = interaction.response, cassette.was_retried(interaction)
    if retried and recorded.network_error is not None and attempt_of(request.headers) is not None:
        told = f'{recorded.network_error} (recorded), after which the SDK sent the request again'
        return httpx2.Response(503, headers=_raw(RETRY_NOW), text=told)

    async def ending() -> NoReturn:
        if recorded.network_error is not None:
            raise _network_error(recorded.network_error)
        if recorded.abandoned:
            # The caller is expected to go away again; if it does not, there is nothing to give it.
            await anyio.sleep((interaction.latency_s or 0) + _PATIENCE)
        raise cassette.miss(request, reason='abandoned' if recorded.abandoned else 'truncated')

    if not recorded.status:
        await ending()
    events = recorded.content_type.lower().startswith('text/event-stream')
    chunks = split_events(recorded.body) if events else [recorded.body] if recorded.body else []
    return httpx2.Response(
        recorded.status,
        headers=_headers(recorded, answered_later=answered_later, retried=retried),
        stream=ReplayStream(chunks, None if recorded.is_whole else ending),
        extensions={'http_version': b'HTTP/1.1', 'reason_phrase': recorded.reason.encode('latin-1', 'replace')},
    )


def _headers(recorded: RecordedResponse, *, answered_later: bool, retried: bool | None) -> list[tuple[bytes, bytes]]:
    headers = retry_headers(recorded.status, recorded.headers, answered_later=answered_later, retried=retried)
    headers.pop('transfer-encoding', None)
    if 'content-length' in headers:
        headers['content-length'] = [str(len(recorded.body))]
    return _raw(headers)


def _raw(headers: Mapping[str, list[str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), _encoded(value)) for name, vs in headers.items() for value in vs]


def _encoded(value: str) -> bytes:
    try:
        return value.encode('latin-1')
    except UnicodeEncodeError:
        return value.encode()


def _network_error(name: str) -> httpx2.RequestError:
    error_class: type[httpx2.RequestError] = getattr(httpx2, name)
    return error_class(f'{name} (recorded)')


def _recorded(
    response: httpx2.Response, headers: dict[str, list[str]], body: bytes, passed: Passed
) -> RecordedResponse:
    whole = passed.complete or passed.error is not None or passed.abandoned or _is_whole(response, passed.body, body)
    return RecordedResponse(
        status=response.status_code,
        reason=response.reason_phrase,
        headers=headers,
        body=body,
        truncated=not whole,
        network_error=None if passed.error is None else type(passed.error).__name__,
        abandoned=passed.abandoned and not is_terminated(body),
    )


def _is_whole(response: httpx2.Response, raw: bytes, plain: bytes) -> bool:
    # The SDKs stop reading at a stream's own end mark, and a body of known length may end before the connection does.
    length = response.headers.get('content-length')
    return is_terminated(plain) or length == str(len(raw)) or response.status_code in (204, 304)


def _by_name(headers: list[tuple[str, str]]) -> dict[str, list[str]]:
    named: dict[str, list[str]] = {}
    for name, value in headers:
        named.setdefault(name.lower(), []).append(value)
    return named


def _plain_extensions(response: httpx2.Response) -> dict[str, object]:
    return {k: v for k, v in response.extensions.items() if k in ('http_version', 'reason_phrase')}


def _restore_location(response: httpx2.Response, request: httpx2.Request, cassette: Cassette) -> None:
    if location := response.headers.get('location'):
        response.headers['location'] = cassette.rerouting.restored(location, request)


def _name(request: httpx2.Request) -> str:
    return f'{request.method} {request.url.copy_with(query=None, fragment=None, userinfo=b"")}'
