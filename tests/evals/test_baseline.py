"""Baselines: files that people review, written only when a person accepts a run, and read with clear words."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from advisor_harness.evals import (
    CaseError,
    CaseRecord,
    CassetteUse,
    HarnessError,
    RunMeta,
    RunStore,
    Score,
    SuiteMeta,
    baseline as files,
    judge,
)
from advisor_harness.evals.accepting import accept
from advisor_harness.evals.baseline import Acceptance, Baseline, load, load_all, names, save, suites
from advisor_harness.evals.baseline_texts import differences, shown_baseline
from advisor_harness.evals.meta import Filters
from tests.evals.support import case, exchange, recorded_mirror, run, suite, write_cassette

NOW = datetime(2027, 1, 15, 12, 30, 59, 123456, tzinfo=UTC)
FILE = Path('evals/baselines/s.json')


def record(name: str, right: bool = True, **options: Any) -> CaseRecord:
    defaults: dict[str, Any] = {
        'state': 'ok' if right else 'failed',
        'scores': {'share': Score(0.5, 'a reason'), 'right': Score(right, 'said by ada@example.com')},
        'output': 'private words',
        'usage': {'output_tokens': 4, 'input_tokens': 10},
        'cost_usd': 0.25,
        'cassette': CassetteUse(f'cassettes/s/{name}.yaml', 1, 0, 0, 'emulator', sha256='ab12'),
        'trace_complete': True,
        'duration_s': 0.123,
        'recorded_latency_s': 2.0,
    }
    return CaseRecord(suite='s', case=name, arm='advised', **{**defaults, **options})


def meta(**options: Any) -> SuiteMeta:
    defaults: dict[str, Any] = {
        'name': 's',
        'regime': 'replay',
        'arms': ('advised',),
        'repeat': 1,
        'cases': {'b': ('hard',), 'a': ()},
        'all_arms': ('advised',),
        'metrics': {'right': 'assertion', 'share': None},
        'cassettes': 'cassettes/s',
        'dataset_sha256': 'd' * 64,
        'case_sha256': {'b': 'b' * 64, 'a': 'a' * 64},
        'scorers_sha256': 'e' * 64,
    }
    return SuiteMeta(**{**defaults, **options})


def stored(*records: CaseRecord, run_id: str = 'r', filters: Filters | None = None, **options: Any) -> RunStore:
    run = RunMeta(
        id=run_id,
        started='2027-01-01T00:00:00+00:00',
        mode='replay',
        suites=(meta(**options),),
        filters=filters or Filters(),
        versions={'python': '3.12.0'},
    )
    store = RunStore.create(Path('runs'), run)
    for each in records:
        store.append(each)
    return store


def accepted(store: RunStore, **options: Any) -> list[tuple[Baseline, Path]]:
    defaults: dict[str, Any] = {'reason': 'the first one', 'by': 'Ada', 'environ': {}, 'now': NOW}
    return accept(store, **{**defaults, **options})


RECORDS = [
    f'{{"case": "{name}", "arm": "advised", "repeat": 1, "state": "{state}", "error": {error}, '
    f'"scores": {scores}, "usage": {{"input_tokens": 10, "output_tokens": 4}}, '
    f'"cost_usd": 0.25, "recorded_latency_s": 2.0, '
    f'"recording": {{"file": "cassettes/s/{name}.yaml", "sha256": "ab12"}}}}'
    for name, state, error, scores in (
        ('b', 'error', '{"type": "KeyError", "where": "task"}', '{}'),
        ('a', 'ok', 'null', '{"right": true, "share": 0.5}'),
    )
]
EXPECTED = f"""{{
  "schema": 1,
  "suite": "s",
  "baselines": {{
    "main": {{
      "accepted": {{
        "by": "Ada",
        "at": "2027-01-15T12:30:59+00:00",
        "reason": "the first one"
      }},
      "run": {{
        "id": "r",
        "mode": "replay",
        "regime": "replay",
        "verdict": "blocked",
        "versions": {{"python": "3.12.0"}}
      }},
      "dataset_sha256": "{'d' * 64}",
      "scorers_sha256": "{'e' * 64}",
      "policy": null,
      "policy_sha256": null,
      "arms": [
        "advised"
      ],
      "repeat": 1,
      "metrics": {{
        "right": "assertion",
        "share": null
      }},
      "cases": {{
        "b": {{"tags": ["hard"], "sha256": "{'b' * 64}"}},
        "a": {{"tags": [], "sha256": "{'a' * 64}"}}
      }},
      "records": [
        {RECORDS[0]},
        {RECORDS[1]}
      ]
    }}
  }}
}}
"""


def crashed(name: str) -> CaseRecord:
    return record(name, state='error', error=CaseError('KeyError', 'private words', 'task'), scores={})


def test_the_file_in_full() -> None:
    """One line per case and record, in the order of the dataset, without words of users, wall time or paths."""
    ((_, path),) = accepted(stored(record('a'), crashed('b')))
    assert path == FILE
    assert FILE.read_text() == EXPECTED
    assert [each.name for each in FILE.parent.iterdir()] == ['s.json']


def test_what_is_read_is_what_was_written() -> None:
    """A baseline comes back with everything that comparisons need, and writes the same file again."""
    ((baseline, _),) = accepted(stored(record('a'), crashed('b')))
    found = load('s')
    assert found is not None
    assert (found.accepted, found.run_id, found.verdict) == (baseline.accepted, 'r', 'blocked')
    assert found.records == baseline.records
    assert found.suite == replace(baseline.suite, policy=None)
    save(found)
    assert FILE.read_text() == EXPECTED


def test_accepting_again_changes_only_what_changed() -> None:
    """The same results under another acceptance differ in who, when and why alone."""
    accepted(stored(record('a'), crashed('b')))
    accepted(stored(crashed('b'), record('a'), run_id='r2'), reason='again', by='Bob')
    changed = [
        (old, new) for old, new in zip(EXPECTED.splitlines(), FILE.read_text().splitlines(), strict=True) if old != new
    ]
    assert [new.strip() for _, new in changed] == ['"by": "Bob",', '"reason": "again"', '"id": "r2",']


def test_baselines_have_names() -> None:
    """Each name is a baseline of its own; an unknown one is none, and a typo in what was asked for is an error."""
    accepted(stored(record('a'), record('b')))
    accepted(stored(record('a', False), record('b'), run_id='r2'), name='release')
    assert (names('s'), suites()) == (('main', 'release'), ('s',))
    assert [(each.run_id if (each := load('s', name)) else None) for name in ('main', 'release', 'x')] == [
        'r',
        'r2',
        None,
    ]
    assert load_all(['s', 'other'], 'release').keys() == {'s'}
    assert load_all(['other']) == {}
    with pytest.raises(HarnessError) as caught:
        load_all(['s', 'other'], 'realese')
    assert caught.value.message == (
        "there is no baseline 'realese' of s, other in evals/baselines: there is main, release; make one: "
        'advisor-harness baseline accept RUN --reason TEXT --name realese'
    )


def test_names_of_suites_that_are_no_file_names() -> None:
    """A suite never gets outside the folder, nor onto the file of another."""
    assert files.file_of('../a/b') == Path('evals/baselines/..%2Fa%2Fb.json')


@pytest.mark.parametrize('ci', ['1', 'true', 'false'])
def test_a_machine_never_accepts(ci: str) -> None:
    """Wherever `CI` says anything, accepting is refused and nothing is written."""
    with pytest.raises(HarnessError) as caught:
        accepted(stored(record('a'), record('b')), environ={'CI': ci})
    assert caught.value.message == (
        f'`CI` is set ({ci!r}): a baseline is accepted by a person, on their own machine, and committed'
    )
    assert not FILE.parent.exists()


@pytest.mark.parametrize('option', ['reason', 'by', 'name'])
def test_nothing_is_accepted_without_words(option: str) -> None:
    """Reason, person and name must say something."""
    with pytest.raises(HarnessError) as caught:
        accepted(stored(record('a'), record('b')), **{option: ' \n'})
    assert caught.value.message == f'`--{option}` must not be blank'


@pytest.mark.parametrize(
    ('records', 'options', 'problem'),
    [
        (
            ['b'],
            {'filters': Filters(cases=('b',)), 'selected': ('b',)},
            "it was narrowed down to case 'b'; run everything first",
        ),
        (
            ['b'],
            {},
            "suite 's' is inconclusive (precondition cassettes: a [advised]: the run left no record of it); mend that "
            'and run it again',
        ),
    ],
)
def test_runs_that_are_no_baseline(records: list[str], options: dict[str, Any], problem: str) -> None:
    """A run that was narrowed down, or that says nothing, is refused with the reason, and nothing is written."""
    with pytest.raises(HarnessError) as caught:
        accepted(stored(*map(record, records), **options))
    assert caught.value.message == f'run r cannot be a baseline: {problem}'
    assert not FILE.parent.exists()


def test_an_unmeasured_gate_is_no_baseline() -> None:
    """A run whose gate has no value is inconclusive too."""
    Path('p.yaml').write_text('metrics: {share: {min: 0}}')
    with pytest.raises(HarnessError) as caught:
        accepted(stored(record('a'), crashed('b'), policy='p.yaml'))
    assert caught.value.message == (
        "run r cannot be a baseline: suite 's' is inconclusive (gate share: not measured in 1 of 2: b [advised]); mend "
        'that and run it again'
    )


def test_a_changed_dataset_can_be_accepted() -> None:
    """The comparison that failed is what accepting ends: afterwards the new dataset is compared."""
    accepted(stored(record('a'), record('b')))
    fresh = stored(record('a'), record('b'), run_id='r2', case_sha256={'a': 'a' * 64, 'b': 'other'})
    assert str(judge(fresh).verdict) == 'inconclusive'
    accepted(fresh, reason='new question')
    assert str(judge(fresh).verdict) == 'pass'


def test_an_edited_policy_is_accepted_as_it_is_now() -> None:
    """The hash is that of the policy which the run was judged under when it was accepted."""
    Path('p.yaml').write_text('metrics: {right: {min: 1}}')
    store = stored(record('a'), record('b'), policy='p.yaml', policy_sha256='of an older file')
    accepted(store)
    assert str(judge(store).verdict) == 'pass'
    Path('p.yaml').write_text('metrics: {right: {min: 0}}')
    verdict = judge(store)
    assert (str(verdict.verdict), verdict.suites[0].preconditions[-1].detail) == (
        'inconclusive',
        "policy p.yaml changed since baseline 'main'; accept a run of what is there now: advisor-harness baseline "
        'accept r --reason TEXT',
    )


@pytest.mark.parametrize(
    ('content', 'problem'),
    [
        ('{', 'Expecting property name enclosed in double quotes: line 1 column 2 (char 1)'),
        ('[]', 'it is no JSON object'),
        ('{"schema": 2}', 'schema is 2, not 1'),
        ('{"schema": 1, "baselines": {}}', 'its suite is None'),
        ('{"schema": 1, "suite": "t", "baselines": {}}', "it is of suite 't', not 's'"),
        (
            '{"schema": 1, "suite": "s", "baselines": {"main": {}}}',
            "baseline 'main' is not complete (KeyError: 'run')",
        ),
    ],
)
def test_files_that_are_no_baselines(content: str, problem: str) -> None:
    """A file that was cut off, merged badly or copied is named, with the way out; it never counts as no baseline."""
    FILE.parent.mkdir(parents=True)
    FILE.write_text(content)
    with pytest.raises(HarnessError) as caught:
        load('s')
    assert caught.value.message == (
        f'evals/baselines/s.json is not a file of baselines: {problem}; restore it from version control, or remove it '
        'and accept a run again'
    )


def test_a_file_that_cannot_be_written() -> None:
    """What stands in the way is named, and no half file is left."""
    Path('evals').mkdir()
    FILE.parent.write_text('in the way')
    with pytest.raises(HarnessError) as caught:
        accepted(stored(record('a'), record('b')))
    assert caught.value.message == 'baseline evals/baselines/s.json cannot be written: File exists'


def test_a_baseline_for_people() -> None:
    """Who, when and why, the run, what passed and the hashes."""
    ((baseline, _),) = accepted(stored(record('a'), record('b', False)))
    assert shown_baseline(baseline).splitlines() == [
        's main',
        '  accepted   2027-01-15T12:30:59+00:00 by Ada: the first one',
        '  run        r, replay, blocked',
        '  passed     0.500 over 2/2 of advised',
        '  hashes     dataset dddddddddddd, scorers eeeeeeeeeeee, no policy',
    ]


def difference(store: RunStore) -> tuple[list[str], bool, bool]:
    (found,) = differences(store, {}, load_all(['s']))
    return found.text.splitlines(), found.comparable, found.different


def test_differences_for_people() -> None:
    """Cases that flipped with why, and metrics that moved with how many cases moved them."""
    accepted(stored(record('a'), record('b')))
    same = stored(record('a'), record('b'), run_id='r2')
    assert difference(same) == (
        ['s: run r2 beside main (run r), 2 pairs, replayed from the same recordings', '  nothing is different'],
        True,
        False,
    )
    label = {'right': Score(False, 'no'), 'share': Score(0.25), 'mood': Score('bad')}
    other = stored(record('a'), record('b', False, scores=label, cassette=None), run_id='r3')
    assert difference(other) == (
        [
            's: run r3 beside main (run r), 2 pairs, sampled',
            '  b [advised]  pass -> fail: right: no',
            '  right [advised]  1 -> 0.500, 1 of 2 cases',
            '  share [advised]  0.500 -> 0.375, 1 of 2 cases',
        ],
        True,
        True,
    )


def test_differences_of_what_cannot_be_compared() -> None:
    """Other scorers are told first."""
    accepted(stored(record('a'), record('b')))
    lines, comparable, _ = difference(stored(record('a'), record('b'), run_id='r2', scorers_sha256='new'))
    assert (lines[1], comparable) == (
        "  not comparable: the scorers changed since baseline 'main'; accept a run of what is there now: "
        'advisor-harness baseline accept r2 --reason TEXT',
        False,
    )


@pytest.mark.anyio
async def test_a_real_run_is_its_own_baseline() -> None:
    """What a run leaves can be accepted and compared; a case that answers otherwise is a flip."""
    cases = [case('a'), case('b', 'cd', 'dc')]
    accepted(await run(suite(*cases)))
    same = judge(await run(suite(*reversed(cases))))
    assert (str(same.verdict), same.suites[0].flips, same.suites[0].baseline['pairs']) == ('pass', (), 2)

    async def wrong(inputs: str, arm: str) -> str:
        return 'ba'

    flips = judge(await run(suite(*cases, task=wrong))).suites[0].flips
    assert [(flip.case, flip.from_, flip.to) for flip in flips] == [('b', 'pass', 'fail')]


@pytest.mark.anyio
async def test_renaming_a_case_is_known() -> None:
    """The same content under another name is a renamed case, although nobody said so."""
    accepted(await run(suite(case('a'), case('b', 'cd', 'dc'))))
    (found,) = judge(await run(suite(case('a'), case('new', 'cd', 'dc')))).suites
    assert found.baseline['renamed'] == {'b': 'new'}
    assert str(found.verdict) == 'inconclusive'


def test_acceptance_is_kept_as_it_was_said() -> None:
    """Lines of the reason become one, and spaces around names are cut."""
    ((baseline, _),) = accepted(stored(record('a'), record('b')), reason=' why\nnot ', by=' Ada ')
    assert baseline.accepted == Acceptance(by='Ada', at='2027-01-15T12:30:59+00:00', reason='why not')
    assert json.loads(FILE.read_text())['baselines']['main']['accepted']['reason'] == 'why not'


@pytest.mark.anyio
async def test_a_replay_of_the_same_recordings_is_exact() -> None:
    """Two replays of one file are compared exactly; once it is recorded anew, the same answers are a sample."""
    tape = Path('cassettes/short.advised.yaml')
    write_cassette(tape, exchange('ab'))
    recorded = suite(case('short'), task=recorded_mirror, cassettes='cassettes')
    accepted(await run(recorded))
    assert judge(await run(recorded)).suites[0].baseline['exact'] is True
    write_cassette(tape, {**exchange('ab'), 'recorded': {'latency_s': 0.5}})
    assert judge(await run(recorded)).suites[0].baseline['exact'] is False


@pytest.mark.anyio
async def test_a_partly_missed_recording_is_neither_regime() -> None:
    """A request without recorded answer is inconclusive beside any baseline, and the case is `missing`."""
    write_cassette(Path('cassettes/short.advised.yaml'), exchange('ab'))
    recorded = suite(case('short'), task=recorded_mirror, cassettes='cassettes')
    accepted(await run(recorded))
    write_cassette(Path('cassettes/short.advised.yaml'), exchange('another question'))
    (found,) = judge(await run(recorded)).suites
    assert (str(found.verdict), [(flip.from_, flip.to) for flip in found.flips]) == (
        'inconclusive',
        [('pass', 'missing')],
    )
