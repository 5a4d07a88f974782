"""Gates that compare with a baseline: which cases are paired, what each test makes of them, and what is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from advisor_harness.evals import (
    CaseError,
    CaseRecord,
    CassetteUse,
    Flip,
    GateResult,
    Policy,
    PolicyError,
    Score,
    SuiteMeta,
    SuiteVerdict,
)
from advisor_harness.evals.baseline import Acceptance, Baseline, baseline_of
from advisor_harness.evals.gates import judge_suite
from advisor_harness.evals.meta import RunMeta
from advisor_harness.evals.records import CaseKey

TODAY = date(2027, 1, 15)
CRASH = CaseError('RuntimeError', 'boom\nwhile reading', 'task')
ACCEPTED = Acceptance(by='Ada', at='2027-01-01T00:00:00+00:00', reason='first')


def record(case: str, value: bool | float = True, arm: str = 'advised', *, tape: str | None = 'one') -> CaseRecord:
    """A case with the assertion `right`, or with the score `quality` when the value is a number."""
    name, right = ('right', value) if isinstance(value, bool) else ('quality', True)
    used = None if tape is None else CassetteUse(f'{case}.yaml', 1, 0, 0, 'emulator', sha256=tape)
    return CaseRecord(
        suite='s',
        case=case,
        arm=arm,
        state='ok' if right else 'failed',
        scores={name: Score(value, None if right else 'not the same')},
        cassette=used,
        trace_complete=True,
    )


def suite(records: Sequence[CaseRecord], **options: Any) -> SuiteMeta:
    cases = {each.case: ('hard',) if each.case.endswith('1') else () for each in records}
    arms = tuple(dict.fromkeys(each.arm for each in records))
    defaults: dict[str, Any] = {
        'name': 's',
        'regime': 'replay',
        'arms': arms,
        'repeat': 1,
        'cases': cases,
        'cassettes': 'cassettes/s',
        'dataset_sha256': 'd',
        'case_sha256': {case: f'content of {case}' for case in cases},
        'scorers_sha256': 'f',
        'policy': 's.yaml',
        'policy_sha256': 'p',
    }
    return SuiteMeta(**{**defaults, **options})


def keyed(records: Sequence[CaseRecord]) -> dict[CaseKey, CaseRecord]:
    return {each.key: each for each in records}


def accepted(records: Sequence[CaseRecord], **options: Any) -> Baseline:
    meta = suite(records, **options)
    run = RunMeta(id='old', started='', mode='replay', suites=(meta,))
    return baseline_of(run, meta, keyed(records), name='main', verdict='pass', by=ACCEPTED)


def judged(
    before: Sequence[CaseRecord] | Baseline,
    after: Sequence[CaseRecord],
    policy: Mapping[str, Any],
    *,
    narrow: bool = False,
    **meta: Any,
) -> SuiteVerdict:
    baseline = before if isinstance(before, Baseline) else accepted(before)
    rules = Policy.model_validate(policy)
    options = {'narrow': narrow, 'run_id': 'new', 'today': TODAY}
    return judge_suite(suite(after, **meta), keyed(after), rules, baseline=baseline, **options)


def many(passes: str, **options: Any) -> list[CaseRecord]:
    """One case for each letter: `+` passes, anything else fails."""
    return [record(f'c{i:02}', letter == '+', **options) for i, letter in enumerate(passes)]


def scored(values: Sequence[float], **options: Any) -> list[CaseRecord]:
    return [record(f'c{i:02}', float(value), **options) for i, value in enumerate(values)]


def only(verdict: SuiteVerdict) -> GateResult:
    (found,) = verdict.gates
    return found


def right(**options: Any) -> dict[str, Any]:
    return {'metrics': {'right': {'max_regression': 0, **options}}}


def test_a_harmful_flip_in_full() -> None:
    """One case that passed and fails blocks, though another passes now; both are listed, with reasons."""
    verdict = judged(many('++-+'), many('+-++'), right())
    gate = only(verdict)
    assert (gate.value, gate.baseline, gate.delta, gate.p_value, gate.verdict) == (0.75, 0.75, 0.0, None, 'fail')
    assert gate.detail == (
        '1 worse and 1 better of 4 cases against the baseline, replayed from the same recordings; 0 may be worse'
    )
    assert verdict.flips == (
        Flip(case='c01', arm='advised', from_='pass', to='fail', why='right: not the same'),
        Flip(case='c02', arm='advised', from_='fail', to='pass', why=None),
    )
    assert str(verdict.verdict) == 'blocked'
    assert verdict.baseline == {
        'name': 'main',
        'run_id': 'old',
        'accepted': {'by': 'Ada', 'at': '2027-01-01T00:00:00+00:00', 'reason': 'first'},
        'exact': True,
        'pairs': 4,
        'added': [],
        'removed': [],
        'renamed': {},
        'changed': [],
    }
    assert verdict.detectable['right'] == {
        'test': 'exact',
        'n': 4,
        'drop': 0.25,
        'alpha': 0.05,
        'power': 1.0,
        'churn': 0.0,
        'text': 'every drop of 1 of 4 cases or more',
    }


@pytest.mark.parametrize(
    ('share', 'harmful', 'verdict'), [(0.1, 1, 'pass'), (0.1, 2, 'fail'), (0.29, 2, 'pass'), (0.3, 3, 'pass')]
)
def test_flips_that_may_happen(share: float, harmful: int, verdict: str) -> None:
    """`max_regression` x n harmful flips are fine, however the product rounds; one more is not."""
    after = '-' * harmful + '+' * (10 - harmful)
    assert only(judged(many('+' * 10), many(after), right(max_regression=share))).verdict == verdict


def test_a_test_alone_compares_too() -> None:
    """`test` without `max_regression` tolerates nothing."""
    verdict = judged(many('++++'), many('+++-'), {'metrics': {'right': {'test': 'flips'}}})
    assert (only(verdict).verdict, only(verdict).limit) == ('fail', 'at most 0 worse than the baseline')


def test_a_gate_without_comparison_does_not_compare() -> None:
    """Without `max_regression` and `test` a gate only has its limits; flips are listed all the same."""
    verdict = judged(many('++'), many('+-'), {'metrics': {'right': {'min': 0.5}}})
    assert (only(verdict).verdict, only(verdict).baseline, len(verdict.flips)) == ('pass', None, 1)


def test_limits_and_comparison_decide_together() -> None:
    """The worse of both is the verdict, and both are told."""
    both = {'metrics': {'right': {'min': 0.9, 'max_regression': 0.5}}}
    gate = only(judged(many('+' * 10), many('--' + '+' * 8), both))
    assert (gate.verdict, gate.limit) == ('fail', '>= 0.9 and at most 0.5 worse than the baseline')


@pytest.mark.parametrize(
    ('harmful', 'verdict', 'p_value'), [(0, 'pass', 1.0), (4, 'warn', 0.0625), (5, 'fail', 0.03125)]
)
def test_mcnemar_on_samples(harmful: int, verdict: str, p_value: float) -> None:
    """In a sample it takes five harmful pairs; fewer are worse, but no more than chance makes them."""
    after = many('-' * harmful + '+' * (20 - harmful), tape='another')
    gate = only(judged(many('+' * 20), after, right(test='mcnemar')))
    assert (gate.verdict, gate.p_value) == (verdict, p_value)


def test_mcnemar_tolerates_what_the_policy_does() -> None:
    """A drop within `max_regression` passes, however significant it is."""
    gate = only(judged(many('+' * 40), many('-' * 6 + '+' * 34, tape='x'), right(test='mcnemar', max_regression=0.2)))
    assert (gate.verdict, gate.p_value) == ('pass', 1 / 64)


def test_too_few_pairs_for_a_test() -> None:
    """Below `min_n` pairs nothing is concluded: information only."""
    verdict = judged(many('++++'), many('----', tape='x'), right(test='mcnemar'))
    assert (only(verdict).verdict, only(verdict).detail, str(verdict.verdict)) == (
        'info',
        '4 worse and 0 better of 4 cases against the baseline; too few for a test, which needs 5',
        'pass',
    )
    assert verdict.detectable['right']['text'] == 'nothing: 4 cases, and a test needs 5'


@pytest.mark.parametrize('test', ['flips', 'mcnemar', 'noninferiority', 'none'])
def test_a_replay_of_the_same_recordings_is_exact(test: str) -> None:
    """Whatever the test, a difference on the same recordings was caused by the change and blocks."""
    gate = only(judged(many('+' * 12), many('-' * 2 + '+' * 10), right(test=test, max_regression=0.1)))
    assert (gate.verdict, gate.p_value) == ('fail', None)


@pytest.mark.parametrize(('before', 'after'), [('one', None), (None, None), ('one', 'two')])
def test_what_is_no_replay_of_the_same_recordings(before: str | None, after: str | None) -> None:
    """Another recording, or none, makes it a sample."""
    verdict = judged(many('++', tape=before), many('++', tape=after), right(), regime='sampled', cassettes=None)
    assert verdict.baseline['exact'] is False


@pytest.mark.parametrize(('harmful', 'verdict'), [(0, 'pass'), (2, 'fail')])
def test_noninferiority_of_many(harmful: int, verdict: str) -> None:
    """From 30 pairs on the bound of the change must stay above the margin; an insignificant drop does not pass."""
    after = many('-' * harmful + '+' * (60 - harmful), tape='x')
    gate = only(judged(many('+' * 60), after, right(test='noninferiority', max_regression=0.06)))
    assert gate.verdict == verdict
    assert gate.interval is not None
    assert gate.interval[0] < gate.delta  # pyright: ignore[reportOperatorIssue] - both are there
    assert gate.p_value is None


@pytest.mark.parametrize(('harmful', 'verdict'), [(1, 'pass'), (3, 'warn'), (5, 'fail')])
def test_noninferiority_of_few_is_an_exact_test(harmful: int, verdict: str) -> None:
    """Below 30 pairs a drop larger than the margin warns unless it is significant."""
    after = many('-' * harmful + '+' * (20 - harmful), tape='x')
    gate = only(judged(many('+' * 20), after, right(test='noninferiority', max_regression=0.05)))
    assert gate.verdict == verdict


def test_noninferiority_of_scores() -> None:
    """Scores have the bootstrap's bound, in the metric's own direction."""
    policy = {'metrics': {'quality': {'max_regression': 0.5, 'test': 'noninferiority'}}}
    before = scored([5.0] * 40)
    good = only(judged(before, scored([5 - 0.1 * (i % 3) for i in range(40)], tape='x'), policy))
    bad = only(judged(before, scored([4.4 + 0.1 * (i % 3) for i in range(40)], tape='x'), policy))
    assert (good.verdict, bad.verdict) == ('pass', 'fail')
    assert good.interval is not None
    assert good.delta == pytest.approx(-0.0975)
    assert good.interval[0] < -0.0975 < good.interval[1]


def test_scores_are_tested_with_their_size() -> None:
    """A score has no flips: its mean decides, or in a sample the sign-flip test."""
    policy = {'metrics': {'quality': {'max_regression': 0.1}}}
    assert only(judged(scored([1, 1, 1, 1]), scored([1, 1, 1, 0.7]), policy)).verdict == 'pass'
    assert only(judged(scored([1, 1, 1, 1]), scored([1, 1, 1, 0.5]), policy)).verdict == 'fail'
    policy = {'metrics': {'quality': {'max_regression': 0.1, 'test': 'mcnemar'}}}
    gate = only(judged(scored([1] * 6), scored([0.5, 0.6, 0.7, 0.5, 0.4, 0.6], tape='x'), policy))
    assert (gate.verdict, gate.p_value) == ('fail', 1 / 64)


def test_where_less_is_better() -> None:
    """With `direction: down` a rise is the regression, and the interval is the change's own."""
    policy = {'metrics': {'quality': {'max_regression': 1, 'direction': 'down', 'test': 'noninferiority'}}}
    lower = only(judged(scored([10.0] * 40), scored([8 + i % 2 for i in range(40)], tape='x'), policy))
    higher = only(judged(scored([10.0] * 40), scored([12 + i % 2 for i in range(40)], tape='x'), policy))
    assert (lower.verdict, higher.verdict) == ('pass', 'fail')
    assert higher.interval is not None
    assert 2 < higher.interval[0] < 2.5 < higher.interval[1] < 3


