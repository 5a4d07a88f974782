"""Shards: dealt evenly, and merged into what nobody had divided."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from advisor_harness.evals import HarnessError, RunStore, judge, merge_runs
from advisor_harness.evals.reports import junit, markdown, terminal
from advisor_harness.evals.shards import dealt, shard_from
from advisor_harness.evals.verdict import Precondition
from tests.evals.files import file_suite
from tests.evals.support import case, run, suite

pytestmark = pytest.mark.anyio

LARGE = [*(case(f'case-{n}', 'ab', 'ba', 'even' if n % 2 == 0 else 'odd') for n in range(6)), case('wrong', 'ab', 'x')]
SMALL = [case('only', 'cd', 'dc')]


def both() -> list[Any]:
    return [suite(*LARGE, arms=('solo', 'advised')), suite(*SMALL, name='small')]


async def shards(of: int, *numbers: int, **options: Any) -> list[RunStore]:
    return [await run(*both(), shard=(number, of), **options) for number in numbers or range(1, of + 1)]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=4), st.integers(1, 12))
def test_shards_are_even_and_leave_nothing_out(sizes: list[int], of: int) -> None:
    """Shards differ in size by at most one case, over all suites and in each, and together are everything."""
    starts = [sum(sizes[:position]) for position in range(len(sizes))]
    hands = [
        [list(dealt(range(size), (number, of), start=start)) for size, start in zip(sizes, starts, strict=True)]
        for number in range(1, of + 1)
    ]
    totals = [sum(map(len, hand)) for hand in hands]
    assert max(totals) - min(totals) <= 1
    for position, size in enumerate(sizes):
        parts = [hand[position] for hand in hands]
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
        assert sorted(item for part in parts for item in part) == list(range(size))


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('2', "`--shard` needs which part of how many, such as '1/3'; got '2'"),
        ('-1/2', "`--shard` needs which part of how many, such as '1/3'; got '-1/2'"),
        ('0/2', 'there is no shard 0 of 2: shards are numbered from 1 to their number'),
        ('3/2', 'there is no shard 3 of 2: shards are numbered from 1 to their number'),
    ],
)
def test_what_is_no_shard_is_said(text: str, message: str) -> None:
    """A shard is `i/n` with 1 <= i <= n."""
    with pytest.raises(HarnessError) as caught:
        shard_from(text)
    assert caught.value.message == message


def report(store: RunStore) -> dict[str, str]:
    """Everything that is said about a run, without its id and the times that no two runs share."""
    verdict = judge(store)
    printed = io.StringIO()
    Console(file=printed, width=200).print(terminal.render(verdict, store, verbose=True))
    texts = {
        'verdict.json': json.dumps(verdict.to_json()),
        'report.md': markdown.render(verdict, store),
        'junit.xml': junit.render(verdict, store),
        'terminal': printed.getvalue(),
    }
    return {name: re.sub(r'time="[0-9.]+"', '', text.replace(store.id, 'RUN')) for name, text in texts.items()}


@pytest.mark.parametrize('options', [{}, {'arm': 'solo'}, {'tags': ('odd',)}])
async def test_merged_shards_are_the_run_that_nobody_divided(options: dict[str, Any]) -> None:
    """Verdict and reports of merged shards are those of one run; only its id and its times differ."""
    merged = merge_runs(list(reversed(await shards(3, **options))))
    whole = await run(*both(), **options)
    assert report(merged) == report(whole)
    assert (merged.meta.shards, merged.meta.missing_shards, len(merged.meta.merged)) == (3, (), 3)
    assert all(merged.whole(record) for record in merged.records().values())


async def test_a_shard_says_that_it_is_one() -> None:
    """The verdict of one shard names it, and a suite of which it has no case is not part of that verdict."""
    (store,) = await shards(2, 1)
    verdict = judge(store)
    assert (verdict.narrowed, [suite.suite for suite in verdict.suites]) == ('shard 1 of 2', ['mirror'])
    assert [suite.name for suite in store.meta.suites] == ['mirror', 'small']


async def test_a_shard_without_cases_can_be_merged() -> None:
    """More shards than cases leave some that measure nothing, which is no pass, and merging them is fine."""
    stores = await shards(9)
    verdicts = [str(judge(store).verdict) for store in stores]
    assert verdicts[-1] == 'inconclusive'
    assert report(merge_runs(stores)) == report(await run(*both()))


async def test_fewer_shards_are_inconclusive() -> None:
    """Whatever was merged, a shard that is not there may hold the case that fails."""
    merged = merge_runs(await shards(4, 1, 3))
    verdict = judge(merged)
    assert verdict.verdict.exit_code == 2
    for suite_verdict in verdict.suites:
        assert suite_verdict.preconditions[0] == Precondition(
            name='shards',
            value=0.5,
            expected=1.0,
            ok=False,
            detail='shard 2, 4 of 4 was not merged',
            n_met=2,
            n_expected=4,
        )


async def test_a_shard_that_is_there_twice_is_refused() -> None:
    """Two runs of one shard are not two shards."""
    first, second, again = [*await shards(2), *await shards(2, 2)]
    ids = sorted((second.id, again.id))
    with pytest.raises(HarnessError) as caught:
        merge_runs([again, first, second])
    assert sorted(re.findall(r'\S+Z-\w+', caught.value.message)) == ids
    assert caught.value.message.endswith(' are the same shard, 2 of 2: merge each shard once')


async def test_what_does_not_belong_together_is_refused() -> None:
    """Shards of different cases, suites, numbers or narrowings are no run, and a whole run is no shard."""
    (first,) = await shards(2, 1)
    others = {
        'their suites, mirror, small and mirror': await run(suite(*LARGE), shard=(2, 2)),
        "the datasets of suite 'mirror'": await run(
            suite(*LARGE[1:], arms=('solo', 'advised')), suite(*SMALL, name='small'), shard=(2, 2)
        ),
        "the scorers of suite 'small'": await run(
            suite(*LARGE, arms=('solo', 'advised')), suite(*SMALL, name='small', scorers=()), shard=(2, 2)
        ),
        'what they were narrowed down to': (await shards(2, 2, arm='solo'))[0],
        'their timeout': (await shards(2, 2, timeout=5.0))[0],
    }
    for what, other in others.items():
        with pytest.raises(HarnessError) as caught:
            merge_runs([first, other])
        told = f'runs {first.id} and {other.id} are no shards of one run: they differ in {what}'
        assert caught.value.message == told
    (third,) = await shards(3, 1)
    whole = await run(*both())
    for stores, message in (
        ([first, third], f'run {first.id} is one of 2 shards and run {third.id} one of 3'),
        ([first, whole], f'run {whole.id} is no shard: only runs of `run --shard i/n` can be merged'),
        ([], 'there is nothing to merge: name the runs of the shards'),
    ):
        with pytest.raises(HarnessError) as caught:
            merge_runs(stores)
        assert caught.value.message == message


async def test_shards_of_changed_code_are_refused() -> None:
    """Between two shards the code of a suite must not change."""
    first = await run(file_suite([('a', 'ab'), ('b', 'cd')]), shard=(1, 2))
    second = await run(file_suite([('a', 'ab'), ('b', 'cd')], code='more = 1\n'), shard=(2, 2))
    with pytest.raises(HarnessError) as caught:
        merge_runs([first, second])
    assert caught.value.message == (
        f"runs {first.id} and {second.id} are no shards of one run: they differ in the code of suite 'mirror'"
    )


async def test_a_shard_with_holes_is_refused() -> None:
    """What belongs to a record must be there, or the merged run could not be looked at."""
    stores = await shards(2)
    (stores[1].folder / 'spans/mirror.jsonl').unlink()
    with pytest.raises(HarnessError) as caught:
        merge_runs([stores[0], RunStore(stores[1].folder)])
    assert caught.value.message == (
        f"what belongs to case 'case-1' of run {stores[1].id} is not there: advisor-harness run --resume {stores[1].id}"
    )
