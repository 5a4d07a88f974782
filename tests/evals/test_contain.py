"""Whatever a call does, it does to itself."""

from __future__ import annotations

import asyncio

import pytest

from advisor_harness.evals.contain import Ended, contained, description

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