def test_gates_share_their_level() -> None:
    """Five harmful pairs block one gate, not one of two; a gate that only warns takes no share of the level."""
    before = [*many('+' * 20), *many('+' * 20, arm='solo')]
    after = [*many('-----' + '+' * 15, tape='x'), *many('+' * 20, arm='solo', tape='x')]

    def gates(severity: str) -> list[tuple[str, float | None]]:
        policy = {
            'metrics': {
                'right': {'arm': 'advised', 'test': 'mcnemar'},
                'solo': {'metric': 'right', 'arm': 'solo', 'test': 'mcnemar', 'severity': severity},
            }
        }
        return [(gate.verdict, gate.p_value) for gate in judged(before, after, policy).gates]

    assert gates('block') == [('warn', 0.0625), ('pass', 1.0)]
    assert gates('warn') == [('fail', 0.03125), ('pass', 1.0)]


def test_a_comparison_selects_by_tag_and_arm() -> None:
    """A gate compares the cases that it selects."""
    policy = {'metrics': {'hard': {'metric': 'right', 'tag': 'hard', 'max_regression': 0}}}
    gate = only(judged(many('++++'), many('+-++'), policy))
    assert (gate.n_scored, gate.baseline, gate.value, gate.verdict) == (1, 1.0, 0.0, 'fail')


