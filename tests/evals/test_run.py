"""A run from suites to records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic_evals import Dataset

from advisor_harness.evals import CaseKey, CaseRecord, HarnessError, Run, Score, Suite, SuiteError, judge
from tests.evals.support import case, mirror, nothing_in, one_record, only_run, run, started, suite

pytestmark = pytest.mark.anyio


async def test_the_record_of_a_case_that_passes() -> None:
    """The record has output, scores, usage, tags and a complete trace, and says where spans and messages are."""
    store = await run(suite(case('short', 'ab', 'ba', 'easy')))
    (record,) = store.records().values()
    assert record == CaseRecord(
        suite='mirror',
        case='short',
        arm='advised',
        state='ok',
        scores={'EqualsExpected': Score(value=True)},
        output='ba',
        tags=('easy',),
        usage={'requests': 1, 'input_tokens': 51, 'output_tokens': 1},
        trace_complete=True,
        duration_s=record.duration_s,
        spans='spans/mirror.jsonl',
        messages='messages/mirror.jsonl',
    )
    assert [span['name'] for span in store.spans(record)] == ['invoke_agent executor', 'chat mirror']
    assert [message['kind'] for message in store.messages(record)] == ['request', 'response']


async def test_a_false_assertion_fails_the_case() -> None:
    """A case whose assertion is false is `failed`, without an error."""
    record = await one_record(suite(case('wrong', 'ab', 'ab')))
    assert (record.state, record.error, record.scores) == ('failed', None, {'EqualsExpected': Score(value=False)})


async def test_top_spans_carry_the_case() -> None:
    """The top span of a case says which run, suite, case, arm and repeat it belongs to; the others do not."""
    store = await run(suite())
    (record,) = store.records().values()
    top, chat = store.spans(record)
    assert {k: v for k, v in top['attributes'].items() if k.startswith('evals.')} == {
        'evals.run': store.id,
        'evals.suite': 'mirror',
        'evals.case': 'short',
        'evals.arm': 'advised',
        'evals.repeat': 1,
    }
    assert not any(key.startswith('evals.') for key in chat['attributes'])
    assert (top['parent_id'], chat['parent_id']) == (None, top['span_id'])


async def test_every_case_runs_in_every_arm_and_repeat() -> None:
    """Suite x case x arm x repeat gives one record each, and the task is told its arm."""
    arms: list[str] = []

    async def task(inputs: str, arm: str) -> str:
        arms.append(arm)
        return await mirror(inputs, arm)

    store = await run(suite(case('a'), case('b'), task=task, arms=('solo', 'advised'), repeat=2), concurrency=1)
    assert sorted(store.records()) == [
        CaseKey('mirror', name, arm, repeat) for name in 'ab' for arm in ('advised', 'solo') for repeat in (1, 2)
    ]
    assert arms == ['solo', 'solo', 'advised', 'advised'] * 2


async def test_concurrency_changes_nothing() -> None:
    """One case at a time and twenty give the same records, spans included."""
    cases = [case(f'c{n}', 'x' * n + 'y', 'y' + 'x' * n) for n in range(30)]

    async def content(concurrency: int) -> dict[CaseKey, object]:
        store = await run(suite(*cases), concurrency=concurrency)
        found: dict[CaseKey, object] = {}
        for key, record in sorted(store.records().items()):
            names = [(span['name'], span['attributes'].get('final_result')) for span in store.spans(record)]
            found[key] = ({**record.to_json(), 'duration_s': 0}, names)
        return found

    one_by_one = await content(1)
    assert len(one_by_one) == 30
    assert await content(20) == one_by_one


async def test_a_plain_function_runs_in_a_thread() -> None:
    """A task may be a plain function with an agent of its own event loop."""

    def task(inputs: str, arm: str) -> str:
        import anyio

        return anyio.run(mirror, inputs, arm)

    record = await one_record(suite(task=task))
    assert (record.state, record.output, record.trace_complete) == ('ok', 'ba', True)


async def test_an_output_that_is_no_json_is_written_as_text() -> None:
    """NaN, objects and values that contain themselves never make a record unreadable."""
    knot: list[object] = []
    knot.append(knot)

    async def task(inputs: str, arm: str) -> object:
        await mirror('ab', arm)
        return {'nan': float('nan'), 'type': int, 'half': '\ud800', 'tuple': (1, 2)} if inputs == 'odd' else knot

    store = await run(suite(case('odd', 'odd', 1), case('knot', 'knot', 1), task=task))
    outputs = {key.case: record.output for key, record in store.records().items()}
    assert outputs == {
        'odd': {'nan': 'NaN', 'type': "<class 'int'>", 'half': '\ud800', 'tuple': [1, 2]},
        'knot': '[[...]]',
    }


async def test_callbacks_see_the_run_and_every_record_when_it_is_written() -> None:
    """`on_start` comes first, with the run's folder; `on_record` finds its record in the store."""
    seen: list[object] = []

    def on_start(run: Run) -> None:
        seen.append((run.folder / 'run.json').is_file())

    def on_record(record: CaseRecord) -> None:
        seen.append(json.loads((only_run().folder / 'cases.jsonl').read_text().splitlines()[-1]) == record.to_json())

    from advisor_harness.evals import RunOptions, run_suites

    await run_suites([suite(case('a'), case('b'))], RunOptions(), on_start=on_start, on_record=on_record)
    assert seen == [True, True, True]


