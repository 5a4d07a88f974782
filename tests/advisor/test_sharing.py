"""One answer for identical questions of one response, whatever becomes of the call that asks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent, ModelResponse
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelHTTPError

from advisor_harness import Advisor, Consultation
from advisor_harness.advisor.sharing import SharedAnswers

from .scripts import Script, answers, asks, consulted, executor, outcomes, says, tool_returns

pytestmark = pytest.mark.anyio


async def test_a_failure_is_shared_too() -> None:
    """Calls that share a consultation share its failed result; it is asked and recorded once."""
    advisor, records = Script(ModelHTTPError(529, 'advisor')), list[Consultation]()
    ours = Advisor(advisor.model(), on_error='continue', on_consultation=records.append)
    result, _ = await consulted(ours, asks('How?', 'How?', 'How?'))
    assert [(part.outcome, part.content) for part in tool_returns(result.all_messages())] == [
        ('failed', 'Advisor unavailable (unavailable). Continue without advice.')
    ] * 3
    assert (len(advisor.requests), outcomes(records)) == (1, ['error'])


async def test_a_retry_is_shared_and_asked_again_by_the_next_response() -> None:
    """An unusable answer is a retry for every call that waited; the next response gets another answer."""
    advisor = Script(says(' '), says('Use a lock.'))
    result, _ = await consulted(Advisor(advisor.model()), asks('How?', 'How?'), asks('How?', first=3))
    assert [part.outcome for part in tool_returns(result.all_messages())] == ['retried', 'retried', 'success']
    assert len(advisor.requests) == 2


class CancelFirst(AbstractCapability[Any]):
    """Cancels the consultation of the first call, as a timeout around a tool would."""

    def __init__(self, started: asyncio.Event) -> None:
        self.started = started

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        if call.tool_call_id != 'call-1':
            await self.started.wait()
            return await handler(args)
        task = asyncio.ensure_future(handler(args))
        await self.started.wait()
        task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            return 'given up'


async def test_the_others_ask_again_when_the_asking_call_is_cancelled() -> None:
    """Calls that waited for a cancelled one ask once themselves, with a claim of their own."""
    started, records = asyncio.Event(), list[Consultation]()

    async def hang_first(messages: Any, info: Any) -> ModelResponse:
        if started.is_set():
            return says('Use a lock.')
        started.set()
        return await asyncio.Future()

    advisor = Script(hang_first)
    ours = Advisor[object](advisor.model(), max_uses=2, on_consultation=records.append)
    script = executor(asks('How?', 'How?', 'How?'))
    result = await Agent(script.model(), capabilities=[CancelFirst(started), ours]).run('Go.')
    assert answers(result.all_messages()) == ['given up', 'Use a lock.', 'Use a lock.']
    assert [(record.call_id, record.outcome.value) for record in records] == [
        ('call-1', 'cancelled'),
        ('call-2', 'advised'),
    ]


async def test_the_others_are_refused_when_the_cancelled_call_took_the_last_use() -> None:
    """A cancelled consultation stays spent: those that waited are over the limit."""
    started = asyncio.Event()

    async def hang(messages: Any, info: Any) -> ModelResponse:
        started.set()
        return await asyncio.Future()

    ours = Advisor[object](Script(hang).model(), max_uses=1)
    script = executor(asks('How?', 'How?'))
    result = await Agent(script.model(), capabilities=[CancelFirst(started), ours]).run('Go.')
    assert answers(result.all_messages()) == [
        'given up',
        'Advisor consultation limit reached for this model request. Continue without further advice.',
    ]


class Stop(BaseException):
    """What stops a program, such as `KeyboardInterrupt`."""


async def test_an_exit_of_the_program_leaves_no_one_waiting() -> None:
    """What is no error of the advisor passes through unrecorded; a call that waited takes over and is cancelled."""
    records: list[Consultation] = []
    ours = Advisor(Script(Stop()).model(), on_consultation=records.append)
    with pytest.raises(Stop):
        await consulted(ours, asks('How?', 'How?'))
    assert [(record.call_id, record.outcome.value) for record in records] == [('call-2', 'cancelled')]


def test_a_new_step_forgets_the_last_one() -> None:
    """Questions belong to one executor request; what is late for an older one changes nothing."""
    shared = SharedAnswers()
    first = shared.open(1, 'How?')
    assert shared.find(1, 'How?') is first
    second = shared.open(2, 'How?')
    shared.forget(1, 'How?')
    assert (shared.find(1, 'How?'), shared.find(2, 'How?')) == (None, second)
