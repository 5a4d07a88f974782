"""Recordings and the cases that they belong to: found by what somebody typed, replayed to see what would be sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from advisor_harness.cassettes import Cassette, CassetteError, CassetteFormatError, Matching, no_network
from advisor_harness.cassettes.active import activated
from advisor_harness.cassettes.drift import FileCheck, check_file
from advisor_harness.cassettes.drift_replay import TolerantCassette
from advisor_harness.evals.capture import Capture
from advisor_harness.evals.contain import description
from advisor_harness.evals.datasets import load_cases
from advisor_harness.evals.errors import HarnessError
from advisor_harness.evals.meta import Filters
from advisor_harness.evals.naming import shown
from advisor_harness.evals.plan import Job, make_plan
from advisor_harness.evals.records import CaseRecord
from advisor_harness.evals.reports.words import plural
from advisor_harness.evals.scoring import Evaluation, evaluate
from advisor_harness.evals.store import RunStore, newest_run_of, open_run
from advisor_harness.evals.suite import load_suites
from advisor_harness.evals.tracing import instrumented

__all__ = ['Pruning', 'Target', 'check_targets', 'files_in', 'find_targets', 'prune_target', 'run_for']

_SUITES = Path('evals')


@dataclass(frozen=True)
class Target:
    """A recording, and the case that replays it if there is one."""

    path: Path
    job: Job | None = None

    @property
    def matching(self) -> Matching | None:
        """What makes two requests the same here."""
        return None if self.job is None else self.job.suite.suite.matching


@dataclass(frozen=True)
class Pruning:
    """What may be dropped of one recording."""

    path: Path
    numbers: tuple[int, ...] = ()
    """Numbers of the interactions that were not used, from 1."""
    requests: tuple[str, ...] = ()
    """Their method and URL."""
    kept: str | None = None
    """Why nothing may be dropped although something was not used."""


def files_in(path: Path) -> list[Path]:
    """A recording, or every recording of a folder, in order.

    Raises:
        HarnessError: there is none.
    """
    if not path.exists():
        raise HarnessError(f'there is no recording {str(path)!r}')
    inside = sorted([*path.rglob('*.yaml'), *path.rglob('*.yml')]) if path.is_dir() else [path]
    if not inside:
        raise HarnessError(f'there is no recording in {str(path)!r}: recordings end with `.yaml`')
    return inside


def find_targets(names: Sequence[str]) -> list[Target]:
    """The recordings that somebody named: by a path, or by a suite; those of all suites when nothing is named.

    Raises:
        HarnessError: a name is neither, or the suites cannot be loaded.
    """
    paths = [Path(name) for name in names if Path(name).exists()]
    suites = [name for name in names if not Path(name).exists()]
    if not _SUITES.is_dir() and suites:
        raise HarnessError(
            f'there is no recording {suites[0]!r}, and no suite either: there is no folder {str(_SUITES)!r}'
        )
    jobs = _jobs() if _SUITES.is_dir() or not names else []
    known = list(dict.fromkeys(job.key.suite for job in jobs))
    if unknown := [name for name in suites if name not in known]:
        listed = ', '.join(known) or 'none'
        raise HarnessError(f'{unknown[0]!r} is neither a recording nor a suite with recordings: there is {listed}')
    of_jobs = {path.resolve(): job for job in jobs if (path := job.cassette) is not None}
    wanted = [job for job in jobs if not names or job.key.suite in suites]
    targets = [Target(job.cassette, job) for job in wanted if job.cassette is not None]
    targets += [Target(file, of_jobs.get(file.resolve())) for path in paths for file in files_in(path)]
    return list({target.path.resolve(): target for target in targets}.values())


def _jobs() -> list[Job]:
    suites = [suite for suite in load_suites(_SUITES) if suite.cassettes is not None]
    plans = make_plan([load_cases(suite) for suite in suites], Filters()) if suites else []
    return [job for plan in plans for job in plan.jobs()]


async def check_targets(targets: Sequence[Target]) -> list[FileCheck]:
    """What would be sent today, recording by recording.

    Raises:
        HarnessError: a file is no recording.
    """
    try:
        return [await _check(target) for target in targets]
    except CassetteFormatError as e:
        raise HarnessError(str(e)) from e


async def _check(target: Target) -> FileCheck:
    path = Path(shown(target.path))
    if target.job is None:
        return await check_file(path)
    if not target.path.is_file():
        return FileCheck(path, 0, not_checked={0: 'there is no recording of this case'})
    cassette = TolerantCassette.open(path, matching=target.matching)
    assert isinstance(cassette, TolerantCassette)
    evaluation = await _replayed(target.job, cassette)
    error = evaluation.ended.error
    ended = None
    if error is not None and not isinstance(error, CassetteError):
        kind, message = description(error)
        ended = f'the task ended before, with {kind}: {message}'
    return cassette.finished(ended)


async def _replayed(job: Job, cassette: Cassette) -> Evaluation:
    capture = Capture({})
    with instrumented(), no_network(), activated(cassette), capture.active():
        evaluation = await evaluate(job, capture)
    if evaluation.interrupted:
        raise KeyboardInterrupt
    return evaluation


def run_for(target: Target, run: str | None) -> RunStore:
    """The run that says what a case used: the one that was named, or the newest of its suite.

    Raises:
        HarnessError: there is none, or it was no replay.
    """
    assert target.job is not None
    suite = target.job.key.suite
    store = newest_run_of(suite, Path('runs')) if run is None else open_run(run)
    if store is None:
        raise HarnessError(f'suite {suite!r} has no run that says what it uses: advisor-harness run {suite}')
    if store.meta.mode != 'replay':
        raise HarnessError(f'run {store.id} was no replay: start one with `advisor-harness run {suite}`')
    return store


async def prune_target(target: Target, run: str | None) -> Pruning:
    """What a recording holds that its case does not use, by the record of a run and by a replay now.

    A record says how many interactions were not used, and the replay says which; both must agree.

    Raises:
        HarnessError: there is no such run, or the file is no recording.
    """
    if target.job is None:
        return Pruning(target.path, kept='no case replays it')
    store = run_for(target, run)
    record = store.records().get(target.job.key)
    if record is None or record.cassette is None:
        return Pruning(target.path, kept=f'run {store.id} did not replay it')
    if not record.cassette.unused:
        return Pruning(target.path)
    if objection := _objection(record):
        return Pruning(target.path, kept=f'in run {store.id} {objection}')
    try:
        cassette = Cassette.open(target.path, matching=target.matching)
    except CassetteError as e:
        raise HarnessError(str(e)) from e
    evaluation = await _replayed(target.job, cassette)
    unused = set(map(id, cassette.unused))
    now = cassette.played, len(cassette.misses), len(unused)
    same = now == (record.cassette.hits, record.cassette.misses, record.cassette.unused)
    if not same or not _is_clean(evaluation):
        return Pruning(target.path, kept=f'a replay now does not end as in run {store.id}: run the suite again')
    dropped = {n: each.request for n, each in enumerate(cassette.interactions, start=1) if id(each) in unused}
    if len(dropped) == len(cassette.interactions):
        return Pruning(target.path, kept='no interaction would be left: remove the file instead')
    return Pruning(target.path, tuple(dropped), tuple(f'{r.method} {r.url}' for r in dropped.values()))


def _objection(record: CaseRecord) -> str | None:
    """Why what a case did not use may still be needed."""
    if record.cassette is not None and record.cassette.misses:
        return f'{plural(record.cassette.misses, "request")} had no recorded answer'
    if record.error is not None and record.error.where != 'cassette':
        return f'the case ended with {record.error.type}'
    if record.state == 'cancelled' or any(score.value is False for score in record.scores.values()):
        return 'the case failed'
    return None


def _is_clean(evaluation: Evaluation) -> bool:
    failed = any(score.value is False for score in evaluation.scores.values())
    return evaluation.ended.error is None and not evaluation.failures and not failed