async def test_a_run_can_be_narrowed_down() -> None:
    """Arm, cases and tags leave only what has all of them; a suite without any such case is left out."""
    first = suite(case('a', 'ab', 'ba', 'easy'), case('b', 'ab', 'ba', 'hard'), arms=('solo', 'advised'))
    second = suite(case('c', 'ab', 'ba', 'hard'), name='other', arms=('advised',))
    assert sorted((await run(first, second, arm='solo')).records()) == [
        CaseKey('mirror', 'a', 'solo', 1),
        CaseKey('mirror', 'b', 'solo', 1),
    ]
    assert sorted((await run(first, second, tags=('hard',), arm='advised')).records()) == [
        CaseKey('mirror', 'b', 'advised', 1),
        CaseKey('other', 'c', 'advised', 1),
    ]
    assert [key.case for key in (await run(first, second, cases=('c',))).records()] == ['c']


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'arm': 'none'}, "there is no arm 'none' in mirror: there is advised"),
        ({'cases': ('x',)}, "there is no case 'x' in mirror: there is a, b"),
        ({'tags': ('x',)}, "there is no tag 'x' in mirror: there is easy"),
        (
            {'arm': 'advised', 'cases': ('b',), 'tags': ('easy',)},
            "no case is left: none has all of arm 'advised', case 'b', tag 'easy'",
        ),
        ({'concurrency': 0}, '`concurrency` must be at least 1; got 0'),
        ({'mode': 'record'}, "suite 'mirror' has no `cassettes` folder: there is nothing to record"),
    ],
)
async def test_what_does_not_exist_is_said_before_anything_runs(
    folder: Path, options: dict[str, object], message: str
) -> None:
    """An unknown arm, case or tag, and a selection of nothing, are errors that name it; no run is started."""
    with pytest.raises(HarnessError) as caught:
        await run(suite(case('a', 'ab', 'ba', 'easy'), case('b')), **options)
    assert caught.value.message == message
    assert nothing_in(folder)


