"""What a metric over several cases says, and how it says that it has nothing to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from advisor_harness.evals.measure import Unit

__all__ = ['Direction', 'Measure', 'Measurement', 'Metric', 'MetricUnit']

MetricUnit = Literal['share', 'usd', 'seconds', 'score']
Direction = Literal['up', 'down']


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A metric over the cases that were looked at."""

    value: float | None
    """`None` where nothing can be said: a case is not measured (`missing`), or the metric is undefined (`detail`)."""
    n_scored: int
    """Cases of which everything is known that the metric needs."""
    n_expected: int
    """Cases that the metric is about."""
    interval: tuple[float, float] | None = None
    """95 % interval, where the metric has one; the docstring of the metric names its kind."""
    detail: str | None = None
    """The counts behind the value, or why it is undefined."""
    missing: tuple[str, ...] = ()
    """Labels of the cases that are not known."""


class Measure(Protocol):
    """Measures one metric."""

    def __call__(self, units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
        """Measure `units`, whatever their arms.

        Args:
            units: Cases in arms, with their records.
            of: The scorer whose value is a case's grade, 0 to 1; `None` takes whether the case passed.
            arm: The arm that is measured, usually `advised`.
            against: The arm that it is compared with, usually `solo`.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric over several cases, by its definition."""

    definition: str
    """One sentence."""
    unit: MetricUnit
    direction: Direction | None
    """Which way is better; `None` where neither is."""
    measure: Measure
    number: int | None = None
    """Its row in `docs/metrics.md`."""
