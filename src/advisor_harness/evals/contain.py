"""Keeps what goes wrong in a task or a scorer inside its case: exceptions, cancellation, even `sys.exit()`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

__all__ = ['Ended', 'contained', 'description']


@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    value: Any = None
    error: BaseException | None = None
    """What it raised; `None` when it returned."""

    @property
    def cancelled(self) -> bool:
        """Whether it was cut off instead of failing by itself."""
        return isinstance(self.error, asyncio.CancelledError | KeyboardInterrupt)


async def contained(call: Callable[[], Awaitable[Any]]) -> Ended:
    """Run `call` and say how it ended, whatever that is; only a cancellation of the caller itself passes.

    It runs in an asyncio task of its own, so that a call that cancels its current task cancels nobody else's.
    """

    async def body() -> Ended:
        # An event loop stops for `SystemExit` and `KeyboardInterrupt` of a task, so they must not leave this one.
        try:
            return Ended(value=await call())
        except BaseException as e:  # noqa: BLE001 - told to the caller, who decides
            return Ended(error=e)

    task = asyncio.create_task(body())
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task})
        raise
    return Ended(error=asyncio.CancelledError()) if task.cancelled() else task.result()


def description(error: BaseException) -> tuple[str, str]:
    """Class name and text of an error; a group of one speaks for its only member."""
    members = cast('tuple[BaseException, ...]', getattr(error, 'exceptions', ()))
    if isinstance(error, BaseExceptionGroup) and len(members) == 1:
        return description(members[0])
    return type(cast(BaseException, error)).__name__, str(cast(object, error))
