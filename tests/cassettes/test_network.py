from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Iterator

import httpx
import httpx2
import pytest

from advisor_harness.cassettes import CassetteError, no_network
from advisor_harness.cassettes.errors import NetworkRefused
from advisor_harness.cassettes.network import allowed_network

pytestmark = pytest.mark.usefixtures('only_our_guard')

# RFC 5737: nobody has this address. A refused connection never leaves the process.
SOMEWHERE = '192.0.2.1'
# On this machine, but not one of the names and addresses that stand for it.
NOBODY_LISTENS = '127.0.0.2'


@pytest.fixture
def listener() -> Iterator[tuple[str, int]]:
    """An address on loopback that accepts connections."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        yield server.getsockname()


def connect(address: tuple[str, int]) -> None:
    with socket.socket() as sock:
        sock.connect(address)


def test_connections_are_refused(listener: tuple[str, int]) -> None:
    """C27: a connection to any address fails with an error that names it, loopback included."""
    with no_network():
        with pytest.raises(NetworkRefused) as caught:
            connect((SOMEWHERE, 443))
        with pytest.raises(NetworkRefused):
            connect(listener)

    assert caught.value.host == SOMEWHERE
    assert isinstance(caught.value, CassetteError)
    connect(listener)


def test_names_are_not_looked_up() -> None:
    """C27: DNS is the network too, whichever function asks it."""
    with no_network():
        for look_up in (socket.gethostbyname, socket.gethostbyname_ex, socket.gethostbyaddr):
            with pytest.raises(NetworkRefused):
                look_up('host.invalid')
        with pytest.raises(NetworkRefused) as caught:
            socket.getaddrinfo(b'host.invalid', 443)

    assert str(caught.value).startswith("Looking up 'host.invalid' was refused:")


def test_datagrams_are_refused() -> None:
    """UDP needs no connection to leave, so its sends are refused as well."""
    with no_network(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        with pytest.raises(NetworkRefused):
            sock.sendto(b'x', (SOMEWHERE, 53))
        with pytest.raises(NetworkRefused):
            sock.sendmsg([b'x'], [], 0, (SOMEWHERE, 53))


@pytest.mark.parametrize('allowed', ['127.0.0.1', 'localhost', 'LOCALHOST', '::1', '[::1]'])
def test_named_hosts_are_reached(listener: tuple[str, int], allowed: str) -> None:
    """C27: the spellings of loopback stand for each other; everything else stays refused."""
    with no_network([allowed]):
        connect(listener)
        socket.getaddrinfo('localhost', 80)
        with pytest.raises(NetworkRefused):
            connect((SOMEWHERE, 443))


def test_a_named_host_is_reached_at_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that is allowed by name may be connected to at the addresses that its name has."""
    with no_network(['myhost.test']):
        monkeypatch.setattr(socket, 'getaddrinfo', lambda *_: [(socket.AF_INET, 1, 6, '', (NOBODY_LISTENS, 0))])
        guard_sees_look_up('myhost.test')
        monkeypatch.undo()
        with pytest.raises(OSError) as caught:
            connect((NOBODY_LISTENS, 1))
        with pytest.raises(NetworkRefused):
            connect((SOMEWHERE, 443))

    assert not isinstance(caught.value, NetworkRefused)


def guard_sees_look_up(name: str) -> None:
    sys.audit('socket.getaddrinfo', name, 443, 0, 0, 0)


def test_a_failing_look_up_of_a_named_host_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard's own look-up of a named host never hides the error that the caller gets."""

    def fail(*_: object) -> None:
        raise socket.gaierror('no such name')

    with no_network(['myhost.test']):
        monkeypatch.setattr(socket, 'getaddrinfo', fail)
        guard_sees_look_up('myhost.test')


def test_addresses_and_wildcards_need_no_look_up(listener: tuple[str, int]) -> None:
    """Numeric addresses and the wildcard of servers pass, because nobody is asked for them."""
    with no_network():
        assert socket.getaddrinfo(SOMEWHERE, 443)
        assert socket.getaddrinfo(None, 0, flags=socket.AI_PASSIVE)


def test_other_families_pass() -> None:
    """C27: sockets that cannot leave the machine are none of the guard's business."""
    with no_network(), socket.socket(socket.AF_UNIX) as sock, pytest.raises(FileNotFoundError):
        sock.connect('/nonexistent/socket')


def test_guards_nest_and_restore(listener: tuple[str, int]) -> None:
    """C27: while several guards are active a host that one of them allows is allowed; the last to leave ends it."""
    with no_network():
        with no_network(['localhost']):
            connect(listener)
        with pytest.raises(NetworkRefused):
            connect(listener)
        with allowed_network(['localhost']):
            connect(listener)
        with pytest.raises(NetworkRefused):
            connect(listener)
    with allowed_network(['localhost']):
        connect(listener)
    connect(listener)


def test_a_guard_ends_when_its_block_raises(listener: tuple[str, int]) -> None:
    """An error inside the block does not leave the process without network."""
    with pytest.raises(ZeroDivisionError), no_network():
        _ = 1 / 0

    connect(listener)


def test_other_threads_are_guarded(listener: tuple[str, int]) -> None:
    """The guard holds for the process, not for a context: name look-ups run in threads that have none."""
    errors: list[BaseException] = []

    def work() -> None:
        try:
            connect(listener)
        except NetworkRefused as error:
            errors.append(error)

    with no_network():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    assert [type(error).__name__ for error in errors] == ['NetworkRefused']


@pytest.mark.anyio
async def test_async_clients_are_guarded(listener: tuple[str, int]) -> None:
    """C27: asyncio, httpx2 and legacy httpx are refused by address and by name."""
    host, port = listener
    with no_network():
        with pytest.raises(NetworkRefused):
            await asyncio.open_connection(host, port)
        with pytest.raises(NetworkRefused):
            await asyncio.open_connection('host.invalid', port)
        with pytest.raises(NetworkRefused):
            await asyncio.get_running_loop().getaddrinfo('host.invalid', port)
        for client in (httpx2.AsyncClient(trust_env=False), httpx.AsyncClient(trust_env=False)):
            async with client:
                with pytest.raises((NetworkRefused, ExceptionGroup)):
                    await client.get(f'http://{host}:{port}/')
                with pytest.raises(NetworkRefused):
                    await client.get('http://host.invalid/')


@pytest.mark.parametrize('host', ['http://localhost', 'localhost:80', '', 'a/b'])
def test_hosts_are_plain(host: str) -> None:
    """Schemes and ports are refused with what to give instead."""
    with pytest.raises(ValueError) as caught:
        no_network([host])
    assert str(caught.value) == f'{host!r} is not a host: give a name or an IP address, without scheme and port.'


def test_one_text_is_not_several_hosts() -> None:
    """A host that was passed as text would be read letter by letter."""
    with pytest.raises(ValueError) as caught:
        no_network('localhost')
    assert str(caught.value) == "`allow` must be several hosts, not the text 'localhost'; use ('localhost',)."
