"""The gates of one suite: preconditions, metrics, cases that must pass and budgets, judged over its records.

Nothing that is missing passes: a case without record, a metric without value and a price nobody knows all say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Literal, NoReturn, TypeAlias

from advisor_harness.evals.errors import PolicyError
from advisor_harness.evals.measure import Measured, Unit, kind_of, mean_of, names_measured, pass_rate, units_of
from advisor_harness.evals.meta import SuiteMeta
from advisor_harness.evals.preconditions import preconditions
from advisor_harness.evals.records import CaseKey, CaseRecord
from advisor_harness.evals.rules import MetricGate, Policy
from advisor_harness.evals.suite import Arm
from advisor_harness.evals.verdict import GateResult, SuiteVerdict, Verdict

__all__ = ['judge_suite']

_Severity = Literal['block', 'warn', 'info']
_GateVerdict = Literal['pass', 'fail', 'warn', 'info', 'missing']
_Total: TypeAlias = Callable[[Sequence[float]], float]


def judge_suite(
    suite: SuiteMeta, records: Mapping[CaseKey, CaseRecord], policy: Policy, *, narrow: bool = False, today: date
) -> SuiteVerdict:
    """The verdict of one suite.

    Args:
        suite: What the run owes.
        records: What it left.
        policy: What must hold.
        narrow: Whether cases or arms were left out on purpose; a gate on those only is then not judged.
        today: The day on which quarantines are looked at.

    Raises:
        PolicyError: the policy names a metric, arm, tag or case that the suite does not have.
    """
    aside = policy.set_aside(today)
    everything = units_of(suite, records)
    units = tuple(unit for unit in everything if unit.case not in aside)
    _check_names(policy, suite, everything, narrow=narrow)
    conditions = preconditions(suite, units, policy.preconditions)
    gates = (
        *_metric_gates(policy, suite, units, narrow=narrow),
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
        quarantined={case: reason for case, reason in aside.items() if case in suite.chosen},
        expired={case: reason for case, reason in policy.expired(today).items() if case in suite.chosen},
    )


def _metric_gates(policy: Policy, suite: SuiteMeta, units: Sequence[Unit], *, narrow: bool) -> Iterator[GateResult]:
    for name, gate in policy.metrics.items():
        chosen = [
            unit for unit in units if gate.arm in (None, unit.arm) and (gate.tag is None or gate.tag in unit.tags)
        ]
        metric = gate.metric or name
        measured = mean_of(metric, kind_of(metric, suite, units), chosen)
        yield _judge_mean(name, gate, measured, narrow=narrow)
    if policy.only_all_pass:
        yield _judge_mean('cases', MetricGate(min=1.0), pass_rate(units), narrow=narrow)


def _judge_mean(name: str, gate: MetricGate, measured: Measured, *, narrow: bool) -> GateResult:
    verdict, detail = _verdict_of(gate, measured, narrow=narrow)
    return GateResult(
        metric=name,
        arm=gate.arm,
        value=measured.value,
        n_scored=measured.n_scored,
        n_expected=measured.n_expected,
        limit=_limit(gate),
        severity=gate.severity,
        verdict=verdict,
        detail=detail,
    )


def _verdict_of(gate: MetricGate, measured: Measured, *, narrow: bool) -> tuple[_GateVerdict, str | None]:
    # Without a limit there is nothing that could fail.
    severity = 'info' if gate.min is gate.max is gate.max_regression is None else gate.severity
    if not measured.n_expected:
        left_out = 'no case of this run is selected'
        return ('info', left_out) if narrow else (_weighed(severity, 'missing'), left_out)
    if measured.missing:
        count = f'{len(measured.missing)} of {measured.n_expected}'
        outcome = _weighed(severity, 'fail' if gate.on_missing == 'fail' else 'missing')
        return outcome, f'not measured in {count}: {measured.missing[0]}'
    assert measured.value is not None  # every expected case was scored
    if (gate.min is not None and measured.value < gate.min) or (gate.max is not None and measured.value > gate.max):
        return _weighed(severity, 'fail'), None
    if gate.max_regression is not None:
        return _weighed(severity, 'warn'), 'no baseline'
    return _weighed(severity, 'pass'), None


def _weighed(severity: _Severity, outcome: Literal['pass', 'fail', 'warn', 'missing']) -> _GateVerdict:
    if severity == 'info':
        return 'info'
    return 'warn' if severity == 'warn' and outcome != 'pass' else outcome


def _limit(gate: MetricGate) -> str:
    parts = [
        None if gate.min is None else f'>= {gate.min:g}',
        None if gate.max is None else f'<= {gate.max:g}',
        None if gate.max_regression is None else f'at most {gate.max_regression:g} worse than the baseline',
    ]
    return ' and '.join(part for part in parts if part) or 'shown only'


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
        yield _judge_mean(f'must_pass {case}', gate, pass_rate(chosen), narrow=True)


def _budgets(policy: Policy, units: Sequence[Unit]) -> Iterator[GateResult]:
    for name, (amount_of, total) in _BUDGETS.items():
        limit: float | None = getattr(policy.budgets, name)
        if limit is not None:
            amounts = [[None if record is None else amount_of(record) for record in unit.records] for unit in units]
            measured = _measured(units, amounts, total)
            yield _judge_mean(f'budget {name}', MetricGate(max=limit), measured, narrow=False)


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


def _check_names(policy: Policy, suite: SuiteMeta, units: Sequence[Unit], *, narrow: bool) -> None:
    where = f'policy {policy.file or "without file"} of suite {suite.name!r}'
    tags = {tag for tags in suite.cases.values() for tag in tags}
    for name, gate in policy.metrics.items():
        if gate.arm is not None and gate.arm not in (suite.all_arms or suite.arms):
            _unknown(where, f'gate {name!r} names arm', gate.arm, suite.all_arms or suite.arms)
        if gate.tag is not None and gate.tag not in tags:
            _unknown(where, f'gate {name!r} names tag', gate.tag, tags)
        _check_metric(where, name, gate.metric or name, suite, units, narrow=narrow)
    for case in policy.must_pass:
        if case not in suite.cases:
            _unknown(where, '`must_pass` names case', case, suite.cases)
    for each in policy.quarantine:
        if each.case not in suite.cases:
            _unknown(where, '`quarantine` names case', each.case, suite.cases)


def _check_metric(where: str, gate: str, metric: str, suite: SuiteMeta, units: Sequence[Unit], *, narrow: bool) -> None:
    """A metric that no scorer gave is a slip of the pen, unless the cases that have it were left out or all crashed."""
    measured = names_measured(units)
    if metric not in measured and metric not in suite.metrics and measured and not narrow:
        _unknown(where, f'gate {gate!r} reads metric', metric, sorted(measured | set(suite.metrics)))


def _unknown(where: str, what: str, name: str, known: Iterable[str]) -> NoReturn:
    names = sorted(known)
    few = ', '.join(names[:20]) + (', ...' if len(names) > 20 else '')
    raise PolicyError(f'{where}: {what} {name!r}, which the suite does not have: it has {few or "none"}')
