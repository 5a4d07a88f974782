"""How the reports for people put numbers and counts into words, so that they all say the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from advisor_harness.evals.verdict import GateResult, Precondition

if TYPE_CHECKING:
    from advisor_harness.evals.reports.summary import SuiteSummary, Summary

__all__ = [
    'answers',
    'clip',
    'counted',
    'gate_table',
    'gate_text',
    'number',
    'one_line',
    'plural',
    'share_met',
    'visible',
]

_INVISIBLE = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]')
_GATE_HEADINGS = ('gate', 'arm', 'value', 'scored', 'baseline', 'limit', 'verdict', 'detail')


def number(value: float | None) -> str:
    """A measured value: three decimals, or more where rounding would hide its distance from a whole number."""
    if value is None:
        return 'not measured'
    if float(value).is_integer():
        return str(int(value))
    text = f'{value:.3f}'
    return f'{value:.6g}' if float(text).is_integer() else text


def clip(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters and how many more there are."""
    if len(text) <= limit:
        return text
    return f'{text[:limit]}... ({len(text) - limit} more characters)'


def visible(text: str) -> str:
    """`text` with escapes for what no terminal, Markdown or XML should be handed: control characters and half pairs."""
    return _INVISIBLE.sub(lambda found: found[0].encode('unicode_escape').decode(), text)


def one_line(text: str) -> str:
    """`visible` text without line breaks."""
    return visible(' '.join(text.split()))


def plural(count: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f'{count} {noun}' if count == 1 else f'{count} {noun}s'


def counted(part: SuiteSummary | Summary) -> str:
    """`42 cases: 1 error, 2 failed, 39 ok`, then what the policy sets aside."""
    states = [f'{count} {state}' for state, count in part.states.items()]
    if set_aside := len(part.set_aside):
        states.append(f'{set_aside} set aside')
    return f'{plural(len(part.rows), "case")}: {", ".join(states)}' if states else 'no case was run'


def answers(summary: Summary) -> str:
    """How many recordings of each kind the verdict rests on."""
    kinds = ', '.join(f'{count} {kind}' for kind, count in summary.answered_by.items())
    text = f'{plural(sum(summary.answered_by.values()), "recording")}: {kinds}'
    without = sum(suite.without_cassette for suite in summary.suites)
    return f'{text}; {plural(without, "case")} without a recording' if without else text


def share_met(condition: Precondition) -> str:
    """A precondition with its denominator; `none` where there is nothing that it could ask for."""
    if condition.n_met is None or condition.n_expected is None:
        return 'none' if condition.ok else f'share {number(condition.value)}'
    return f'{condition.n_met}/{condition.n_expected}'


def gate_table(gates: Sequence[GateResult]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Headings and rows of a table of gates; columns that no gate fills are left out."""
    rows = [_gate_cells(gate) for gate in gates]
    used = [i for i, _ in enumerate(_GATE_HEADINGS) if any(row[i] for row in rows)]
    return tuple(_GATE_HEADINGS[i] for i in used), tuple(tuple(row[i] for i in used) for row in rows)


def _gate_cells(gate: GateResult) -> tuple[str, ...]:
    return (
        gate.metric,
        gate.arm or 'all',
        number(gate.value),
        f'{gate.n_scored}/{gate.n_expected}',
        '' if gate.baseline is None else number(gate.baseline),
        gate.limit,
        gate.verdict,
        clip(gate.detail or '', 300),
    )


def worth_showing(gates: Sequence[GateResult], most: int) -> Sequence[GateResult]:
    """All gates, or, where they are more than `most`, the first of those that did not simply pass."""
    return gates if len(gates) <= most else [gate for gate in gates if gate.verdict != 'pass'][:most]


def gate_text(gate: GateResult) -> str:
    """A gate as one sentence, for reports without tables."""
    text = f'{gate.metric} is {number(gate.value)} over {gate.n_scored}/{gate.n_expected} cases'
    text += f' of arm {gate.arm}' if gate.arm else ''
    text += f' (baseline {number(gate.baseline)})' if gate.baseline is not None else ''
    text += f' ({gate.limit})'
    return f'{text}: {gate.detail}' if gate.detail else text
