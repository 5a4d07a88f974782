"""Puts the shards of a run together again, into a run that is judged as if nobody had divided it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from advisor_harness.evals.errors import HarnessError
from advisor_harness.evals.meta import RunMeta, SuiteMeta
from advisor_harness.evals.plan import selected_cases
from advisor_harness.evals.store import RunStore, new_run_id

__all__ = ['merge_runs', 'merged_meta']

_PER_SUITE: dict[str, Callable[[SuiteMeta], Any]] = {
    'arms': lambda suite: suite.arms,
    'repeats': lambda suite: suite.repeat,
    'datasets': lambda suite: (suite.dataset_sha256, suite.cases),
    'scorers': lambda suite: suite.scorers_sha256,
    'code': lambda suite: suite.code_sha256,
    'policies': lambda suite: (suite.policy, suite.policy_sha256),
    'recordings': lambda suite: (suite.cassettes, suite.regime),
}


def merge_runs(shards: Sequence[RunStore], runs_dir: Path = Path('runs')) -> RunStore:
    """Make a new run of shards: it owes all cases, so those of a shard that is not there are missing.

    Args:
        shards: Runs of shards of one run, in any order.
        runs_dir: Where the new run goes.

    Raises:
        HarnessError: a run is no shard, is there twice, or does not belong to the others.
        StoreError: there is no room for the new run.
    """
    meta = merged_meta([shard.meta for shard in shards])
    merged = RunStore.create(runs_dir, meta)
    records = {key: (record, shard) for shard in shards for key, record in shard.records().items()}
    for suite in meta.suites:
        for key in suite.expected():
            if key in records:
                record, shard = records[key]
                if not shard.whole(record):
                    raise HarnessError(
                        f'what belongs to case {key.case!r} of run {shard.id} is not there: '
                        f'advisor-harness run --resume {shard.id}'
                    )
                merged.carry(record, shard)
    return merged


def merged_meta(shards: Sequence[RunMeta]) -> RunMeta:
    """What the run of these shards owes.

    Raises:
        HarnessError: as in `merge_runs`.
    """
    numbered = sorted(((_shard(meta), meta) for meta in shards), key=lambda each: each[0])
    if not numbered:
        raise HarnessError('there is nothing to merge: name the runs of the shards')
    first = numbered[0][1]
    _check_numbers(numbered)
    for _, meta in numbered[1:]:
        _check_same(first, meta)
    of = numbered[0][0][1]
    return replace(
        first,
        id=new_run_id(),
        started=min(meta.started for meta in shards),
        suites=tuple(_whole(suite, first) for suite in first.suites),
        filters=replace(first.filters, shard=None),
        resumed=0,
        merged=tuple(meta.id for _, meta in numbered),
        shards=of,
        missing_shards=tuple(sorted(set(range(1, of + 1)) - {number for (number, _), _ in numbered})),
    )


def _shard(meta: RunMeta) -> tuple[int, int]:
    if meta.filters.shard is None:
        raise HarnessError(f'run {meta.id} is no shard: only runs of `run --shard i/n` can be merged')
    return meta.filters.shard


def _check_numbers(numbered: Sequence[tuple[tuple[int, int], RunMeta]]) -> None:
    (_, of), first = numbered[0]
    for (_, other), meta in numbered:
        if other != of:
            raise HarnessError(f'run {first.id} is one of {of} shards and run {meta.id} one of {other}')
    (shard, times) = Counter(shard for shard, _ in numbered).most_common(1)[0]
    if times > 1:
        ids = ' and '.join(meta.id for each, meta in numbered if each == shard)
        raise HarnessError(f'runs {ids} are the same shard, {shard[0]} of {shard[1]}: merge each shard once')


def _check_same(first: RunMeta, other: RunMeta) -> None:
    def differ(what: str) -> HarnessError:
        return HarnessError(f'runs {first.id} and {other.id} are no shards of one run: they differ in {what}')

    for what, ours, theirs in (
        ('their mode', first.mode, other.mode),
        ('what they were narrowed down to', *(replace(each.filters, shard=None) for each in (first, other))),
        ('their timeout', first.timeout, other.timeout),
        ('versions', first.versions, other.versions),
    ):
        if ours != theirs:
            raise differ(what)
    names = [[suite.name for suite in meta.suites] for meta in (first, other)]
    if names[0] != names[1]:
        raise differ(f'their suites, {", ".join(names[0])} and {", ".join(names[1])}')
    for suite, same in zip(first.suites, other.suites, strict=True):
        for what, part in _PER_SUITE.items():
            if part(suite) != part(same):
                raise differ(f'the {what} of suite {suite.name!r}')


def _whole(suite: SuiteMeta, meta: RunMeta) -> SuiteMeta:
    names = tuple(selected_cases(suite.cases, meta.filters))
    return replace(suite, selected=None if len(names) == len(suite.cases) else names)
