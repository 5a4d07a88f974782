"""The gates on metrics: measured, compared with the baseline, and judged together, since tests share their level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from advisor_harness.evals.comparison import Comparison, is_exact
from advisor_harness.evals.detectable import detectable_by_gate
from advisor_harness.evals.measure import Measured, Unit, kind_of, mean_of, names_measured, value_of
from advisor_harness.evals.meta import MetricKind, SuiteMeta
from advisor_harness.evals.metrics import METRICS
from advisor_harness.evals.metrics.agreement import shortfall_of
from advisor_harness.evals.policy_names import over_several
from advisor_harness.evals.regression import Evidence, Finding, evidence_of, regressed
from advisor_harness.evals.rules import MetricGate, Policy
from advisor_harness.evals.statistics import clopper_pearson, holm
from advisor_harness.evals.suite import Arm
from advisor_harness.evals.verdict import GateResult

__all__ = ['GateVerdict', 'MetricGates', 'judge_level', 'metric_gates']

Severity = Literal['block', 'warn', 'info']
GateVerdict = Literal['pass', 'fail', 'warn', 'info', 'missing']

_ROUNDING = 1e-9
_WORST_FIRST: tuple[GateVerdict, ...] = ('fail', 'missing', 'warn', 'pass', 'info')


@dataclass(frozen=True, kw_only=True)
class MetricGates:
    """The gates on metrics, judged, and what each that compares could have seen."""

    results: tuple[GateResult, ...]
    detectable: dict[str, dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class _Draft:
    """A gate that was measured and not yet judged."""

    name: str
    gate: MetricGate
    kind: MetricKind
    measured: Measured
    interval: tuple[float, float] | None = None
    told: str | None = None
    """What the metric itself says about its value."""
    seen: Evidence | None = None
    """The pairs of a scorer's metric; `None` where there is no baseline for it."""
    baseline: float | None = None
    """Of a metric over several cases."""
    exact: bool = False


def metric_gates(
    policy: Policy, suite: SuiteMeta, units: Sequence[Unit], comparison: Comparison | None, *, narrow: bool
) -> MetricGates:
    """Judge the entries of `metrics`.

    Args:
        policy: The rules.
        suite: What the run owes.
        units: Its cases, without those set aside.
        comparison: The baseline beside the run; `None` when there is none. One with problems is not looked into:
            values of other scorers or cases need not even be numbers.
        narrow: Whether cases were left out on purpose; a gate on those only is then not judged.

    Raises:
        PolicyError: a metric is a label.
    """
    sound = None if comparison is None or comparison.problems else comparison
    drafts = [_draft(name, gate, suite, units, sound) for name, gate in policy.metrics.items()]
    # The family of Holm's method: what can block. The rest is for information.
    family = [
        draft for draft in drafts if draft.gate.severity == 'block' and draft.seen and draft.seen.p_value is not None
    ]
    p_values = [draft.seen.p_value for draft in family if draft.seen and draft.seen.p_value is not None]
    adjusted = dict(zip((draft.name for draft in family), holm(p_values), strict=True))
    return MetricGates(
        results=tuple(_judge(draft, adjusted.get(draft.name), comparison, narrow=narrow) for draft in drafts),
        detectable={
            draft.name: detectable_by_gate(
                draft.gate, draft.kind, draft.seen, family=max(1, len(family)) if draft.name in adjusted else 1
            )
            for draft in drafts
            if draft.seen is not None and draft.gate.tolerance is not None
        },
    )


def judge_level(
    name: str, gate: MetricGate, measured: Measured, *, narrow: bool, interval: tuple[float, float] | None = None
) -> GateResult:
    """Judge a gate that has limits and no baseline."""
    verdict, detail = _level(gate, measured, None, narrow=narrow)
    return _result(name, gate, measured, verdict, detail, interval=interval)


