"""Several processes: the records of one, whatever happens to a worker."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from advisor_harness.evals import CaseError, CaseRecord, HarnessError, RunStore, judge
from tests.evals.files import file_suite
from tests.evals.support import exchange, only_run, run, suite, write_cassette

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == 'win32', reason='POSIX signals')]


def comparable(store: RunStore) -> dict[object, CaseRecord]:
    """The records without what no two runs share: the time they took."""
    return {
        key: dataclasses.replace(record, duration_s=0.0, traceback=record.traceback and 'there')
        for key, record in sorted(store.records().items())
    }


def letters(count: int) -> Iterable[tuple[str, str]]:
    return [(f'case-{n}', f'text {n}') for n in range(count)]


async def test_two_processes_leave_the_records_of_one() -> None:
    """Records, attachments and verdict are the same, whether one process ran the cases or two."""
    mirror = file_suite([*letters(4), ('boom', 'crash')], arms=('solo', 'advised'))
    alone, together = await run(mirror), await run(mirror, workers=2)
    assert comparable(together) == comparable(alone)
    assert all(together.whole(record) for record in together.records().values())
    for record in together.records().values():
        assert [span['name'] for span in together.spans(record)] == [span['name'] for span in alone.spans(record)]
        assert len(together.messages(record)) == len(alone.messages(record))
    verdicts = [{**judge(store).to_json(), 'run_id': ''} for store in (alone, together)]
    assert verdicts[0] == verdicts[1]


async def test_every_process_replays_its_own_recordings() -> None:
    """A replay in two processes plays each case its recording, and notices the one that is missing."""
    for n in range(3):
        write_cassette(Path(f'cassettes/case-{n}.advised.yaml'), exchange(f'text {n}'))
    replay = """
from advisor_harness.cassettes import CassetteModels

async def ask(inputs, arm):
    return (await Agent('openai-chat:mirror-1', capabilities=[CassetteModels()]).run(inputs)).output

suite = Suite(dataset=suite.dataset, task=ask, scorers=suite.scorers, cassettes='../cassettes')
"""
    store = await run(file_suite(letters(4), code=replay), workers=2)
    states = {
        key.case: (record.state, record.cassette and record.cassette.hits) for key, record in store.records().items()
    }
    assert states == {'case-0': ('ok', 1), 'case-1': ('ok', 1), 'case-2': ('ok', 1), 'case-3': ('error', None)}


async def test_a_worker_that_dies_costs_its_case_only() -> None:
    """The case that was running says how its worker ended, another worker runs the rest, and nothing passes."""
    store = await run(file_suite([('killed', 'kill'), ('left', 'exit'), *letters(3)]), workers=2)
    errors = {key.case: record.error for key, record in sorted(store.records().items()) if record.state != 'ok'}
    assert errors == {
        'killed': CaseError('WorkerDied', 'the worker process that ran it was ended by SIGKILL', 'harness'),
        'left': CaseError('WorkerDied', 'the worker process that ran it ended with exit code 3', 'harness'),
    }
    assert len(store.records()) == 5
    assert str(judge(store).verdict) == 'inconclusive'


async def test_workers_that_cannot_start_are_an_error() -> None:
    """A suite that ends the process which imports it is said at once, instead of being tried for ever."""
    ending = '\nimport multiprocessing, os\nif multiprocessing.parent_process() is not None:\n    os._exit(4)\n'
    with pytest.raises(HarnessError) as caught:
        await run(file_suite(letters(3), code=ending), workers=2)
    assert caught.value.message == 'a worker process ended with exit code 4 before its first case'


async def test_cases_made_by_chance_are_an_error() -> None:
    """A worker that finds other cases than the run owes does not run them."""
    chance = '\nimport os\ncases[0].inputs = str(os.getpid())\n'
    with pytest.raises(HarnessError) as caught:
        await run(file_suite(letters(3), code=chance), workers=2)
    assert caught.value.message == (
        'the suite of evals/mirror.py is another one in every process: are its cases or scorers made by chance?'
    )


def test_an_interrupt_in_a_worker_ends_the_run() -> None:
    """A `KeyboardInterrupt` of a task reaches the caller; what ended is kept."""
    mirror = file_suite([('first', 'ab'), ('stop', 'interrupt'), *letters(6)])
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run(mirror, workers=2))
    states = {key.case: record.state for key, record in only_run().records().items()}
    assert (states['first'], states['stop'], 'case-5' in states) == ('ok', 'cancelled', False)


async def test_a_cancelled_run_leaves_no_worker() -> None:
    """Whoever cancels a run gets it cancelled at once, with the workers ended."""
    hang = """
from pathlib import Path

async def hang(inputs, arm):
    Path('pipe').write_text(str(os.getpid()))
    await asyncio.Event().wait()

suite = Suite(dataset=suite.dataset, task=hang)
"""
    os.mkfifo('pipe')
    running = asyncio.ensure_future(run(file_suite(letters(1), code=hang), workers=2))
    pid = int(await asyncio.to_thread(Path('pipe').read_text))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_what_workers_cannot_do_is_said_before_anything_runs(folder: Path) -> None:
    """Suites without a file, other modes and no worker at all are refused, and no run is started."""
    for options, message in (
        ({'workers': 2}, "suite 'mirror' comes from no file: `workers` above 1 need suites of `load_suites`"),
        ({'workers': 0}, '`workers` must be at least 1; got 0'),
        (
            {'workers': 2, 'mode': 'live'},
            "`workers` above 1 are for replays: mode 'live' waits for a provider, not for us",
        ),
    ):
        with pytest.raises(HarnessError) as caught:
            await run(suite(), **options)
        assert caught.value.message == message
    assert not (folder / 'runs').exists()
