"""A guard that refuses every connection of this process, for code that does not go through the cassette's client.

It is an audit hook of the interpreter, so it also sees sockets that tools, other clients and executor threads open.
Sockets opened by C code that raises no audit events (uvloop, libcurl) and other processes are out of its reach.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import sys
import threading
from collections import Counter
from collections.abc import Generator, Iterable
from typing import Any

from .errors import NetworkRefused

__all__ = ['allowed_network', 'no_network']

_LOOPBACK = ('localhost', '127.0.0.1', '::1')
_CONNECTING = ('socket.connect', 'socket.sendto', 'socket.sendmsg')
_LOOKING_UP = ('socket.getaddrinfo', 'socket.gethostbyname', 'socket.gethostbyaddr')


class _Guard:
    """What is refused now. Process-wide on purpose: names are looked up in threads that have no context of a task."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._installed = False
        self._active = 0
        self._hosts: Counter[str] = Counter()
        self._resolving = threading.local()
        self._addresses: dict[str, set[str]] = {}

    def enter(self, hosts: list[str], *, refuse: bool) -> None:
        with self._lock:
            if refuse and not self._installed:
                # Hooks cannot be removed, so there is one for good and a switch.
                sys.addaudithook(self._hook)
                self._installed = True
            self._active += refuse
            self._hosts.update(hosts)

    def leave(self, hosts: list[str], *, refuse: bool) -> None:
        with self._lock:
            self._active -= refuse
            self._hosts.subtract(hosts)
            self._hosts = +self._hosts

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._active or not event.startswith('socket.'):
            return
        if event in _CONNECTING:
            self._check_address(args[0], args[-1])
        elif event in _LOOKING_UP:
            self._check_name(args[0])

    def _check_address(self, sock: Any, address: Any) -> None:
        # Other families than IP never leave the machine; a datagram without address goes to a checked peer.
        if getattr(sock, 'family', None) not in (socket.AF_INET, socket.AF_INET6) or not isinstance(address, tuple):
            return
        host = _normal(address[0])
        if not self._is_allowed(host) and not self._is_address_of_allowed(host):
            raise NetworkRefused('A connection to', host)

    def _check_name(self, name: Any) -> None:
        if name is None or getattr(self._resolving, 'active', False):
            return
        host = _normal(name)
        if not self._is_allowed(host):
            if not _is_address(host):
                raise NetworkRefused('Looking up', host)
        elif not _is_address(host):
            self._remember_addresses(host)

    def _is_allowed(self, host: str) -> bool:
        return self._hosts[host] > 0

    def _is_address_of_allowed(self, address: str) -> bool:
        return any(address in found for name, found in list(self._addresses.items()) if self._is_allowed(name))

    def _remember_addresses(self, host: str) -> None:
        # The connection that follows names an address only.
        self._resolving.active = True
        try:
            found = socket.getaddrinfo(host, None)
        except OSError:
            return  # the caller's own look-up fails the same way and says so
        finally:
            self._resolving.active = False
        self._addresses.setdefault(host, set()).update(_normal(entry[4][0]) for entry in found)


_guard = _Guard()


def no_network(allow: Iterable[str] = ()) -> contextlib.AbstractContextManager[None]:
    """Refuse connections and name look-ups of the whole process, except to some hosts.

    Re-entrant: the guard ends when its last user leaves. While several are active, a host that any of them allows is
    allowed. Loopback is refused too unless it is named; `localhost`, `127.0.0.1` and `::1` stand for each other.

    Args:
        allow: Host names or IP addresses, without scheme and port.

    Raises:
        ValueError: an entry of `allow` is not a host.
        NetworkRefused: (a `CassetteError`) raised in the code that tries to connect, not here.
    """
    return _entered(_hosts(allow), refuse=True)


def allowed_network(allow: Iterable[str]) -> contextlib.AbstractContextManager[None]:
    """Let hosts pass any guard that is or becomes active, without refusing anything; arguments as `no_network`."""
    return _entered(_hosts(allow), refuse=False)


@contextlib.contextmanager
def _entered(hosts: list[str], *, refuse: bool) -> Generator[None]:
    _guard.enter(hosts, refuse=refuse)
    try:
        yield
    finally:
        _guard.leave(hosts, refuse=refuse)


def _hosts(allow: Iterable[str]) -> list[str]:
    if isinstance(allow, str):
        raise ValueError(f'`allow` must be several hosts, not the text {allow!r}; use ({allow!r},).')
    hosts: list[str] = []
    for host in allow:
        name = _normal(host)
        if not name or '/' in name or (':' in name and not _is_address(name)):
            raise ValueError(f'{host!r} is not a host: give a name or an IP address, without scheme and port.')
        hosts.extend(_LOOPBACK if name in _LOOPBACK else [name])
    return hosts


def _normal(host: Any) -> str:
    text = host.decode('idna') if isinstance(host, bytes | bytearray) else str(host)
    text = text.strip('[]').rstrip('.').lower().partition('%')[0]
    return text.removeprefix('::ffff:') if text.startswith('::ffff:') and '.' in text else text


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