def test_an_arm_that_the_baseline_does_not_have() -> None:
    """A new arm has no baseline and says so; it is no change of the dataset."""
    after = [*many('++'), *many('--', arm='solo')]
    verdict = judged(many('++'), after, {'metrics': {'right': {'arm': 'solo', 'max_regression': 0}}})
    assert (only(verdict).verdict, only(verdict).detail) == (
        'warn',
        "no baseline: baseline 'main' has none of these cases",
    )
    assert (str(verdict.verdict), verdict.flips) == ('pass', ())


def test_crashes_and_missing_records_are_states_of_their_own() -> None:
    """A crash is `error`, a case without record `missing`; both are told with the first line of why."""
    crashed = replace(record('c00'), state='error', error=CRASH, scores={})
    verdict = judged(many('+++'), [crashed, record('c01')], right(), cases={'c00': (), 'c01': (), 'c02': ()})
    assert verdict.flips == (
        Flip(case='c00', arm='advised', from_='pass', to='error', why='RuntimeError in the task: boom'),
        Flip(case='c02', arm='advised', from_='pass', to='missing', why='the run left no record of it'),
    )


def test_a_change_of_the_dataset_in_full() -> None:
    """Added, removed, renamed and changed cases are told, and make the comparison inconclusive."""
    before = [record('same'), record('gone'), record('old name'), record('other')]
    after = [record('other'), record('new name'), record('fresh'), record('same', False)]
    contents = {'same': 'content of same', 'new name': 'content of old name', 'fresh': 'new', 'other': 'edited'}
    verdict = judged(before, after, right(), case_sha256=contents)
    (condition,) = [each for each in verdict.preconditions if not each.ok]
    assert (condition.name, condition.n_met, condition.n_expected) == ('baseline', 1, 4)
    assert condition.detail == (
        'the dataset changed: 1 added (fresh), 1 removed (gone), 1 renamed (old name -> new name), 1 changed (other) '
        "since baseline 'main'; accept a run of what is there now: advisor-harness baseline accept new --reason TEXT"
    )
    assert str(verdict.verdict) == 'inconclusive'
    assert verdict.flips == (
        Flip(case='new name', arm='advised', from_='missing', to='pass', why="renamed from 'old name'"),
        Flip(case='fresh', arm='advised', from_='missing', to='pass', why='not in the baseline'),
        Flip(case='same', arm='advised', from_='pass', to='fail', why='right: not the same'),
        Flip(case='gone', arm='advised', from_='pass', to='missing', why='not in the dataset any more'),
        Flip(case='old name', arm='advised', from_='pass', to='missing', why="renamed to 'new name'"),
    )


