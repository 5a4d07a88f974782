"""`use_cassette`: a cassette for the current task, and the HTTP clients that follow it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator, Iterable, Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from os import PathLike
from typing import TYPE_CHECKING

import httpx2

from .active import activated
from .cassette import Cassette, Mode
from .matching import Matching
from .network import allowed_network, no_network
from .transport import CassetteTransport

if TYPE_CHECKING:
    import httpx

__all__ = ['cassette_client', 'legacy_cassette_client', 'use_cassette']

_lock = threading.Lock()
_client: httpx2.AsyncClient | None = None
_legacy_client: httpx.AsyncClient | None = None


@contextlib.contextmanager
def use_cassette(
    path: str | PathLike[str],
    *,
    mode: Mode = 'replay',
    matching: Matching | None = None,
    recorded_with: Mapping[str, str] | None = None,
    upstream: Mapping[str, str] | None = None,
    allow_hosts: Iterable[str] = (),
) -> Generator[Cassette]:
    """Answer the requests of the current task, and of tasks started inside, from one file.

    Leaving the block saves in the recording modes, also when the block raises: what was recorded until then, in sending
    order. In `replay` leaving does not raise by itself: call `cassette.check()` for that.

    Args:
        path: The cassette's file.
        mode: `replay` plays and never touches the network; `record` always calls and rewrites the file;
            `record-missing` plays what matches and records the rest; `live` calls and keeps nothing.
        matching: What makes two requests the same; `Matching()` by default.
        recorded_with: Who answers while recording, written to the file: `by` (`provider`, `local model` or `emulator`),
            `model`, `tool`, `version`. The date is added.
        upstream: While recording, where requests to an origin (`scheme://host[:port]`) are sent instead. The file keeps
            the original URL.
        allow_hosts: Hosts that stay reachable in `replay`, where `no_network` is active; in the other modes, hosts that
            this block needs although another one in the process is replaying.

    Yields:
        The open cassette.

    Raises:
        CassetteError: the file does not exist and the mode is `replay`.
        CassetteFormatError: the file is not a cassette of HTTP traffic.
        SecretLeak: when leaving; a credential would have been written, so nothing was.
        ValueError: an argument has no meaning.
    """
    cassette = Cassette.open(path, mode=mode, matching=matching, recorded_with=recorded_with, upstream=upstream)
    replaying = mode == 'replay'
    hosts = [*allow_hosts] if replaying else [*allow_hosts, *cassette.rerouting.hosts]
    with no_network(hosts) if replaying else allowed_network(hosts), activated(cassette):
        try:
            yield cassette
        except BaseException:
            cassette.close()
            # A failure before the first request must not replace a good recording by an empty one.
            if cassette.has_recorded() and not cassette.is_discarded:
                cassette.save()
            raise
        cassette.close()
        if not cassette.is_discarded:
            cassette.save()


def cassette_client() -> httpx2.AsyncClient:
    """The HTTP client for providers: one for the process, following the active cassette of whoever uses it.

    It has Pydantic AI's timeouts and user agent, keeps no cookies, and may be used from any task, thread and event
    loop. Leave it open: it belongs to nobody.
    """
    from pydantic_ai.models import create_async_httpx2_client

    global _client
    with _lock:
        if _client is None or _client.is_closed:
            _client = create_async_httpx2_client(transport=CassetteTransport())
            _client.cookies = _no_cookies()
        return _client


def legacy_cassette_client() -> httpx.AsyncClient:
    """The same for providers whose SDK still needs the older `httpx` (Groq, Cohere).

    Raises:
        ModuleNotFoundError: `httpx` is not installed.
    """
    from .legacy import create_client

    global _legacy_client
    with _lock:
        if _legacy_client is None or _legacy_client.is_closed:
            _legacy_client = create_client(CassetteTransport())
            _legacy_client.cookies = _no_cookies()
        return _legacy_client


def _no_cookies() -> CookieJar:
    # A cookie from one case would be sent by another.
    return CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))
