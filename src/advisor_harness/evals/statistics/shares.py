"""Pass rates: the exact test of a drop, exact and score intervals of a level and of a change."""

from __future__ import annotations

import math

from advisor_harness.evals.statistics.checks import check_alpha, check_count, check_share
from advisor_harness.evals.statistics.distributions import beta_quantile, normal_quantile

__all__ = ['clopper_pearson', 'mcnemar_exact', 'paired_difference_bound', 'wilson']


def mcnemar_exact(harmful: int, helpful: int) -> float:
    """One-sided p-value of the exact McNemar test: as many harmful pairs or more, if harm and help were equally likely.

    It takes 5 harmful pairs without a helpful one to get below 0.05; 7 allow one helpful, 10 allow three.

    Args:
        harmful: Pairs that went from pass to fail, >= 0.
        helpful: Pairs that went from fail to pass, >= 0.

    Returns:
        The p-value, 0 to 1; 1 when no pair changed.

    Raises:
        ValueError: a count is negative or not a whole number.
    """
    harmful, helpful = check_count('harmful', harmful), check_count('helpful', helpful)
    n = harmful + helpful
    # Whole numbers of Python: exact, however many pairs there are.
    if harmful > n - harmful:
        return _ways(n, range(harmful, n + 1)) / 2**n
    return (2**n - _ways(n, range(harmful))) / 2**n


def clopper_pearson(k: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Exact two-sided interval for the share behind `k` of `n`; use it where a gate asks for a level.

    A one-sided bound of 95 % is an end of the interval of 90 %.

    Args:
        k: Successes, 0 to `n`.
        n: Trials, >= 1.
        confidence: Between 0 and 1.

    Returns:
        Lower and upper end, 0 to 1.

    Raises:
        ValueError: a number is out of its range.
    """
    tail = (1 - _check_trials(k, n, confidence)) / 2
    low = 0.0 if k == 0 else tail ** (1 / n) if k == n else beta_quantile(tail, k, n - k + 1)
    high = 1.0 if k == n else 1 - tail ** (1 / n) if k == 0 else beta_quantile(1 - tail, k + 1, n - k)
    return low, high


def wilson(k: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for the share behind `k` of `n`; narrower than the exact one, for display.

    Args:
        k: Successes, 0 to `n`.
        n: Trials, >= 1.
        confidence: Between 0 and 1.

    Returns:
        Lower and upper end, 0 to 1.

    Raises:
        ValueError: a number is out of its range.
    """
    z = normal_quantile((1 + _check_trials(k, n, confidence)) / 2)
    share, weight = k / n, z * z / n
    centre = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / n + weight / (4 * n))
    return 0.0 if k == 0 else centre - half, 1.0 if k == n else centre + half


def paired_difference_bound(harmful: int, helpful: int, n: int, *, alpha: float = 0.05) -> float:
    """One-sided lower bound of the change of a pass rate over pairs: Tango's score interval (Stat. Med. 1998, 17:891).

    Unlike the bootstrap it has a width where no pair changed: `-z^2 / (n + z^2)`, about -0.05 for 50 pairs.

    Args:
        harmful: Pairs that went from pass to fail.
        helpful: Pairs that went from fail to pass.
        n: All pairs, >= 1.
        alpha: How often the bound may lie above the true change, between 0 and 0.5.

    Returns:
        The bound, -1 to 1.

    Raises:
        ValueError: a number is out of its range.
    """
    harmful, helpful = check_count('harmful', harmful), check_count('helpful', helpful)
    if n < 1 or harmful + helpful > n:
        raise ValueError(f'`n` must be at least 1 and at least harmful + helpful = {harmful + helpful}; got {n!r}')
    check_alpha(alpha)
    z = normal_quantile(1 - alpha)
    low, high = -1.0, (helpful - harmful) / n
    while low < (middle := (low + high) / 2) < high:
        if helpful - harmful - n * middle > z * _tango_deviation(harmful, helpful, n, middle):
            low = middle
        else:
            high = middle
    return low


def _ways(n: int, counts: range) -> int:
    total, ways = 0, math.comb(n, counts.start)
    for k in counts:
        total += ways
        ways = ways * (n - k) // (k + 1)
    return total


def _tango_deviation(harmful: int, helpful: int, n: int, change: float) -> float:
    """Standard deviation of `helpful - harmful` where the true change is `change`, the rest as likely as can be."""
    b = (2 * n - helpful + harmful) * change - helpful - harmful
    c = -harmful * change * (1 - change)
    share = (math.sqrt(max(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
    return math.sqrt(max(n * (2 * share + change * (1 - change)), 0.0))


def _check_trials(k: int, n: int, confidence: float) -> float:
    k, n = check_count('k', k), check_count('n', n)
    if n < 1:
        raise ValueError('`n` must be at least 1; got 0: without a trial there is no share, so report it as missing')
    if k > n:
        raise ValueError(f'`k` must be at most `n` = {n}; got {k!r}')
    return check_share('confidence', confidence)
