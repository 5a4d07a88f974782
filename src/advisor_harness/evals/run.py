"""Runs suites: suite x case x arm x repeat, each under its own recording and trace, one record as each ends."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from platform import python_version

from advisor_harness.cassettes import no_network
from advisor_harness.evals.datasets import load_cases
from advisor_harness.evals.errors import HarnessError, SuiteError
from advisor_harness.evals.execute import Conditions, run_job
from advisor_harness.evals.exporters import Exporter, exporting
from advisor_harness.evals.meta import Filters, Mode, RunMeta
from advisor_harness.evals.plan import Job, SuitePlan, make_plan
from advisor_harness.evals.policy_names import check_names as check_policy_names
from advisor_harness.evals.records import CaseKey, CaseRecord
from advisor_harness.evals.resume import check_unchanged, finished
from advisor_harness.evals.rules import Policy
from advisor_harness.evals.shards import check_shard
from advisor_harness.evals.store import RunStore, new_run_id, newest_run_of
from advisor_harness.evals.suite import Recording, Suite, check_names
from advisor_harness.evals.tracing import instrumented
from advisor_harness.evals.workers import assignment, run_in_workers

__all__ = ['Run', 'RunOptions', 'resume_run', 'run_suites']

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
    shard: tuple[int, int] | None = None
    """Only one part of how many, from 1: `(2, 3)` runs the second third of the cases; `None` runs all."""
    only_failed: bool = False
    """Run only cases that are not fine in the suite's newest run, and carry the other records over."""
    mode: Mode = 'replay'
    """`replay` and `live` run several cases at once, the recording modes one after the other."""
    concurrency: int = 8
    """Most cases at the same time in one process, >= 1."""
    workers: int = 1
    """Processes, >= 1; more than one needs `mode='replay'` and no exporters, and each runs one case at a time."""
    timeout: float | None = None
    """Seconds that a task, and each scorer, may take, > 0, whatever the suites say; `None` leaves it to them."""
    policies: Mapping[str, Policy] | None = None
    """Policy by suite, whose names are checked before the first case starts; `None` reads the suites' own files."""
    baseline: str | None = None
    """Name of the baseline that the run is to be compared with, kept in `run.json`; `None` is the usual one."""
    runs_dir: Path = Path('runs')
    exporters: Sequence[Exporter] = ()
    """Get every span of every case too, and are shut down at the end; what they do never changes a record."""
    allow_hosts: tuple[str, ...] = ()
    """Hosts that stay reachable during a replay."""

    def __post_init__(self) -> None:
        for name in ('concurrency', 'workers'):
            if (count := getattr(self, name)) < 1:
                raise HarnessError(f'`{name}` must be at least 1; got {count!r}')
        if self.timeout is not None and not 0 < self.timeout < math.inf:
            raise HarnessError(f'`timeout` must be seconds above 0; got {self.timeout!r}')
        if self.shard is not None:
            check_shard(self.shard)
        if self.workers > 1 and self.mode != 'replay':
            raise HarnessError(
                f'`workers` above 1 are for replays: mode {self.mode!r} waits for a provider, not for us'
            )
        if self.workers > 1 and self.exporters:
            raise HarnessError('`workers` above 1 cannot send spans elsewhere: exporters live in one process')

    @property
    def filters(self) -> Filters:
        """What the run is narrowed down to."""
        return Filters(arm=self.arm, cases=self.cases, tags=self.tags, only_failed=self.only_failed, shard=self.shard)


@dataclass(frozen=True)
class Run:
    """A run: its id and where its records are."""

    id: str
    folder: Path

    @property
    def store(self) -> RunStore:
        """Its records."""
        return RunStore(self.folder)


@dataclass(frozen=True, kw_only=True)
class _Watch:
    """Who wants to know how a run goes."""

    on_start: Callable[[Run], None] | None = None
    on_record: Callable[[CaseRecord], None] | None = None
    on_kept: Callable[[int], None] | None = None

    def started(self, store: RunStore) -> None:
        if self.on_start is not None:
            self.on_start(Run(store.id, store.folder))

    def ended(self, record: CaseRecord) -> None:
        if self.on_record is not None:
            self.on_record(record)

    def kept(self, records: Sequence[CaseRecord]) -> frozenset[CaseKey]:
        if self.on_kept is not None:
            self.on_kept(len(records))
        for record in records:
            self.ended(record)
        return frozenset(record.key for record in records)


