"""The report for people at a terminal: what failed and why, every number with its denominator, the verdict last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from advisor_harness.evals.reports.arms import arms_of, changes_of
from advisor_harness.evals.reports.movers import flip_counts, movers_of
from advisor_harness.evals.reports.summary import SuiteSummary, Summary, summarise
from advisor_harness.evals.reports.words import (
    ARM_HEADINGS,
    AUTHORED,
    answers,
    arm_cells,
    baseline_text,
    change,
    changes_text,
    clip,
    counted,
    detectable_texts,
    gate_table,
    number,
    plural,
    regime_text,
    share_met,
    visible,
    worth_showing,
)
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import Flip, GateResult, Precondition, RunVerdict, SuiteVerdict, Verdict

__all__ = ['MOST_GATES', 'MOST_HARMLESS', 'MOST_ROWS', 'Report', 'render', 'render_summary']

MOST_ROWS = 50
"""Most rows of one suite without `verbose`: a suite that fails everywhere is read in `report.md`."""

MOST_HARMLESS = 10
"""Most rows without `verbose` of a suite whose gates all hold: what failed there blocks nothing."""

MOST_GATES = 20
"""Most gates of one suite without `verbose`."""

_LONGEST_TEXT = 4000
_LONGEST_REASONS = 300
_MOST_MOVERS = 5
_STYLES = {
    'pass': 'green',
    'ok': 'green',
    'fail': 'red',
    'failed': 'red',
    'error': 'red',
    'blocked': 'red',
    'info': 'dim',
    'improved': 'green',
    'regressed': 'red',
    'changed': '',
}
_MARKS = {'pass': ('✓', '+'), 'ok': ('✓', '+'), 'info': ('·', '-'), 'warn': ('!', '!')}
_FAILED = ('✗', 'x')


def render(verdict: RunVerdict, store: RunStore, *, verbose: bool = False, quiet: bool = False) -> RenderableType:
    """The report as something that rich prints: `render_summary` of the run's records."""
    return render_summary(summarise(verdict, store), verbose=verbose, quiet=quiet)


def render_summary(summary: Summary, *, verbose: bool = False, quiet: bool = False) -> RenderableType:
    """The report of a run that was summarised already.

    Args:
        summary: What was judged; the RESULT line and the exit code come from its one verdict.
        verbose: Show every row, not only those that need a look.
        quiet: Show the RESULT line only.
    """
    return Report(summary=summary, verbose=verbose, quiet=quiet)


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
                for part in _suite(pen, suite, self.summary, verbose=self.verbose):
                    yield from _trimmed(console, options, part) if isinstance(part, Table) else (part,)
                yield Text()
            yield from _totals(pen, self.summary)
        yield _result(pen, self.summary)


def _trimmed(console: Console, options: ConsoleOptions, table: Table) -> Iterable[Segment]:
    """A table without the blanks at the end of its lines."""
    for line in Segment.split_lines(console.render(table, options)):
        while line and not line[-1].text.strip():
            line.pop()
        if line:
            last = line.pop()
            yield from (*line, Segment(last.text.rstrip(), last.style))
        yield Segment.line()


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


def _suite(pen: _Pen, suite: SuiteSummary, summary: Summary, *, verbose: bool) -> Iterable[RenderableType]:
    verdict = suite.verdict
    yield pen.line(
        (pen.mark(verdict.verdict), _style(verdict.verdict)),
        (f' {suite.name}', 'bold'),
        f'   {regime_text(verdict, summary.mode)}   {counted(suite)}',
    )
    if verdict.preconditions:
        yield pen.line('  preconditions', *(part for met in verdict.preconditions for part in _precondition(pen, met)))
    for condition in verdict.preconditions:
        if not condition.ok and condition.detail and not suite.tells(condition):
            yield from pen.block(f'{condition.name}: {condition.detail.splitlines()[0]}', indent=4)
    shown = verdict.gates if verbose else worth_showing(verdict.gates, MOST_GATES)
    if shown:
        yield _gates(pen, shown)
    if len(shown) < len(verdict.gates):
        yield pen.line(f'     {len(shown)} of {len(verdict.gates)} gates are shown, none that passed: -v shows all')
    yield from _comparison(pen, verdict, verbose=verbose)
    yield from _arms(pen, suite)
    yield from _rows(pen, suite, summary.verdict.run_id, verbose=verbose)


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


