"""Aggregates that keep their denominator: the mean of a metric, and how many of the cases it was measured on.

What is counted is a case in an arm; its repeats are averaged first, so that they never pose as independent cases.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from advisor_harness.evals.errors import PolicyError
from advisor_harness.evals.meta import MetricKind, SuiteMeta
from advisor_harness.evals.records import CaseKey, CaseRecord

__all__ = [
    'Measured',
    'Unit',
    'UnitState',
    'kind_of',
    'mean_of',
    'names_measured',
    'pass_rate',
    'task_crashed',
    'units_of',
    'value_of',
]

UnitState = Literal['pass', 'fail', 'error', 'missing']
"""How a case in an arm ended; `error` is a crash of the task, `missing` that nothing is known of it."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A case in an arm: what is counted."""

    case: str
    arm: str
    tags: tuple[str, ...]
    records: tuple[CaseRecord | None, ...]
    """One per repeat; `None` where the run left no record."""

    @property
    def label(self) -> str:
        """How reports name it."""
        return f'{self.case} [{self.arm}]'

    @cached_property
    def known(self) -> tuple[CaseRecord, ...]:
        """The records that are there."""
        return tuple(record for record in self.records if record is not None)

    @cached_property
    def passed(self) -> bool | None:
        """Whether every repeat is `ok`; `None` where the harness, not the case, is at fault or there is no record."""
        states = {record.state for record in self.known}
        if len(self.known) < len(self.records) or states & {'cancelled', 'unscored'}:
            return None
        if any(record.state == 'error' and not task_crashed(record) for record in self.known):
            return None
        return states == {'ok'}

    @property
    def state(self) -> UnitState:
        """How it ended."""
        if self.passed is None:
            return 'missing'
        if any(task_crashed(record) for record in self.known):
            return 'error'
        return 'pass' if self.passed else 'fail'


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A metric over the cases that a gate selects."""

    value: float | None
    """Mean over the cases that have it; `None` when none has."""
    n_scored: int
    n_expected: int
    missing: tuple[str, ...] = ()
    """Labels of the cases without it."""


def units_of(suite: SuiteMeta, records: Mapping[CaseKey, CaseRecord]) -> tuple[Unit, ...]:
    """Every case and arm that a run owes, with the records it left."""
    grouped: dict[tuple[str, str], list[CaseRecord | None]] = {}
    for key in suite.expected():
        grouped.setdefault((key.case, key.arm), []).append(records.get(key))
    return tuple(
        Unit(case=case, arm=arm, tags=suite.cases.get(case, ()), records=tuple(repeats))
        for (case, arm), repeats in grouped.items()
    )


def task_crashed(record: CaseRecord) -> bool:
    """Whether the task itself failed, which is a failed case and no fault of the harness."""
    return record.state == 'error' and record.error is not None and record.error.where == 'task'


def names_measured(units: Iterable[Unit]) -> set[str]:
    """Names of all metrics that any record has."""
    return {name for unit in units for record in unit.known for name in record.scores}


def kind_of(metric: str, suite: SuiteMeta, units: Iterable[Unit]) -> MetricKind:
    """Whether a metric is an assertion or a score.

    The records tell; where every case crashed, the scorer's own promise does, and without one the metric counts as an
    assertion: a crash must not look like a gap in the measurement.
    """
    for unit in units:
        for record in unit.known:
            if metric in record.scores and (value := record.scores[metric].value) is not None:
                return 'assertion' if isinstance(value, bool) else 'score'
    return suite.metrics.get(metric) or 'assertion'


def mean_of(metric: str, kind: MetricKind, units: Sequence[Unit]) -> Measured:
    """The mean of a metric over `units`.

    Raises:
        PolicyError: the metric is a label, which has no mean.
    """
    values: list[float] = []
    missing: list[str] = []
    for unit in units:
        value = value_of(unit, metric, kind)
        if value is None:
            missing.append(unit.label)
        else:
            values.append(value)
    return Measured(
        value=math.fsum(values) / len(values) if values else None,
        n_scored=len(values),
        n_expected=len(units),
        missing=tuple(missing),
    )


def value_of(unit: Unit, metric: str, kind: MetricKind) -> float | None:
    """The mean of a metric over the repeats of a case; `None` when a repeat does not have it.

    Raises:
        PolicyError: the metric is a label, which has no mean.
    """
    found = [_value(record, metric, kind) for record in unit.records]
    scored = [value for value in found if value is not None]
    return math.fsum(scored) / len(scored) if found and len(scored) == len(found) else None


def pass_rate(units: Sequence[Unit]) -> Measured:
    """The share of `units` that passed."""
    passed = [unit.passed for unit in units if unit.passed is not None]
    return Measured(
        value=sum(passed) / len(passed) if passed else None,
        n_scored=len(passed),
        n_expected=len(units),
        missing=tuple(unit.label for unit in units if unit.passed is None),
    )


def _value(record: CaseRecord | None, metric: str, kind: MetricKind) -> float | None:
    if record is None:
        return None
    if task_crashed(record):
        return 0.0 if kind == 'assertion' else None
    # Whatever was scored on a recording that does not match, or in a case that was cut off, measured something else.
    if record.state == 'cancelled' or (record.error is not None and record.error.where in ('cassette', 'harness')):
        return None
    value = record.scores[metric].value if metric in record.scores else None
    if isinstance(value, str):
        raise PolicyError(
            f'metric {metric!r} of suite {record.suite!r} is a label ({value!r}): only numbers can be gated'
        )
    return None if value is None else float(value)
