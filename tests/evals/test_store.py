"""The run store: appending, reading while it grows, and what a killed process leaves."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelRequest

from advisor_harness.evals import CaseError, CaseKey, CaseRecord, CassetteUse, HarnessError, RunMeta, RunStore, Score
from advisor_harness.evals.errors import RunNotFoundError
from advisor_harness.evals.meta import Filters, SuiteMeta
from advisor_harness.evals.store import new_run_id, newest_run_of, open_run

SUITE = SuiteMeta(name='s', regime='replay', arms=('solo',), repeat=1, cases={'a': ('easy',), 'b': ()}, selected=('a',))
META = RunMeta(
    id='20270101T000000000Z-0001',
    started='2027-01-01T00:00:00+00:00',
    mode='replay',
    suites=(SUITE,),
    filters=Filters(cases=('a',)),
    versions={'python': '3.11'},
)
RECORD = CaseRecord(
    suite='s',
    case='a/b \ud800',
    arm='solo',
    repeat=2,
    state='error',
    error=CaseError('E', 'two\nlines', 'cassette'),
    scores={'x': Score(True, 'because'), 'n': Score(0.5), 'l': Score('label')},
    output={'a': [1]},
    tags=('easy',),
    usage={'requests': 1, 'input_tokens': 2, 'output_tokens': 3},
    cost_usd=0.25,
    cassette=CassetteUse(file='c.yaml', hits=1, misses=2, unused=3, recorded_with='emulator'),
    trace_complete=True,
    duration_s=0.5,
    recorded_latency_s=1.5,
)


def store(meta: RunMeta = META) -> RunStore:
    return RunStore.create(Path('runs'), meta)


def test_a_record_comes_back_as_it_was_written() -> None:
    """Every field of a record survives the file, odd characters included."""
    written = store()
    written.append(RECORD)
    assert RunStore(written.folder).records() == {RECORD.key: RECORD}


def test_run_json_comes_back_as_it_was_written() -> None:
    """What a run owes survives the file; no other file is left beside it."""
    written = store()
    assert RunStore(written.folder).meta == META
    assert [path.name for path in written.folder.iterdir()] == ['run.json']
    assert list(META.suites[0].expected()) == [CaseKey('s', 'a', 'solo', 1)]


def test_the_last_record_of_a_key_wins() -> None:
    """A second record of the same case replaces the first; the file keeps both."""
    written = store()
    for record in (RECORD, replace(RECORD, case='z'), replace(RECORD, state='ok', error=None)):
        written.append(record)
    assert [(key.case, record.state) for key, record in written.records().items()] == [
        ('a/b \ud800', 'ok'),
        ('z', 'error'),
    ]
    assert len((written.folder / 'cases.jsonl').read_text().splitlines()) == 3


def test_a_torn_last_line_is_ignored_and_removed_before_the_next_record() -> None:
    """What a killed process left of a line is no record, and the next one starts on a line of its own."""
    written = store()
    written.append(RECORD)
    with open(written.folder / 'cases.jsonl', 'ab') as file:
        file.write(b'{"schema": 1, "suite": "s", "ca')
    again = RunStore(written.folder)
    assert list(again.records()) == [RECORD.key]
    again.append(replace(RECORD, case='next'))
    assert [key.case for key in again.records()] == ['a/b \ud800', 'next']


@pytest.mark.parametrize(
    ('line', 'why'),
    [
        ('{"schema": 2}', 'not a case record of schema 1: schema is 2'),
        ('no json', 'Expecting value: line 1 column 1 (char 0)'),
    ],
)
def test_a_whole_line_that_is_no_record_is_an_error(line: str, why: str) -> None:
    """Only a torn line is forgiven: everything else could hide a failed case."""
    written = store()
    (written.folder / 'cases.jsonl').write_text(f'{json.dumps(RECORD.to_json())}\n{line}\n')
    with pytest.raises(HarnessError) as caught:
        written.records()
    assert caught.value.message == f'runs/{META.id}/cases.jsonl, line 2 is not a record of a case: {why}'


def test_a_run_json_that_says_nothing_is_an_error() -> None:
    """A broken `run.json` is named, not guessed around."""
    written = store()
    (written.folder / 'run.json').write_text('{"schema": 1}')
    with pytest.raises(HarnessError) as caught:
        _ = RunStore(written.folder).meta
    assert caught.value.message == f"runs/{META.id}/run.json does not describe a run: KeyError: 'filters'"


def test_spans_messages_and_tracebacks_lie_beside_the_record() -> None:
    """What belongs to a case is found through its record; a case that left nothing has nothing."""
    written = store()
    record = replace(
        RECORD,
        spans=written.write_spans(RECORD.key, [{'name': 'one'}, {'name': 'two'}]),
        messages=written.write_messages(RECORD.key, [ModelRequest.user_text_prompt('half \ud800')]),
        traceback=written.write_traceback(RECORD.key, 'Traceback'),
    )
    assert (record.spans, record.messages, record.traceback) == (
        'spans/s.jsonl',
        'messages/s.jsonl',
        'tracebacks/s.jsonl',
    )
    assert written.traceback(record) == 'Traceback'
    assert written.spans(record) == [{'name': 'one'}, {'name': 'two'}]
    (message,) = written.messages(record)
    assert (message['kind'], message['parts'][0]['content']) == ('request', 'half \ud800')
    assert (written.spans(RECORD), written.messages(RECORD), written.traceback(RECORD)) == ([], [], None)


def test_attachments_of_a_process_that_was_killed() -> None:
    """A torn line is nobody's, what is appended after it is found, and the last line of a case wins."""
    written = store()
    key = CaseKey('s', 'a,"spans":', 'solo', 1)
    record = replace(RECORD, case=key.case, repeat=1, spans=written.write_spans(key, [{'name': 'old'}]))
    with open(written.folder / 'spans' / 's.jsonl', 'ab') as file:
        file.write(b'{"case":"b","arm":"solo","repeat":1,"spans":[{"na')
    again = RunStore(written.folder)
    assert again.spans(record) == [{'name': 'old'}]
    again.write_spans(key, [{'name': 'new'}])
    assert (again.spans(record), written.spans(record)) == ([{'name': 'new'}], [{'name': 'new'}])