def test_the_order_of_cases_is_no_change() -> None:
    """Cases are compared by name: another order is the same dataset, whatever its hash."""
    verdict = judged(many('++-'), list(reversed(many('++-'))), right(), dataset_sha256='another')
    assert (str(verdict.verdict), verdict.flips, only(verdict).verdict) == ('pass', (), 'pass')


@pytest.mark.parametrize(
    ('change', 'problem'),
    [
        ({'scorers_sha256': 'other'}, 'the scorers changed'),
        ({'dataset_sha256': 'other', 'case_sha256': {}}, 'the dataset changed'),
    ],
)
def test_what_makes_numbers_incomparable(change: dict[str, Any], problem: str) -> None:
    """Other scorers, or a dataset that is not known case by case, are inconclusive with the way out."""
    before = [replace(each, scores={'right': Score('a label, then')}) for each in many('++')]
    verdict = judged(before, many('++'), right(), **change)
    assert (only(verdict).verdict, only(verdict).detail) == ('warn', 'not compared: precondition baseline says why')
    assert (str(verdict.verdict), verdict.preconditions[-1].detail) == (
        'inconclusive',
        f"{problem} since baseline 'main'; accept a run of what is there now: "
        'advisor-harness baseline accept new --reason TEXT',
    )


def policy_of(file: str | None, sha256: str | None) -> Policy:
    policy = Policy.model_validate(right())
    policy._file, policy._sha256 = file, sha256  # what `from_file` sets
    return policy


