"""What becomes of a run whose advisor fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from advisor_harness.evals.measure import Unit
from advisor_harness.evals.metrics.measurement import Measurement
from advisor_harness.evals.metrics.names import ADVISOR_ENDED_RUN, ADVISOR_ERROR, ADVISOR_FAILURES
from advisor_harness.evals.metrics.pairs import PASSING, fact, grade, labels, scored, share, units_in

__all__ = ['error_propagation', 'retry_recovery']


def retry_recovery(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """`#(runs with an advisor failure that still pass) / #(runs with an advisor failure)`; Clopper-Pearson interval.

    Failures are those of `AdvisorFailures`: errors, timeouts, refusals and answers in the wrong format, all attempts
    counted, whatever came after them.
    """
    chosen = units_in(units, arm)
    grades = grade(units, of)
    # A case that consulted nobody has no failures to tell of.
    known = [unit for unit in chosen if grades(unit) is not None and _told(unit)]
    failed = [unit for unit in known if (fact(unit, ADVISOR_FAILURES) or 0) > 0]
    passed = sum((grades(unit) or 0) >= PASSING for unit in failed)
    missing = labels(unit for unit in chosen if unit not in known)
    return share(passed, len(failed), n_scored=len(known), of_what='runs with a failed consultation', missing=missing)


def error_propagation(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """`#(failed consultations that end the run) / #(failed consultations)`, by class; Clopper-Pearson interval.

    The detail has the counts by class, the class of a run's failures being that of its last one. Whether ending is
    right depends on the class (a usage limit must end a run), so gate it per tag, or let the cases say what they
    expect (`ExpectedError`).
    """
    chosen = units_in(units, arm)
    known = [unit for unit in chosen if fact(unit, ADVISOR_FAILURES) is not None]
    errors, ended = Counter[str](), Counter[str]()
    for record in (record for unit in known for record in unit.known):
        said = {name: score.value for name, score in record.scores.items()}
        count, kind = said.get(ADVISOR_FAILURES), str(said.get(ADVISOR_ERROR))
        if isinstance(count, int | float) and count:
            errors[kind] += int(count)
            ended[kind] += int(said.get(ADVISOR_ENDED_RUN) == 1)
    by_class = ', '.join(f'{kind} {ended[kind]} of {count}' for kind, count in sorted(errors.items()))
    what = f'failed consultations end the run: {by_class}' if by_class else 'failed consultation'
    missing = labels(unit for unit in chosen if not _told(unit))
    return share(ended.total(), errors.total(), n_scored=len(known), of_what=what, missing=missing)


def _told(unit: Unit) -> bool:
    """Whether it is known how many consultations failed."""
    return fact(unit, ADVISOR_FAILURES) is not None or scored(unit)