def _comparison(pen: _Pen, verdict: SuiteVerdict, *, verbose: bool) -> Iterable[Text]:
    if compared := baseline_text(verdict):
        yield pen.line(f'  compared with {compared}')
    yield from _movers(pen, verdict)
    yield from _flips(pen, verdict.flips, verbose=verbose)
    for sentence in detectable_texts(verdict)[: None if verbose else 1]:
        yield pen.line((f'  {sentence}', 'dim'))
    for case, reason in verdict.expired.items():
        yield pen.line(('  ! ', _style('warn')), f'the quarantine of {case} is over, it counts again: {reason}')


def _movers(pen: _Pen, verdict: SuiteVerdict) -> Iterable[Text]:
    movers = movers_of(verdict.gates)[:_MOST_MOVERS]
    if movers:
        yield pen.line('  biggest movers')
    for mover in movers:
        arm = f' [{mover.arm}]' if mover.arm else ''
        yield pen.line(
            f'    {mover.name}{arm}   {number(mover.before)} {pen.arrow} {number(mover.now)}   {change(mover.delta)} ',
            (mover.direction, _style(mover.direction)),
        )


def _flips(pen: _Pen, flips: Sequence[Flip], *, verbose: bool) -> Iterable[Text]:
    if flips:
        worse, better, other = flip_counts(flips)
        yield pen.line(f'  changed against the baseline: {worse} worse, {better} better, {other} otherwise')
    for flip in flips if verbose else flips[:MOST_ROWS]:
        why = f'   {flip.why}' if flip.why else ''
        yield pen.line(f'    {flip.case} [{flip.arm}]   {flip.from_} {pen.arrow} {flip.to}{why}')
    if not verbose and len(flips) > MOST_ROWS:
        yield pen.line(f'    and {len(flips) - MOST_ROWS} more: -v shows all')


def _arms(pen: _Pen, suite: SuiteSummary) -> Iterable[RenderableType]:
    arms = arms_of(suite.units)
    if len(arms) < 2:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style='dim')
    for heading in ('     arm', *ARM_HEADINGS[1:]):
        table.add_column(heading)
    for arm in arms:
        name, *cells = arm_cells(arm)
        table.add_row(pen.line(f'     {name}'), *(pen.line(cell) for cell in cells))
    yield table
    for changes in changes_of(suite.units):
        if changes.pairs:
            yield pen.line(f'     {changes_text(changes)}')


def _rows(pen: _Pen, suite: SuiteSummary, run_id: str, *, verbose: bool) -> Iterable[Text]:
    to_look_at = suite.not_fine
    passes = suite.verdict.verdict is Verdict.PASS
    if to_look_at:
        harmless = ', none of them blocks' if passes else ''
        yield pen.line(f'  cases to look at: {len(to_look_at)} of {len(suite.rows)}{harmless}')
    shown = to_look_at if verbose else to_look_at[: MOST_HARMLESS if passes else MOST_ROWS]
    for row in shown:
        mark = 'warn' if row.state == 'ok' or passes else row.state
        yield pen.line('    ', (f'{pen.mark(mark)} {row.state}', _style(mark)), f'   {row.label}')
        for why in row.why:
            yield from pen.block(why, indent=8)
    if len(shown) < len(to_look_at):
        yield pen.line(f'    and {len(to_look_at) - len(shown)} more: -v shows all')
    if any(record.traceback is not None for row in shown for record in row.records):
        yield pen.line(f'    tracebacks: advisor-harness trace {run_id} CASE')
    for row in suite.set_aside:
        yield pen.line(f'  set aside: {row.label}, {row.state}: {row.quarantined}')
    if verbose:
        for row in (row for row in suite.rows if row.fine and row.quarantined is None):
            yield pen.line('    ', (f'{pen.mark(row.state)} {row.state}', _style(row.state)), f'   {row.label}')


def _totals(pen: _Pen, summary: Summary) -> Iterable[Text]:
    yield pen.line(f'rests on      {answers(summary)}')
    if summary.answered_by.get('emulator'):
        yield pen.line((f'              {AUTHORED}', 'dim'))
    carried = f', {plural(summary.carried, "record")} carried over from an earlier run' if summary.carried else ''
    yield pen.line(f'total         {counted(summary)} in {plural(len(summary.suites), "suite")}{carried}')


def _result(pen: _Pen, summary: Summary) -> Text:
    run = summary.verdict
    reasons = clip('; '.join(summary.reasons), _LONGEST_REASONS)
    return pen.line(
        'RESULT        ',
        (str(run.verdict).upper(), f'bold {_style(run.verdict)}'),
        f'   exit {run.verdict.exit_code}   run {run.run_id}',
        f'   narrowed to {run.narrowed}' if run.narrowed else '',
        f'   {reasons}' if reasons else '',
    )


def _style(word: str) -> str:
    return _STYLES.get(word, 'yellow')
