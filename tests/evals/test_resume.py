"""Runs that were cut off: finished with what they have, as if nothing had happened, or refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from advisor_harness.evals import HarnessError, Run, RunOptions, RunStore, StoreError, Suite, judge, resume_run
from advisor_harness.evals.code import code_sha256, local_sources
from advisor_harness.evals.records import CaseRecord
from tests.evals.files import file_suite
from tests.evals.support import run

pytestmark = pytest.mark.anyio

CASES = [('a', 'ab'), ('b', 'cd'), ('c', 'ef'), ('d', 'crash')]


async def cut_off(lines: int, **options: Any) -> tuple[Suite, RunStore]:
    """A run of `CASES` whose process was killed while it wrote the record after the first `lines`."""
    mirror = file_suite(CASES)
    store = await run(mirror, **options)
    path = store.folder / 'cases.jsonl'
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b''.join(whole[:lines]) + whole[-1][:40])
    return mirror, RunStore(store.folder)


async def resumed(store: RunStore, *suites: Suite) -> tuple[RunStore, list[str], int]:
    """Finish a run; returns its records, the cases whose records were reported, and how many it had."""
    seen: list[CaseRecord] = []
    kept: list[int] = []
    run_: Run = await resume_run(store, suites, RunOptions(), on_record=seen.append, on_kept=kept.append)
    return run_.store, [record.case for record in seen], kept[0]


async def test_what_a_killed_process_left_is_finished() -> None:
    """Half a last line is no record: its case runs again, the others stay, and the verdict is a whole run's."""
    mirror, store = await cut_off(2)
    before = [record.case for record in store.records().values()]
    after, seen, kept = await resumed(store, mirror)
    assert (seen[:2], sorted(seen), kept) == (before, ['a', 'b', 'c', 'd'], 2)
    assert {key.case: record.state for key, record in after.records().items()} == {
        'a': 'ok',
        'b': 'ok',
        'c': 'ok',
        'd': 'error',
    }
    assert len((after.folder / 'cases.jsonl').read_bytes().splitlines()) == 4
    assert (after.id, after.meta.resumed) == (store.id, 1)
    fresh = await run(mirror)
    assert {**judge(after).to_json(), 'run_id': ''} == {**judge(fresh).to_json(), 'run_id': ''}


@pytest.mark.parametrize('kind', ['spans', 'messages', 'tracebacks'])
async def test_a_case_whose_attachments_are_gone_runs_again(kind: str) -> None:
    """A record without what belongs to it is not finished."""
    mirror = file_suite(CASES)
    store = await run(mirror, concurrency=1)
    shutil.rmtree(store.folder / kind)
    after, _, kept = await resumed(RunStore(store.folder), mirror)
    assert kept == (3 if kind == 'tracebacks' else 1)
    assert all(after.whole(record) for record in after.records().values())


async def test_a_cancelled_case_runs_again() -> None:
    """A case that was cut off has a record that says so, and did not end."""
    mirror, store = await cut_off(4)
    records = list(store.records().values())
    store.append(CaseRecord.from_json({**records[0].to_json(), 'state': 'cancelled'}))
    _, _, kept = await resumed(store, mirror)
    assert kept == 3


async def test_a_finished_run_has_nothing_left_to_do() -> None:
    """Resuming what is complete runs nothing and changes no record."""
    mirror = file_suite(CASES)
    store = await run(mirror)
    before = (store.folder / 'cases.jsonl').read_bytes()
    after, _, kept = await resumed(RunStore(store.folder), mirror)
    assert (kept, (after.folder / 'cases.jsonl').read_bytes()) == (4, before)


async def test_a_narrowed_run_goes_on_as_narrow_as_it_was() -> None:
    """What the run was started with holds, whatever the options of the second start say."""
    mirror, store = await cut_off(0, cases=('a', 'b'), timeout=30.0)
    after, seen, _ = await resumed(store, mirror)
    assert (sorted(seen), after.meta.timeout) == (['a', 'b'], 30.0)


@pytest.mark.parametrize(
    ('now', 'changed'),
    [
        ({'code': 'more = 1\n'}, 'its code'),
        ({'cases': [*CASES, ('e', 'gh')]}, 'its dataset and its code'),
        ({'arms': ('solo',)}, 'its code and its arms'),
        ({'code': 'suite.scorers[0].evaluation_name = "other"\n'}, 'its scorers and its code'),
    ],
)
async def test_a_suite_that_changed_is_refused(now: dict[str, Any], changed: str) -> None:
    """One run never mixes two versions of a suite: the message names what changed and the way out."""
    _, store = await cut_off(2)
    before = (store.folder / 'run.json').read_bytes()
    with pytest.raises(HarnessError) as caught:
        await resumed(store, file_suite(**{'cases': CASES, **now}))
    assert caught.value.message == (
        f"run {store.id} cannot be finished: suite 'mirror' is not what it was started with, as {changed} changed. "
        'Start a new run: advisor-harness run mirror'
    )
    assert (store.folder / 'run.json').read_bytes() == before


async def test_another_version_is_refused() -> None:
    """Records measured with two versions of a package are not one run."""
    mirror, store = await cut_off(2)
    path = store.folder / 'run.json'
    meta = json.loads(path.read_text())
    meta['versions']['pydantic-evals'], now = '1.0', meta['versions']['pydantic-evals']
    path.write_text(json.dumps(meta))
    with pytest.raises(HarnessError) as caught:
        await resumed(RunStore(store.folder), mirror)
    assert caught.value.message == (
        f'run {store.id} cannot be finished: it was started with pydantic-evals 1.0, and this is {now}. '
        'Start a new run: advisor-harness run mirror'
    )


def test_the_code_of_a_suite_is_its_file_and_what_it_imports_from_beside_it(folder: Path) -> None:
    """Neighbours, packages above and relative imports count; what is installed or only lies there does not."""
    files = {
        'evals/mirror.py': 'import json\nfrom _help import x\nimport agent.tools\n',
        'evals/_help.py': 'def late():\n    import deep\n',
        'evals/deep.py': 'import _help\n',
        'evals/other.py': 'x = 1\n',
        'agent/__init__.py': '',
        'agent/tools.py': 'from . import words\nfrom .parts import *\n',
        'agent/words.py': '',
        'agent/parts/__init__.py': '',
        'agent/unused.py': '',
    }
    for name, source in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(source)
    suite = folder / 'evals/mirror.py'
    root = folder.resolve()
    unseen = {'evals/other.py', 'agent/unused.py'}
    assert [path.relative_to(root).as_posix() for path in local_sources(suite)] == sorted(files.keys() - unseen)
    before = code_sha256(suite)
    (folder / 'agent/unused.py').write_text('y = 2\n')
    assert code_sha256(suite) == before
    (folder / 'agent/words.py').write_text('y = 2\n')
    assert code_sha256(suite) != before


def test_a_store_without_room_says_so_and_stays_whole(folder: Path) -> None:
    """What cannot be written is an error of the store, in words."""
    with pytest.raises(StoreError) as caught:
        RunStore(folder / 'gone').append(CaseRecord(suite='s', case='c', arm='a', state='ok'))
    assert caught.value.message == 'gone/cases.jsonl cannot be written: No such file or directory'