async def test_names_that_differ_in_case_need_a_file_system_that_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where names of files ignore case, two such cases of a recorded suite would share a recording: refused."""
    both = suite(case('Refund'), case('refund'), cassettes='cassettes')
    for ignored in (False, True):
        monkeypatch.setattr('advisor_harness.evals.plan.ignores_case', lambda folder, ignored=ignored: ignored)
        if not ignored:
            assert len((await run(both)).records()) == 2
            continue
        with pytest.raises(SuiteError) as caught:
            await run(both)
    assert caught.value.message == (
        "cases 'Refund' and 'refund' of suite 'mirror' would share a recording, as names of files in cassettes do not "
        'differ by case: rename one of them'
    )


async def test_suites_need_names_of_their_own() -> None:
    """Two suites of one name, a suite without name and no suite at all cannot be run."""
    unnamed = Suite(dataset=Dataset[str, str, None](name='d', cases=[]), task=mirror)
    for suites, message in (
        ((suite(), suite()), "two suites are named 'mirror': give one of them another `Suite.name`"),
        ((unnamed,), '`Suite.name` is empty: give it a name, or load the suite with `load_suites`'),
        ((), 'there is no suite to run'),
    ):
        with pytest.raises(SuiteError) as caught:
            await run(*suites)
        assert caught.value.message == message


async def test_run_json_says_what_ran() -> None:
    """`run.json` names suites, arms, cases, regime, filters, versions and hashes."""
    store = await run(
        suite(case('a', 'ab', 'ba', 'easy'), case('b'), arms=('solo', 'advised')), arm='solo', cases=('b',)
    )
    meta = json.loads((store.folder / 'run.json').read_text())
    (described,) = meta.pop('suites')
    assert meta == {
        'schema': 1,
        'id': store.id,
        'started': meta['started'],
        'mode': 'replay',
        'filters': {'arm': 'solo', 'cases': ['b'], 'tags': [], 'only_failed': False, 'shard': None},
        'versions': meta['versions'],
        'timeout': None,
        'baseline': None,
        'resumed': 0,
        'merged': [],
        'shards': None,
        'missing_shards': [],
    }
    assert sorted(meta['versions']) == [
        'advisor-harness',
        'opentelemetry-sdk',
        'pydantic-ai-slim',
        'pydantic-evals',
        'python',
    ]
    assert described == {
        'name': 'mirror',
        'regime': 'sampled',
        'arms': ['solo'],
        'repeat': 1,
        'cases': {'a': ['easy'], 'b': []},
        'selected': ['b'],
        'all_arms': ['solo', 'advised'],
        'metrics': {'EqualsExpected': None},
        'judges': [],
        'cassettes': None,
        'policy': None,
        'policy_sha256': None,
        'dataset_sha256': described['dataset_sha256'],
        'scorers_sha256': described['scorers_sha256'],
        'code_sha256': None,
        'case_sha256': described['case_sha256'],
    }


async def test_only_failed_runs_what_was_not_fine_and_carries_the_rest() -> None:
    """Fine records of the newest run are carried over with their spans; failed and missing cases run again."""
    asked: list[str] = []

    async def task(inputs: str, arm: str) -> str:
        asked.append(inputs)
        return await mirror(inputs, arm)

    cases = (case('fine'), case('wrong', 'abc', 'abc'), case('left-out', 'xy', 'yx'))
    first = await started(suite(*cases, task=task), cases=('fine', 'wrong'))
    asked.clear()
    second = await run(suite(*cases, task=task), only_failed=True, concurrency=1)
    assert asked == ['abc', 'xy']
    records = second.records()
    assert {key.case: record.state for key, record in records.items()} == {
        'fine': 'ok',
        'wrong': 'failed',
        'left-out': 'ok',
    }
    key = CaseKey('mirror', 'fine', 'advised', 1)
    before = first.store.records()[key]
    assert second.spans(records[key]) == first.store.spans(before) != []
    assert second.messages(records[key]) == first.store.messages(before) != []


async def test_only_failed_runs_everything_when_cases_or_scorers_changed() -> None:
    """A record of a case as it was before says nothing about the case as it is now."""
    asked: list[str] = []

    async def task(inputs: str, arm: str) -> str:
        asked.append(inputs)
        return await mirror(inputs, arm)

    await run(suite(case('a'), task=task))
    await run(suite(case('a', 'xy', 'yx'), task=task), only_failed=True)
    assert asked == ['ab', 'xy']


async def test_suites_run_side_by_side() -> None:
    """Several suites of one run keep their records, spans and verdicts apart."""
    store = await run(suite(name='one'), suite(case('wrong', 'ab', 'no'), name='two'), concurrency=4)
    verdict = judge(store)
    assert {each.suite: str(each.verdict) for each in verdict.suites} == {'one': 'pass', 'two': 'blocked'}
    for record in store.records().values():
        top, *_ = store.spans(record)
        assert top['attributes']['evals.suite'] == record.suite
