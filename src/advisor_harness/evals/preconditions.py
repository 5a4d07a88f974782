"""What must hold before any number of a suite means anything: recordings, traces and scores, case by case.

A crashed task is a failed case and no fault of the harness: what it left unasked in its recording and unfinished in its
trace is explained by the crash, and its assertions count as false.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from advisor_harness.evals.measure import Unit, task_crashed
from advisor_harness.evals.meta import SuiteMeta
from advisor_harness.evals.records import CaseRecord
from advisor_harness.evals.rules import Preconditions
from advisor_harness.evals.verdict import Precondition

__all__ = ['preconditions']

# Says what is wrong with a record, or `None`.
_Check = Callable[[CaseRecord], str | None]


def preconditions(suite: SuiteMeta, units: Sequence[Unit], least: Preconditions) -> tuple[Precondition, ...]:
    """`cassettes`, `traces` and `scored` of one suite, each as a share of its cases.

    One cause often fails several of them: what is missing in a recording leaves a case without score, and what ended
    early a trace without end. It is told where it began; the others count it and refer to that.
    """
    told = dict[str, str]()
    if suite.cassettes is None:
        cassettes = Precondition(
            name='cassettes', value=1.0, expected=least.cassettes, ok=True, detail='the suite has no recordings'
        )
    else:
        cassettes = _precondition('cassettes', least.cassettes, units, _cassette_fault, told)
    scored = _precondition('scored', least.scored, units, _score_fault, told)
    traces = _precondition('traces', least.traces, units, _trace_fault, told)
    return cassettes, traces, scored


def _precondition(name: str, least: float, units: Sequence[Unit], check: _Check, told: dict[str, str]) -> Precondition:
    faults = {unit.label: fault for unit in units if (fault := _fault(unit, check)) is not None}
    met = len(units) - len(faults)
    value = met / len(units) if units else 0.0
    detail = _told(faults, told) if units else 'no case was selected'
    told.update({label: name for label in faults if label not in told})
    return Precondition(
        name=name,
        value=value,
        expected=least,
        ok=bool(units) and value >= least,
        detail=detail,
        n_met=met,
        n_expected=len(units),
    )


def _told(faults: Mapping[str, str], told: Mapping[str, str]) -> str | None:
    """The first fault that no precondition before has told; else where it was told."""
    for label, fault in faults.items():
        if label not in told:
            return f'{label}: {fault}'
    where = list(dict.fromkeys(told[label] for label in faults))
    return f'the same {"case" if len(faults) == 1 else "cases"} as under {" and ".join(where)}' if faults else None


def _fault(unit: Unit, check: _Check) -> str | None:
    for record in unit.records:
        if record is None:
            return 'the run left no record of it'
        if (fault := check(record)) is not None:
            return fault
    return None


def _cassette_fault(record: CaseRecord) -> str | None:
    if record.error is not None and record.error.where == 'cassette':
        return record.error.message
    used = record.cassette
    if used is None:
        return 'it ran without its recording'
    if used.misses:
        return f'{used.misses} requests are not in {used.file}'
    if used.unused and not task_crashed(record):
        return f'{used.unused} of {used.hits + used.unused} recorded answers of {used.file} were not asked for'
    return None


def _trace_fault(record: CaseRecord) -> str | None:
    if record.trace_complete or task_crashed(record):
        return None
    return record.trace_problem or 'its trace is not complete'


def _score_fault(record: CaseRecord) -> str | None:
    if record.state == 'cancelled':
        return 'it was cancelled'
    if record.state == 'unscored':
        return 'nothing scored it'
    if record.error is not None and record.error.where != 'task':
        return f'{record.error.type} in the {record.error.where}: {record.error.message}'
    return None
