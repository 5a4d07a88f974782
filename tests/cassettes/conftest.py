"""Nothing outside of a test's folder is read or written, and nothing leaves the machine."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from advisor_harness.cassettes import network

_LOOPBACK = ('localhost', '127.0.0.1', '::1')
_CHECKED = ('socket.connect', 'socket.sendto', 'socket.getaddrinfo', 'socket.gethostbyname')


class Blocked(AssertionError):
    """A test wanted to leave the machine."""


class _Block:
    active = False

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        # While the guard under test is active, refusing is its business.
        if not self.active or event not in _CHECKED or network._guard._active:
            return
        host = args[0] if event.startswith('socket.get') else args[-1]
        name = str(host[0] if isinstance(host, tuple) else host)
        if isinstance(host, tuple | str) and name not in _LOOPBACK and not _is_wildcard(name):
            raise Blocked(f'{event} {name!r}')


def _is_wildcard(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_unspecified
    except ValueError:
        return name == ''


@pytest.fixture(scope='session', autouse=True)
def blocked_network() -> Iterator[type[Blocked]]:
    """C31: from here to the end of the session no test reaches anything but this machine."""
    block = _Block()
    block.active = True
    sys.addaudithook(block)
    yield Blocked
    block.active = False


@pytest.fixture(autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache folder, empty."""
    folder = tmp_path_factory.mktemp('cache')
    monkeypatch.setenv('XDG_CACHE_HOME', str(folder))
    return folder


@pytest.fixture
def only_our_guard(request: pytest.FixtureRequest) -> None:
    """For tests that reach for the network to see it refused: under `--block-network` another guard is first."""
    if request.config.getoption('--block-network', default=False):
        pytest.skip('`--block-network` refuses before the guard under test')
