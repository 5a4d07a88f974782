"""Shards: a run divided among machines, case by case, and what is missing when not all of them come back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from advisor_harness.evals.errors import HarnessError
from advisor_harness.evals.meta import RunMeta
from advisor_harness.evals.verdict import Precondition, SuiteVerdict, Verdict

__all__ = ['check_shard', 'counting_shards', 'dealt', 'shard_from']

_T = TypeVar('_T')


def shard_from(text: str) -> tuple[int, int]:
    """The shard that `i/n` means.

    Raises:
        HarnessError: the text is no shard.
    """
    found = re.fullmatch(r'([0-9]{1,9})/([0-9]{1,9})', text)
    if found is None:
        raise HarnessError(f"`--shard` needs which part of how many, such as '1/3'; got {text!r}")
    shard = int(found[1]), int(found[2])
    check_shard(shard)
    return shard


def check_shard(shard: tuple[int, int]) -> None:
    """Check that there can be such a shard.

    Raises:
        HarnessError: its number is not within 1 to the number of shards.
    """
    number, of = shard
    if not 1 <= number <= of:
        raise HarnessError(f'there is no shard {number} of {of}: shards are numbered from 1 to their number')


def dealt(items: Iterable[_T], shard: tuple[int, int] | None, *, start: int = 0) -> Iterator[_T]:
    """Every item of one shard; items are dealt like cards, so that shards differ in size by at most one.

    Args:
        items: What is divided.
        shard: Which part of how many, from 1; `None` is everything.
        start: How many items of other suites were dealt before these.
    """
    for position, item in enumerate(items, start=start):
        if shard is None or position % shard[1] == shard[0] - 1:
            yield item


def counting_shards(verdict: SuiteVerdict, meta: RunMeta) -> SuiteVerdict:
    """The verdict of a suite, inconclusive where shards of its run are missing: their cases may have failed."""
    if not meta.missing_shards or meta.shards is None:
        return verdict
    met, missing = meta.shards - len(meta.missing_shards), ', '.join(map(str, meta.missing_shards))
    condition = Precondition(
        name='shards',
        value=met / meta.shards,
        expected=1.0,
        ok=False,
        detail=f'shard {missing} of {meta.shards} was not merged',
        n_met=met,
        n_expected=meta.shards,
    )
    return replace(verdict, verdict=Verdict.INCONCLUSIVE, preconditions=(condition, *verdict.preconditions))
