"""Suites whose truth is known: how often gates cry wolf, and how often they see what they say they can see.

Every rate is over 1,000 seeded runs, judged without files; a bound is met when it lies within three standard errors.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import date

import pytest

from advisor_harness.evals import CaseRecord, Policy, Score, SuiteMeta, SuiteVerdict
from advisor_harness.evals.baseline import Acceptance, Baseline
from advisor_harness.evals.detectable import detectable_by_gate
from advisor_harness.evals.gates import judge_suite
from advisor_harness.evals.meta import MetricKind
from advisor_harness.evals.records import CaseKey
from advisor_harness.evals.regression import Evidence, evidence_of, regressed
from advisor_harness.evals.rules import MetricGate
from advisor_harness.evals.statistics import mcnemar_power

RUNS = 1000
TODAY = date(2027, 1, 15)
Values = Mapping[str, Sequence[bool | float]]


def within(rate: float, expected: float) -> bool:
    """Whether a rate over all runs may be `expected`, by three standard errors."""
    return abs(rate - expected) <= 3 * math.sqrt(expected * (1 - expected) / RUNS)


def suite(n: int, metrics: Values) -> SuiteMeta:
    return SuiteMeta(
        name='s',
        regime='sampled',
        arms=('advised',),
        repeat=1,
        cases={f'c{i}': () for i in range(n)},
        metrics=dict.fromkeys(metrics, None),
    )


def records(values: Values) -> dict[CaseKey, CaseRecord]:
    """One case for each position, with the values that the metrics have there."""
    found: dict[CaseKey, CaseRecord] = {}
    for i, row in enumerate(zip(*values.values(), strict=True)):
        scores = {name: Score(value) for name, value in zip(values, row, strict=True)}
        state = 'failed' if False in row else 'ok'
        record = CaseRecord(suite='s', case=f'c{i}', arm='advised', state=state, scores=scores, trace_complete=True)
        found[record.key] = record
    return found


def judged(before: Values, after: Values) -> SuiteVerdict:
    meta = suite(len(next(iter(before.values()))), before)
    baseline = Baseline(
        name='main',
        accepted=Acceptance(by='a', at='2027-01-01', reason='r'),
        run_id='r',
        mode='live',
        verdict='pass',
        versions={},
        suite=meta,
        records=records(before),
    )
    return judge_suite(meta, records(after), POLICY, baseline=baseline, today=TODAY)


def blocked(before: Values, after: Values) -> bool:
    return str(judged(before, after).verdict) == 'blocked'


def rate(run: Callable[[random.Random], bool], seed: int) -> float:
    """In which share of the runs something happened."""
    draw = random.Random(seed)
    return sum(run(draw) for _ in range(RUNS)) / RUNS


def passed_pairs(draw: random.Random, n: int, *, effect: float, churn: float) -> tuple[list[bool], list[bool]]:
    """Cases before and after, where `max(churn, effect)` of them change and the pass rate drops by `effect`."""
    changing = max(churn, effect)
    before, after = list[bool](), list[bool]()
    for _ in range(n):
        kind = draw.random()
        harmed, helped = kind < (changing + effect) / 2, (changing + effect) / 2 <= kind < changing
        stays = draw.random() < 0.8
        before.append(harmed or (stays and not helped))
        after.append(helped or (stays and not harmed))
    return before, after


def seen(gate: MetricGate, before: Sequence[float], after: Sequence[float], kind: MetricKind = 'assertion') -> Evidence:
    return evidence_of(
        gate, kind, [(float(old), float(new)) for old, new in zip(before, after, strict=True)], exact=False
    )


def fails(gate: MetricGate, evidence: Evidence, kind: MetricKind = 'assertion') -> bool:
    return regressed(gate, kind, evidence, evidence.p_value).outcome == 'fail'


@pytest.mark.parametrize(('n', 'churn', 'alpha'), [(20, 0.3, 0.05), (60, 0.2, 0.05), (60, 0.4, 0.2)])
def test_false_alarms(n: int, churn: float, alpha: float) -> None:
    """Where nothing changed but noise, a gate fails in at most `alpha` of the runs."""
    gate = MetricGate(max_regression=0, test='mcnemar', alpha=alpha)
    found = rate(lambda draw: fails(gate, seen(gate, *passed_pairs(draw, n, effect=0, churn=churn))), seed=1)
    assert found <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / RUNS)
    assert within(found, mcnemar_power(n, effect=0, churn=churn, alpha=alpha))


@pytest.mark.parametrize(
    ('n', 'churn', 'gate'),
    [
        (30, 0.0, MetricGate(max_regression=0, test='mcnemar')),
        (60, 0.2, MetricGate(max_regression=0, test='mcnemar')),
        (100, 0.1, MetricGate(max_regression=0, test='mcnemar', alpha=0.01)),
        (60, 0.1, MetricGate(max_regression=0.15, test='mcnemar')),
        (20, 0.1, MetricGate(max_regression=0.05, test='noninferiority')),
        (40, 0.0, MetricGate(max_regression=0.05, test='flips')),
    ],
)
def test_the_drop_that_is_printed_is_seen(n: int, churn: float, gate: MetricGate) -> None:
    """A drop as large as `detectable` says is found as often as it says."""
    changed = round(n * churn / 2)
    before = [1] * changed + [0] * changed + [1] * (n - 2 * changed)
    after = [0] * changed + [1] * changed + [1] * (n - 2 * changed)
    printed = detectable_by_gate(gate, 'assertion', seen(gate, before, after))
    assert (printed['n'], printed['power']) == (n, 0.8)

    def run(draw: random.Random) -> bool:
        return fails(gate, seen(gate, *passed_pairs(draw, n, effect=printed['drop'], churn=churn)))

    assert within(rate(run, seed=3), 0.8)


def test_scores() -> None:
    """A drop of a score is seen as often as printed, and no drop in at most `alpha` of the runs."""
    n, gate = 12, MetricGate(max_regression=0, test='mcnemar')
    before, sigma = [10.0] * n, 0.5 * math.sqrt(12 / 11)
    spread = seen(gate, before, [10 + (-1) ** i * 0.5 for i in range(n)], 'score')
    printed = detectable_by_gate(gate, 'score', spread)

    def run(drop: float) -> Callable[[random.Random], bool]:
        def once(draw: random.Random) -> bool:
            after = [10 - drop + draw.gauss(0, sigma) for _ in range(n)]
            return fails(gate, seen(gate, before, after, 'score'), 'score')

        return once

    # Student's distribution is the test's own only for many cases.
    assert rate(run(printed['drop']), seed=5) == pytest.approx(0.8, abs=0.05)
    assert rate(run(0), seed=6) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)


@pytest.mark.parametrize(('n', 'churn', 'margin'), [(60, 0.2, 0.1), (100, 0.3, 0.15)])
def test_noninferiority(n: int, churn: float, margin: float) -> None:
    """A drop of exactly the margin passes in at most `alpha` of the runs, which is the power that is printed."""
    gate = MetricGate(test='noninferiority', max_regression=margin)
    slipped = rate(lambda draw: not fails(gate, seen(gate, *passed_pairs(draw, n, effect=margin, churn=churn))), seed=7)
    assert slipped <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)
    printed = detectable_by_gate(gate, 'assertion', seen(gate, [1] * n, [1] * n))
    assert (printed['drop'], printed['power']) == (margin, 0.95)


POLICY = Policy.model_validate({'metrics': {f'm{i}': {'test': 'mcnemar', 'alpha': 0.2} for i in range(2)}})
QUIET = [True] * 12


def test_false_alarms_of_a_whole_suite() -> None:
    """Two gates together block in at most `alpha` of the runs, as one would: that is what Holm's method is for."""

    def run(draw: random.Random) -> bool:
        pairs = {name: passed_pairs(draw, 12, effect=0, churn=0.5) for name in POLICY.metrics}
        return blocked({k: v[0] for k, v in pairs.items()}, {k: v[1] for k, v in pairs.items()})

    found = rate(run, seed=2)
    assert 0.01 < found <= 0.2 + 3 * math.sqrt(0.2 * 0.8 / RUNS)


def test_the_drop_that_is_printed_for_a_whole_suite() -> None:
    """In a family, the printed drop is found as often as it says though the other gates see nothing."""
    quiet = dict.fromkeys(POLICY.metrics, QUIET)
    printed = judged(quiet, quiet).detectable['m0']
    assert (printed['alpha'], printed['churn']) == (pytest.approx(0.2 / 2), 0)

    def run(draw: random.Random) -> bool:
        before, after = passed_pairs(draw, 12, effect=printed['drop'], churn=0)
        return blocked({**quiet, 'm0': before}, {**quiet, 'm0': after})

    assert within(rate(run, seed=4), 0.8)
