"""What a run of this size can see at all: the smallest drop that a gate would find in four of five runs."""

from __future__ import annotations

import math
from typing import Any

from advisor_harness.evals.meta import MetricKind
from advisor_harness.evals.regression import Evidence, by_interval
from advisor_harness.evals.rules import MetricGate
from advisor_harness.evals.statistics import minimum_detectable_effect
from advisor_harness.evals.statistics.distributions import beta_quantile, student_quantile

__all__ = ['POWER', 'detectable_by_gate', 'detectable_in_cases']

POWER = 0.8
"""How often the drop is found."""


def detectable_in_cases(n: int, *, churn: float = 0.0, exact: bool = False) -> dict[str, Any]:
    """What a suite of `n` cases can see of its pass rate, one-sided at 0.05.

    Args:
        n: Cases.
        churn: Share of cases that change either way without any reason.
        exact: Whether the run replayed the recordings of its baseline.
    """
    drop = minimum_detectable_effect(n, churn=churn, power=POWER)
    text = f'sampled runs: {_seen(drop, n)}'
    if exact:
        text = f'this replay of the same recordings: every case that changes; {text}'
    return _entry('mcnemar', n, drop, churn=churn, text=text)


def detectable_by_gate(gate: MetricGate, kind: MetricKind, seen: Evidence, *, family: int = 1) -> dict[str, Any]:
    """What a gate that compares with a baseline can see of a drop.

    Args:
        gate: The gate; it has a tolerance.
        kind: What its metric is.
        seen: The pairs that it was judged on; what they show of churn and spread is taken as usual.
        family: Gates that share the level by Holm's method: the drop is then one that is found whatever the others are.
    """
    n, tolerance = seen.n, gate.tolerance or 0.0
    if seen.exact or gate.test == 'flips':
        return _without_test(gate, kind, seen, tolerance)
    if gate.test == 'none':
        return _entry('none', n, None, text='nothing: without a test, every second run looks worse by chance')
    if n < gate.min_n:
        return _entry(gate.test, n, None, text=f'nothing: {n} cases, and a test needs {gate.min_n}')
    if by_interval(gate, n):
        text = f'a drop of {_share(tolerance)} passes in at most {gate.alpha:.0%} of runs, smaller ones more often'
        return _entry(gate.test, n, tolerance, alpha=gate.alpha, power=1 - gate.alpha, text=text)
    alpha = gate.alpha / family
    if kind == 'assertion':
        churn = min(1.0, 2 * seen.helpful / n)
        drop = minimum_detectable_effect(n, churn=churn, alpha=alpha, power=POWER, exceeding=min(tolerance, 1.0))
        return _entry('mcnemar', n, drop, alpha=alpha, churn=churn, text=_seen(drop, n))
    # Miller, arXiv 2411.00640: so many standard errors of the mean difference, of Student's distribution for few cases.
    error, half = seen.spread / math.sqrt(n), student_quantile(POWER, max(1, n - 1))
    drop = error * half + max(error * student_quantile(1 - alpha, max(1, n - 1)), tolerance)
    text = f'about {drop:.3g} or more in {POWER:.0%} of runs (n={n}, spread {seen.spread:.3g})'
    return _entry('sign_flip', n, drop, alpha=alpha, text=text)


def _without_test(gate: MetricGate, kind: MetricKind, seen: Evidence, tolerance: float) -> dict[str, Any]:
    n = seen.n
    if gate.test != 'flips' or kind != 'assertion':
        if seen.exact:
            return _entry('exact', n, tolerance, power=1.0, text=f'every drop above {tolerance:g}')
        return _entry('none', n, None, text='nothing: without a test, every second run looks worse by chance')
    needed = math.floor(tolerance * n + 1e-9) + 1
    if needed > n:
        return _entry('flips', n, None, text='nothing: all cases may get worse')
    if seen.exact:
        return _entry('exact', n, needed / n, power=1.0, text=f'every drop of {needed} of {n} cases or more')
    drop = beta_quantile(POWER, needed, n - needed + 1)
    text = f'{_seen(drop, n)}; {needed} worse by chance alone block too'
    return _entry('flips', n, drop, text=text)


def _entry(
    test: str,
    n: int,
    drop: float | None,
    *,
    text: str,
    alpha: float = 0.05,
    power: float = POWER,
    churn: float = 0.0,
) -> dict[str, Any]:
    rounded = None if drop is None else round(drop, 6)
    return {'test': test, 'n': n, 'drop': rounded, 'alpha': alpha, 'power': power, 'churn': churn, 'text': text}


def _seen(drop: float | None, n: int) -> str:
    if drop is None:
        return f'no drop is seen in {POWER:.0%} of runs (n={n})'
    return f'a drop of {_share(drop)} or more is seen in {POWER:.0%} of runs (n={n})'


def _share(value: float) -> str:
    """A share in percentage points, rounded up: nothing smaller is promised."""
    tenths = math.ceil(1000 * value - 1e-6) / 10
    return f'{tenths:g} pp'
