"""What a point of quality costs. Source: cost at matched accuracy, as in FrugalGPT (arXiv 2305.05176)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from statistics import fmean
from typing import TypeAlias

from advisor_harness.evals.measure import Unit
from advisor_harness.evals.metrics.measurement import Measurement
from advisor_harness.evals.metrics.pairs import Pair, Sample, pairs_of

__all__ = ['cost_per_point']

_Step: TypeAlias = tuple[float, float]
"""What a case costs more, US dollars, and what its grade gains."""

_RESAMPLES = 2_000
_SEED = 1


def cost_per_point(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """`(C_arm - C_against) / (q_arm - q_against)`: US dollars per case for one point of the mean grade (0 to 1).

    Costs are those of all requests, each at the price of its model, native advisors included. Where the grade does not
    rise there is no ratio: the detail says `dominated` (it costs more and gains nothing) or `saves`. Where it rises and
    nothing more is paid, the value is 0 and the detail says what is saved. The interval is a percentile bootstrap over
    cases, seeded; there is none where more than 2.5 % of the resamples gain nothing, as it would have no upper end.
    """
    sample = pairs_of(units, of=of, arm=arm, against=against)
    steps = [(pair, _added(pair)) for pair in sample.pairs]
    known = [(cost, pair.q - pair.q_other) for pair, cost in steps if cost is not None]
    unpriced = [pair.ours.label for pair, cost in steps if cost is None]
    kept = [pair for pair, cost in steps if cost is not None]
    sample = Sample(pairs=kept, missing=(*sample.missing, *unpriced))
    if not known:
        return sample.measured(None, 'no pair of cases with known prices')
    cost, gain = (fmean(values) for values in zip(*known, strict=True))
    if gain <= 0:
        word = 'dominated' if cost > 0 else 'saves'
        return sample.measured(None, f'{word}: {cost:+.6f} USD per case for {gain:+.3f} points')
    detail = f'{cost:+.6f} USD per case for {gain:+.3f} points'
    if cost <= 0:
        return sample.measured(0.0, f'costs nothing more: {detail}')
    interval = _interval(known)
    return sample.measured(
        cost / gain, detail if interval else f'{detail}; no interval: the gain may be none', interval
    )


def _added(pair: Pair) -> float | None:
    costs = [[record.cost_usd for record in unit.known] for unit in (pair.ours, pair.other)]
    known = [[cost for cost in of_unit if cost is not None] for of_unit in costs]
    return fmean(known[0]) - fmean(known[1]) if known == costs and all(known) else None


def _interval(steps: Sequence[_Step]) -> tuple[float, float] | None:
    if len(steps) < 5:
        return None
    dice = random.Random(_SEED)
    ratios: list[float] = []
    for _ in range(_RESAMPLES):
        costs, gains = zip(*dice.choices(steps, k=len(steps)), strict=True)
        if (gained := sum(gains)) > 0:
            ratios.append(sum(costs) / gained)
    if len(ratios) < 0.975 * _RESAMPLES:
        return None
    # Resamples without a gain are at the far end, where a point costs more than any number.
    ratios.sort()
    return ratios[int(0.025 * _RESAMPLES)], ratios[min(int(0.975 * _RESAMPLES), len(ratios) - 1)]