def _draft(
    name: str, gate: MetricGate, suite: SuiteMeta, units: Sequence[Unit], comparison: Comparison | None
) -> _Draft:
    metric = gate.metric or name
    if unheard := shortfall_of(metric, gate.of, suite.judges, units):
        heard = gate.model_copy(update={'severity': 'info', 'metric': metric})
        draft = _draft(name, heard, replace(suite, judges=()), units, comparison)
        return replace(draft, told=unheard if draft.told is None else f'{unheard}; {draft.told}')
    chosen = [unit for unit in units if gate.tag is None or gate.tag in unit.tags]
    if over_several(metric, names_measured(units) | set(suite.metrics)):
        return _draft_over_several(name, metric, gate, chosen, comparison)
    chosen = [unit for unit in chosen if gate.arm in (None, unit.arm)]
    kind = kind_of(metric, suite, units)
    measured = mean_of(metric, kind, chosen)
    seen = None
    if comparison is not None and gate.tolerance is not None and not measured.missing:
        seen = _evidence(metric, kind, gate, chosen, comparison)
    return _Draft(
        name=name, gate=gate, kind=kind, measured=measured, interval=_exact_interval(metric, kind, chosen), seen=seen
    )


def _draft_over_several(
    name: str, metric: str, gate: MetricGate, chosen: Sequence[Unit], comparison: Comparison | None
) -> _Draft:
    definition = METRICS[metric]
    if 'direction' not in gate.model_fields_set and definition.direction is not None:
        gate = gate.model_copy(update={'direction': definition.direction})
    arms = {'arm': gate.arm or str(Arm.ADVISED), 'against': gate.against or str(Arm.SOLO)}
    found = definition.measure(chosen, of=gate.of, **arms)
    measured = Measured(
        value=found.value, n_scored=found.n_scored, n_expected=found.n_expected, missing=tuple(found.missing)
    )
    pairs = comparison.pairs(chosen) if comparison is not None and gate.tolerance is not None else ()
    before = definition.measure([pair.before for pair in pairs], of=gate.of, **arms) if pairs else None
    return _Draft(
        name=name,
        gate=gate,
        kind='score',
        measured=measured,
        interval=found.interval,
        told=found.detail,
        baseline=None if before is None else before.value,
        exact=is_exact(pairs),
    )


def _evidence(
    metric: str, kind: MetricKind, gate: MetricGate, chosen: Sequence[Unit], comparison: Comparison
) -> Evidence | None:
    pairs = comparison.pairs(chosen)
    found = [(value_of(pair.before, metric, kind), value_of(pair.after, metric, kind)) for pair in pairs]
    values = [(before, after) for before, after in found if before is not None and after is not None]
    return evidence_of(gate, kind, values, exact=is_exact(pairs)) if values else None


def _exact_interval(metric: str, kind: MetricKind, chosen: Sequence[Unit]) -> tuple[float, float] | None:
    """How far the share of true assertions speaks for cases that nobody has written yet."""
    values = [value_of(unit, metric, kind) for unit in chosen] if kind == 'assertion' else []
    if not values or any(value not in (0.0, 1.0) for value in values):
        return None
    return _interval_of(values.count(1.0), len(values))


# The same counts come up again and again: for every arm, tag and gate of a suite.
@lru_cache(maxsize=1024)
def _interval_of(passed: int, n: int) -> tuple[float, float]:
    return clopper_pearson(passed, n)


