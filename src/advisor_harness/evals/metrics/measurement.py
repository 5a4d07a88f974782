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
    """Over the cases that are known; `None` where nothing can be said, and `detail` says why. Never 0 for that."""
    n_scored: int
    """Cases of which everything is known that the metric needs."""
    n_expected: int
    """Cases that the metric looks at."""
    interval: tuple[float, float] | None = None
    """95 % interval, where the metric has one; the metric's docstring names its kind."""
    detail: str | None = None
    """The counts behind the value, or why it is undefined."""
    missing: tuple[str, ...] = ()
    """Labels of the cases that should be known and are not."""


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

    number: int
    """Its row in `docs/metrics.md`; 0 for what serves any scorer."""
    definition: str
    """One sentence or formula."""
    unit: MetricUnit
    direction: Direction | None
    """Which way is better; `None` where neither is, or where more can be too much."""
    measure: Measure