@pytest.mark.parametrize(
    ('file', 'sha256', 'verdict'),
    [
        ('s.yaml', 'p', 'pass'),
        ('s.yaml', 'edited', 'inconclusive'),
        ('tried.yaml', 'other', 'pass'),
        (None, None, 'pass'),
    ],
)
def test_an_edited_policy(file: str | None, sha256: str | None, verdict: str) -> None:
    """The suite's own policy must be the one it was accepted under; another one may be tried at any time."""
    before, after = accepted(many('++')), many('++')
    found = judge_suite(suite(after), keyed(after), policy_of(file, sha256), baseline=before, today=TODAY)
    assert str(found.verdict) == verdict
    if verdict == 'inconclusive':
        assert (found.preconditions[-1].detail or '').startswith("policy s.yaml changed since baseline 'main'; ")


def test_quarantine_and_baseline() -> None:
    """A case that is set aside is in no comparison and no flip; past its last day it is back, and that is told."""
    entry = {'case': 'c01', 'reason': 'flaky', 'expires': '2027-01-15'}
    aside = judged(many('++'), many('+-'), {**right(), 'quarantine': [entry]})
    back = judged(many('++'), many('+-'), {**right(), 'quarantine': [{**entry, 'expires': '2027-01-14'}]})
    assert (str(aside.verdict), aside.flips, only(aside).n_expected) == ('pass', (), 1)
    assert (str(back.verdict), len(back.flips)) == ('blocked', 1)
    assert back.expired == {'c01': 'flaky (until 2027-01-14)'}


def test_a_narrowed_run_compares_what_it_ran() -> None:
    """Cases that were left out on purpose are neither missing nor removed."""
    options: dict[str, Any] = {'cases': {'c00': (), 'c01': (), 'c02': ()}, 'selected': ('c01',)}
    verdict = judged(many('+++'), [record('c01', False)], right(), narrow=True, **options)
    assert verdict.flips == (Flip(case='c01', arm='advised', from_='pass', to='fail', why='right: not the same'),)
    assert all(condition.ok for condition in verdict.preconditions)


def test_a_case_without_value_is_not_compared_around() -> None:
    """Where a case has no value the gate is missing, whatever the others show."""
    lost = replace(record('c01'), scores={})
    gate = only(judged(many('++'), [record('c00'), lost], right()))
    assert (gate.verdict, gate.detail, gate.delta) == ('missing', 'not measured in 1 of 2: c01 [advised]', None)


