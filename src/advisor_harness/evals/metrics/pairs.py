"""Cases in two arms, side by side: everything here is compared within a case, never between two different ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from advisor_harness.evals.measure import Unit, mean_of
from advisor_harness.evals.meta import MetricKind

__all__ = ['PASSING', 'Pair', 'fact', 'grade', 'pairs_of', 'units_in']

PASSING = 0.5
"""A grade of at least this is a pass: for a yes-or-no grade, as many repeats that passed as failed, or more."""


@dataclass(frozen=True)
class Pair:
    """One case in the arm that is measured and in the arm that it is compared with."""

    ours: Unit
    other: Unit
    q: float | None
    """Grade in the measured arm; `None` when it is not known."""
    q_other: float | None
    """Grade in the other arm."""

    @property
    def known(self) -> bool:
        """Whether both grades are."""
        return self.q is not None and self.q_other is not None

    @property
    def passed(self) -> bool:
        """Whether the case passed in the measured arm."""
        return self.q is not None and self.q >= PASSING

    @property
    def passed_other(self) -> bool:
        """Whether the case passed in the other arm."""
        return self.q_other is not None and self.q_other >= PASSING

    @property
    def gain(self) -> float:
        """How much better the measured arm is; only for pairs that are known."""
        assert self.q is not None
        assert self.q_other is not None
        return self.q - self.q_other


def units_in(units: Iterable[Unit], arm: str) -> list[Unit]:
    """The cases of one arm."""
    return [unit for unit in units if unit.arm == arm]


def pairs_of(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> list[Pair]:
    """The cases that ran in both arms, in the order of the units; a case of one arm only has nothing to compare."""
    others = {unit.case: unit for unit in units_in(units, against)}
    measured = [unit for unit in units_in(units, arm) if unit.case in others]
    grades = grade(units, of)
    return [Pair(unit, others[unit.case], grades(unit), grades(others[unit.case])) for unit in measured]


def grade(units: Sequence[Unit], of: str | None) -> Callable[[Unit], float | None]:
    """What grades a case: the value of a scorer, or 1 for a case that passed and 0 for one that did not.

    A task that crashed has no grade where the scorer gives numbers, and the grade 0 where it says yes or no.
    """
    if of is None:
        return _passed
    kind = _kind(of, units)
    return lambda unit: mean_of(of, kind, [unit]).value


def fact(unit: Unit, name: str) -> float | None:
    """What a scorer says of a case, its repeats averaged; `None` when it says nothing."""
    return mean_of(name, 'score', [unit]).value


def _passed(unit: Unit) -> float | None:
    return None if unit.passed is None else float(unit.passed)


def _kind(name: str, units: Iterable[Unit]) -> MetricKind:
    for unit in units:
        for record in unit.known:
            if name in record.scores and (value := record.scores[name].value) is not None:
                return 'assertion' if isinstance(value, bool) else 'score'
    return 'assertion'