async def run_suites(
    suites: Sequence[Suite],
    options: RunOptions,
    *,
    on_start: Callable[[Run], None] | None = None,
    on_record: Callable[[CaseRecord], None] | None = None,
    on_kept: Callable[[int], None] | None = None,
) -> Run:
    """Run suites and keep a record of every case.

    A replay reaches no network. When it is cancelled, cases that ended are kept and those that were running leave no
    record, which the verdict notices and `resume_run` makes up for.

    Args:
        suites: The suites, as `load_suites` gives them.
        options: What to run of them, and how.
        on_start: Called when the run's folder is there and before the first case starts.
        on_record: Called with every record right after it was written, those of `only_failed` that are carried over
            included.
        on_kept: Called once with the number of records that `only_failed` carries over, before the first of them.

    Raises:
        HarnessError: a dataset or policy is not usable, the options name something that does not exist, a suite cannot
            be recorded, or the environment disables OpenTelemetry.
        StoreError: there is no room for what a case left; what ended before is kept.
        KeyboardInterrupt: a task raised it.
    """
    _check(suites, options)
    plans = make_plan([load_cases(suite) for suite in suites], options.filters)
    meta = _meta(plans, options)
    _check_policies(plans, meta, options)
    store = RunStore.create(options.runs_dir, meta)
    watch = _Watch(on_start=on_start, on_record=on_record, on_kept=on_kept)

    def kept() -> Sequence[CaseRecord]:
        return _carry_over(plans, store, options) if options.only_failed else ()

    return await _go(plans, store, options, watch, kept if options.only_failed else None)


async def resume_run(
    store: RunStore,
    suites: Sequence[Suite],
    options: RunOptions,
    *,
    on_start: Callable[[Run], None] | None = None,
    on_record: Callable[[CaseRecord], None] | None = None,
    on_kept: Callable[[int], None] | None = None,
) -> Run:
    """Finish a run that was cut off, however that happened: run what left no record, or not all that belongs to it.

    Args:
        store: The run.
        suites: Its suites, as they are now.
        options: How to run: what to run, the mode and the timeout are those of the run.
        on_start: As in `run_suites`.
        on_record: As in `run_suites`, called for the records that are there already too.
        on_kept: Called once with the number of those.

    Raises:
        HarnessError: cases, scorers, code or versions are not what the run was started with, or as in `run_suites`.
        StoreError: as in `run_suites`.
        KeyboardInterrupt: a task raised it.
    """
    meta = store.meta
    filters = meta.filters
    options = replace(
        options,
        arm=filters.arm,
        cases=filters.cases,
        tags=filters.tags,
        shard=filters.shard,
        only_failed=filters.only_failed,
        mode=meta.mode,
        timeout=meta.timeout,
    )
    _check(suites, options)
    plans = make_plan([load_cases(suite) for suite in suites], filters)
    now = _meta(plans, options)
    check_unchanged(meta, now)
    _check_policies(plans, now, options)
    store.update(replace(meta, resumed=meta.resumed + 1))
    watch = _Watch(on_start=on_start, on_record=on_record, on_kept=on_kept)
    return await _go(plans, store, options, watch, lambda: finished(store))


async def _go(
    plans: Sequence[SuitePlan],
    store: RunStore,
    options: RunOptions,
    watch: _Watch,
    kept: Callable[[], Sequence[CaseRecord]] | None,
) -> Run:
    with instrumented(), no_network(options.allow_hosts) if options.mode == 'replay' else nullcontext():
        watch.started(store)
        done = frozenset[CaseKey]() if kept is None else watch.kept(kept())
        work = _Work(plans=plans, store=store, options=options, watch=watch, done=done)
        try:
            interrupted = await (work.by_processes() if options.workers > 1 else work.in_here())
        except BaseExceptionGroup as group:
            if (ours := group.subgroup(HarnessError)) is not None:
                raise _first(ours) from None
            raise
    if interrupted:
        # From here: an event loop that a worker stops leaves the others' exceptions unread.
        raise KeyboardInterrupt
    return Run(store.id, store.folder)


