"""What every function of this room refuses: counts, shares and values that no test can be done on."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

__all__ = ['check_alpha', 'check_count', 'check_finite', 'check_share', 'differences_of']


def check_count(name: str, value: int) -> int:
    """`value` as Python's own whole number, which never overflows; refuses everything else and negative counts."""
    try:
        count = operator.index(value)
    except TypeError:
        count = -1
    if isinstance(value, bool) or count < 0:
        raise ValueError(f'`{name}` must be a whole number that is at least 0; got {value!r}')
    return count


def check_share(name: str, value: float) -> float:
    """Refuse what does not lie strictly between 0 and 1."""
    if not 0 < value < 1:
        raise ValueError(f'`{name}` must lie between 0 and 1, such as 0.95; got {value!r}')
    return value


def check_alpha(alpha: float) -> None:
    """Refuse a level that is no level of a one-sided test."""
    if not 0 < alpha < 0.5:
        raise ValueError(f'`alpha` must lie between 0 and 0.5, such as 0.05; got {alpha!r}')


def check_finite(values: Sequence[float]) -> None:
    """Refuse NaN and infinities: they would make every result one."""
    for value in values:
        if not math.isfinite(value):
            raise ValueError(f'every value must be a finite number; got {value!r}: leave the case out and say so')


def differences_of(before: Sequence[float], after: Sequence[float], *, least: int) -> list[float]:
    """`after - before` of each pair; refuses unequal lengths, too few pairs and values that are not finite."""
    if len(before) != len(after):
        raise ValueError(f'`before` and `after` must hold the same cases; got {len(before)} and {len(after)} values')
    if len(before) < least:
        raise ValueError(f'at least {least} {"pair is" if least == 1 else "pairs are"} needed; got {len(before)}')
    check_finite(before)
    check_finite(after)
    return [float(new) - float(old) for old, new in zip(before, after, strict=True)]
