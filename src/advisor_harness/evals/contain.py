"""Keeps what goes wrong in a task or a scorer inside its case: exceptions, cancellation, even `sys.exit()`."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from advisor_harness.evals.naming import shown

__all__ = ['GRACE_S', 'Ended', 'contained', 'cut_off', 'description', 'in_thread', 'raised_at', 'settled']

GRACE_S = 2.0
"""Seconds to clean up for what is cut off."""

_T = TypeVar('_T')


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


async def contained(call: Callable[[], Awaitable[Any]], *, limit_s: float | None = None, what: str = 'task') -> Ended:
    """Run `call` and say how it ended, whatever that is; only a cancellation of the caller itself passes.

    It runs in an asyncio task of its own, so that a call that cancels its current task cancels nobody else's. A call
    that goes on `GRACE_S` seconds after it was cut off is left behind: nothing waits for it any more.

    Args:
        call: What to run.
        limit_s: Seconds it may take before it is cut off, which is a `TimeoutError`; `None` sets no limit.
        what: What the message of that error calls it.
    """

    async def body() -> Ended:
        # An event loop stops for `SystemExit` and `KeyboardInterrupt` of a task, so they must not leave this one.
        try:
            return Ended(value=await call())
        except BaseException as e:  # noqa: BLE001 - told to the caller, who decides
            return Ended(error=e)

    task = asyncio.create_task(body())
    try:
        done, _ = await asyncio.wait({task}, timeout=limit_s)
    except asyncio.CancelledError:
        await cut_off({task})
        raise
    if not done:
        await cut_off({task})
        return Ended(error=TimeoutError(f'the {what} took longer than {limit_s:g} s'))
    return Ended(error=asyncio.CancelledError()) if task.cancelled() else task.result()


async def cut_off(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel tasks and give them `GRACE_S` seconds to clean up; those that go on are left behind."""
    for task in tasks:
        task.cancel()
    try:
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE_S)
    finally:
        for task in tasks:
            if not task.done():
                _leave_behind(task)


def _leave_behind(task: asyncio.Task[Any]) -> None:
    # The end of an event loop waits for every task it knows of, and complains about those that never ended.
    asyncio.tasks._unregister_task(task)  # pyright: ignore - documented for event loops, and not in the stubs
    task._log_destroy_pending = False  # pyright: ignore - as `asyncio.gather` does it


async def settled(main: Awaitable[_T]) -> _T:
    """Await what an event loop is there for; what it leaves running is cut off, so that the loop can end."""
    try:
        return await main
    finally:
        await cut_off(asyncio.all_tasks() - {cast('asyncio.Task[Any]', asyncio.current_task())})


async def in_thread(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a thread that nobody has to wait for, neither the event loop nor the end of the process."""
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    if (sniffio := sys.modules.get('sniffio')) is not None:  # a thread may run an event loop of its own
        context.run(sniffio.current_async_library_cvar.set, None)
    ended: asyncio.Future[Ended] = loop.create_future()

    def settle(how: Ended) -> None:
        if not ended.done():  # cancelled meanwhile
            ended.set_result(how)

    def work() -> None:
        try:
            how = Ended(value=context.run(function, *args))
        except BaseException as e:  # noqa: BLE001 - raised where it is awaited
            how = Ended(error=e)
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, how)

    threading.Thread(target=work, name=f'task {getattr(function, "__name__", "")}', daemon=True).start()
    how = await ended
    if how.error is not None:
        raise how.error
    return how.value


def description(error: BaseException) -> tuple[str, str]:
    """Class name and text of an error; a group of one speaks for its only member."""
    members = cast('tuple[BaseException, ...]', getattr(error, 'exceptions', ()))
    if isinstance(error, BaseExceptionGroup) and len(members) == 1:
        return description(members[0])
    return type(cast(BaseException, error)).__name__, str(cast(object, error))


def raised_at(error: BaseException) -> str | None:
    """Where an error came out of somebody's own code, as `evals/support.py:31 in answer`; `None` when it was made here.

    That is the last place below the current directory that is no installed package, and without one the last place.
    """
    members = cast('tuple[BaseException, ...]', getattr(error, 'exceptions', ()))
    if isinstance(error, BaseExceptionGroup) and len(members) == 1:
        return raised_at(members[0])
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    if not frames:
        return None
    own = [frame for frame in frames if _is_own(Path(frame.filename))]
    last = (own or frames)[-1]
    return f'{shown(Path(last.filename))}:{last.lineno} in {last.name}'


def _is_own(file: Path) -> bool:
    return 'site-packages' not in file.parts and file.absolute().is_relative_to(Path.cwd())
