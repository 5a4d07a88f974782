"""What a run that was cut off still has, and whether it can be finished with what is there now."""

from __future__ import annotations

from collections.abc import Iterator

from advisor_harness.evals.errors import HarnessError
from advisor_harness.evals.meta import RunMeta, SuiteMeta
from advisor_harness.evals.records import CaseRecord
from advisor_harness.evals.store import RunStore

__all__ = ['check_unchanged', 'differences', 'finished']

_MEASURED_WITH = {
    'dataset_sha256': 'its dataset',
    'scorers_sha256': 'its scorers',
    'code_sha256': 'its code',
    'arms': 'its arms',
    'repeat': 'its `repeat`',
    'selected': 'the choice of its cases',
    'cassettes': 'its folder of recordings',
}


def finished(store: RunStore) -> list[CaseRecord]:
    """The records of cases that ended and left everything that belongs to them; a cancelled case did not end."""
    owed = {key for suite in store.meta.suites for key in suite.expected()}
    return [
        record
        for record in store.records().values()
        if record.state != 'cancelled' and record.key in owed and store.whole(record)
    ]


def check_unchanged(before: RunMeta, now: RunMeta) -> None:
    """Check that a run would go on as it was started: one verdict must not rest on two different things.

    Raises:
        HarnessError: something changed; the message names it and the way out.
    """
    if before.merged:
        raise HarnessError(
            f'run {before.id} was put together from shards: finish those, {", ".join(before.merged)}, and merge again'
        )
    for suite in before.suites:
        after = now.suite(suite.name)
        changed = ['what it runs'] if after is None else list(differences(suite, after))
        if changed:
            raise HarnessError(
                f'run {before.id} cannot be finished: suite {suite.name!r} is not what it was started with, as '
                f'{_and(changed)} changed. Start a new run: {_again(before)}'
            )
    for name, old in before.versions.items():
        if (new := now.versions.get(name)) != old:
            raise HarnessError(
                f'run {before.id} cannot be finished: it was started with {name} {old}, and this is {new}. '
                f'Start a new run: {_again(before)}'
            )


def differences(before: SuiteMeta, after: SuiteMeta) -> Iterator[str]:
    """What decides the records of a suite and is not the same."""
    for name, text in _MEASURED_WITH.items():
        if getattr(before, name) != getattr(after, name):
            yield text


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f'{", ".join(parts[:-1])} and {parts[-1]}'


def _again(meta: RunMeta) -> str:
    return f'advisor-harness run {" ".join(suite.name for suite in meta.suites)}'
