"""Scores of the same cases before and after: bootstrap, permutation test, non-inferiority."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Literal

from advisor_harness.evals.statistics.checks import check_alpha, check_share, differences_of
from advisor_harness.evals.statistics.distributions import normal_cdf, normal_quantile

__all__ = ['CENTRAL_LIMIT', 'EXACT_SIGN_FLIPS', 'noninferiority', 'paired_bootstrap', 'sign_flip']

EXACT_SIGN_FLIPS = 16
"""Most pairs for which `sign_flip` looks at every one of the 2^n ways to flip signs."""

CENTRAL_LIMIT = 300
"""Fewest pairs for which a normal approximation may replace the bootstrap."""

_RESAMPLES = 10_000


def paired_bootstrap(
    before: Sequence[float],
    after: Sequence[float],
    *,
    confidence: float = 0.95,
    resamples: int = _RESAMPLES,
    seed: int = 0,
) -> tuple[float, float, float]:
    """Mean of `after - before` with a bootstrap interval over cases, bias-corrected and accelerated (BCa).

    Differences that are all equal have an interval without width: the data show no spread, which does not prove that
    there is none.

    Args:
        before: One value for each case, at least 2.
        after: The same cases, in the same order.
        confidence: Between 0 and 1.
        resamples: Number of bootstrap samples, >= 1.
        seed: The same seed always gives the same interval.

    Returns:
        Mean difference, lower and upper end of its interval.

    Raises:
        ValueError: the lengths differ, there are fewer than 2 pairs, or a value is not finite.
    """
    check_share('confidence', confidence)
    if resamples < 1:
        raise ValueError(f'`resamples` must be at least 1; got {resamples!r}: 10000 is usual')
    differences = differences_of(before, after, least=2)
    mean = math.fsum(differences) / len(differences)
    if max(differences) == min(differences):
        return mean, mean, mean
    low, high = _bca(_resampled_means(differences, resamples, seed), differences, mean, confidence)
    return mean, low, high


def sign_flip(
    before: Sequence[float],
    after: Sequence[float],
    *,
    alternative: Literal['two-sided', 'less', 'greater'] = 'two-sided',
    seed: int = 0,
) -> float:
    """P-value of the paired permutation test on the mean difference: every sign as likely as its opposite.

    Exact for up to 16 pairs. Beyond, 10,000 random flips of the seed are counted as (1 + hits) / (1 + 10,000), which
    never claims less than they can show.

    Args:
        before: One value for each case, at least 1.
        after: The same cases, in the same order.
        alternative: `less` asks whether `after` is smaller, `greater` whether it is greater.
        seed: Of the random flips.

    Returns:
        The p-value, 0 to 1; 1 when nothing changed.

    Raises:
        ValueError: the lengths differ, there is no pair, or a value is not finite.
    """
    if alternative not in ('two-sided', 'less', 'greater'):
        raise ValueError(f"`alternative` must be 'two-sided', 'less' or 'greater'; got {alternative!r}")
    differences = [-d if alternative == 'less' else d for d in differences_of(before, after, least=1)]
    observed, spread = math.fsum(differences), math.fsum(map(abs, differences))
    # Sums that only differ by rounding are ties, and ties count against significance.
    least = (abs(observed) if alternative == 'two-sided' else observed) - 1e-12 * spread
    if len(differences) <= EXACT_SIGN_FLIPS:
        sums = _all_flips(differences)
        return sum(_at_least(total, least, alternative) for total in sums) / len(sums)
    flips = _random_flips(differences, seed)
    return (1 + sum(_at_least(total, least, alternative) for total in flips)) / (1 + _RESAMPLES)


def noninferiority(
    before: Sequence[float], after: Sequence[float], *, margin: float, alpha: float = 0.05, seed: int = 0
) -> tuple[float, bool]:
    """Whether `after` is not worse than `before` by the margin or more: the lower bound of the mean difference.

    The bound is one-sided: of the BCa bootstrap below 300 pairs, normal from there on. Pairs that only pass or fail
    are better served by `paired_difference_bound`, which knows what pairs without any change do not show.

    Args:
        before: One value for each case, at least 2.
        after: The same cases, in the same order.
        margin: How much worse is still acceptable, in the unit of the values, >= 0.
        alpha: How often a drop of exactly the margin may pass, between 0 and 0.5.
        seed: Of the bootstrap.

    Returns:
        The lower bound, and whether it lies above `-margin`.

    Raises:
        ValueError: a number is out of its range, the lengths differ, or there are fewer than 2 pairs.
    """
    if not (math.isfinite(margin) and margin >= 0):
        raise ValueError(f'`margin` must be a number that is at least 0; got {margin!r}')
    check_alpha(alpha)
    differences = differences_of(before, after, least=2)
    if len(differences) < CENTRAL_LIMIT:
        bound = paired_bootstrap(before, after, confidence=1 - 2 * alpha, seed=seed)[1]
    else:
        bound = math.fsum(differences) / len(differences) - normal_quantile(1 - alpha) * _standard_error(differences)
    return bound, bound > -margin


def _resampled_means(differences: Sequence[float], resamples: int, seed: int) -> list[float]:
    draw, n = random.Random(seed), len(differences)
    return sorted(sum(draw.choices(differences, k=n)) / n for _ in range(resamples))


def _bca(
    resampled: Sequence[float], differences: Sequence[float], mean: float, confidence: float
) -> tuple[float, float]:
    """The BCa interval (Efron 1987) out of sorted means of resamples, with the acceleration of the jackknife."""
    bias = _bias(resampled, mean)
    # For a mean, leaving out one value moves it against that value's deviation: the jackknife has a closed form.
    deviations = [d - mean for d in differences]
    squares = math.fsum(d * d for d in deviations)
    acceleration = math.fsum(d**3 for d in deviations) / (6 * squares**1.5) if squares else 0.0
    tail = (1 - confidence) / 2
    low, high = (_quantile(resampled, _adjusted(normal_quantile(p), bias, acceleration)) for p in (tail, 1 - tail))
    return low, high


def _bias(resampled: Sequence[float], mean: float) -> float:
    # Means that only differ by rounding are ties, which count half.
    tie = 1e-12 * max(map(abs, resampled))
    below = (sum(m < mean - tie for m in resampled) + sum(m <= mean + tie for m in resampled)) / (2 * len(resampled))
    edge = 1 / (2 * len(resampled))
    return normal_quantile(min(max(below, edge), 1 - edge))


def _adjusted(z: float, bias: float, acceleration: float) -> float:
    shifted = bias + z
    stretch = 1 - acceleration * shifted
    if stretch <= 0:  # beyond the pole of the transformation: the outermost mean
        return 1.0 if shifted > 0 else 0.0
    return normal_cdf(bias + shifted / stretch)


def _quantile(ordered: Sequence[float], p: float) -> float:
    position = p * (len(ordered) - 1)
    below = min(int(position), len(ordered) - 1)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def _all_flips(differences: Sequence[float]) -> list[float]:
    sums = [0.0]
    for difference in differences:
        sums = [total + signed for total in sums for signed in (difference, -difference)]
    return sums


def _random_flips(differences: Sequence[float], seed: int) -> Iterator[float]:
    draw = random.Random(seed)
    # Eight at a time: one byte picks one of the 256 ways to flip the signs of eight differences.
    ways = [_all_flips(differences[i : i + 8]) for i in range(0, len(differences), 8)]
    for _ in range(_RESAMPLES):
        picked = draw.randbytes(len(ways))
        yield sum(sums[byte % len(sums)] for sums, byte in zip(ways, picked, strict=True))


def _at_least(total: float, least: float, alternative: str) -> bool:
    return (abs(total) if alternative == 'two-sided' else total) >= least


def _standard_error(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))
