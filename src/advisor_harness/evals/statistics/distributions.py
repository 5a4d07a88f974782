"""The distributions that `statistics` stands on: the incomplete beta function, its inverse, and the normal quantile."""

from __future__ import annotations

import math
from statistics import NormalDist

__all__ = ['beta_quantile', 'binomial_mass', 'normal_cdf', 'normal_quantile', 'regularized_beta', 'student_quantile']

_NORMAL = NormalDist()
# Smallest value that the continued fraction divides by: far below any term that matters.
_TINY = 1e-300
_MOST_TERMS = 100_000
# Up to here whole numbers are exact in floats, and so is every probability of fair coins.
_FEW_TRIALS = 50


def normal_cdf(z: float) -> float:
    """Probability of a standard normal value of at most `z`."""
    # `NormalDist.cdf` loses the digits of the lower tail.
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_quantile(p: float) -> float:
    """The standard normal value that is not exceeded with probability `p`, 0 < p < 1."""
    return _NORMAL.inv_cdf(p)


def student_quantile(p: float, freedom: int) -> float:
    """The value of Student's distribution that is not exceeded with probability `p`, 0.5 < p < 1."""
    x = beta_quantile(2 * (1 - p), freedom / 2, 0.5)
    return math.sqrt(freedom * (1 - x) / x)


def binomial_mass(k: int, n: int, p: float) -> float:
    """Probability of exactly `k` successes in `n` trials that succeed with probability `p`."""
    if not 0 <= k <= n:
        return 0.0
    if p in (0.0, 1.0):
        return float(k == n * p)
    if n <= _FEW_TRIALS:
        return math.comb(n, k) * p**k * (1 - p) ** (n - k)
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))


def regularized_beta(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function I_x(a, b), for a, b > 0.

    It is the probability of at least `a` successes in `a + b - 1` trials that succeed with probability `x`.
    """
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    # The continued fraction converges fast only below the mean of the distribution.
    if x > (a + 1) / (a + b + 2):
        return 1 - regularized_beta(1 - x, b, a)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / a
    return front * _continued_fraction(x, a, b)


def beta_quantile(p: float, a: float, b: float) -> float:
    """The `x` where `regularized_beta(x, a, b)` is `p`, by bisection down to neighbouring floats."""
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        if not low < middle < high:
            return middle
        if regularized_beta(middle, a, b) < p:
            low = middle
        else:
            high = middle


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Lentz's evaluation of the continued fraction of the incomplete beta function (DLMF 8.17.22)."""
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            result *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return result


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