def _judge(draft: _Draft, p_value: float | None, comparison: Comparison | None, *, narrow: bool) -> GateResult:
    gate, measured, seen = draft.gate, draft.measured, draft.seen
    verdict, detail = _level(gate, measured, draft.told, narrow=narrow)
    if gate.tolerance is None or verdict == 'missing' or not measured.n_expected or measured.missing:
        return _result(draft.name, gate, measured, verdict, detail, interval=draft.interval)
    if seen is not None:
        p_value = seen.p_value if p_value is None else p_value
        finding = regressed(gate, draft.kind, seen, p_value)
        baseline, delta = seen.before, seen.after - seen.before
    elif draft.baseline is not None and measured.value is not None:
        finding = _over_several(gate, measured.value, draft.baseline, exact=draft.exact)
        baseline, delta = draft.baseline, measured.value - draft.baseline
    else:
        finding, baseline, delta = Finding('warn', _no_baseline(comparison)), None, None
    if gate.min is gate.max is None:
        verdict = 'info'  # nothing but the comparison decides
    worst: GateVerdict = min((verdict, _weighed(gate.severity, finding.outcome)), key=_WORST_FIRST.index)
    return _result(
        draft.name,
        gate,
        measured,
        worst,
        finding.detail if detail is None else f'{detail}; {finding.detail}',
        interval=seen.interval if seen is not None and seen.interval is not None else draft.interval,
        baseline=baseline,
        delta=delta,
        p_value=p_value,
    )


def _over_several(gate: MetricGate, value: float, baseline: float, *, exact: bool) -> Finding:
    """A metric over several cases has no pairs: the difference decides if it is exact, or if no test is wanted."""
    drop = baseline - value if gate.direction == 'up' else value - baseline
    if drop <= (gate.tolerance or 0.0) + _ROUNDING:
        return Finding('pass', f'{value - baseline:+.3g} against the baseline')
    if exact or ('test' in gate.model_fields_set and gate.test == 'none'):
        return Finding('fail', f'{value - baseline:+.3g} against the baseline')
    return Finding(
        'warn',
        f'{value - baseline:+.3g} against the baseline, in a sample: no paired test knows a metric over several cases',
    )


def _no_baseline(comparison: Comparison | None) -> str:
    if comparison is None:
        return 'no baseline'
    if comparison.problems:
        return 'not compared: precondition baseline says why'
    return f'no baseline: baseline {comparison.baseline.name!r} has none of these cases'


def _level(gate: MetricGate, measured: Measured, told: str | None, *, narrow: bool) -> tuple[GateVerdict, str | None]:
    # Without a limit there is nothing that could fail.
    severity: Severity = 'info' if gate.min is gate.max is gate.tolerance is None else gate.severity
    if not measured.n_expected and told is None:
        left_out = 'no case of this run is selected'
        return ('info', left_out) if narrow else (_weighed(severity, 'missing'), left_out)
    missing = _weighed(severity, 'fail' if gate.on_missing == 'fail' else 'missing')
    if measured.missing:
        count = f'{len(measured.missing)} of {measured.n_expected}'
        return missing, f'not measured in {count}: {measured.missing[0]}'
    if measured.value is None:
        return ('info' if narrow else missing), f'not defined: {told}' if told else 'not defined'
    if (gate.min is not None and measured.value < gate.min) or (gate.max is not None and measured.value > gate.max):
        return _weighed(severity, 'fail'), told
    return _weighed(severity, 'pass'), told


def _weighed(severity: Severity, outcome: GateVerdict) -> GateVerdict:
    if severity == 'info':
        return 'info'
    return 'warn' if severity == 'warn' and outcome not in ('pass', 'info') else outcome


def _result(
    name: str, gate: MetricGate, measured: Measured, verdict: GateVerdict, detail: str | None, **more: Any
) -> GateResult:
    return GateResult(
        metric=name,
        arm=gate.arm,
        value=measured.value,
        n_scored=measured.n_scored,
        n_expected=measured.n_expected,
        limit=' and '.join(_limits(gate)) or 'shown only',
        severity=gate.severity,
        verdict=verdict,
        detail=detail,
        direction=gate.direction if gate.tolerance is not None or 'direction' in gate.model_fields_set else None,
        **more,
    )


def _limits(gate: MetricGate) -> Iterator[str]:
    if gate.min is not None:
        yield f'>= {gate.min:g}'
    if gate.max is not None:
        yield f'<= {gate.max:g}'
    if gate.tolerance is not None:
        yield f'at most {gate.tolerance:g} worse than the baseline'
