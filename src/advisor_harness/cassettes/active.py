"""Which cassette the current task uses."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cassette import Cassette

__all__ = ['activated', 'active_cassette']

_active: ContextVar[Cassette | None] = ContextVar('advisor_harness.cassettes.active', default=None)


def active_cassette() -> Cassette | None:
    """The cassette of the innermost `use_cassette` around the current code; `None` outside of one.

    Tasks and `asyncio.to_thread` inherit it when they are started; what was started before the cassette was opened does
    not see it.
    """
    return _active.get()


@contextlib.contextmanager
def activated(cassette: Cassette) -> Generator[None]:
    """Make a cassette the active one."""
    token = _active.set(cassette)
    try:
        yield
    finally:
        _active.reset(token)
