"""The gates of one suite: preconditions, metrics, cases that must pass and budgets, judged over its records.

Nothing that is missing passes: a case without record, a metric without value and a price nobody knows all say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, TypeAlias

from advisor_harness.evals.baseline import Baseline
from advisor_harness.evals.comparison import Comparison, compare, is_exact
from advisor_harness.evals.detectable import detectable_in_cases
from advisor_harness.evals.measure import Measured, Unit, names_measured, pass_rate, units_of
from advisor_harness.evals.meta import SuiteMeta
from advisor_harness.evals.metric_gates import judge_level, metric_gates
from advisor_harness.evals.policy_names import check_names
from advisor_harness.evals.preconditions import preconditions
from advisor_harness.evals.records import CaseKey, CaseRecord
from advisor_harness.evals.rules import MetricGate, Policy
from advisor_harness.evals.statistics import clopper_pearson
from advisor_harness.evals.suite import Arm
from advisor_harness.evals.verdict import GateResult, SuiteVerdict, Verdict

__all__ = ['judge_suite']

_Total: TypeAlias = Callable[[Sequence[float]], float]


def judge_suite(
    suite: SuiteMeta,
    records: Mapping[CaseKey, CaseRecord],
    policy: Policy,
    *,
    baseline: Baseline | None = None,
    narrow: bool = False,
    run_id: str = 'RUN',
    today: date,
) -> SuiteVerdict:
    """The verdict of one suite.

    Args:
        suite: What the run owes.
        records: What it left.
        policy: What must hold.
        baseline: What it is compared with; `None` when the suite has none.
        narrow: Whether cases or arms were left out on purpose; a gate on those only is then not judged.
        run_id: How texts name the run.
        today: The day on which quarantines are looked at.

    Raises:
        PolicyError: the policy names a metric, arm, tag or case that the suite does not have.
    """
    aside = policy.set_aside(today)
    everything = units_of(suite, records)
    units = tuple(unit for unit in everything if unit.case not in aside)
    check_names(policy, suite, _scorers(suite, everything, narrow=narrow))
    comparison = None if baseline is None else compare(baseline, suite, policy)
    conditions = preconditions(suite, units, policy.preconditions)
    if comparison is not None:
        conditions = (*conditions, comparison.precondition(suite, run_id))
    metrics = metric_gates(policy, suite, units, comparison, narrow=narrow)
    gates = (
        *metrics.results,
        *_all_pass(policy, units, narrow=narrow),
        *_must_pass(policy, suite, units, aside),
        *_budgets(policy, units),
    )
    if not all(condition.ok for condition in conditions) or any(gate.verdict == 'missing' for gate in gates):
        verdict = Verdict.INCONCLUSIVE
    else:
        verdict = Verdict.BLOCKED if any(gate.verdict == 'fail' for gate in gates) else Verdict.PASS
    return SuiteVerdict(
        suite=suite.name,
        regime=suite.regime,
        verdict=verdict,
        preconditions=conditions,
        gates=gates,
        flips=() if comparison is None else tuple(comparison.flips(suite, units, aside)),
        detectable={'cases': _detectable(units, comparison), **metrics.detectable},
        baseline={} if comparison is None else comparison.to_json(units),
        quarantined={case: reason for case, reason in aside.items() if case in suite.chosen},
        expired={case: reason for case, reason in policy.expired(today).items() if case in suite.chosen},
    )


def _scorers(suite: SuiteMeta, units: Sequence[Unit], *, narrow: bool) -> set[str] | None:
    """Names that the scorers gave; nobody knows where the cases that have them were left out, or all crashed."""
    measured = names_measured(units)
    return measured | set(suite.metrics) if measured and not narrow else None


def _detectable(units: Sequence[Unit], comparison: Comparison | None) -> dict[str, Any]:
    n = len({unit.case for unit in units})
    pairs = () if comparison is None else comparison.pairs(units)
    states = [(pair.before.passed, pair.after.passed) for pair in pairs]
    helpful = sum(before is False and after is True for before, after in states)
    exact = is_exact(pairs)
    churn = 0.0 if exact or not pairs else min(1.0, 2 * helpful / len(pairs))
    return detectable_in_cases(n, churn=churn, exact=exact)


def _all_pass(policy: Policy, units: Sequence[Unit], *, narrow: bool) -> Iterator[GateResult]:
    if policy.only_all_pass:
        measured = pass_rate(units)
        complete = measured.value is not None and not measured.missing
        passed = round((measured.value or 0.0) * measured.n_scored)
        interval = clopper_pearson(passed, measured.n_scored) if complete else None
        yield judge_level('cases', MetricGate(min=1.0), measured, narrow=narrow, interval=interval)


def _must_pass(
    policy: Policy, suite: SuiteMeta, units: Sequence[Unit], aside: Mapping[str, str]
) -> Iterator[GateResult]:
    arms = suite.all_arms or suite.arms
    advised_only = len(arms) > 1 and Arm.ADVISED in arms
    for case in policy.must_pass:
        if case in aside:
            continue
        chosen = [unit for unit in units if unit.case == case and (not advised_only or unit.arm == Arm.ADVISED)]
        gate = MetricGate(min=1.0, arm=str(Arm.ADVISED) if advised_only else None)
        yield judge_level(f'must_pass {case}', gate, pass_rate(chosen), narrow=True)


def _budgets(policy: Policy, units: Sequence[Unit]) -> Iterator[GateResult]:
    for name, (amount_of, total) in _BUDGETS.items():
        limit: float | None = getattr(policy.budgets, name)
        if limit is not None:
            amounts = [[None if record is None else amount_of(record) for record in unit.records] for unit in units]
            measured = _measured(units, amounts, total)
            yield judge_level(f'budget {name}', MetricGate(max=limit), measured, narrow=False)


def _measured(units: Sequence[Unit], amounts: Sequence[Sequence[float | None]], total: _Total) -> Measured:
    known = [amount for repeats in amounts for amount in repeats if amount is not None]
    missing = tuple(unit.label for unit, repeats in zip(units, amounts, strict=True) if None in repeats)
    return Measured(
        value=total(known) if known else None,
        n_scored=len(units) - len(missing),
        n_expected=len(units),
        missing=missing,
    )


def _p95(values: Sequence[float]) -> float:
    """The smallest value that at least 95 of 100 values do not exceed (nearest rank)."""
    return sorted(values)[math.ceil(0.95 * len(values)) - 1]


def _cost(record: CaseRecord) -> float | None:
    return record.cost_usd


def _input_tokens(record: CaseRecord) -> float | None:
    return record.usage.get('input_tokens')


def _output_tokens(record: CaseRecord) -> float | None:
    return record.usage.get('output_tokens')


def _recorded_latency(record: CaseRecord) -> float | None:
    return record.recorded_latency_s


_BUDGETS: Mapping[str, tuple[Callable[[CaseRecord], float | None], _Total]] = {
    'cost_usd': (_cost, math.fsum),
    'input_tokens': (_input_tokens, math.fsum),
    'output_tokens': (_output_tokens, math.fsum),
    'p95_recorded_latency_s': (_recorded_latency, _p95),
}
