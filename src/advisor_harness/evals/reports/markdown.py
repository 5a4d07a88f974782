"""The report for a pull request or a job summary, within the length that a comment on GitHub may have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from advisor_harness.evals.reports.arms import arms_of, changes_of
from advisor_harness.evals.reports.movers import flip_counts, movers_of
from advisor_harness.evals.reports.summary import CaseRow, SuiteSummary, Summary, summarise
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
    one_line,
    plural,
    regime_text,
    share_met,
    visible,
    worth_showing,
)
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import GateResult, RunVerdict, Verdict

__all__ = ['LONGEST', 'render', 'render_summary']

LONGEST = 65_536
"""Most characters of a comment on GitHub."""

_ROOM_FOR_LAST_LINE = 300
_LONGEST_TEXT = 2_000
_LONGEST_NAME = 200
_MOST_ROWS = 50
_MOST_MOVERS = 5
_MARKUP = re.compile(r'([\\`*_{}\[\]|#~])')


def render(verdict: RunVerdict, store: RunStore) -> str:
    """The report as Markdown: `render_summary` of the run's records."""
    return render_summary(summarise(verdict, store))


def render_summary(summary: Summary) -> str:
    """The report of a run that was summarised already, of at most `LONGEST` characters.

    The verdict comes first and the gates of every suite before the first failing case, so that what does not fit is
    what matters least. A block is shown whole or not at all, and the last line says how many there are.
    """
    to_look_at = [row for suite in summary.suites for row in suite.not_fine]
    parts = [*_overview(summary), *(part for suite in summary.suites for part in _suite(suite, summary))]
    room = LONGEST - _ROOM_FOR_LAST_LINE
    shown = _first_that_fit(parts, room)
    details = _first_that_fit([_details(row) for row in to_look_at], room - sum(len(part) + 2 for part in shown))
    last = f'{plural(len(summary.rows), "case")} in this run, {len(to_look_at)} of them to look at'
    if hidden := len(to_look_at) - len(details):
        last += f'; {hidden} of these did not fit here and are in `cases.jsonl`'
    if hidden := len(parts) - len(shown):
        last += f'; {plural(hidden, "part")} of {len(parts)} about suites did not fit here'
    return '\n\n'.join([*shown, *details, f'{last}.']) + '\n'


def _first_that_fit(blocks: Sequence[str], room: int) -> list[str]:
    shown: list[str] = []
    for block in blocks:
        room -= len(block) + 2
        if room < 0:
            break
        shown.append(block)
    return shown


def _overview(summary: Summary) -> Iterator[str]:
    run = summary.verdict
    reasons = _plain('; '.join(summary.reasons), _LONGEST_TEXT)
    yield f'## Evals: {str(run.verdict).upper()}'
    yield f'Exit code {run.verdict.exit_code}, run {_plain(run.run_id)}.' + (
        f' Because of {reasons}.' if reasons else ''
    )
    if run.narrowed:
        yield f'**Narrowed run:** {_plain(run.narrowed)}. The verdict speaks for no more than that.'
    carried = f', {plural(summary.carried, "record")} carried over from an earlier run' if summary.carried else ''
    yield f'{counted(summary)}{carried}. The verdict rests on {answers(summary)}.'
    if summary.answered_by.get('emulator'):
        yield f'{AUTHORED[0].upper()}{AUTHORED[1:]}.'


def _suite(suite: SuiteSummary, summary: Summary) -> Iterator[str]:
    """The parts of a suite, each of which stands by itself."""
    verdict = suite.verdict
    lines = [
        f'### {_plain(suite.name)}: {verdict.verdict}',
        '',
        f'- {regime_text(verdict, summary.mode)}, {counted(suite)}',
    ]
    for met in verdict.preconditions:
        told = met.ok or not met.detail or suite.tells(met)
        detail = '' if told else f': {_plain(met.detail or "", _LONGEST_TEXT)}'
        lines.append(
            f'- precondition {_plain(met.name)}: {share_met(met)}, {"met" if met.ok else "**not met**"}{detail}'
        )
    if compared := baseline_text(verdict):
        lines.append(f'- compared with {_plain(compared, _LONGEST_TEXT)}')
    lines += [f'- {_plain(sentence, _LONGEST_TEXT)}' for sentence in detectable_texts(verdict)[:_MOST_ROWS]]
    yield '\n'.join([*lines, *_gates(verdict.gates)])
    yield from _blocks(_changed(suite), _arms(suite), _aside(suite))


