"""Injected faults: each ends in the right state and verdict, costs no other case its record, and never passes."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from opentelemetry import trace
from pydantic_ai import Agent
from pydantic_evals.evaluators import EqualsExpected

from advisor_harness.evals import CaseError, CaseRecord, HarnessError, Recording, RunStore, Score, judge
from tests.evals.support import Scripted, case, mirror, one_record, only_run, run, suite
from tests.telemetry.checking import ValidatingProcessor

pytestmark = pytest.mark.anyio


async def crash() -> None:
    raise RuntimeError('no idea')


async def leave() -> None:
    sys.exit(3)


async def raise_cancelled() -> None:
    raise asyncio.CancelledError('enough')


async def cancel_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


async def await_cancelled() -> None:
    other = asyncio.ensure_future(asyncio.Event().wait())
    other.cancel()
    await other


async def crash_in_a_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(crash())


async def with_fault(fault: Callable[[], Awaitable[None]]) -> tuple[CaseRecord, RunStore]:
    """Run a case with `fault` between two that are fine."""

    async def task(inputs: str, arm: str) -> str:
        if inputs == 'fault':
            await fault()
        return await mirror(inputs, arm)

    store = await run(suite(case('before'), case('fault', 'fault', 'tluaf'), case('after'), task=task))
    records = {key.case: record for key, record in store.records().items()}
    assert (records['before'].state, records['after'].state) == ('ok', 'ok')
    return records['fault'], store


@pytest.mark.parametrize(
    ('fault', 'error'),
    [
        (crash, CaseError('RuntimeError', 'no idea', 'task')),
        (leave, CaseError('SystemExit', '3', 'task')),
        (crash_in_a_group, CaseError('RuntimeError', 'no idea', 'task')),
    ],
)
async def test_a_crashed_task_is_a_failed_case(fault: Callable[[], Awaitable[None]], error: CaseError) -> None:
    """A task that raises, `SystemExit` included, blocks: its case counts as not passed, and its traceback is kept."""
    record, store = await with_fault(fault)
    assert (record.state, record.error, record.scores, record.output) == ('error', error, {}, None)
    assert error.type in (store.traceback(record) or '')
    verdict = judge(store)
    assert (str(verdict.verdict), verdict.verdict.exit_code) == ('blocked', 1)
    (gate,) = verdict.suites[0].gates
    assert (gate.metric, gate.value, gate.n_scored, gate.n_expected, gate.verdict) == ('cases', 2 / 3, 3, 3, 'fail')


@pytest.mark.parametrize('fault', [raise_cancelled, cancel_itself, await_cancelled])
async def test_a_cancelled_task_is_inconclusive(fault: Callable[[], Awaitable[None]]) -> None:
    """However a cancellation comes out of a task, its case is `cancelled`, nobody else's is, and nothing passes."""
    record, store = await with_fault(fault)
    assert record.state == 'cancelled'
    assert record.error is not None
    assert (record.error.type, record.error.where) == ('CancelledError', 'task')
    verdict = judge(store).suites[0]
    assert str(verdict.verdict) == 'inconclusive'
    scored = next(each for each in verdict.preconditions if each.name == 'scored')
    assert (scored.n_met, scored.n_expected, scored.detail) == (2, 3, 'fault [advised]: it was cancelled')


def test_a_keyboard_interrupt_stops_the_run_and_keeps_what_ended() -> None:
    """What a task of an interrupted run left is in the store; the interrupt itself reaches the caller."""

    async def task(inputs: str, arm: str) -> str:
        if inputs == 'stop':
            raise KeyboardInterrupt
        return await mirror(inputs, arm)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run(suite(case('a'), case('b', 'stop'), case('c'), task=task), concurrency=1))
    store = only_run()
    assert {key.case: record.state for key, record in store.records().items()} == {'a': 'ok', 'b': 'cancelled'}
    assert str(judge(store).verdict) == 'inconclusive'


def test_an_interrupt_lets_the_cases_end_that_are_running() -> None:
    """Cases beside the one that was interrupted end and are kept; no other is started."""

    async def task(inputs: str, arm: str) -> str:
        if inputs == 'stop':
            raise KeyboardInterrupt
        return await mirror(inputs, arm)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run(suite(case('a'), case('b', 'stop'), *map(case, 'cdefgh'), task=task), concurrency=2))
    states = {key.case: record.state for key, record in only_run().records().items()}
    assert (states['a'], states['b'], 'h' in states) == ('ok', 'cancelled', False)


async def test_a_cancelled_run_keeps_what_ended() -> None:
    """Cancelling a run keeps the records of cases that ended; the others leave none, and that does not pass."""
    reached = asyncio.Event()

    async def task(inputs: str, arm: str) -> str:
        if inputs == 'wait':
            reached.set()
            await asyncio.Event().wait()
        return await mirror(inputs, arm)

    running = asyncio.ensure_future(run(suite(case('a'), case('b', 'wait'), case('c'), task=task), concurrency=1))
    await reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    store = only_run()
    assert {key.case: record.state for key, record in store.records().items()} == {'a': 'ok'}
    verdict = judge(store).suites[0]
    assert str(verdict.verdict) == 'inconclusive'
    assert [(each.name, each.n_met, each.n_expected) for each in verdict.preconditions] == [
        ('cassettes', None, None),
        ('traces', 1, 3),
        ('scored', 1, 3),
    ]


def crashing_scorer(ctx: Any) -> bool:
    raise LookupError('no reference')


def cancelled_scorer(ctx: Any) -> bool:
    raise asyncio.CancelledError


