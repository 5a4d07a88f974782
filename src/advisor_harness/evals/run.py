"""Runs suites: suite x case x arm x repeat, each under its own recording and trace, one record as each ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from platform import python_version

from advisor_harness.cassettes import no_network
from advisor_harness.evals.datasets import load_cases
from advisor_harness.evals.errors import HarnessError, SuiteError
from advisor_harness.evals.execute import Conditions, run_job
from advisor_harness.evals.exporters import Exporter, exporting
from advisor_harness.evals.meta import Filters, Mode, RunMeta
from advisor_harness.evals.plan import Job, SuitePlan, make_plan
from advisor_harness.evals.records import CaseKey, CaseRecord
from advisor_harness.evals.store import RunStore, new_run_id, newest_run_of
from advisor_harness.evals.suite import Recording, Suite, check_names
from advisor_harness.evals.tracing import instrumented

__all__ = ['Run', 'RunOptions', 'run_suites']

_VERSIONS = ('advisor-harness', 'pydantic-ai-slim', 'pydantic-evals', 'opentelemetry-sdk')


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What to run and how."""

    arm: str | None = None
    """Only this arm; `None` runs all arms."""
    cases: tuple[str, ...] = ()
    """Only these cases; empty runs all."""
    tags: tuple[str, ...] = ()
    """Only cases with one of these tags; empty runs all."""
    only_failed: bool = False
    """Run only cases that are not fine in the suite's newest run, and carry the other records over."""
    mode: Mode = 'replay'
    """`replay` and `live` run several cases at once, the recording modes one after the other."""
    concurrency: int = 8
    """Most cases at the same time, >= 1."""
    runs_dir: Path = Path('runs')
    exporters: Sequence[Exporter] = ()
    """Get every span of every case too, and are shut down at the end; what they do never changes a record."""
    allow_hosts: tuple[str, ...] = ()
    """Hosts that stay reachable during a replay."""

    @property
    def filters(self) -> Filters:
        """What the run is narrowed down to."""
        return Filters(arm=self.arm, cases=self.cases, tags=self.tags, only_failed=self.only_failed)


@dataclass(frozen=True)
class Run:
    """A run: its id and where its records are."""

    id: str
    folder: Path

    @property
    def store(self) -> RunStore:
        """Its records."""
        return RunStore(self.folder)


async def run_suites(
    suites: Sequence[Suite],
    options: RunOptions,
    *,
    on_start: Callable[[Run], None] | None = None,
    on_record: Callable[[CaseRecord], None] | None = None,
) -> Run:
    """Run suites and keep a record of every case.

    A replay reaches no network. When it is cancelled, cases that ended are kept and those that were running leave no
    record, which the verdict notices.

    Args:
        suites: The suites, as `load_suites` gives them.
        options: What to run of them, and how.
        on_start: Called when the run's folder is there and before the first case starts.
        on_record: Called with every record right after it was written, those of `only_failed` that are carried over
            included.

    Raises:
        HarnessError: a dataset or policy is not usable, the options name something that does not exist, a suite cannot
            be recorded, or the environment disables OpenTelemetry.
        KeyboardInterrupt: a task raised it.
    """
    _check(suites, options)
    plans = make_plan([load_cases(suite) for suite in suites], options.filters)
    store = RunStore.create(options.runs_dir, _meta(plans, options))
    run = Run(store.id, store.folder)
    with instrumented(), no_network(options.allow_hosts) if options.mode == 'replay' else nullcontext():
        if on_start is not None:
            on_start(run)
        carried = _carry_over(plans, store, options, on_record) if options.only_failed else frozenset[CaseKey]()
        async with exporting(options.exporters) as exporters:
            conditions = Conditions(
                mode=options.mode, store=store, exporters=exporters, allow_hosts=options.allow_hosts
            )
            await _run_plans(plans, conditions, options, carried, on_record or _ignore)
    return run


def _ignore(record: CaseRecord) -> None:
    """What is done with a record that nobody waits for."""