def _blocks(*parts: Iterator[str]) -> Iterator[str]:
    texts = ('\n'.join(part).rstrip() for part in parts)
    return (text for text in texts if text)


def _changed(suite: SuiteSummary) -> Iterator[str]:
    for mover in movers_of(suite.verdict.gates)[:_MOST_MOVERS]:
        arm = f' \\[{_plain(mover.arm)}\\]' if mover.arm else ''
        moved = f'{number(mover.before)} to {number(mover.now)} ({change(mover.delta)} {mover.direction})'
        yield f'- moved: {_plain(mover.name)}{arm} from {moved}'
    flips = suite.verdict.flips
    if flips:
        worse, better, other = flip_counts(flips)
        yield f'- changed against the baseline: {worse} worse, {better} better, {other} otherwise'
    for flip in flips[:_MOST_ROWS]:
        text = f'- {_plain(flip.case)} \\[{_plain(flip.arm)}\\] changed from {flip.from_} to {flip.to}'
        yield f'{text}: {_plain(flip.why)}' if flip.why else text
    if len(flips) > _MOST_ROWS:
        yield f'- {_MOST_ROWS} of {len(flips)} changed cases are shown'


def _arms(suite: SuiteSummary) -> Iterator[str]:
    arms = arms_of(suite.units)
    if len(arms) < 2:
        return
    yield f'| {" | ".join(ARM_HEADINGS)} |'
    yield f'|{" --- |" * len(ARM_HEADINGS)}'
    for arm in arms:
        yield f'| {" | ".join(_plain(cell) for cell in arm_cells(arm))} |'
    yield ''
    for changes in changes_of(suite.units):
        if changes.pairs:
            yield f'- {_plain(changes_text(changes), _LONGEST_TEXT)}'


def _aside(suite: SuiteSummary) -> Iterator[str]:
    for row in suite.set_aside[:_MOST_ROWS]:
        yield f'- set aside: {_plain(row.label)}: {_plain(row.quarantined or "")}'
    for case, reason in suite.verdict.expired.items():
        yield f'- the quarantine of {_plain(case)} is over, it counts again: {_plain(reason)}'
    if suite.not_fine and suite.verdict.verdict is Verdict.PASS:
        yield f'- {plural(len(suite.not_fine), "case")} to look at, none of them blocks'


def _gates(gates: Sequence[GateResult]) -> Iterator[str]:
    shown = worth_showing(gates, _MOST_ROWS)
    headings, rows = gate_table(shown)
    if rows:
        yield ''
        yield f'| {" | ".join(headings)} |'
        yield f'|{" --- |" * len(headings)}'
    for row in rows:
        yield f'| {" | ".join(_plain(cell) for cell in row)} |'
    if len(shown) < len(gates):
        yield ''
        yield f'{len(shown)} of {len(gates)} gates are shown, none that passed.'


def _details(row: CaseRow) -> str:
    text = clip('\n'.join(visible(why) for why in row.why), _LONGEST_TEXT)
    fence = '`' * max(3, 1 + max((len(run) for run in re.findall('`+', text)), default=0))
    title = escape(clip(one_line(f'{row.state}: {row.suite} / {row.label}'), _LONGEST_NAME))
    return f'<details><summary>{title}</summary>\n\n{fence}text\n{text}\n{fence}\n\n</details>'


def _plain(text: str, limit: int = _LONGEST_NAME) -> str:
    """`text` on one line, as Markdown that shows it as it is."""
    return _MARKUP.sub(r'\\\1', escape(clip(one_line(text), limit), quote=False))