def _first(group: BaseExceptionGroup[HarnessError]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _check(suites: Sequence[Suite], options: RunOptions) -> None:
    if not suites:
        raise SuiteError('there is no suite to run')
    check_names(suites)
    for suite in suites:
        if not suite.name.strip():
            raise SuiteError('`Suite.name` is empty: give it a name, or load the suite with `load_suites`')
        if options.mode in ('record', 'record-missing') and suite.cassettes is None:
            raise SuiteError(f'suite {suite.name!r} has no `cassettes` folder: there is nothing to record')
        if options.workers > 1 and suite.file is None:
            raise SuiteError(f'suite {suite.name!r} comes from no file: `workers` above 1 need suites of `load_suites`')


def _check_policies(plans: Sequence[SuitePlan], meta: RunMeta, options: RunOptions) -> None:
    """A slip in a policy should not cost a run."""
    for plan, suite in zip(plans, meta.suites, strict=True):
        if options.policies is not None:
            policy = options.policies.get(suite.name, Policy())
        else:
            policy = Policy() if plan.suite.policy_file is None else Policy.from_file(plan.suite.policy_file)
        check_policy_names(policy, suite, plan.cases.known_names)


def _meta(plans: Sequence[SuitePlan], options: RunOptions) -> RunMeta:
    now = datetime.now(UTC)
    return RunMeta(
        id=new_run_id(now),
        started=now.isoformat(timespec='milliseconds'),
        mode=options.mode,
        suites=tuple(plan.meta(options.mode) for plan in plans),
        filters=options.filters,
        versions={'python': python_version(), **{name: version(name) for name in _VERSIONS}},
        timeout=options.timeout,
        baseline=options.baseline,
    )


@dataclass(frozen=True, kw_only=True)
class _Work:
    """What a run has to do."""

    plans: Sequence[SuitePlan]
    store: RunStore
    options: RunOptions
    watch: _Watch
    done: frozenset[CaseKey] = field(default_factory=frozenset[CaseKey])
    """Keys that have a record already."""

    def left(self, plans: Sequence[SuitePlan]) -> Iterator[Job]:
        """The jobs that have no record yet, one at a time, so that memory does not grow."""
        return (job for plan in plans for job in plan.jobs() if job.key not in self.done)

    async def by_processes(self) -> bool:
        """Run everything in worker processes; returns whether somebody interrupted it."""
        options = self.options
        assigned = assignment(
            self.plans, run_id=self.store.id, timeout=options.timeout, allow_hosts=options.allow_hosts
        )
        return await run_in_workers(self.left(self.plans), assigned, options.workers, self.store, self.watch.ended)

    async def in_here(self) -> bool:
        """Run everything in this process; returns whether somebody interrupted it."""
        options = self.options
        async with exporting(options.exporters) as exporters:
            conditions = Conditions(
                mode=options.mode,
                run_id=self.store.id,
                sink=self.store,
                timeout=options.timeout,
                exporters=exporters,
                allow_hosts=options.allow_hosts,
            )
            if options.mode == 'replay':
                return await self._run(self.left(self.plans), conditions, options.concurrency)
            for plan in self.plans:
                async with _answering(plan.suite) as recording:
                    there = conditions if recording is None else replace(conditions, recording=recording)
                    at_once = options.concurrency if options.mode == 'live' else 1
                    if await self._run(self.left([plan]), there, at_once):
                        return True
        return False

    async def _run(self, jobs: Iterator[Job], conditions: Conditions, at_once: int) -> bool:
        """Run jobs with so many lanes, which take the next one only when they are free."""
        interrupted = asyncio.Event()

        async def lane() -> None:
            for job in jobs:
                record, interrupt = await run_job(job, conditions)
                self.watch.ended(record)
                if interrupt:
                    interrupted.set()
                if interrupted.is_set():
                    return

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(lane())
        return interrupted.is_set()


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


def _carry_over(plans: Sequence[SuitePlan], store: RunStore, options: RunOptions) -> list[CaseRecord]:
    """Copy the records of cases that need no second run; those of changed cases or scorers do."""
    carried: list[CaseRecord] = []
    for plan in plans:
        before = newest_run_of(plan.suite.name, options.runs_dir, before=store.id)
        meta = None if before is None else before.meta.suite(plan.suite.name)
        same = (plan.cases.dataset_sha256, plan.cases.scorers_sha256)
        if before is None or meta is None or (meta.dataset_sha256, meta.scorers_sha256) != same:
            continue
        records = before.records()
        for job in plan.jobs():
            record = records.get(job.key)
            if record is not None and record.state == 'ok' and record.trace_complete and before.whole(record):
                taken = replace(record, carried_from=record.carried_from or before.id)
                store.carry(taken, before)
                carried.append(taken)
    return carried
