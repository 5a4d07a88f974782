"""What the design asks of this room is numbered, C1 to C31; each number has its tests, or its benchmark."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def test_every_check_has_a_test() -> None:
    """The docstring of a test begins with the number of the check that it holds the room to."""
    files = [*TESTS.glob('*.py'), *(TESTS.parent / 'benchmarks').glob('*.py')]
    found = {int(number) for file in files for number in re.findall(r'"""C(\d+): ', file.read_text(encoding='utf-8'))}

    assert found == set(range(1, 32))


@pytest.mark.usefixtures('only_our_guard')
def test_tests_cannot_leave_the_machine(blocked_network: type[Exception]) -> None:
    """C31: whatever reaches for another machine during the tests fails; loopback is what their servers need."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock, pytest.raises(blocked_network):
        sock.connect(('192.0.2.1', 9))
    with pytest.raises(blocked_network):
        socket.getaddrinfo('host.invalid', 80)
    assert socket.getaddrinfo('127.0.0.1', 80)
