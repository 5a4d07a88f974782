"""How the reports for people put numbers and counts into words, so that they all say the same."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from advisor_harness.evals.reports.arms import ArmFacts, Changes, Mean
from advisor_harness.evals.reports.movers import direction_of
from advisor_harness.evals.verdict import GateResult, Precondition, SuiteVerdict

if TYPE_CHECKING:
    from advisor_harness.evals.reports.summary import SuiteSummary, Summary

__all__ = [
    'ARM_HEADINGS',
    'AUTHORED',
    'PROVES',
    'REGIMES',
    'answers',
    'arm_cells',
    'baseline_text',
    'change',
    'changes_text',
    'clip',
    'counted',
    'detectable_texts',
    'gate_change',
    'gate_table',
    'gate_text',
    'interval_text',
    'number',
    'one_line',
    'percent',
    'plural',
    'regime_text',
    'share_met',
    'usd',
    'visible',
    'worth_showing',
]

PROVES: Mapping[str, str] = {
    'provider': 'A model of a provider gave these answers: they show what the agent does with that model, as of the '
    'day of the recording.',
    'local model': 'A model on the machine that recorded gave these answers: real behaviour, but of a small model.',
    'emulator': 'These answers were authored. They show that the agent, the advisor and the gates do the right thing '
    'when such answers come. They do not show that a model would give them, nor that its advice would help.',
    'unknown': 'The recording does not say who answered, so it shows nothing about any model.',
}
"""What a verdict that rests on recordings of each kind shows, and what it does not."""

REGIMES: Mapping[str, str] = {
    'replay': 'Replay: every answer comes from a recording, so any difference is caused by what changed here.',
    'sampled': 'Sampled: models may answer differently each time, so a difference may be chance.',
}
"""What the two regimes mean for a comparison."""

_INVISIBLE = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]')
_GATE_HEADINGS = ('gate', 'arm', 'value', 'scored', 'baseline', 'change', 'interval', 'p', 'limit', 'verdict', 'detail')


def number(value: float | None) -> str:
    """A measured value: three decimals, or more where they would leave less than three digits or hide a difference."""
    if value is None:
        return 'not measured'
    if float(value).is_integer():
        return str(int(value))
    text = f'{value:.3f}' if abs(value) >= 0.1 else f'{Decimal(f"{value:.3g}"):f}'
    return f'{value:.6g}' if float(text).is_integer() else text


def usd(amount: float) -> str:
    """US dollars, to three digits where they are cents or less."""
    if not amount:
        return '$0'
    return f'${amount:,.2f}' if amount >= 1 else f'${Decimal(f"{amount:.3g}"):f}'


def percent(share: float) -> str:
    """A share in percent, never rounded to all or nothing."""
    text = f'{100 * share:.1f}'
    if text in ('0.0', '100.0') and share not in (0, 1):
        text = f'{100 * share:.3g}' if share < 0.5 else '> 99.9'
    return f'{text.removesuffix(".0")} %'


def change(delta: float | None) -> str:
    """A difference with its sign; empty where there is none to tell."""
    return '' if delta is None else f'{"+" if delta > 0 else ""}{number(delta)}'


def interval_text(interval: tuple[float, float] | None) -> str:
    """Lower and upper bound; empty without an interval."""
    return '' if interval is None else f'{number(interval[0])} to {number(interval[1])}'


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


AUTHORED = 'answers of the emulator were authored: they show what the agent does with them, not that a model gives them'
"""What a verdict that rests on authored answers shows, in one line."""

_SAMPLED: Mapping[str, str] = {
    'replay': 'sampled: no recordings',
    'record': 'sampled: this run recorded its answers',
    'record-missing': 'sampled: this run recorded what was missing',
    'live': 'sampled: live answers',
}


def regime_text(verdict: SuiteVerdict, mode: str) -> str:
    """Whether differences are those of the change or may be chance, and why."""
    return 'replay (deterministic)' if verdict.regime == 'replay' else _SAMPLED.get(mode, 'sampled')


def answers(summary: Summary) -> str:
    """How many recordings of each kind the verdict rests on."""
    kinds = ', '.join(f'{count} {kind}' for kind, count in summary.answered_by.items())
    text = f'{plural(sum(summary.answered_by.values()), "recording")}: {kinds}'
    without = sum(suite.without_cassette for suite in summary.suites)
    return f'{text}; {plural(without, "case")} without a recording' if without else text


def detectable_texts(verdict: SuiteVerdict) -> tuple[str, ...]:
    """What a suite of this size cannot see: of its pass rate, then of every gate that compares with a baseline."""
    facts = {name: entry for name, entry in verdict.detectable.items() if name != 'cases'}
    own = [_unseen(verdict.detectable['cases'])] if 'cases' in verdict.detectable else []
    return (*own, *(f'{name}: {entry["text"]}' for name, entry in facts.items()))


def _unseen(facts: Mapping[str, Any]) -> str:
    n, drop = facts['n'], facts['drop']
    power = f'{facts["power"]:.0%} of runs'
    if drop is None:
        seen = f'sampled, this suite (n={n}) is too small to see any drop in {power}'
    else:
        # Rounded up: nothing smaller is promised.
        seen = (
            f'sampled, this suite (n={n}) cannot see drops below {math.ceil(1000 * drop - 1e-6) / 10:g} pp in {power}'
        )
    return (
        f'a replay of the recordings of its baseline shows every case that changes; {seen}' if _exact(facts) else seen
    )


def _exact(facts: Mapping[str, Any]) -> bool:
    return str(facts.get('text', '')).startswith('this replay')


def baseline_text(verdict: SuiteVerdict) -> str:
    """What a suite was compared with, and what changed besides its results; empty without a baseline."""
    facts = verdict.baseline
    if not facts:
        return ''
    text = f'baseline {facts["name"]}, run {facts["run_id"]}, {plural(facts["pairs"], "pair")}'
    text += ', the same recordings' if facts.get('exact') else ''
    for word in ('added', 'removed', 'renamed', 'changed'):
        if names := list(facts.get(word, ())):
            text += f'; {len(names)} {word}: {_few(names)}'
    return text


ARM_HEADINGS = ('arm', 'passed', '95 % interval', 'cost of a case', 'tokens of a case', 'recorded latency')
"""Headings of a table of arms, whose rows `arm_cells` makes."""


def arm_cells(arm: ArmFacts) -> tuple[str, ...]:
    """An arm as a row of a table, every number with its denominator."""
    share = '' if arm.share is None else f' ({percent(arm.share)})'
    missing = f' of {arm.n_expected}' if arm.n_scored < arm.n_expected else ''
    return (
        arm.arm,
        f'{arm.passed}/{arm.n_scored}{missing}{share}',
        '' if arm.interval is None else f'{percent(arm.interval[0])} to {percent(arm.interval[1])}',
        _mean_text(arm.cost_usd, usd),
        _mean_text(arm.tokens, lambda count: f'{count:,.0f}'),
        _mean_text(arm.latency_s, lambda seconds: f'{number(seconds)} s'),
    )


def _mean_text(mean: Mean, text: Callable[[float], str]) -> str:
    if mean.value is not None:
        return text(mean.value)
    return f'known for {mean.n_known}/{mean.n_expected}' if mean.n_known else 'unknown'


def changes_text(changes: Changes) -> str:
    """What another arm does to the same cases, in a sentence; a long list of names is cut."""
    text = f'{changes.arm} beside {changes.against}: of {plural(changes.pairs, "pair")}, '
    text += f'{len(changes.helped)} helped and {len(changes.harmed)} harmed'
    return f'{text} ({_few(changes.harmed)})' if changes.harmed else text


def _few(names: Sequence[str]) -> str:
    return ', '.join(names[:5]) + (f' and {len(names) - 5} more' if len(names) > 5 else '')


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
        _change_cell(gate),
        interval_text(gate.interval),
        '' if gate.p_value is None else number(gate.p_value),
        gate.limit,
        gate.verdict,
        clip(gate.detail or '', 300),
    )


def _change_cell(gate: GateResult) -> str:
    delta = gate_change(gate)
    return f'{change(delta)} {direction_of(gate, delta)}' if delta else change(delta)


def gate_change(gate: GateResult) -> float | None:
    """How far a gate's value is from the baseline's; `None` without a baseline."""
    if gate.delta is not None or gate.value is None or gate.baseline is None:
        return gate.delta
    return gate.value - gate.baseline


def worth_showing(gates: Sequence[GateResult], most: int) -> Sequence[GateResult]:
    """All gates, or, where they are more than `most`, the first of those that did not simply pass."""
    return gates if len(gates) <= most else [gate for gate in gates if gate.verdict != 'pass'][:most]


def gate_text(gate: GateResult) -> str:
    """A gate as one sentence, for reports without tables."""
    text = f'{gate.metric} is {number(gate.value)} over {gate.n_scored}/{gate.n_expected} cases'
    text += f' of arm {gate.arm}' if gate.arm else ''
    if gate.baseline is not None:
        text += f' (baseline {number(gate.baseline)}{f", {cell}" if (cell := _change_cell(gate)) else ""})'
    text += f' (interval {interval_text(gate.interval)})' if gate.interval is not None else ''
    text += f' (p {number(gate.p_value)})' if gate.p_value is not None else ''
    text += f' ({gate.limit})'
    return f'{text}: {gate.detail}' if gate.detail else text
