"""The report for programs: JSON Lines on stdout, one object a line, the verdict last."""

from __future__ import annotations

import json
import math
from typing import Any, cast

from advisor_harness.evals.verdict import RunVerdict

__all__ = ['finite', 'line', 'render']


def render(verdict: RunVerdict) -> str:
    """The content of `verdict.json` on one line."""
    return line(verdict.to_json())


def line(data: Any) -> str:
    """One JSON value on one line of ASCII, without the line break.

    JSON has no NaN and no infinities; they become `null`, so that every line can be read by every parser.
    """
    return json.dumps(finite(data), allow_nan=False)


def finite(data: Any) -> Any:
    """`data` with `null` for NaN and the infinities, which JSON does not have."""
    if isinstance(data, float) and not math.isfinite(data):
        return None
    if isinstance(data, dict):
        return {key: finite(value) for key, value in cast('dict[Any, Any]', data).items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in cast('list[Any]', data)]
    return data
