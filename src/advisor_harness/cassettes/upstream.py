"""The way to the network while recording: where a request goes, and the transport that takes it there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.request import getproxies, proxy_bypass

import httpx2

__all__ = ['NetworkTransport', 'Rerouting']

_LOOPBACK = frozenset({'localhost', '127.0.0.1', '::1'})

# One connection per request: nothing is left open when an event loop ends, and slow models hide the handshake.
_LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=0)


class Rerouting:
    """Sends requests for one origin to another one; the recording keeps the first.

    Args:
        origins: Origin to origin, `scheme://host[:port]` on both sides.

    Raises:
        ValueError: an entry is not an origin.
    """

    def __init__(self, origins: Mapping[str, str]) -> None:
        self._targets = {_origin(source): _origin(target) for source, target in origins.items()}

    @property
    def hosts(self) -> list[str]:
        """The hosts that requests are sent to instead."""
        return [httpx2.URL(target).host for target in self._targets.values()]

    def covers(self, url: str) -> bool:
        """Whether requests to a URL are sent elsewhere."""
        return _url_origin(httpx2.URL(url)) in self._targets

    def apply(self, request: httpx2.Request) -> httpx2.Request:
        """The request as it is sent: the same one, or a copy for another origin."""
        target = self._targets.get(_url_origin(request.url))
        if target is None:
            return request
        origin = httpx2.URL(target)
        url = request.url.copy_with(scheme=origin.scheme, host=origin.host, port=origin.port)
        headers = [(k, v) for k, v in request.headers.multi_items() if k.lower() != 'host']
        host = ('host', url.netloc.decode('ascii'))
        return httpx2.Request(
            request.method, url, headers=[host, *headers], stream=request.stream, extensions=request.extensions
        )

    def restored(self, location: str, request: httpx2.Request) -> str:
        """Where a redirect leads, told by the origin that the request was made for, not the one that answered."""
        mine = _url_origin(request.url)
        target = self._targets.get(mine)
        if target is None or not location.lower().startswith(target):
            return location
        rest = location[len(target) :]
        return f'{mine}{rest}' if rest[:1] in ('', '/', '?', '#') else location


class NetworkTransport(httpx2.AsyncBaseTransport):
    """Connects as an httpx2 client of its own would: through the proxies of the environment, but never to loopback.

    Args:
        connect: Makes the transport for a proxy URL, or for direct connections (`None`).
    """

    def __init__(self, connect: Callable[[str | None], httpx2.AsyncBaseTransport] | None = None) -> None:
        self._connect = connect or _connect
        self._by_proxy: dict[str | None, httpx2.AsyncBaseTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        proxy = proxy_for(request.url)
        if proxy not in self._by_proxy:
            self._by_proxy[proxy] = self._connect(proxy)
        return await self._by_proxy[proxy].handle_async_request(request)

    async def aclose(self) -> None:
        """Close all connections."""
        transports, self._by_proxy = list(self._by_proxy.values()), {}
        for transport in transports:
            await transport.aclose()


def proxy_for(url: httpx2.URL) -> str | None:
    """The proxy that the environment names for a URL, `None` for a direct connection."""
    if url.host in _LOOPBACK or proxy_bypass(url.host):
        return None
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get('all')
    return f'http://{proxy}' if proxy and '://' not in proxy else proxy


def _connect(proxy: str | None) -> httpx2.AsyncBaseTransport:
    return httpx2.AsyncHTTPTransport(limits=_LIMITS, proxy=proxy)


def _origin(text: str) -> str:
    url = httpx2.URL(text)
    if url.scheme not in ('http', 'https') or not url.host or url.path not in ('', '/') or url.query or url.userinfo:
        raise ValueError(
            f'`upstream` holds {text!r}; origins look like https://api.example.com or http://127.0.0.1:8000.'
        )
    return _url_origin(url)


def _url_origin(url: httpx2.URL) -> str:
    port = f':{url.port}' if url.port is not None else ''
    host = f'[{url.host}]' if ':' in url.host else url.host
    return f'{url.scheme}://{host}{port}'.lower()