def advised_and_solo(advised: str, solo: str, **options: Any) -> list[CaseRecord]:
    return [*many(advised, **options), *many(solo, arm='solo', **options)]


def test_a_metric_over_several_cases() -> None:
    """`lift` is measured over both arms, with its interval; its limits decide like any other's."""
    after = advised_and_solo('+++++-', '++----')
    verdict = judged(after, after, {'metrics': {'lift': {'min': 0.4, 'of': 'right'}}})
    gate = only(verdict)
    assert (gate.value, gate.n_scored, gate.n_expected, gate.verdict) == (0.5, 6, 6, 'pass')
    assert gate.interval is not None


@pytest.mark.parametrize(
    ('tape', 'test', 'verdict'), [('one', {}, 'fail'), ('x', {}, 'warn'), ('x', {'test': 'none'}, 'fail')]
)
def test_a_metric_over_several_cases_against_its_baseline(tape: str, test: dict[str, Any], verdict: str) -> None:
    """It is measured over the baseline's records too; in a sample no paired test knows it, so it warns."""
    before, after = advised_and_solo('+++++-', '++----'), advised_and_solo('++++--', '++----', tape=tape)
    gate = only(judged(before, after, {'metrics': {'lift': {'max_regression': 0.1, **test}}}))
    assert (gate.baseline, gate.value, gate.verdict) == (0.5, pytest.approx(1 / 3), verdict)


@pytest.mark.parametrize(('on_missing', 'verdict'), [('error', 'missing'), ('fail', 'fail')])
def test_a_metric_that_is_not_defined(on_missing: str, verdict: str) -> None:
    """Where nothing can be said the value is none, never 0, and `on_missing` says what that means."""
    gate = only(judged(many('++'), many('++'), {'metrics': {'lift': {'min': 0, 'on_missing': on_missing}}}))
    assert (gate.value, gate.verdict) == (None, verdict)
    assert gate.detail


@pytest.mark.parametrize(
    ('gate', 'problem'),
    [
        (
            {'lift': {'against': 'strong'}},
            "gate 'lift' names arm 'strong', which the suite does not have: it has advised",
        ),
        ({'lift': {'of': 'wrong'}}, "gate 'lift' reads metric 'wrong', which the suite does not have: it has right"),
        (
            {'right': {'metric': 'rihgt'}},
            "gate 'right' reads metric 'rihgt', which the suite does not have: it has right",
        ),
    ],
)
def test_names_of_metrics_over_several_cases(gate: dict[str, Any], problem: str) -> None:
    """Their arms and grades are checked like all names."""
    with pytest.raises(PolicyError) as caught:
        judged(many('++'), many('++'), {'metrics': gate})
    assert caught.value.message == f"policy without file of suite 's': {problem}"


def test_keys_that_a_scorers_metric_does_not_read() -> None:
    """`of` and `against` on the mean of a scorer would be ignored, so they are refused."""
    with pytest.raises(PolicyError) as caught:
        judged(many('++'), many('++'), {'metrics': {'right': {'of': 'x'}}})
    assert caught.value.message.startswith(
        "policy without file of suite 's': gate 'right' has `of`, which only metrics over several cases read: lift, "
    )


def test_a_metric_over_several_cases_needs_its_arm() -> None:
    """Without an arm `advised`, the gate must name the arm that it measures."""
    with pytest.raises(PolicyError) as caught:
        judged(many('++', arm='one'), many('++', arm='one'), {'metrics': {'lift': {}}})
    assert caught.value.message == (
        "policy without file of suite 's': gate 'lift' measures arm 'advised' unless it says otherwise, which the "
        'suite does not have: give it `arm`, one of one'
    )


def test_what_the_suite_can_see() -> None:
    """Every verdict says how large a drop a sample of its size shows, with what the baseline tells of its churn."""
    alone = judge_suite(suite(many('+' * 30)), keyed(many('+' * 30)), Policy(), today=TODAY).detectable
    assert alone['cases'] == {
        'test': 'mcnemar',
        'n': 30,
        'drop': pytest.approx(0.2139, abs=1e-4),
        'alpha': 0.05,
        'power': 0.8,
        'churn': 0.0,
        'text': 'sampled runs: a drop of 21.4 pp or more is seen in 80% of runs (n=30)',
    }
    churning = judged(many('-' * 6 + '+' * 24), many('+' * 24 + '-' * 6, tape='x'), right(test='mcnemar'))
    assert churning.detectable['cases']['churn'] == pytest.approx(0.4)
    everything_mended = judged(many('-' * 6), many('+' * 6, tape='x'), right(test='mcnemar'))
    assert everything_mended.detectable['cases']['churn'] == 1.0


