"""What the page shows: suites with their gates, arms and cases, and which cases it has room for in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from advisor_harness.evals.reports.arms import ArmFacts, Changes, arms_of, changes_of
from advisor_harness.evals.reports.html.plane import Plane, plane
from advisor_harness.evals.reports.movers import Mover, direction_of, flip_counts, movers_of
from advisor_harness.evals.reports.summary import CaseRow, SuiteSummary, Summary
from advisor_harness.evals.reports.words import (
    baseline_text,
    change,
    clip,
    detectable_texts,
    gate_change,
    interval_text,
    number,
    one_line,
    plural,
)
from advisor_harness.evals.verdict import Flip, GateResult

__all__ = ['MOST_OTHERS', 'ROOM_FOR_CASES', 'ROOM_FOR_OTHERS', 'CaseView', 'GateView', 'SuiteView', 'suite_views']

ROOM_FOR_CASES = 2_400_000
"""Characters for cases that are shown in full, over all suites."""

ROOM_FOR_OTHERS = 900_000
"""Of these, the characters that cases without fault may take."""

MOST_OTHERS = 60
"""Most cases without fault that are shown in full."""

_LONGEST_BRIEF = 240
_MOST_ROWS = 5_000
_MOST_MOVERS = 10
_MOST_FLIPS = 200


@dataclass(kw_only=True)
class CaseView:
    """One case in one arm."""

    id: str
    row: CaseRow
    brief: str
    """What is wrong in one line; empty when nothing is."""
    body: str | None = None
    """The case in full, as HTML; `None` where the page has no room for it."""


@dataclass(frozen=True, kw_only=True)
class GateView:
    """One gate in words."""

    gate: GateResult
    value: str
    change: str
    direction: str
    """`improved`, `regressed`, `changed`, or empty without a baseline."""
    interval: str
    p_value: str


@dataclass(kw_only=True)
class SuiteView:
    """One suite."""

    id: str
    summary: SuiteSummary
    gates: Sequence[GateView]
    movers: Sequence[Mover]
    flips: Sequence[Flip]
    more_flips: int
    flip_counts: tuple[int, int, int]
    arms: Sequence[ArmFacts]
    changes: Sequence[Changes]
    plane: Plane | None
    attention: list[CaseView]
    others: list[CaseView]
    more_rows: int
    left_out: list[str] = field(default_factory=list[str])
    """What the page has no room for, in sentences."""

    @property
    def bare(self) -> list[CaseView]:
        """Cases without fault that are listed only."""
        return [case for case in self.others if case.body is None]

    @property
    def detectable(self) -> tuple[str, ...]:
        """What a suite of this size cannot see, in sentences."""
        return detectable_texts(self.summary.verdict)

    @property
    def baseline(self) -> str:
        """What it was compared with; empty without a baseline."""
        return baseline_text(self.summary.verdict)

    @property
    def has(self) -> dict[str, bool]:
        """Which columns any gate fills."""
        return {
            'baseline': any(view.gate.baseline is not None for view in self.gates),
            'interval': any(view.interval or view.p_value for view in self.gates),
        }


def suite_views(summary: Summary, draw: Callable[[CaseView], str]) -> list[SuiteView]:
    """The suites of a run; `draw` makes the HTML of a case.

    Cases that need a look are drawn first, suite by suite, then others, until the room is used up.
    """
    views = [_suite(number, suite) for number, suite in enumerate(summary.suites, start=1)]
    room = ROOM_FOR_CASES
    for view in (case for suite in views for case in suite.attention):
        room = _drawn(view, draw, room)
    room = min(room, ROOM_FOR_OTHERS)
    for drawn, view in enumerate(_in_turn([suite.others for suite in views])):
        if drawn >= MOST_OTHERS:
            break
        room = _drawn(view, draw, room)
    for suite in views:
        suite.left_out = list(_left_out(suite, summary.verdict.run_id))
    return views


def _drawn(view: CaseView, draw: Callable[[CaseView], str], room: int) -> int:
    if room <= 0:
        return room
    body = draw(view)
    if len(body) > room:
        return 0
    view.body = body
    return room - len(body)


def _in_turn(lists: Sequence[Sequence[CaseView]]) -> Iterator[CaseView]:
    """One of each list, then the next of each: every suite gets a share of the room."""
    for place in range(max(map(len, lists), default=0)):
        yield from (views[place] for views in lists if place < len(views))


def _suite(place: int, suite: SuiteSummary) -> SuiteView:
    verdict, units = suite.verdict, suite.units
    arms = arms_of(units)
    to_look_at = set(map(id, suite.not_fine))
    cases = [_case(f's{place}c{number}', row) for number, row in enumerate(suite.rows, start=1)]
    others = [case for case in cases if id(case.row) not in to_look_at]
    others.sort(key=lambda case: case.row.quarantined is None)
    return SuiteView(
        id=f's{place}',
        summary=suite,
        gates=[_gate(gate) for gate in verdict.gates],
        movers=movers_of(verdict.gates)[:_MOST_MOVERS],
        flips=verdict.flips[:_MOST_FLIPS],
        more_flips=max(0, len(verdict.flips) - _MOST_FLIPS),
        flip_counts=flip_counts(verdict.flips),
        arms=arms,
        changes=changes_of(units),
        plane=plane(arms),
        attention=[case for case in cases if id(case.row) in to_look_at],
        others=others[:_MOST_ROWS],
        more_rows=max(0, len(others) - _MOST_ROWS),
    )


def _case(name: str, row: CaseRow) -> CaseView:
    brief = clip(one_line(row.why[0]), _LONGEST_BRIEF) if row.why else ''
    return CaseView(id=name, row=row, brief=brief)


def _gate(gate: GateResult) -> GateView:
    delta = gate_change(gate)
    return GateView(
        gate=gate,
        value=number(gate.value),
        change=change(delta),
        direction='' if delta is None else direction_of(gate, delta) if delta else 'unchanged',
        interval=interval_text(gate.interval),
        p_value='' if gate.p_value is None else number(gate.p_value),
    )


def _left_out(suite: SuiteView, run_id: str) -> Iterator[str]:
    faulty = sum(case.body is None for case in suite.attention)
    fine = sum(case.body is None for case in suite.others) + suite.more_rows
    if faulty:
        yield f'{plural(faulty, "case")} of {len(suite.attention)} to look at named without details.'
    if fine:
        yield f'{plural(fine, "other case")} listed without details.'
    if suite.more_rows:
        yield f'{plural(suite.more_rows, "case")} without fault not listed.'
    if faulty or fine:
        yield f'The run keeps all of it: advisor-harness trace {run_id} CASE, and cases.jsonl in its folder.'
