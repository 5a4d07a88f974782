"""What a suite can see: the power of the exact McNemar test, and the smallest drop it finds often enough."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

from advisor_harness.evals.statistics.checks import check_count, check_share
from advisor_harness.evals.statistics.distributions import binomial_mass

__all__ = ['mcnemar_power', 'minimum_detectable_effect']

# Of a share of cases: far below what anybody prints.
_PRECISION = 1e-7
# More standard deviations above the mean than any float of a binomial distribution notices.
_FAR = 10


def mcnemar_power(n: int, *, effect: float, churn: float = 0.0, alpha: float = 0.05, exceeding: float = 0.0) -> float:
    """Probability that the exact one-sided McNemar test sees a true drop.

    Args:
        n: Pairs, >= 0.
        effect: The true drop of the pass rate, 0 to 1.
        churn: Share of pairs that change either way when nothing is different; the share that changes under the effect
            is `max(churn, effect)`.
        alpha: Level of the test.
        exceeding: A gate's `max_regression`: the drop that is seen must also be greater than this.

    Returns:
        The power, 0 to 1.

    Raises:
        ValueError: a number is out of its range.
    """
    _check_design(n, churn, alpha, exceeding)
    if not 0 <= effect <= 1:
        raise ValueError(f'`effect` must be between 0 and 1; got {effect!r}')
    return _power(n, effect, churn, _critical(n, alpha, exceeding))


def minimum_detectable_effect(
    n: int, *, churn: float = 0.0, alpha: float = 0.05, power: float = 0.8, exceeding: float = 0.0
) -> float | None:
    """The smallest drop of a pass rate that the exact one-sided McNemar test sees with the given power.

    Args:
        n: Pairs, >= 0.
        churn: Share of pairs that change either way when nothing is different, 0 to 1.
        alpha: Level of the test.
        power: How often the drop should be seen, between 0 and 1.
        exceeding: A gate's `max_regression`: the drop that is seen must also be greater than this.

    Returns:
        The drop as a share of cases; `None` when no drop is seen that often, as with fewer than 5 pairs.

    Raises:
        ValueError: a number is out of its range.
    """
    _check_design(n, churn, alpha, exceeding)
    check_share('power', power)
    return _smallest(n, churn, alpha, power, exceeding)


# A run asks for the same again and again: for its cases, its gates, its reports.
@lru_cache(maxsize=256)
def _smallest(n: int, churn: float, alpha: float, power: float, exceeding: float) -> float | None:
    critical = _critical(n, alpha, exceeding)
    if _power(n, 1.0, churn, critical) < power:
        return None
    low, high = 0.0, 1.0
    while high - low > _PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if _power(n, middle, churn, critical) >= power else (middle, high)
    return high


@lru_cache(maxsize=32)
def _critical(n: int, alpha: float, exceeding: float) -> tuple[int, ...]:
    return tuple(_thresholds(n, alpha, exceeding))


def _thresholds(n: int, alpha: float, exceeding: float) -> Iterator[int]:
    """For 0, 1, ... n pairs that changed: the fewest harmful ones among them that are seen as a drop."""
    needed, tail = 1, 0.0  # P(at least `needed` harmful of `changed`), harm and help equally likely
    for changed in range(n + 1):
        if changed:
            tail += binomial_mass(needed - 1, changed - 1, 0.5) / 2
        while tail > alpha:
            tail -= binomial_mass(needed, changed, 0.5)
            needed += 1
        # Rounded, since 0.1 * 30 is no whole number of cases.
        yield max(needed, math.floor(round((changed + n * exceeding) / 2, 9)) + 1)


def _power(n: int, effect: float, churn: float, critical: Sequence[int]) -> float:
    """Probability of at least `critical[m]` harmful of `m` changed pairs, over all `m`.

    Both thresholds grow by at most one from `m` to `m + 1`, so each tail follows from the one before it.
    """
    changing = max(churn, effect)
    if not changing:
        return 0.0
    harm = (changing + effect) / (2 * changing)
    power, tail, needed = 0.0, 0.0, critical[0]
    most = n * changing + _FAR * (1 + math.sqrt(n * changing * (1 - changing)))
    for changed in range(min(n, math.ceil(most)) + 1):
        if changed:
            tail += harm * binomial_mass(needed - 1, changed - 1, harm)
        while needed < critical[changed]:
            tail -= binomial_mass(needed, changed, harm)
            needed += 1
        power += tail * binomial_mass(changed, n, changing)
    return min(max(power, 0.0), 1.0)


def _check_design(n: int, churn: float, alpha: float, exceeding: float) -> None:
    check_count('n', n)
    check_share('alpha', alpha)
    for name, value in (('churn', churn), ('exceeding', exceeding)):
        if not 0 <= value <= 1:
            raise ValueError(f'`{name}` must be between 0 and 1; got {value!r}')
