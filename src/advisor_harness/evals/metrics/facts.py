"""Means of facts: what scorers say of single cases, over the cases of one arm that have it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from advisor_harness.evals.measure import Unit
from advisor_harness.evals.metrics.measurement import Measure, Measurement
from advisor_harness.evals.metrics.names import ADVISOR_LATENCY_S
from advisor_harness.evals.metrics.pairs import fact, labels, scored, units_in

__all__ = ['added_seconds_p95', 'mean_fact', 'measured_mean', 'nearest_rank']


def mean_fact(name: str) -> Measure:
    """The metric that is the mean of one scorer over the cases of an arm where it found something to measure.

    A case whose scorers ran and where this one found nothing is not part of it; a case that was not scored is missing.
    """

    def measure(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
        values, missing = _values(units, arm, name)
        return Measurement(
            value=fmean(values) if values else None,
            n_scored=len(values),
            n_expected=len(values) + len(missing),
            detail=f'{len(values)} of {len(units_in(units, arm))} cases have {name}'
            if values
            else f'no case has {name}',
            missing=missing,
        )

    measure.__doc__ = f'Mean of `{name}` over the cases of `arm` where there is something to measure.'
    return measure


def measured_mean(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """Mean of the scorer named by `of` over the cases of `arm` where it found something to measure.

    A gate on the scorer itself takes a case without its result for missing; this one takes it for a case that the
    scorer has nothing to say about, as a judge of advice where nobody was advised. Not defined without `of`.
    """
    if of is None:
        return Measurement(value=None, n_scored=0, n_expected=0, detail='`of` must name the scorer')
    return mean_fact(of)(units, of=of, arm=arm, against=against)


def added_seconds_p95(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """Seconds of the advisor's requests, as recorded, that 95 of 100 cases do not exceed (nearest rank)."""
    values, missing = _values(units, arm, ADVISOR_LATENCY_S)
    return Measurement(
        value=nearest_rank(values, 0.95) if values else None,
        n_scored=len(values),
        n_expected=len(values) + len(missing),
        detail=None if values else f'no case has {ADVISOR_LATENCY_S}',
        missing=missing,
    )


def nearest_rank(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed."""
    needed = share * len(values)
    return next(value for count, value in enumerate(sorted(values), start=1) if count >= needed - 1e-9)


def _values(units: Sequence[Unit], arm: str, name: str) -> tuple[list[float], tuple[str, ...]]:
    chosen = units_in(units, arm)
    found = {unit.label: fact(unit, name) for unit in chosen}
    missing = [unit for unit in chosen if found[unit.label] is None and not scored(unit)]
    return [value for value in found.values() if value is not None], labels(missing)
