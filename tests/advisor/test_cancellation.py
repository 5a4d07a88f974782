"""F27: a cancelled run cancels its consultations, records them, and is never taken for a failed one."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
from pydantic_ai import Agent, ModelResponse, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import RunCancelled, RunTimedOut
from pydantic_ai.messages import ToolReturnPart

from advisor_harness import Advisor, Consultation
from advisor_harness.telemetry import read

from .conftest import Spans
from .scripts import Script, answers, asks, executor, outcomes, says, skip

pytestmark = pytest.mark.anyio


class Hanging:
    """An agent with an advisor that never answers, and what became of it."""

    def __init__(self, *capabilities: Any, **options: Any) -> None:
        self.started = asyncio.Event()
        self.stopped: list[str] = []
        self.records: list[Consultation] = []
        self.contexts: list[RunContext[object]] = []
        ours = Advisor[object](Script(self.hang).model('slow'), on_consultation=self.records.append, **options)
        self.agent = Agent(executor(asks('One?', 'Two?')).model(), name='executor', capabilities=[*capabilities, ours])
        self.agent.instructions(self.keep)

    def keep(self, ctx: RunContext[object]) -> None:
        self.contexts.append(ctx)

    async def hang(self, messages: Any, info: Any) -> ModelResponse:
        self.started.set()
        try:
            return await asyncio.Future()
        except asyncio.CancelledError:
            self.stopped.append('cancelled')
            raise

    async def by_task(self) -> None:
        task = asyncio.create_task(self.agent.run('Go.'))
        await self.started.wait()
        task.cancel()
        await task

    async def by_run(self) -> None:
        async with self.agent.iter('Go.') as run, asyncio.TaskGroup() as group:
            group.create_task(self.when_started(run.cancel))
            async for _ in run:
                pass

    async def by_context(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.when_started(lambda: self.contexts[0].cancel()))
            await self.agent.run('Go.')

    async def by_timeout(self, **run: Any) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.when_started(lambda: skip(60)))
            await self.agent.run('Go.', timeout=60, **run)

    async def by_scope(self) -> None:
        with anyio.fail_after(60):
            async with asyncio.TaskGroup() as group:
                group.create_task(self.when_started(lambda: skip(60)))
                await self.agent.run('Go.')

    async def when_started(self, cancel: Any) -> None:
        await self.started.wait()
        cancel()


async def ending(run: Any) -> BaseException:
    """What ended a run, alone or in the group of the test's own tasks."""
    try:
        await run
    except BaseExceptionGroup as group:
        (single,) = group.exceptions
        return single
    except BaseException as single:
        return single
    raise AssertionError('the run was not cancelled')


@pytest.mark.parametrize('on_error', ['raise', 'continue'])
@pytest.mark.parametrize(
    ('way', 'error'),
    [
        ('by_task', asyncio.CancelledError),
        ('by_run', RunCancelled),
        ('by_context', RunCancelled),
        ('by_timeout', RunTimedOut),
        ('by_scope', TimeoutError),
    ],
)
async def test_f27_every_way_to_cancel_a_run_cancels_its_consultations(way: str, error: Any, on_error: Any) -> None:
    """Both parallel advisors are stopped and recorded as cancelled; the cancellation goes on as what it is."""
    hanging = Hanging(on_error=on_error)
    assert type(await ending(getattr(hanging, way)())) is error
    assert hanging.stopped == ['cancelled', 'cancelled']
    assert sorted((r.call_id, r.outcome.value, r.error_code, r.requests, r.cost_usd) for r in hanging.records) == [
        ('call-1', 'cancelled', None, 1, None),
        ('call-2', 'cancelled', None, 1, None),
    ]


async def test_f27_a_cancelled_consultation_is_no_error_in_its_span(spans: Spans) -> None:
    """The span ends as cancelled with a warning, not as an error: the advisor did nothing wrong."""
    hanging = Hanging(spans.capability())
    await ending(hanging.by_timeout())
    assert [(f.outcome, f.error_code) for f in read.consultations(spans.finished)] == [('cancelled', None)] * 2
    own = [span for span in spans.finished if span.name == 'consult advisor']
    assert [span.status.status_code.name for span in own] == ['UNSET', 'UNSET']