def test_ids_sort_by_time() -> None:
    """An id starts with the UTC time to the millisecond and ends in four random characters."""
    one = new_run_id(datetime(2027, 1, 31, 9, 5, 7, 89_999, tzinfo=UTC))
    assert (one[:-4], len(one)) == ('20270131T090507089Z-', 24)
    assert new_run_id(datetime(2026, 12, 31, tzinfo=UTC)) < one


def test_a_run_is_found_by_id_path_and_latest() -> None:
    """`latest` is the newest id; a folder without `run.json` is no run."""
    first, second = store(), store(replace(META, id='20270102T000000000Z-0000'))
    (Path('runs') / 'zzz').mkdir()
    assert open_run('latest').folder == second.folder
    assert open_run(first.id).folder == first.folder
    assert open_run(second.folder, Path('elsewhere')).folder == second.folder


def test_a_run_that_is_not_there() -> None:
    """An unknown run is an error that names the newest ones; so is `latest` where there is none."""
    with pytest.raises(RunNotFoundError) as none:
        open_run('latest')
    assert none.value.message == 'there is no run in runs yet: start one with `advisor-harness run`'
    store()
    with pytest.raises(RunNotFoundError) as unknown:
        open_run('x')
    assert unknown.value.message == f"there is no run 'x' in runs: the newest are {META.id}"


def test_the_newest_run_of_a_suite() -> None:
    """The newest run that ran a suite is not always the newest run."""
    first = store()
    store(replace(META, id='20270102T000000000Z-0000', suites=(replace(SUITE, name='other'),)))
    third = store(replace(META, id='20270103T000000000Z-0000'))
    found = newest_run_of('s', Path('runs'))
    assert found is not None
    assert found.id == third.id
    earlier = newest_run_of('s', Path('runs'), before=third.id)
    assert earlier is not None
    assert earlier.id == first.id
    assert newest_run_of('unknown', Path('runs')) is None
