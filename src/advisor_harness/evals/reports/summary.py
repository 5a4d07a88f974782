"""What every report shows, computed once: the rows of a run, why they are not fine, and what the verdict rests on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from advisor_harness.evals.measure import Unit
from advisor_harness.evals.records import CaseKey, CaseRecord, State
from advisor_harness.evals.reports.words import clip, number, plural, share_met
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import Precondition, RunVerdict, SuiteVerdict, Verdict

__all__ = ['ANSWERED_BY', 'NOT_RUN', 'CaseRow', 'SuiteSummary', 'Summary', 'summarise']

ANSWERED_BY = ('provider', 'local model', 'emulator', 'unknown')
"""Who may have answered a recording, most convincing first."""

NOT_RUN = 'the run ended before this case did'
"""What is wrong with a case that left no record."""

_LONGEST_OUTPUT = 300
_WORST_FIRST: tuple[State, ...] = ('error', 'cancelled', 'unscored', 'failed', 'ok')

_DECIDING = {Verdict.PASS: (), Verdict.BLOCKED: ('fail', 'missing'), Verdict.INCONCLUSIVE: ('missing',)}


@dataclass(frozen=True, kw_only=True)
class CaseRow:
    """One case of one arm, with all its repeats."""

    suite: str
    case: str
    arm: str
    records: tuple[CaseRecord, ...]
    """In order of `repeat`."""
    missing: tuple[int, ...] = ()
    """The repeats that the run owes and left no record of."""
    quarantined: str | None = None
    """Why the policy sets the case aside, so that it counts nowhere; `None` when it does not."""

    @property
    def label(self) -> str:
        """Name of the row within its suite."""
        return f'{self.case} [{self.arm}]'

    @cached_property
    def state(self) -> State:
        """The worst state of the repeats; one that left no record was cut off."""
        states = {record.state for record in self.records} | ({'cancelled'} if self.missing else set[State]())
        return next(state for state in _WORST_FIRST if state in states)

    @property
    def unit(self) -> Unit:
        """The row as measurements take it."""
        tags = self.records[0].tags if self.records else ()
        return Unit(case=self.case, arm=self.arm, tags=tags, records=(*self.records, *(None for _ in self.missing)))

    @property
    def fine(self) -> bool:
        """Whether there is nothing to tell: every repeat is `ok`, fully traced and used its recording exactly."""
        return self.state == 'ok' and not self.why

    @cached_property
    def why(self) -> tuple[str, ...]:
        """What is wrong, one text for each fault; texts of a recording that does not match have several lines."""
        faults = {record.repeat: tuple(_faults(record)) for record in self.records}
        faults |= dict.fromkeys(self.missing, (NOT_RUN,))
        if len(faults) == 1:
            return next(iter(faults.values()))
        return tuple(f'repeat {repeat}: {fault}' for repeat in sorted(faults) for fault in faults[repeat])


@dataclass(frozen=True, kw_only=True)
class SuiteSummary:
    """The rows of one suite beside its verdict."""

    verdict: SuiteVerdict
    rows: tuple[CaseRow, ...]
    """In order of case and arm."""
    answered_by: Mapping[str, int]
    """Number of recordings by who answered them, the kinds of `ANSWERED_BY` first."""
    without_cassette: int
    """Number of records that used no recording."""

    @property
    def name(self) -> str:
        """Name of the suite."""
        return self.verdict.suite

    @property
    def states(self) -> Mapping[State, int]:
        """Number of rows by state, worst first; those set aside are left out."""
        counted = Counter(row.state for row in self.rows if row.quarantined is None)
        return {state: counted[state] for state in _WORST_FIRST if counted[state]}

    @cached_property
    def not_fine(self) -> tuple[CaseRow, ...]:
        """The rows that need a look."""
        return tuple(row for row in self.rows if row.quarantined is None and not row.fine)

    def tells(self, condition: Precondition) -> bool:
        """Whether what fails a precondition is a case that needs a look, so that it is told there."""
        return any((condition.detail or '').startswith(f'{row.label}: ') for row in self.not_fine[:50])

    @property
    def set_aside(self) -> tuple[CaseRow, ...]:
        """The rows that the policy quarantines."""
        return tuple(row for row in self.rows if row.quarantined is not None)

    @property
    def units(self) -> tuple[Unit, ...]:
        """The rows that count, as measurements take them."""
        return tuple(row.unit for row in self.rows if row.quarantined is None)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A run as reports show it."""

    verdict: RunVerdict
    suites: tuple[SuiteSummary, ...]
    mode: str = 'replay'
    """Where the answers came from, as in `RunMeta.mode`."""

    @cached_property
    def rows(self) -> tuple[CaseRow, ...]:
        """The rows of all suites."""
        return tuple(row for suite in self.suites for row in suite.rows)

    @property
    def set_aside(self) -> tuple[CaseRow, ...]:
        """The rows of all suites that their policies quarantine."""
        return tuple(row for suite in self.suites for row in suite.set_aside)

    @property
    def states(self) -> Mapping[State, int]:
        """Number of rows by state over all suites, worst first; those set aside are left out."""
        counted = Counter[State]()
        for suite in self.suites:
            counted.update(suite.states)
        return {state: counted[state] for state in _WORST_FIRST if counted[state]}

    @property
    def answered_by(self) -> Mapping[str, int]:
        """Number of recordings of all suites by who answered them."""
        counted = Counter[str]()
        for suite in self.suites:
            counted.update(suite.answered_by)
        return _kinds_in_order(counted)

    @property
    def carried(self) -> int:
        """Number of records that an earlier run left, so that this one did not run the case."""
        return sum(record.carried_from is not None for row in self.rows for record in row.records)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What decides the verdict, one text for each failed precondition or gate of the suites that have the worst."""
        if not self.suites:
            return ('no suite was judged',)
        worst = [suite.verdict for suite in self.suites if suite.verdict.verdict is self.verdict.verdict]
        return tuple(reason for suite in worst for reason in _reasons(suite))


def summarise(verdict: RunVerdict, store: RunStore) -> Summary:
    """Bring the records of a run and its verdict together, in an order that no two runs disagree on."""
    records = store.records()
    owed = {key for suite in store.meta.suites for key in suite.expected()}
    keys: dict[str, list[CaseKey]] = {suite.suite: [] for suite in verdict.suites}
    for key in sorted(owed | records.keys()):
        if key.suite in keys:
            keys[key.suite].append(key)
    return Summary(
        verdict=verdict,
        suites=tuple(_summarise_suite(suite, keys[suite.suite], records) for suite in verdict.suites),
        mode=store.meta.mode,
    )


def _summarise_suite(
    verdict: SuiteVerdict, keys: Sequence[CaseKey], records: Mapping[CaseKey, CaseRecord]
) -> SuiteSummary:
    there = [records[key] for key in keys if key in records]
    files = {record.cassette.file: record.cassette.recorded_with for record in there if record.cassette}
    rows = groupby(keys, key=lambda key: (key.case, key.arm))
    return SuiteSummary(
        verdict=verdict,
        rows=tuple(_row(verdict, case, arm, list(repeats), records) for (case, arm), repeats in rows),
        answered_by=_kinds_in_order(Counter(files.values())),
        without_cassette=sum(record.cassette is None for record in there),
    )


def _row(
    verdict: SuiteVerdict, case: str, arm: str, keys: Sequence[CaseKey], records: Mapping[CaseKey, CaseRecord]
) -> CaseRow:
    return CaseRow(
        suite=verdict.suite,
        case=case,
        arm=arm,
        records=tuple(records[key] for key in keys if key in records),
        missing=tuple(key.repeat for key in keys if key not in records),
        quarantined=verdict.quarantined.get(case),
    )


def _kinds_in_order(counted: Mapping[str, int]) -> dict[str, int]:
    others = sorted(set(counted) - set(ANSWERED_BY))
    return {kind: counted.get(kind, 0) for kind in (*ANSWERED_BY, *others)}


def _faults(record: CaseRecord) -> Iterable[str]:
    if record.error is not None:
        yield f'{record.error.type} in the {record.error.where}: {record.error.message}'
    for name, score in record.scores.items():
        if score.value is False:
            yield f'{name}: {score.reason or f"false for the output {_shown(record.output)}"}'
        elif score.value is None:
            yield f'{name}: nothing to measure' + (f', {score.reason}' if score.reason else '')
    if (used := record.cassette) is not None and record.error is None:
        if used.misses:
            yield f'not in {used.file}: {plural(used.misses, "request")}'
        if used.unused:
            yield f'not asked for: {used.unused} of {used.hits + used.unused} recorded answers in {used.file}'
    if not record.trace_complete and record.error is None:
        yield 'the trace is not complete' + (f': {record.trace_problem}' if record.trace_problem else '')


def _reasons(suite: SuiteVerdict) -> Iterable[str]:
    unmet = [condition for condition in suite.preconditions if not condition.ok]
    deciding = _DECIDING[suite.verdict]
    gates = [gate for gate in suite.gates if gate.verdict in deciding and gate.severity == 'block']
    if suite.verdict is Verdict.INCONCLUSIVE and unmet:
        shares = ', '.join(f'{condition.name} {share_met(condition)}' for condition in unmet)
        yield f'{suite.suite}: {"precondition" if len(unmet) == 1 else "preconditions"} {shares}'
        return  # gates without value follow from them
    yield from (f'{suite.suite}: {gate.metric} {number(gate.value)} (limit {gate.limit})' for gate in gates)


def _shown(output: object) -> str:
    return clip(json.dumps(output, ensure_ascii=False), _LONGEST_OUTPUT)