@pytest.mark.parametrize(
    ('gate', 'text'),
    [
        ({'test': 'none', 'max_regression': 0}, 'nothing: without a test, every second run looks worse by chance'),
        ({'max_regression': 1}, 'nothing: all cases may get worse'),
        (
            {'max_regression': 0},
            'a drop of 5.3 pp or more is seen in 80% of runs (n=30); 1 worse by chance alone block too',
        ),
        (
            {'max_regression': 0.1, 'test': 'noninferiority'},
            'a drop of 10 pp passes in at most 5% of runs, smaller ones more often',
        ),
        ({'test': 'mcnemar'}, 'a drop of 21.4 pp or more is seen in 80% of runs (n=30)'),
    ],
)
def test_what_a_gate_can_see(gate: dict[str, Any], text: str) -> None:
    """Each gate that compares says what it would have seen in a sample."""
    verdict = judged(many('+' * 30), many('+' * 30, tape='x'), {'metrics': {'right': gate}})
    assert verdict.detectable['right']['text'] == text


names = st.lists(st.sampled_from('abcdefgh'), unique=True, min_size=1)


@given(names, names, st.lists(st.booleans(), min_size=16, max_size=16))
@settings(max_examples=60, deadline=None)
def test_every_case_is_accounted_for(before: list[str], after: list[str], passed: list[bool]) -> None:
    """Whatever came, went, was renamed or flipped, in any order: each case is told once, and only if it differs."""
    old = {case: passed[i] for i, case in enumerate(before)}
    new = {case: passed[8 + i] for i, case in enumerate(after)}
    contents = {case: f'content of {case.translate(str.maketrans("ab", "hg"))}' for case in new}
    records = [[record(case, value) for case, value in side.items()] for side in (old, new)]
    verdict = judged(*records, right(), case_sha256=contents)
    facts, flips = verdict.baseline, {flip.case: (flip.from_, flip.to) for flip in verdict.flips}
    states = {
        case: [None if (value := side.get(case)) is None else 'pass' if value else 'fail' for side in (old, new)]
        for case in {*old, *new}
    }
    assert flips == {case: (x or 'missing', y or 'missing') for case, (x, y) in states.items() if x != y}
    assert len(verdict.flips) == len(flips)
    assert {*facts['added'], *facts['renamed'].values()} == new.keys() - old.keys()
    assert {*facts['removed'], *facts['renamed']} == old.keys() - new.keys()
    assert {*facts['changed']} == {case for case in old.keys() & new.keys() if case in 'ab'}
    assert all(contents[now] == f'content of {then}' for then, now in facts['renamed'].items())
    assert facts['pairs'] == len(old.keys() & new.keys()) - len(facts['changed'])


def test_noninferiority_of_very_many_scores() -> None:
    """From 300 pairs on the bound is normal, on both sides of the change."""
    policy = {'metrics': {'quality': {'max_regression': 0.1, 'test': 'noninferiority'}}}
    gate = only(judged(scored([5.0] * 300), scored([4.9 + 0.2 * (i % 2) for i in range(300)], tape='x'), policy))
    half = 1.6448536269514722 * 0.1 / 299**0.5
    assert gate.verdict == 'pass'
    assert gate.interval == pytest.approx((-half, half))


def test_a_single_pair_is_no_test() -> None:
    """Even where the policy lets one pair do, nothing is concluded from it."""
    gate = only(judged([record('a')], [record('a', False, tape='x')], right(test='mcnemar', min_n=1)))
    assert (gate.verdict, gate.p_value) == ('warn', None)
    assert (gate.detail or '').endswith('; too few for a test')
