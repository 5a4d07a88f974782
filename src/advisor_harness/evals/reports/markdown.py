"""The report for a pull request or a job summary, within the length that a comment on GitHub may have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from advisor_harness.evals.reports.summary import CaseRow, SuiteSummary, Summary, summarise
from advisor_harness.evals.reports.words import (
    answers,
    clip,
    counted,
    gate_table,
    one_line,
    plural,
    share_met,
    visible,
    worth_showing,
)
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import GateResult, RunVerdict

__all__ = ['LONGEST', 'render', 'render_summary']

LONGEST = 65_536
"""Most characters of a comment on GitHub."""

_ROOM_FOR_LAST_LINE = 300
_LONGEST_TEXT = 2_000
_LONGEST_NAME = 200
_MOST_ROWS = 50
_MARKUP = re.compile(r'([\\`*_{}\[\]|#~])')


def render(verdict: RunVerdict, store: RunStore) -> str:
    """The report as Markdown: `render_summary` of the run's records."""
    return render_summary(summarise(verdict, store))


def render_summary(summary: Summary) -> str:
    """The report of a run that was summarised already, of at most `LONGEST` characters.

    The verdict comes first and the gates of every suite before the first failing case, so that what does not fit is
    what matters least. A block is shown whole or not at all, and the last line says how many there are.
    """
    blocks = [*_overview(summary), *(_suite(suite) for suite in summary.suites)]
    to_look_at = [row for suite in summary.suites for row in suite.not_fine]
    blocks += [_details(row) for row in to_look_at]
    shown = _first_that_fit(blocks, LONGEST - _ROOM_FOR_LAST_LINE)
    last = f'{plural(len(summary.rows), "case")} in this run, {len(to_look_at)} of them to look at'
    if hidden := len(blocks) - len(shown):
        last += f'; {min(hidden, len(to_look_at))} of these did not fit here and are in `cases.jsonl`'
    return '\n\n'.join([*shown, f'{last}.']) + '\n'


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
    yield f'{counted(summary)}. The verdict rests on {answers(summary)}.'


def _suite(suite: SuiteSummary) -> str:
    verdict = suite.verdict
    lines = [
        f'### {_plain(suite.name)}: {verdict.verdict}',
        '',
        f'- {verdict.regime}, {counted(suite)}',
    ]
    for met in verdict.preconditions:
        detail = '' if met.ok or not met.detail else f': {_plain(met.detail, _LONGEST_TEXT)}'
        lines.append(
            f'- precondition {_plain(met.name)}: {share_met(met)}, {"met" if met.ok else "**not met**"}{detail}'
        )
    for flip in verdict.flips[:_MOST_ROWS]:
        change = f'{_plain(flip.case)} \\[{_plain(flip.arm)}\\] changed from {flip.from_} to {flip.to}'
        lines.append(f'- {change}: {_plain(flip.why)}' if flip.why else f'- {change}')
    if len(verdict.flips) > _MOST_ROWS:
        lines.append(f'- {_MOST_ROWS} of {len(verdict.flips)} changed cases are shown')
    lines += [
        f'- set aside: {_plain(row.label)}: {_plain(row.quarantined or "")}' for row in suite.set_aside[:_MOST_ROWS]
    ]
    return '\n'.join([*lines, *_gates(verdict.gates)])


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
