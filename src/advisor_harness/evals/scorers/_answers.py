"""When two answers say the same."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, cast

from advisor_harness.evals.scorers._reading import ABSENT

__all__ = ['listed', 'matches', 'same_answer']

_NUMBER = re.compile(r'[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?')


def same_answer(one: Any, other: Any) -> bool:
    """Whether two answers are equal: numbers by value, `1,200` and `1200.0` alike, texts without capitals, spaces and
    a full stop at the end, everything else as it is.
    """
    first, second = _number(one), _number(other)
    if first is not None and second is not None:
        return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(one, str) and isinstance(other, str):
        return _plain(one) == _plain(other)
    return type(one) is type(other) and one == other


def matches(answer: Any, accepted: Any) -> bool:
    """Whether an answer is the accepted one, or one of a list of them."""
    return any(same_answer(answer, each) for each in listed(accepted))


def listed(value: Any) -> Sequence[Any]:
    """A list as it is, nothing as an empty one, anything else as a list of one."""
    if value is ABSENT or value is None:
        return ()
    return cast('Sequence[Any]', value) if isinstance(value, list | tuple) else (value,)


def _number(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    text = value.strip().rstrip('.') if isinstance(value, str) else ''
    return float(text.replace(',', '')) if _NUMBER.fullmatch(text) else None


def _plain(text: str) -> str:
    return ' '.join(text.casefold().split()).rstrip('.').strip()