async def test_f27_a_cancelled_run_can_be_resumed() -> None:
    """The messages of a run that was cancelled while it consulted go on with a new prompt."""
    hanging = Hanging()
    timed_out = await ending(hanging.by_timeout())
    assert isinstance(timed_out, RunTimedOut)
    script = Script(says('done'))
    result = await hanging.agent.run('Again.', model=script.model(), message_history=timed_out.all_messages())
    returns = [part for message in script.requests[0] for part in message.parts if isinstance(part, ToolReturnPart)]
    assert (result.output, [part.outcome for part in returns]) == ('done', ['interrupted', 'interrupted'])


async def test_f27_an_async_callback_hears_of_a_cancellation() -> None:
    """`on_consultation` is called, and may await, while the run is being cancelled."""
    seen: list[str] = []

    async def keep(record: Consultation) -> None:
        await asyncio.sleep(0)
        seen.append(record.outcome)

    hanging = Hanging()
    ours = Advisor[object](Script(hanging.hang).model(), on_consultation=keep)
    await ending(hanging.by_timeout(capabilities=[ours]))
    assert seen == ['cancelled', 'cancelled']


class Scope(AbstractCapability[object]):
    """Runs each tool in a cancel scope of anyio, which cancels it at every `await` once the scope is cancelled."""

    def __init__(self, started: asyncio.Event) -> None:
        self.started = started

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        async with anyio.create_task_group() as group:
            group.start_soon(self.cancel, group.cancel_scope)
            return await handler(args)
        return 'given up'

    async def cancel(self, scope: anyio.CancelScope) -> None:
        await self.started.wait()
        scope.cancel()


async def test_f27_a_scope_around_the_tool_lets_the_callback_finish() -> None:
    """The callback is shielded from the scope that cancels the consultation; the run goes on."""
    seen: list[str] = []

    async def keep(record: Consultation) -> None:
        await asyncio.sleep(0)
        seen.append(record.outcome)

    hanging = Hanging()
    ours = Advisor[object](Script(hanging.hang).model(), on_consultation=keep)
    agent = Agent(executor(asks('How?')).model(), capabilities=[Scope(hanging.started), ours])
    assert answers((await agent.run('Go.')).all_messages()) == ['given up']
    assert seen == ['cancelled']


async def test_f27_a_call_that_waits_for_a_shared_answer_is_cancelled_unrecorded() -> None:
    """Of identical questions only the one that was asked leaves a record."""
    hanging = Hanging()
    script = executor(asks('Same?', 'Same?'))
    await ending(hanging.by_timeout(model=script.model()))
    assert outcomes(hanging.records) == ['cancelled']


async def test_a_failing_consultation_cancels_its_siblings_by_default() -> None:
    """With `raise` the first error ends the run; what was in flight is recorded as cancelled."""
    records: list[Consultation] = []
    started = asyncio.Event()

    async def answer(messages: Any, info: Any) -> ModelResponse:
        if 'One' in messages[0].parts[-1].content:
            await started.wait()
            raise ZeroDivisionError('bug')
        started.set()
        return await asyncio.Future()

    ours = Advisor[object](Script(answer).model(), on_consultation=records.append)
    with pytest.raises(ZeroDivisionError):
        await Agent(executor(asks('One?', 'Two?')).model(), capabilities=[ours]).run('Go.')
    assert {record.call_id: record.outcome.value for record in records} == {'call-1': 'error', 'call-2': 'cancelled'}


async def test_a_stream_of_events_that_is_left_cancels_its_consultations() -> None:
    """Leaving `run_stream_events` while the advisor works ends the run, and with it the advisor."""
    hanging = Hanging()

    async def read_on(stream: Any) -> None:
        async for _ in stream:
            pass

    async with hanging.agent.run_stream_events('Go.') as stream:
        reading = asyncio.create_task(read_on(stream))
        await hanging.started.wait()
        reading.cancel()
        await asyncio.wait([reading])
    assert (hanging.stopped, outcomes(hanging.records)) == (['cancelled'] * 2, ['cancelled'] * 2)
