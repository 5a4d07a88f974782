"""Whether a metric got worse than its baseline: what was seen, and what a gate makes of it.

A replay of the same recordings is exact: whatever differs was caused by the change under test, so the difference itself
decides. Anything else is a sample with noise on both sides, and a test decides, as far as there are enough cases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from advisor_harness.evals.meta import MetricKind
from advisor_harness.evals.rules import MetricGate
from advisor_harness.evals.statistics import (
    mcnemar_exact,
    noninferiority,
    paired_bootstrap,
    paired_difference_bound,
    sign_flip,
)
from advisor_harness.evals.statistics.paired import CENTRAL_LIMIT

__all__ = ['ENOUGH', 'Evidence', 'Finding', 'evidence_of', 'regressed']

ENOUGH = 30
"""Fewest pairs on which an interval decides; with fewer, an exact test does."""

# Means of decimal scores differ from what they should be by this much at most.
_ROUNDING = 1e-9

Outcome: TypeAlias = Literal['pass', 'fail', 'warn', 'info']


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The pairs of one gate, and what its test says about them."""

    n: int
    """Cases that have a value on both sides."""
    before: float
    """Mean in the baseline."""
    after: float
    """Mean in the run, over the same cases."""
    drop: float
    """How much worse the mean became; negative when it became better."""
    harmful: int
    """Cases that got worse."""
    helpful: int
    """Cases that got better."""
    exact: bool
    """Whether both sides replayed the same recordings."""
    binary: bool
    """Whether the values are passes and failures, 1 and 0."""
    p_value: float | None = None
    """One-sided, of the test that decides; `None` when none does."""
    interval: tuple[float, float] | None = None
    """Of `after - before`, with `1 - 2 alpha`; its lower end is a one-sided bound."""
    spread: float = 0.0
    """Standard deviation of the differences."""


@dataclass(frozen=True)
class Finding:
    """What a gate makes of the evidence."""

    outcome: Outcome
    detail: str


def evidence_of(gate: MetricGate, kind: MetricKind, pairs: Sequence[tuple[float, float]], *, exact: bool) -> Evidence:
    """What pairs of values, at least one, say about a metric: (in the baseline, in the run)."""
    sign = 1.0 if gate.direction == 'up' else -1.0
    gains = [sign * (after - before) for before, after in pairs]
    mean = math.fsum(gains) / len(gains)
    harmful, helpful = sum(gain < -_ROUNDING for gain in gains), sum(gain > _ROUNDING for gain in gains)
    binary = kind == 'assertion' and all(value in (0.0, 1.0) for pair in pairs for value in pair)
    sampled = not exact and gate.test in ('mcnemar', 'noninferiority') and len(pairs) >= max(gate.min_n, 2)
    return Evidence(
        n=len(pairs),
        before=math.fsum(before for before, _ in pairs) / len(pairs),
        after=math.fsum(after for _, after in pairs) / len(pairs),
        drop=-mean,
        harmful=harmful,
        helpful=helpful,
        exact=exact,
        binary=binary,
        p_value=_p_value(kind, gains, harmful, helpful) if sampled and not by_interval(gate, len(pairs)) else None,
        interval=_interval(gate, gains, harmful, helpful, binary=binary) if sampled else None,
        spread=math.sqrt(math.fsum((gain - mean) ** 2 for gain in gains) / max(1, len(gains) - 1)),
    )


def by_interval(gate: MetricGate, n: int) -> bool:
    """Whether the lower bound of an interval decides, rather than an exact test."""
    return gate.test == 'noninferiority' and n >= ENOUGH


def regressed(gate: MetricGate, kind: MetricKind, seen: Evidence, p_value: float | None) -> Finding:
    """Judge the evidence.

    Args:
        gate: The rule; it has a tolerance.
        kind: Flips are counted on assertions; a score has none, its mean decides.
        seen: The evidence.
        p_value: `seen.p_value`, adjusted for the other gates of the suite; `None` when no test decides.
    """
    tolerance = gate.tolerance or 0.0
    told = f'{seen.harmful} worse and {seen.helpful} better of {seen.n} cases against the baseline'
    if seen.exact:
        told += ', replayed from the same recordings'
    if gate.test == 'flips' and kind == 'assertion':
        allowed = math.floor(tolerance * seen.n + _ROUNDING)
        outcome: Outcome = 'fail' if seen.harmful > allowed else 'pass'
        return Finding(outcome, f'{told}; {allowed} may be worse')
    worse = seen.drop > tolerance + _ROUNDING
    if seen.exact or gate.test in ('flips', 'none'):
        return Finding('fail' if worse else 'pass', told)
    if seen.n < gate.min_n:
        return Finding('info', f'{told}; too few for a test, which needs {gate.min_n}')
    if by_interval(gate, seen.n):
        return _by_bound(gate, seen, told)
    return _by_test(gate, seen, p_value, told, worse=worse)


def _by_test(gate: MetricGate, seen: Evidence, p_value: float | None, told: str, *, worse: bool) -> Finding:
    if p_value is None:  # a single pair, which no test is done on
        return Finding('warn' if worse else 'pass', f'{told}; too few for a test')
    text = f'{told}; p = {p_value:.3g}, alpha {gate.alpha:g}'
    if not worse:
        return Finding('pass', text)
    if p_value <= gate.alpha:
        return Finding('fail', text)
    return Finding('warn', f'{text}: worse, but no more than chance makes it')


def _by_bound(gate: MetricGate, seen: Evidence, told: str) -> Finding:
    assert seen.interval is not None  # there is one wherever a test is done
    bound = seen.interval[0] if gate.direction == 'up' else -seen.interval[1]
    margin = gate.tolerance or 0.0
    text = f'{told}; at worst {-bound:.3g} worse (level {gate.alpha:g}), margin {margin:g}'
    return Finding('pass' if bound > -margin else 'fail', text)


def _p_value(kind: MetricKind, gains: Sequence[float], harmful: int, helpful: int) -> float:
    if kind == 'assertion':
        return mcnemar_exact(harmful, helpful)
    return sign_flip([0.0] * len(gains), gains, alternative='less')


def _interval(
    gate: MetricGate, gains: Sequence[float], harmful: int, helpful: int, *, binary: bool
) -> tuple[float, float] | None:
    """Of the change, in the metric's own direction; `None` where it would cost much and decide nothing."""
    nothing = [0.0] * len(gains)
    if binary:
        low = paired_difference_bound(harmful, helpful, len(gains), alpha=gate.alpha)
        high = -paired_difference_bound(helpful, harmful, len(gains), alpha=gate.alpha)
    elif not by_interval(gate, len(gains)):
        return None
    elif len(gains) < CENTRAL_LIMIT:
        _, low, high = paired_bootstrap(nothing, gains, confidence=1 - 2 * gate.alpha)
    else:
        low = noninferiority(nothing, gains, margin=0.0, alpha=gate.alpha)[0]
        high = -noninferiority(gains, nothing, margin=0.0, alpha=gate.alpha)[0]
    return (low, high) if gate.direction == 'up' else (-high, -low)
