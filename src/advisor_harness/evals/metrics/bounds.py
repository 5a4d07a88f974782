"""Ends of intervals as metrics, so that a gate can ask for what is likely and not for what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from advisor_harness.evals.measure import Unit
from advisor_harness.evals.metrics.measurement import Measure, Measurement

__all__ = ['lower_of', 'upper_of']


def lower_of(measure: Measure, name: str) -> Measure:
    """The lower end of a metric's 95 % interval."""
    return _end(measure, name, 0, 'Lower')


def upper_of(measure: Measure, name: str) -> Measure:
    """The upper end of a metric's 95 % interval."""
    return _end(measure, name, 1, 'Upper')


def _end(measure: Measure, name: str, end: int, word: str) -> Measure:
    def bound(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
        found = measure(units, of=of, arm=arm, against=against)
        if found.interval is None:
            why = found.detail if found.value is None else f'{name} has no interval over so few cases'
            return replace(found, value=None, detail=why)
        return replace(found, value=found.interval[end], detail=f'{name} is {found.value:.3f}: {found.detail}')

    bound.__doc__ = f'{word} end of the 95 % interval of `{name}`.'
    return bound
