"""Cases in two arms, side by side: everything is compared within a case, never between two different ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from advisor_harness.evals.measure import Unit, mean_of
from advisor_harness.evals.meta import MetricKind
from advisor_harness.evals.metrics.measurement import Measurement
from advisor_harness.evals.statistics import clopper_pearson

__all__ = ['PASSING', 'Pair', 'Sample', 'fact', 'grade', 'labels', 'mean', 'pairs_of', 'scored', 'share', 'units_in']

PASSING = 0.5
"""A grade of at least this is a pass: of repeats, as many that passed as failed, or more."""


@dataclass(frozen=True)
class Pair:
    """One case in the arm that is measured and in the arm that it is compared with, both with known grades."""

    ours: Unit
    other: Unit
    q: float
    """Grade in the measured arm."""
    q_other: float
    """Grade in the other arm."""

    @property
    def passed(self) -> bool:
        """Whether the case passed in the measured arm."""
        return self.q >= PASSING

    @property
    def passed_other(self) -> bool:
        """Whether the case passed in the other arm."""
        return self.q_other >= PASSING


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What a metric looks at: the cases of which all is known that it needs, and the labels of the others."""

    pairs: Sequence[Pair]
    missing: tuple[str, ...] = ()

    @property
    def n_expected(self) -> int:
        """Cases that should be known."""
        return len(self.pairs) + len(self.missing)

    def known(self, name: str) -> Sample:
        """Without the cases of which a scorer should say something in the measured arm, and does not."""
        lacking = [pair for pair in self.pairs if fact(pair.ours, name) is None]
        return Sample(
            pairs=[pair for pair in self.pairs if pair not in lacking],
            missing=(*self.missing, *(pair.ours.label for pair in lacking)),
        )

    def measured(
        self, value: float | None, detail: str | None = None, interval: tuple[float, float] | None = None
    ) -> Measurement:
        """A value with the counts of this sample."""
        return Measurement(
            value=value,
            n_scored=len(self.pairs),
            n_expected=self.n_expected,
            interval=interval,
            detail=detail,
            missing=self.missing,
        )

    def share(self, hits: int, total: int, of_what: str) -> Measurement:
        """`hits` of `total` with a Clopper-Pearson interval; undefined where there is nothing to count."""
        if not total:
            return self.measured(None, f'no {of_what}' if self.pairs else 'no pair of cases')
        return self.measured(hits / total, f'{hits} of {total} {of_what}', clopper_pearson(hits, total))


def units_in(units: Iterable[Unit], arm: str) -> list[Unit]:
    """The cases of one arm."""
    return [unit for unit in units if unit.arm == arm]


def labels(units: Iterable[Unit]) -> tuple[str, ...]:
    """How reports name cases."""
    return tuple(unit.label for unit in units)


def mean(values: Sequence[float]) -> float | None:
    """The mean, `None` of nothing."""
    return math.fsum(values) / len(values) if values else None


def pairs_of(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Sample:
    """The cases that ran in both arms, in the order of the units; a case of one arm only has nothing to compare."""
    others = {unit.case: unit for unit in units_in(units, against)}
    grades = grade(units, of)
    pairs: list[Pair] = []
    missing: list[str] = []
    for ours in units_in(units, arm):
        if (other := others.get(ours.case)) is None:
            continue
        q, q_other = grades(ours), grades(other)
        if q is not None and q_other is not None:
            pairs.append(Pair(ours, other, q, q_other))
        else:
            missing.append((ours if q is None else other).label)
    return Sample(pairs=pairs, missing=tuple(missing))


def grade(units: Sequence[Unit], of: str | None) -> Callable[[Unit], float | None]:
    """What grades a case: the value of a scorer, or 1 for a case that passed and 0 for one that did not.

    A task that crashed has no grade where the scorer gives numbers, and the grade 0 where it says yes or no.
    """
    if of is None:
        return lambda unit: None if unit.passed is None else float(unit.passed)
    kind = _kind(of, units)
    return lambda unit: mean_of(of, kind, [unit]).value


def fact(unit: Unit, name: str) -> float | None:
    """What a scorer says of a case, its repeats averaged; `None` when it does not say it of every repeat."""
    return mean_of(name, 'score', [unit]).value


def scored(unit: Unit) -> bool:
    """Whether the scorers ran on every repeat, so that one that says nothing found nothing to measure."""
    return all(record is not None and record.state in ('ok', 'failed', 'unscored') for record in unit.records)


def share(hits: int, total: int, *, n_scored: int, of_what: str, missing: tuple[str, ...] = ()) -> Measurement:
    """`hits` of `total` with a Clopper-Pearson interval, where what is counted are not pairs."""
    return Measurement(
        value=hits / total if total else None,
        n_scored=n_scored,
        n_expected=n_scored + len(missing),
        interval=clopper_pearson(hits, total) if total else None,
        detail=f'{hits} of {total} {of_what}' if total else f'no {of_what}',
        missing=missing,
    )


def _kind(name: str, units: Iterable[Unit]) -> MetricKind:
    for unit in units:
        for record in unit.known:
            if name in record.scores and (value := record.scores[name].value) is not None:
                return 'assertion' if isinstance(value, bool) else 'score'
    return 'assertion'