def _check(suites: Sequence[Suite], options: RunOptions) -> None:
    if not suites:
        raise SuiteError('there is no suite to run')
    if options.concurrency < 1:
        raise HarnessError(f'`concurrency` must be at least 1; got {options.concurrency!r}')
    check_names(suites)
    for suite in suites:
        if not suite.name.strip():
            raise SuiteError('`Suite.name` is empty: give it a name, or load the suite with `load_suites`')
        if options.mode in ('record', 'record-missing') and suite.cassettes is None:
            raise SuiteError(f'suite {suite.name!r} has no `cassettes` folder: there is nothing to record')


def _meta(plans: Sequence[SuitePlan], options: RunOptions) -> RunMeta:
    now = datetime.now(UTC)
    return RunMeta(
        id=new_run_id(now),
        started=now.isoformat(timespec='milliseconds'),
        mode=options.mode,
        suites=tuple(plan.meta(options.mode) for plan in plans),
        filters=options.filters,
        versions={'python': python_version(), **{name: version(name) for name in _VERSIONS}},
    )


async def _run_plans(
    plans: Sequence[SuitePlan],
    conditions: Conditions,
    options: RunOptions,
    carried: frozenset[CaseKey],
    on_record: Callable[[CaseRecord], None],
) -> None:
    def left(plan: SuitePlan) -> Iterable[Job]:
        return (job for job in plan.jobs() if job.key not in carried)

    if options.mode == 'replay':
        await _run_jobs(chain.from_iterable(map(left, plans)), conditions, options.concurrency, on_record)
        return
    at_once = options.concurrency if options.mode == 'live' else 1
    for plan in plans:
        async with _answering(plan.suite) as recording:
            there = conditions if recording is None else replace(conditions, recording=recording)
            await _run_jobs(left(plan), there, at_once, on_record)


async def _run_jobs(
    jobs: Iterable[Job], conditions: Conditions, at_once: int, on_record: Callable[[CaseRecord], None]
) -> None:
    """Run jobs with so many workers; they take the next one only when they are free, so memory does not grow."""
    waiting = iter(jobs)
    interrupted = asyncio.Event()

    async def work() -> None:
        for job in waiting:
            record, interrupt = await run_job(job, conditions)
            on_record(record)
            if interrupt:
                interrupted.set()
            if interrupted.is_set():
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(work())
    if interrupted.is_set():
        # From here: an event loop that a worker stops leaves the others' exceptions unread.
        raise KeyboardInterrupt


@asynccontextmanager
async def _answering(suite: Suite) -> AsyncGenerator[Recording | None]:
    """Start what answers while a suite is not replayed."""
    if suite.recording is None:
        yield None
        return
    async with AsyncExitStack() as stack:
        try:
            recording = await stack.enter_async_context(suite.recording())
        except Exception as e:
            raise SuiteError(
                f'what suite {suite.name!r} is recorded with does not start: {type(e).__name__}: {e}'
            ) from e
        yield recording


def _carry_over(
    plans: Sequence[SuitePlan], store: RunStore, options: RunOptions, on_record: Callable[[CaseRecord], None] | None
) -> frozenset[CaseKey]:
    """Copy the records of cases that need no second run; those of changed cases or scorers do."""
    carried = set[CaseKey]()
    for plan in plans:
        before = newest_run_of(plan.suite.name, options.runs_dir, before=store.id)
        meta = None if before is None else before.meta.suite(plan.suite.name)
        same = (plan.cases.dataset_sha256, plan.cases.scorers_sha256)
        if before is None or meta is None or (meta.dataset_sha256, meta.scorers_sha256) != same:
            continue
        records = before.records()
        for job in plan.jobs():
            record = records.get(job.key)
            if record is not None and record.state == 'ok' and record.trace_complete:
                store.carry(record, before)
                carried.add(job.key)
                if on_record is not None:
                    on_record(record)
    return frozenset(carried)
