from __future__ import annotations

from typing import Any

import httpx2
import pytest

from advisor_harness.cassettes.upstream import NetworkTransport, Rerouting, proxy_for


@pytest.mark.parametrize(
    ('url', 'sent_to'),
    [
        ('https://api.example.com/v1?a=1', 'http://127.0.0.1:8000/v1?a=1'),
        ('https://API.example.com:443/v1', 'http://127.0.0.1:8000/v1'),
        ('https://api.example.com:8443/v1', 'https://api.example.com:8443/v1'),
        ('http://api.example.com/v1', 'http://api.example.com/v1'),
        ('https://other.example.com/a%2Fb', 'http://[::1]:9/a%2Fb'),
    ],
)
def test_requests_go_where_their_origin_is_sent(url: str, sent_to: str) -> None:
    """Scheme, host and port decide; path and query stay as they are spelled."""
    rerouting = Rerouting(
        {'https://api.example.com/': 'http://127.0.0.1:8000', 'https://other.example.com': 'http://[::1]:9'}
    )
    request = httpx2.Request(
        'POST', url, content=b'x', headers={'host': 'old', 'x': 'y'}, extensions={'timeout': {'read': 1}}
    )

    sent = rerouting.apply(request)

    assert (str(sent.url), sent.headers['x'], sent.extensions) == (sent_to, 'y', {'timeout': {'read': 1}})
    assert rerouting.covers(url) is (sent is not request)
    assert sent.headers['host'] == (sent.url.netloc.decode() if sent is not request else 'old')


@pytest.mark.parametrize(
    ('location', 'restored'),
    [
        ('http://127.0.0.1:8000/v2?a=1', 'https://api.example.com/v2?a=1'),
        ('http://127.0.0.1:8000', 'https://api.example.com'),
        ('http://127.0.0.1:80001/v2', 'http://127.0.0.1:80001/v2'),
        ('/v2', '/v2'),
        ('https://elsewhere.test/', 'https://elsewhere.test/'),
    ],
)
def test_redirects_lead_back_to_the_origin_that_was_asked(location: str, restored: str) -> None:
    """A recording never holds the address that answered instead, and other addresses stay."""
    rerouting = Rerouting({'https://api.example.com': 'http://127.0.0.1:8000'})

    assert rerouting.restored(location, httpx2.Request('POST', 'https://api.example.com/v1')) == restored
    assert rerouting.restored(location, httpx2.Request('POST', 'https://other.example.com/v1')) == location


def test_the_hosts_of_a_rerouting_are_known() -> None:
    """A guard has to let exactly these through."""
    assert Rerouting({'https://a.test': 'http://127.0.0.1:1', 'https://b.test': 'https://c.test'}).hosts == [
        '127.0.0.1',
        'c.test',
    ]


@pytest.mark.parametrize('origin', ['api.example.com', 'https://x/v1', 'https://x?a=1', 'ftp://x', 'https://u:p@x', ''])
def test_origins_are_scheme_host_and_port(origin: str) -> None:
    """Anything else would be dropped silently, so it is refused."""
    with pytest.raises(ValueError) as caught:
        Rerouting({'https://a.test': origin})
    assert str(caught.value) == (
        f'`upstream` holds {origin!r}; origins look like https://api.example.com or http://127.0.0.1:8000.'
    )


@pytest.mark.parametrize(
    ('url', 'proxy'),
    [
        ('https://api.example.com/', 'http://proxy.test:3128'),
        ('http://api.example.com/', 'http://plain.test:80'),
        ('https://127.0.0.1:8000/', None),
        ('http://localhost/', None),
        ('http://[::1]/', None),
        ('https://internal.test/', None),
    ],
)
def test_proxies_of_the_environment_are_used_but_not_for_loopback(
    monkeypatch: pytest.MonkeyPatch, url: str, proxy: str | None
) -> None:
    """Recording goes through the proxy that the environment names, never when the answer comes from this machine."""
    for name in (
        'http_proxy',
        'https_proxy',
        'no_proxy',
        'HTTP_PROXY',
        'HTTPS_PROXY',
        'NO_PROXY',
        'all_proxy',
        'ALL_PROXY',
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('https_proxy', 'proxy.test:3128')
    monkeypatch.setenv('http_proxy', 'http://plain.test:80')
    monkeypatch.setenv('no_proxy', 'internal.test')

    assert proxy_for(httpx2.URL(url)) == proxy


@pytest.mark.anyio
async def test_one_transport_per_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections are made once per way, used again, and closed together."""
    monkeypatch.setenv('http_proxy', 'http://proxy.test:3128')
    monkeypatch.delenv('no_proxy', raising=False)
    monkeypatch.delenv('NO_PROXY', raising=False)
    made: list[Any] = []

    class Network(httpx2.MockTransport):
        closed = 0

        async def aclose(self) -> None:
            self.closed += 1

    def connect(proxy: str | None) -> httpx2.AsyncBaseTransport:
        made.append((proxy, Network(lambda request: httpx2.Response(200))))
        return made[-1][1]

    transport = NetworkTransport(connect)
    for url in ('http://a.test/', 'http://localhost/', 'http://b.test/', 'http://127.0.0.1/'):
        await transport.handle_async_request(httpx2.Request('GET', url))
    await transport.aclose()
    await transport.aclose()

    assert [(proxy, network.closed) for proxy, network in made] == [('http://proxy.test:3128', 1), (None, 1)]
