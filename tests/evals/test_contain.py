"""Whatever a call does, it does to itself."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from advisor_harness.evals import contain
from advisor_harness.evals.contain import Ended, contained, description, in_thread, raised_at, settled

pytestmark = pytest.mark.anyio


async def test_a_call_that_returns() -> None:
    """The value comes back."""

    async def call() -> int:
        return 3

    assert await contained(call) == Ended(value=3)


@pytest.mark.parametrize('error', [ValueError('x'), SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_whatever_a_call_raises_comes_back(error: BaseException) -> None:
    """Also what would stop the event loop."""

    async def call() -> None:
        raise error

    ended = await contained(call)
    assert ended.error is error
    assert ended.cancelled == isinstance(error, asyncio.CancelledError | KeyboardInterrupt)


async def test_a_cancellation_of_the_caller_passes() -> None:
    """When the caller is cancelled, the call is too, is waited for, and the cancellation goes on."""
    seen: list[str] = []
    reached = asyncio.Event()

    async def call() -> None:
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            seen.append('cleaned up')

    caller = asyncio.ensure_future(contained(call))
    await reached.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert seen == ['cleaned up']


def test_a_group_of_one_speaks_for_its_member() -> None:
    """Groups are described by what is in them, as far as that is one thing."""
    one = ExceptionGroup('group', [ExceptionGroup('inner', [ValueError('x')])])
    assert description(one) == ('ValueError', 'x')
    assert description(ExceptionGroup('group', [ValueError('x'), KeyError('y')])) == (
        'ExceptionGroup',
        'group (2 sub-exceptions)',
    )


async def fail() -> None:
    raise LookupError('gone')


async def test_where_an_error_came_from_is_somebodys_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last place of the project counts, the last place at all where there is none, and nothing for a time limit."""
    monkeypatch.chdir(Path(__file__).parents[2])
    failed = await contained(fail)
    assert failed.error is not None
    line = fail.__code__.co_firstlineno + 1
    assert raised_at(failed.error) == f'tests/evals/test_contain.py:{line} in fail'
    assert raised_at(ExceptionGroup('one', [failed.error])) == f'tests/evals/test_contain.py:{line} in fail'
    monkeypatch.chdir('/')
    monkeypatch.setattr('advisor_harness.evals.contain._is_own', lambda file: False)
    assert str(raised_at(failed.error)).endswith(f'tests/evals/test_contain.py:{line} in fail')
    hung = await contained(asyncio.Event().wait, limit_s=0.001)
    assert (str(hung.error), raised_at(hung.error or failed.error)) == ('the task took longer than 0.001 s', None)


async def test_what_does_not_heed_its_cancellation_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that goes on after it was cut off holds up nobody, neither its case nor the end of the event loop."""
    monkeypatch.setattr(contain, 'GRACE_S', 0.001)

    async def stubborn() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    def run() -> str:
        return str(asyncio.run(settled(contained(stubborn, limit_s=0.001))).error)

    async def with_another() -> str:
        another = asyncio.create_task(stubborn())
        await asyncio.sleep(0)
        return f'{another.done()}'

    assert await asyncio.to_thread(run) == 'the task took longer than 0.001 s'
    assert await asyncio.to_thread(lambda: asyncio.run(settled(with_another()))) == 'False'


async def test_a_plain_function_in_a_thread_raises_what_it_raised() -> None:
    """Values, errors and even `StopIteration` come back; a function that nobody waits for any more is forgotten."""
    assert await in_thread(max, 1, 2) == 2
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 // 0)
    ended = await contained(lambda: in_thread(next, iter(())))
    assert isinstance(ended.error, RuntimeError)
    gate = threading.Event()
    hung = await contained(lambda: in_thread(gate.wait), limit_s=0.001)
    gate.set()
    assert isinstance(hung.error, TimeoutError)