def leaving_scorer(ctx: Any) -> bool:
    sys.exit('done')


@pytest.mark.parametrize(
    ('act', 'error'),
    [
        (crashing_scorer, CaseError('LookupError', 'scripted: no reference', 'scorer')),
        (cancelled_scorer, CaseError('RuntimeError', 'scripted: the scorer was cut off by CancelledError: ', 'scorer')),
        (leaving_scorer, CaseError('RuntimeError', 'scripted: the scorer was cut off by SystemExit: done', 'scorer')),
    ],
)
async def test_a_crashed_scorer_is_inconclusive(act: Callable[[Any], Any], error: CaseError) -> None:
    """A scorer that raises, whatever it raises, costs its own score only, and the suite says nothing."""
    store = await run(suite(case('a'), scorers=(EqualsExpected(), Scripted(act))))
    (record,) = store.records().values()
    assert (record.state, record.error) == ('error', error)
    assert record.scores == {'EqualsExpected': Score(value=True)}
    assert f'in {act.__name__}\n' in (store.traceback(record) or '')
    verdict = judge(store).suites[0]
    assert (str(verdict.verdict), [each.ok for each in verdict.preconditions]) == ('inconclusive', [True, True, False])


@pytest.mark.parametrize('value', [float('nan'), float('inf'), None, object()])
async def test_a_score_that_is_no_number_is_a_crashed_scorer(value: object) -> None:
    """NaN, infinity and things that are no score never enter a mean."""
    record = await one_record(suite(scorers=(Scripted(lambda ctx: value),)))
    assert (record.state, record.scores) == ('error', {})
    assert record.error is not None
    assert (record.error.type, record.error.where) == ('ValueError', 'scorer')


async def test_a_case_that_nothing_scores_is_unscored() -> None:
    """Without any score a case is `unscored`, which is not a pass."""
    store = await run(suite(scorers=()))
    (record,) = store.records().values()
    assert (record.state, record.error) == ('unscored', None)
    verdict = judge(store).suites[0]
    assert str(verdict.verdict) == 'inconclusive'
    assert verdict.preconditions[-1].detail == 'short [advised]: nothing scored it'


async def test_an_empty_span_tree_is_inconclusive() -> None:
    """A case that passes its scorers but left no span has no complete trace, so its suite says nothing."""

    async def task(inputs: str, arm: str) -> str:
        return inputs[::-1]

    store = await run(suite(task=task))
    (record,) = store.records().values()
    problem = 'no span was recorded: the task ran no agent, or one that is instrumented for another provider'
    assert (record.state, record.trace_complete, record.trace_problem) == ('ok', False, problem)
    verdict = judge(store).suites[0]
    assert str(verdict.verdict) == 'inconclusive'
    assert verdict.preconditions[1].detail == f'short [advised]: {problem}'


async def test_an_agent_that_opts_out_of_instrumentation_is_noticed() -> None:
    """An agent that records nothing looks like any empty trace: not complete."""
    from pydantic_ai.models.test import TestModel

    async def task(inputs: str, arm: str) -> str:
        agent = Agent(TestModel(custom_output_text='ba'))
        agent.instrument = False
        return (await agent.run(inputs)).output

    record = await one_record(suite(task=task))
    assert (record.state, record.trace_complete) == ('ok', False)


@pytest.mark.parametrize('value', ['true', ' TRUE '])
async def test_a_disabled_sdk_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """`OTEL_SDK_DISABLED` cannot be overruled, so a run refuses to start instead of recording nothing."""
    monkeypatch.setenv('OTEL_SDK_DISABLED', value)
    with pytest.raises(HarnessError) as caught:
        await run(suite())
    assert caught.value.message == (
        'OTEL_SDK_DISABLED is set to true, but without spans no case can be judged: unset it. '
        'Spans leave this machine only on request'
    )


async def test_a_fault_of_the_harness_itself_costs_one_case() -> None:
    """What the harness trips over ends the case in the `harness` and the run goes on; the suite says nothing."""

    @asynccontextmanager
    async def answering() -> AsyncGenerator[Recording]:
        yield Recording(recorded_with={'by': 'nobody'})

    store = await run(suite(case('a'), case('b'), cassettes='cassettes', recording=answering), mode='record')
    records = list(store.records().values())
    assert [(record.state, record.error and record.error.where) for record in records] == [('error', 'harness')] * 2
    assert str(judge(store).verdict) == 'inconclusive'


async def test_spans_that_cannot_be_read_make_usage_unknown(span_vocabulary: ValidatingProcessor) -> None:
    """A consultation that breaks the vocabulary makes the trace incomplete; what it used is unknown, not 0."""

    async def task(inputs: str, arm: str) -> str:
        trace.get_tracer('other advisor').start_span('consult advisor').end()
        return await mirror(inputs, arm)

    record = await one_record(suite(task=task))
    assert (record.usage, record.cost_usd, record.trace_complete) == ({}, None, False)
    assert record.trace_problem == span_vocabulary.problems[0]
    span_vocabulary.problems.clear()


async def test_a_miss_inside_a_group_of_errors_is_the_recordings() -> None:
    """A refused connection is found in groups and causes, whatever the task wrapped it in."""

    async def connect() -> None:
        with socket.socket() as connection:
            connection.connect(('127.0.0.1', 9))

    async def task(inputs: str, arm: str) -> str:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(connect())
        except ExceptionGroup as e:
            raise RuntimeError('wrapped') from e
        return inputs

    record = await one_record(suite(task=task))
    assert record.error == CaseError('RuntimeError', 'wrapped', 'cassette')
