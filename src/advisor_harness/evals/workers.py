"""Runs cases in several processes: a replay is bound by the processor, so that only more of them make it faster.

Each worker is a fresh interpreter that imports the suites by itself, runs one case at a time and sends back what the
case left; this process alone writes to the store. A worker that dies costs the case it was running, which says so, and
is replaced.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias, cast

from advisor_harness.cassettes import no_network
from advisor_harness.evals.attachments import Kind, file_of
from advisor_harness.evals.contain import settled
from advisor_harness.evals.datasets import SuiteCases, load_cases, tags_of
from advisor_harness.evals.errors import HarnessError, SuiteError
from advisor_harness.evals.execute import Conditions, run_job
from advisor_harness.evals.naming import shown
from advisor_harness.evals.plan import Job, SuitePlan
from advisor_harness.evals.records import CaseError, CaseKey, CaseRecord
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.suite import load_suite
from advisor_harness.evals.tracing import instrumented

__all__ = ['Assignment', 'assignment', 'run_in_workers']

# How often a process that waits for a worker looks whether it is still alive.
_LOOK_S = 0.2
# What a worker gets to end by itself when there is nothing left to do.
_END_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """What a worker needs to know; the cases come one by one."""

    suites: Mapping[Path, tuple[str, str]]
    """Files of the suites, with the digests of their cases and of their scorers."""
    run_id: str
    timeout: float | None
    allow_hosts: tuple[str, ...]


@dataclass(frozen=True)
class _Refusal:
    """Why a worker cannot start."""

    message: str


@dataclass(kw_only=True)
class _Left:
    """What a case left, collected in a worker."""

    attachments: list[tuple[Kind, CaseKey, bytes]] = field(default_factory=list[tuple[Kind, CaseKey, bytes]])
    records: list[CaseRecord] = field(default_factory=list[CaseRecord])
    interrupted: bool = False

    def attach(self, kind: Kind, key: CaseKey, content: bytes, /) -> str:
        self.attachments.append((kind, key, content))
        return file_of(kind, key.suite)

    def append(self, record: CaseRecord, /) -> None:
        self.records.append(record)


_Answer: TypeAlias = _Refusal | _Left | None


def assignment(
    plans: Sequence[SuitePlan], *, run_id: str, timeout: float | None, allow_hosts: tuple[str, ...]
) -> Assignment:
    """What workers need to know to run these plans; suites that come from no file no other process can have."""
    suites: dict[Path, tuple[str, str]] = {}
    for plan in plans:
        assert plan.suite.file is not None  # checked before the run
        suites[plan.suite.file] = plan.cases.dataset_sha256, plan.cases.scorers_sha256
    return Assignment(suites=suites, run_id=run_id, timeout=timeout, allow_hosts=allow_hosts)


async def run_in_workers(
    jobs: Iterator[Job], assigned: Assignment, workers: int, store: RunStore, on_record: Callable[[CaseRecord], None]
) -> bool:
    """Run jobs in `workers` processes, each of which takes the next one when it is free.

    Returns:
        Whether a task or a scorer was interrupted, so that the run should end; cases that were running have ended then.

    Raises:
        HarnessError: a worker cannot start.
        StoreError: there is no room for what a case left.
    """
    interrupted = asyncio.Event()
    with ThreadPoolExecutor(workers, thread_name_prefix='waits for a worker') as threads:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(_Lane(assigned, threads).run(jobs, store, on_record, interrupted))
    return interrupted.is_set()


class _Lane:
    """One place in which a worker runs, and after it dies the next one."""

    def __init__(self, assigned: Assignment, threads: Executor) -> None:
        self._assigned = assigned
        self._threads = threads
        self._worker: _Worker | None = None

    async def run(
        self,
        jobs: Iterator[Job],
        store: RunStore,
        on_record: Callable[[CaseRecord], None],
        interrupted: asyncio.Event,
    ) -> None:
        try:
            for job in jobs:
                left = await self._left_by(job)
                for kind, key, content in left.attachments:
                    store.attach(kind, key, content)
                for record in left.records:
                    store.append(record)
                    on_record(record)
                if left.interrupted:
                    interrupted.set()
                if interrupted.is_set():
                    break
            if self._worker is not None:
                await self._in_thread(self._worker.dismiss)
        finally:
            if self._worker is not None:
                self._worker.kill()

    async def _left_by(self, job: Job) -> _Left:
        if self._worker is None:
            self._worker = _Worker(self._assigned)
            greeting = await self._in_thread(self._worker.answer)
            if greeting is None:
                raise HarnessError(f'a worker process {self._worker.end()} before its first case')
            if isinstance(greeting, _Refusal):
                raise HarnessError(greeting.message)
        self._worker.ask(job.key)
        left = await self._in_thread(self._worker.answer)
        if isinstance(left, _Left):
            return left
        how, self._worker = self._worker.end(), None
        return _Left(records=[_lost(job, how)])

    async def _in_thread(self, call: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


class _Worker:
    """A worker as the process sees it that started it; what waits is called in a thread."""

    def __init__(self, assigned: Assignment) -> None:
        # Not a fork: that would copy a running event loop, its threads and their locks.
        context = get_context('spawn')
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, assigned), name='advisor-harness worker')
        with _interrupts_held_back():
            self._process.start()
        theirs.close()

    def ask(self, key: CaseKey) -> None:
        """Have a case run."""
        with suppress(OSError):  # it is dead, which the answer will say
            self._connection.send(key)

    def answer(self) -> _Answer:
        """Wait for what it sends next; `None` when it died instead."""
        try:
            while not self._connection.poll(_LOOK_S):
                # Not only the end of the connection counts: a process that the case started may hold it open.
                if self._process.exitcode is not None and not self._connection.poll():
                    return None
            return self._connection.recv()
        except (EOFError, OSError):
            return None

    def end(self) -> str:
        """How it ended, as the predicate of a sentence."""
        self._process.join(_END_S)
        code = self._process.exitcode
        self.kill()
        if code is None:
            return 'closed its connection'
        return f'was ended by {signal.Signals(-code).name}' if code < 0 else f'ended with exit code {code}'

    def dismiss(self) -> None:
        """Let it end by itself."""
        try:
            self._connection.send(None)
        except OSError:
            return
        self._process.join(_END_S)

    def kill(self) -> None:
        """End it whatever it does."""
        self._process.kill()
        self._process.join()
        self._connection.close()


def _lost(job: Job, how: str) -> CaseRecord:
    """The record of a case that took its worker with it."""
    key, message = job.key, f'the worker process that ran it {how}'
    return CaseRecord(
        suite=key.suite,
        case=key.case,
        arm=key.arm,
        repeat=key.repeat,
        state='error',
        error=CaseError('WorkerDied', message, 'harness'),
        tags=tags_of(job.case),
        trace_problem=message,
    )


@contextmanager
def _interrupts_held_back() -> Generator[None]:
    """Start processes that never see the SIGINT of a terminal: who started them decides what becomes of them."""
    mask = getattr(signal, 'pthread_sigmask', None)
    if mask is None:  # Windows
        yield
        return
    # The first process that is spawned starts the tracker, which lets signals through again.
    resource_tracker.ensure_running()
    before = mask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        mask(signal.SIG_SETMASK, before)


def _work(connection: Connection, assigned: Assignment) -> None:
    """What a worker does, from its start to its end."""
    try:
        suites = {cases.suite.name: cases for cases in _loaded(assigned)}
    except HarnessError as e:
        connection.send(_Refusal(e.message))
        return
    asyncio.run(settled(_serve(connection, assigned, suites)))


def _loaded(assigned: Assignment) -> Iterator[SuiteCases]:
    for file, digests in assigned.suites.items():
        suite = load_suite(file)
        cases = None if suite is None else load_cases(suite)
        if cases is None or (cases.dataset_sha256, cases.scorers_sha256) != digests:
            raise SuiteError(
                f'the suite of {shown(file)} is another one in every process: are its cases or scorers made by chance?'
            )
        yield cases


async def _serve(connection: Connection, assigned: Assignment, suites: Mapping[str, SuiteCases]) -> None:
    cases = {name: {cast(str, case.name): case for case in each.cases} for name, each in suites.items()}
    conditions = partial(
        Conditions,
        mode='replay',
        run_id=assigned.run_id,
        timeout=assigned.timeout,
        allow_hosts=assigned.allow_hosts,
    )
    # When the process at the other end has ended, there is nobody to tell.
    left_alone = suppress(EOFError, BrokenPipeError, ConnectionResetError)
    with instrumented(), no_network(assigned.allow_hosts), left_alone:
        connection.send(_Left())
        while (key := cast('CaseKey | None', connection.recv())) is not None:
            left = _Left()
            job = Job(suite=suites[key.suite], case=cases[key.suite][key.case], arm=key.arm, repeat=key.repeat)
            _, left.interrupted = await run_job(job, conditions(sink=left))
            connection.send(left)
