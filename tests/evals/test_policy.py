"""Judging: the same records, policy and day always give the same verdict, and nothing that is missing passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from advisor_harness.evals import (
    CaseError,
    CaseRecord,
    CassetteUse,
    GateResult,
    Policy,
    PolicyError,
    Precondition,
    RunMeta,
    RunStore,
    Score,
    SuiteMeta,
    SuiteVerdict,
    judge,
    load_policies,
)
from advisor_harness.evals.detectable import detectable_in_cases
from advisor_harness.evals.meta import Filters
from advisor_harness.evals.statistics import clopper_pearson

TODAY = date(2027, 1, 15)
CRASH = CaseError('RuntimeError', 'boom', 'task')


def record(case: str, arm: str = 'advised', *, repeat: int = 1, **options: Any) -> CaseRecord:
    """A fine record with one assertion (`right`) and one score (`share`)."""
    defaults: dict[str, Any] = {
        'state': 'ok',
        'scores': {'right': Score(True), 'share': Score(0.5)},
        'usage': {'requests': 1, 'input_tokens': 10, 'output_tokens': 4},
        'cost_usd': 0.25,
        'cassette': CassetteUse(file=f'{case}.yaml', hits=1, misses=0, unused=0, recorded_with='emulator'),
        'trace_complete': True,
        'recorded_latency_s': 2.0,
    }
    return CaseRecord(suite='s', case=case, arm=arm, repeat=repeat, **{**defaults, **options})


def wrong(case: str, arm: str = 'advised', **options: Any) -> CaseRecord:
    return record(case, arm, state='failed', scores={'right': Score(False), 'share': Score(0.0)}, **options)


def crashed(case: str, arm: str = 'advised', **options: Any) -> CaseRecord:
    return record(case, arm, state='error', error=CRASH, scores={}, **options)


def suite(**options: Any) -> SuiteMeta:
    defaults: dict[str, Any] = {
        'name': 's',
        'regime': 'replay',
        'arms': ('advised',),
        'repeat': 1,
        'cases': {'a': ('easy',), 'b': ('hard',)},
        'metrics': {'right': None},
        'cassettes': 'cassettes/s',
    }
    return SuiteMeta(**{**defaults, **options})


def judged(
    records: Sequence[CaseRecord], policy: dict[str, Any] | None = None, *, filters: Filters | None = None, **meta: Any
) -> SuiteVerdict:
    run = RunMeta(
        id='r',
        started='2027-01-15T00:00:00+00:00',
        mode='replay',
        suites=(suite(**meta),),
        filters=filters or Filters(),
    )
    store = RunStore.create(Path('runs'), run)
    for each in records:
        store.append(each)
    (verdict,) = judge(store, {'s': Policy(**(policy or {}))}, today=TODAY).suites
    return verdict


def gate(verdict: SuiteVerdict) -> tuple[float | None, int, int, str, str | None]:
    """Value, scored, expected, verdict and detail of the only gate."""
    (only,) = verdict.gates
    return only.value, only.n_scored, only.n_expected, only.verdict, only.detail


def test_a_verdict_in_full() -> None:
    """Preconditions and gates with their numbers, as every report reads them."""
    verdict = judged([record('a'), wrong('b')], {'metrics': {'right': {'min': 0.5}, 'share': {'max': 0.2}}})
    assert verdict == SuiteVerdict(
        suite='s',
        regime='replay',
        verdict=verdict.verdict,
        detectable={'cases': detectable_in_cases(2)},
        preconditions=tuple(
            Precondition(name=name, value=1.0, expected=1.0, ok=True, n_met=2, n_expected=2)
            for name in ('cassettes', 'traces', 'scored')
        ),
        gates=(
            GateResult(
                metric='right',
                arm=None,
                value=0.5,
                n_scored=2,
                n_expected=2,
                limit='>= 0.5',
                verdict='pass',
                interval=clopper_pearson(1, 2),
            ),
            GateResult(metric='share', arm=None, value=0.25, n_scored=2, n_expected=2, limit='<= 0.2', verdict='fail'),
        ),
    )
    assert str(verdict.verdict) == 'blocked'


def test_without_gates_every_case_must_pass() -> None:
    """A policy without `metrics` and `must_pass` blocks on any case that did not pass."""
    assert gate(judged([record('a'), record('b')])) == (1.0, 2, 2, 'pass', None)


def test_without_gates_a_failed_case_blocks() -> None:
    """One of two cases passed, and that is not all."""
    verdict = judged([record('a'), wrong('b')])
    assert (str(verdict.verdict), gate(verdict)) == ('blocked', (0.5, 2, 2, 'fail', None))


@pytest.mark.parametrize('severity', ['block', 'warn', 'info'])
def test_severity(severity: str) -> None:
    """Only a `block` gate blocks; `warn` and `info` show."""
    verdict = judged([wrong('a'), wrong('b')], {'metrics': {'right': {'min': 1, 'severity': severity}}})
    assert (gate(verdict)[3], str(verdict.verdict)) == {
        'block': ('fail', 'blocked'),
        'warn': ('warn', 'pass'),
        'info': ('info', 'pass'),
    }[severity]


def test_a_gate_without_limits_only_shows() -> None:
    """An empty entry is information."""
    verdict = judged([wrong('a'), wrong('b')], {'metrics': {'right': {}}})
    assert (gate(verdict), verdict.gates[0].limit) == ((0.0, 2, 2, 'info', None), 'shown only')


def test_a_gate_selects_by_arm_and_tag() -> None:
    """The mean is taken over the cases that the entry selects; `metric` names it where the gate has another name."""
    verdict = judged(
        [record('a'), wrong('b'), wrong('a', 'solo'), wrong('b', 'solo')],
        {
            'metrics': {
                'right': {},
                'advised': {'metric': 'right', 'arm': 'advised'},
                'easy': {'metric': 'right', 'tag': 'easy', 'arm': 'advised'},
            }
        },
        arms=('solo', 'advised'),
    )
    assert [(each.metric, each.arm, each.value, each.n_expected) for each in verdict.gates] == [
        ('right', None, 0.25, 4),
        ('advised', 'advised', 0.5, 2),
        ('easy', 'advised', 1.0, 1),
    ]


def test_a_crashed_task_counts_as_a_false_assertion() -> None:
    """A crash stays in the denominator of assertions and blocks; the harness is not at fault."""
    used = CassetteUse(file='b.yaml', hits=0, misses=0, unused=1, recorded_with='emulator')
    verdict = judged(
        [record('a'), crashed('b', cassette=used, trace_complete=False)], {'metrics': {'right': {'min': 1}}}
    )
    assert (str(verdict.verdict), gate(verdict)) == ('blocked', (0.5, 2, 2, 'fail', None))
    assert all(each.ok for each in verdict.preconditions)


@pytest.mark.parametrize(
    ('on_missing', 'expected'), [('error', ('inconclusive', 'missing')), ('fail', ('blocked', 'fail'))]
)
def test_a_crashed_task_has_no_number(on_missing: str, expected: tuple[str, str]) -> None:
    """The score of a crashed task is missing, and `on_missing` says what that means."""
    verdict = judged([record('a'), crashed('b')], {'metrics': {'share': {'min': 0.1, 'on_missing': on_missing}}})
    assert (str(verdict.verdict), gate(verdict)[3]) == expected
    assert gate(verdict) == (0.5, 1, 2, expected[1], 'not measured in 1 of 2: b [advised]')


@pytest.mark.parametrize(('kind', 'expected'), [(None, 'blocked'), ('assertion', 'blocked'), ('score', 'inconclusive')])
def test_where_every_task_crashed_the_scorer_says_what_it_is(kind: str | None, expected: str) -> None:
    """Without any value, a metric is what its scorer promised, else an assertion: crashes are no gap."""
    verdict = judged([crashed('a'), crashed('b')], {'metrics': {'right': {'min': 1}}}, metrics={'right': kind})
    assert str(verdict.verdict) == expected


def test_a_missing_value_is_never_left_out_of_the_mean() -> None:
    """A case without the metric makes the gate say nothing, however good the others are."""
    without = record('b', scores={'share': Score(1.0)})
    verdict = judged([record('a'), without], {'metrics': {'right': {'min': 0.1}}})
    assert (str(verdict.verdict), gate(verdict)) == (
        'inconclusive',
        (1.0, 1, 2, 'missing', 'not measured in 1 of 2: b [advised]'),
    )


def test_a_case_without_record_is_missing_everywhere() -> None:
    """A case that the run owes and that left no record fails all preconditions and every gate."""
    verdict = judged([record('a')], {'metrics': {'right': {'min': 0.1}}})
    assert str(verdict.verdict) == 'inconclusive'
    assert [(each.name, each.ok, each.value, each.detail) for each in verdict.preconditions] == [
        ('cassettes', False, 0.5, 'b [advised]: the run left no record of it'),
        ('traces', False, 0.5, 'the same case as under cassettes'),
        ('scored', False, 0.5, 'the same case as under cassettes'),
    ]


def test_a_cause_is_told_once() -> None:
    """One precondition that a case fails tells why; the others tell what is new, or refer to it."""
    records = [record('a', trace_complete=False), record('b', cassette=None, state='unscored', trace_complete=False)]
    verdict = judged([*records, record('c', state='unscored')], cases={'a': (), 'b': (), 'c': ()})
    assert [(each.name, each.n_met, each.detail) for each in verdict.preconditions] == [
        ('cassettes', 2, 'b [advised]: it ran without its recording'),
        ('traces', 1, 'a [advised]: its trace is not complete'),
        ('scored', 1, 'c [advised]: nothing scored it'),
    ]


def test_a_cause_is_told_where_it_began() -> None:
    """A trace without end is what a cancelled case leaves."""
    lost = record('b', state='cancelled', trace_complete=False)
    assert [each.detail for each in judged([record('a'), lost]).preconditions] == [
        None,
        'the same case as under scored',
        'b [advised]: it was cancelled',
    ]


@pytest.mark.parametrize(
    ('fault', 'failing'),
    [
        ({'state': 'error', 'error': CaseError('UnmatchedRequest', 'no answer', 'cassette')}, ['cassettes', 'scored']),
        ({'cassette': None}, ['cassettes']),
        ({'cassette': CassetteUse('f', 1, 1, 0, 'emulator')}, ['cassettes']),
        ({'cassette': CassetteUse('f', 1, 0, 1, 'emulator')}, ['cassettes']),
        ({'trace_complete': False}, ['traces']),
        ({'state': 'cancelled', 'error': CaseError('CancelledError', '', 'task')}, ['scored']),
        ({'state': 'unscored', 'scores': {}}, ['scored']),
        ({'state': 'error', 'error': CaseError('ValueError', 'nan', 'scorer')}, ['scored']),
        ({'state': 'error', 'error': CaseError('KeyError', 'x', 'harness')}, ['scored']),
    ],
)
def test_faults_of_the_harness_are_inconclusive(fault: dict[str, Any], failing: list[str]) -> None:
    """Each fault fails its precondition; a passing gate does not make up for it."""
    verdict = judged([record('a'), record('b', **fault)], {'metrics': {'right': {'severity': 'info'}}})
    assert [each.name for each in verdict.preconditions if not each.ok] == failing
    assert str(verdict.verdict) == 'inconclusive'


def test_inconclusive_goes_before_blocked() -> None:
    """A gate that fails says nothing where the harness is at fault."""
    verdict = judged([wrong('a'), record('b', trace_complete=False)], {'metrics': {'right': {'min': 1}}})
    assert (gate(verdict)[3], str(verdict.verdict)) == ('fail', 'inconclusive')


def test_preconditions_may_be_lowered() -> None:
    """A policy may live with a share of cases whose trace is not complete."""
    verdict = judged([record('a'), record('b', trace_complete=False)], {'preconditions': {'traces': 0.5}})
    assert str(verdict.verdict) == 'pass'


def test_scores_on_a_wrong_recording_do_not_count() -> None:
    """Even where the precondition is lowered, what was scored on a miss measured something else."""
    missed = wrong('b', error=CaseError('UnmatchedRequest', 'x', 'cassette'))
    verdict = judged(
        [record('a'), replace(missed, state='error')],
        {'preconditions': {'cassettes': 0, 'scored': 0}, 'metrics': {'right': {'min': 1}}},
    )
    assert gate(verdict)[:4] == (1.0, 1, 2, 'missing')


def test_a_suite_without_recordings_needs_none() -> None:
    """`cassettes` holds where there are none."""
    verdict = judged([record('a', cassette=None), record('b', cassette=None)], cassettes=None, regime='sampled')
    assert verdict.preconditions[0] == Precondition(
        name='cassettes', value=1.0, expected=1.0, ok=True, detail='the suite has no recordings'
    )
    assert str(verdict.verdict) == 'pass'


def test_must_pass() -> None:
    """A named case must pass in every arm; where there are several, in `advised`."""
    one = judged([record('a'), wrong('b')], {'must_pass': ['a']})
    assert [(each.metric, each.verdict) for each in one.gates] == [('must_pass a', 'pass')]
    assert str(one.verdict) == 'pass'


def test_must_pass_of_a_quarantined_case() -> None:
    """Until its quarantine ends, a case need not pass."""
    verdict = judged([record('a'), wrong('b')], {**quarantine('2027-01-15'), 'must_pass': ['a', 'b']})
    assert [(each.metric, each.verdict) for each in verdict.gates] == [('must_pass a', 'pass')]


def test_must_pass_looks_at_the_advised_arm_of_several() -> None:
    """The other arms may fail."""
    records = [record('a'), wrong('a', 'solo'), record('b', 'solo'), wrong('b')]
    verdict = judged(records, {'must_pass': ['a', 'b']}, arms=('solo', 'advised'))
    assert [(each.metric, each.arm, each.verdict) for each in verdict.gates] == [
        ('must_pass a', 'advised', 'pass'),
        ('must_pass b', 'advised', 'fail'),
    ]


def test_must_pass_needs_every_arm_where_none_is_advised() -> None:
    """Without an arm `advised`, all arms must pass."""
    records = [record('a', 'one'), wrong('a', 'two'), record('b', 'one'), record('b', 'two')]
    verdict = judged(records, {'must_pass': ['a']}, arms=('one', 'two'))
    assert gate(verdict) == (0.5, 2, 2, 'fail', None)


@pytest.mark.parametrize('state', ['error', 'unscored', 'cancelled'])
def test_must_pass_of_an_unmeasured_case(state: Any) -> None:
    """A case that the harness lost neither passed nor failed."""
    lost = record('a', state=state, error=CaseError('X', 'x', 'scorer') if state == 'error' else None)
    verdict = judged([lost, record('b')], {'must_pass': ['a'], 'preconditions': {'scored': 0}})
    assert (gate(verdict)[3], str(verdict.verdict)) == ('missing', 'inconclusive')


def test_repeats_are_one_case() -> None:
    """Repeats are averaged within their case; with one of them missing, the case is."""
    records = [record('a'), wrong('a', repeat=2), record('b'), record('b', repeat=2)]
    verdict = judged(records, {'metrics': {'right': {'min': 0.8}}}, repeat=2)
    assert gate(verdict) == (0.75, 2, 2, 'fail', None)


def test_a_missing_repeat_is_a_missing_case() -> None:
    """A case with only some of its repeats has no value."""
    verdict = judged([record('a'), record('b'), record('b', repeat=2)], {'metrics': {'right': {}}}, repeat=2)
    assert gate(verdict) == (1.0, 1, 2, 'info', 'not measured in 1 of 2: a [advised]')


@pytest.mark.parametrize(
    ('budget', 'value', 'verdict'),
    [
        ({'cost_usd': 0.5}, 0.5, 'pass'),
        ({'cost_usd': 0.49}, 0.5, 'fail'),
        ({'input_tokens': 20}, 20, 'pass'),
        ({'output_tokens': 7}, 8, 'fail'),
        ({'p95_recorded_latency_s': 2.9}, 3.0, 'fail'),
    ],
)
def test_budgets(budget: dict[str, float], value: float, verdict: str) -> None:
    """All cases together may use so much; the latency is the one that 95 of 100 cases do not exceed."""
    found = judged([record('a'), record('b', recorded_latency_s=3.0)], {'budgets': budget, 'metrics': {}})
    (name,) = budget
    (only,) = [each for each in found.gates if each.metric == f'budget {name}']
    assert (only.value, only.n_scored, only.n_expected, only.verdict) == (value, 2, 2, verdict)


@pytest.mark.parametrize(
    ('budget', 'unknown'),
    [({'cost_usd': 9}, {'cost_usd': None}), ({'p95_recorded_latency_s': 9}, {'recorded_latency_s': None})],
)
def test_a_budget_of_something_unknown_is_inconclusive(budget: dict[str, float], unknown: dict[str, Any]) -> None:
    """One unknown price or latency, and nobody knows the total."""
    verdict = judged([record('a'), record('b', **unknown)], {'budgets': budget})
    assert (verdict.gates[-1].verdict, str(verdict.verdict)) == ('missing', 'inconclusive')


def test_the_95th_percentile_is_a_latency_that_occurred() -> None:
    """Of twenty latencies the nineteenth smallest, of which 95 % are no greater."""
    cases = {f'c{n}': () for n in range(20)}
    records = [record(name, recorded_latency_s=float(n)) for n, name in enumerate(cases)]
    verdict = judged(records, {'budgets': {'p95_recorded_latency_s': 18}}, cases=cases)
    assert (verdict.gates[-1].value, verdict.gates[-1].verdict) == (18.0, 'pass')


def quarantine(expires: str) -> dict[str, Any]:
    return {'quarantine': [{'case': 'b', 'reason': 'flaky', 'expires': expires}]}


def test_a_quarantined_case_leaves_every_denominator() -> None:
    """Until it expires, a case is in no precondition, gate or budget, and the verdict says so."""
    lost = record('b', state='cancelled', trace_complete=False, cost_usd=None)
    policy = {**quarantine('2027-01-15'), 'budgets': {'cost_usd': 1}}
    verdict = judged([record('a'), lost], policy)
    assert str(verdict.verdict) == 'pass'
    assert verdict.quarantined == {'b': 'flaky'}
    assert [each.n_expected for each in (*verdict.preconditions, *verdict.gates)] == [1, 1, 1, 1, 1]


def test_an_expired_quarantine_counts_again() -> None:
    """The day after, the case decides like any other."""
    verdict = judged([record('a'), wrong('b')], quarantine('2027-01-14'))
    assert (str(verdict.verdict), verdict.quarantined) == ('blocked', {})


def test_when_everything_is_quarantined_nothing_is_measured() -> None:
    """A suite without a case to judge does not pass."""
    verdict = judged([record('b')], quarantine('2027-02-01'), cases={'b': ()})
    assert str(verdict.verdict) == 'inconclusive'
    assert verdict.preconditions[-1].detail == 'no case was selected'


def test_a_regression_without_baseline_warns() -> None:
    """`max_regression` without a baseline says so and warns; the rest of the gate decides."""
    metrics = {'right': {'max_regression': 0.02}, 'share': {'max_regression': 0.1, 'min': 0.9}}
    verdict = judged([record('a'), record('b')], {'metrics': metrics})
    assert [(each.verdict, each.detail, each.limit) for each in verdict.gates] == [
        ('warn', 'no baseline', 'at most 0.02 worse than the baseline'),
        ('fail', 'no baseline', '>= 0.9 and at most 0.1 worse than the baseline'),
    ]


def test_a_narrowed_run_does_not_judge_what_it_left_out() -> None:
    """A gate or `must_pass` on cases that were left out on purpose is information."""
    policy = {
        'metrics': {'right': {'min': 1}, 'hard': {'metric': 'right', 'tag': 'hard', 'min': 1}},
        'must_pass': ['b'],
    }
    verdict = judged([record('a')], policy, selected=('a',), filters=Filters(cases=('a',)))
    assert [(each.metric, each.verdict, each.detail) for each in verdict.gates] == [
        ('right', 'pass', None),
        ('hard', 'info', 'no case of this run is selected'),
        ('must_pass b', 'info', 'no case of this run is selected'),
    ]
    assert str(verdict.verdict) == 'pass'


@pytest.mark.parametrize(
    ('policy', 'problem'),
    [
        (
            {'metrics': {'rihgt': {}}},
            "gate 'rihgt' reads metric 'rihgt', which the suite does not have: it has right, share",
        ),
        (
            {'metrics': {'x': {'metric': 'y'}}},
            "gate 'x' reads metric 'y', which the suite does not have: it has right, share",
        ),
        (
            {'metrics': {'right': {'arm': 'solo'}}},
            "gate 'right' names arm 'solo', which the suite does not have: it has advised",
        ),
        (
            {'metrics': {'right': {'tag': 'x'}}},
            "gate 'right' names tag 'x', which the suite does not have: it has easy, hard",
        ),
        ({'must_pass': ['c']}, "`must_pass` names case 'c', which the suite does not have: it has a, b"),
        (
            {'quarantine': [{'case': 'c', 'reason': 'r', 'expires': '2027-02-01'}]},
            "`quarantine` names case 'c', which the suite does not have: it has a, b",
        ),
    ],
)
def test_a_policy_that_names_what_is_not_there(policy: dict[str, Any], problem: str) -> None:
    """A slip of the pen in a policy is an error: a gate on nothing would hold nothing."""
    with pytest.raises(PolicyError) as caught:
        judged([record('a'), record('b')], policy)
    assert caught.value.message == f"policy without file of suite 's': {problem}"


def test_a_label_cannot_be_gated() -> None:
    """A scorer's words have no mean."""
    labelled = record('a', scores={'label': Score('good')})
    with pytest.raises(PolicyError) as caught:
        judged([labelled], {'metrics': {'label': {}}}, cases={'a': ()})
    assert caught.value.message == "metric 'label' of suite 's' is a label ('good'): only numbers can be gated"


def test_the_policy_files_of_a_run() -> None:
    """Each suite is judged under its own file, or all under one that is named; the verdict has the hash."""
    Path('own.yaml').write_text('metrics: {right: {min: 1}}')
    Path('other.yaml').write_text('metrics: {right: {min: 0}}')
    meta = RunMeta(id='r', started='', mode='replay', suites=(suite(policy='own.yaml'),))
    store = RunStore.create(Path('runs'), meta)
    for each in (record('a'), wrong('b')):
        store.append(each)
    own, other = judge(store), judge(store, load_policies(meta, Path('other.yaml')))
    assert (str(own.verdict), str(other.verdict)) == ('blocked', 'pass')
    assert own.policy_sha256['s'] == load_policies(meta)['s'].sha256
    assert other.policy_sha256['s'] == Policy.from_file(Path('other.yaml')).sha256
