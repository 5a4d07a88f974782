"""The report for people at a terminal: what failed and why, every number with its denominator, the verdict last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from advisor_harness.evals.reports.summary import SuiteSummary, Summary, summarise
from advisor_harness.evals.reports.words import (
    answers,
    clip,
    counted,
    gate_table,
    plural,
    share_met,
    visible,
    worth_showing,
)
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import Flip, GateResult, Precondition, RunVerdict

__all__ = ['MOST_GATES', 'MOST_ROWS', 'Report', 'render']

MOST_ROWS = 50
"""Most rows of one suite without `verbose`: a suite that fails everywhere is read in `report.md`."""

MOST_GATES = 20
"""Most gates of one suite without `verbose`."""

_LONGEST_TEXT = 4000
_LONGEST_REASONS = 300
_STYLES = {
    'pass': 'green',
    'ok': 'green',
    'fail': 'red',
    'failed': 'red',
    'error': 'red',
    'blocked': 'red',
    'info': 'dim',
}
_MARKS = {'pass': ('✓', '+'), 'ok': ('✓', '+'), 'info': ('·', '-'), 'warn': ('!', '!')}
_FAILED = ('✗', 'x')


def render(verdict: RunVerdict, store: RunStore, *, verbose: bool = False, quiet: bool = False) -> RenderableType:
    """The report as something that rich prints.

    Args:
        verdict: What was judged; the RESULT line and the exit code come from this one object.
        store: The records it was judged on.
        verbose: Show every row, not only those that need a look.
        quiet: Show the RESULT line only.
    """
    return Report(summary=summarise(verdict, store), verbose=verbose, quiet=quiet)


@dataclass(frozen=True, kw_only=True)
class Report:
    """Prints itself as wide as the console is, with marks that its encoding can show."""

    summary: Summary
    verbose: bool = False
    quiet: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report from top to bottom."""
        pen = _Pen(options.encoding, ascii_only=options.ascii_only)
        if not self.quiet:
            for suite in self.summary.suites:
                yield from _suite(pen, suite, verbose=self.verbose)
                yield Text()
            yield from _totals(pen, self.summary)
        yield _result(pen, self.summary)


class _Pen:
    """Writes text that the console can show: no control characters, nothing outside its encoding."""

    def __init__(self, encoding: str, *, ascii_only: bool) -> None:
        self._encoding = encoding
        self._ascii_only = ascii_only
        self.arrow = '->' if ascii_only else '→'

    def mark(self, word: str) -> str:
        return _MARKS.get(word, _FAILED)[self._ascii_only]

    def safe(self, text: str) -> str:
        return visible(text).encode(self._encoding, 'backslashreplace').decode(self._encoding)

    def line(self, *parts: str | tuple[str, str]) -> Text:
        styled = [(part, '') if isinstance(part, str) else part for part in parts]
        return Text.assemble(*((self.safe(text), style) for text, style in styled))

    def block(self, text: str, *, indent: int) -> Iterable[Text]:
        for line in clip(text, _LONGEST_TEXT).splitlines():
            yield self.line(' ' * indent + line)


def _suite(pen: _Pen, suite: SuiteSummary, *, verbose: bool) -> Iterable[RenderableType]:
    verdict = suite.verdict
    regime = 'replay (deterministic)' if verdict.regime == 'replay' else 'sampled'
    yield pen.line(
        (pen.mark(verdict.verdict), _style(verdict.verdict)),
        (f' {suite.name}', 'bold'),
        f'   {regime}   {counted(suite)}',
    )
    if verdict.preconditions:
        yield pen.line('  preconditions', *(part for met in verdict.preconditions for part in _precondition(pen, met)))
    for condition in verdict.preconditions:
        if not condition.ok and condition.detail:
            # The rest of it stands with the case, further down.
            yield from pen.block(f'{condition.name}: {condition.detail.splitlines()[0]}', indent=4)
    shown = verdict.gates if verbose else worth_showing(verdict.gates, MOST_GATES)
    if shown:
        yield _gates(pen, shown)
    if len(shown) < len(verdict.gates):
        yield pen.line(f'     {len(shown)} of {len(verdict.gates)} gates are shown, none that passed: -v shows all')
    yield from _flips(pen, verdict.flips)
    yield from _rows(pen, suite, verbose=verbose)


def _precondition(pen: _Pen, condition: Precondition) -> Iterable[str | tuple[str, str]]:
    word = 'pass' if condition.ok else 'fail'
    share = share_met(condition)
    yield f'   {condition.name} {share} '
    yield (pen.mark(word), _style(word))


def _gates(pen: _Pen, gates: Sequence[GateResult]) -> Table:
    headings, rows = gate_table(gates)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style='dim')
    for heading in ('', *headings):
        table.add_column(heading, overflow='fold')
    for gate, cells in zip(gates, rows, strict=True):
        style = _style(gate.verdict)
        marked = (
            pen.line((cell, style if heading == 'verdict' else ''))
            for heading, cell in zip(headings, cells, strict=True)
        )
        table.add_row(pen.line((f'  {pen.mark(gate.verdict)}', style)), *marked)
    return table


def _flips(pen: _Pen, flips: Sequence[Flip]) -> Iterable[Text]:
    if flips:
        yield pen.line(f'  changed against the baseline ({len(flips)})')
    for flip in flips:
        why = f'   {flip.why}' if flip.why else ''
        yield pen.line(f'    {flip.case} [{flip.arm}]   {flip.from_} {pen.arrow} {flip.to}{why}')


def _rows(pen: _Pen, suite: SuiteSummary, *, verbose: bool) -> Iterable[Text]:
    to_look_at = suite.not_fine
    if to_look_at:
        yield pen.line(f'  cases to look at: {len(to_look_at)} of {len(suite.rows)}')
    for row in to_look_at if verbose else to_look_at[:MOST_ROWS]:
        mark = 'warn' if row.state == 'ok' else row.state
        yield pen.line('    ', (f'{pen.mark(mark)} {row.state}', _style(mark)), f'   {row.label}')
        for why in row.why:
            yield from pen.block(why, indent=8)
    if not verbose and len(to_look_at) > MOST_ROWS:
        yield pen.line(f'    and {len(to_look_at) - MOST_ROWS} more: -v shows all')
    for row in suite.set_aside:
        yield pen.line(f'  set aside: {row.label}, {row.state}: {row.quarantined}')
    if verbose:
        for row in (row for row in suite.rows if row.fine and row.quarantined is None):
            yield pen.line('    ', (f'{pen.mark(row.state)} {row.state}', _style(row.state)), f'   {row.label}')


def _totals(pen: _Pen, summary: Summary) -> Iterable[Text]:
    yield pen.line(f'rests on      {answers(summary)}')
    yield pen.line(f'total         {counted(summary)} in {plural(len(summary.suites), "suite")}')


def _result(pen: _Pen, summary: Summary) -> Text:
    run = summary.verdict
    reasons = clip('; '.join(summary.reasons), _LONGEST_REASONS)
    return pen.line(
        'RESULT        ',
        (str(run.verdict).upper(), f'bold {_style(run.verdict)}'),
        f'   exit {run.verdict.exit_code}   run {run.run_id}',
        f'   {reasons}' if reasons else '',
    )


def _style(word: str) -> str:
    return _STYLES.get(word, 'yellow')
