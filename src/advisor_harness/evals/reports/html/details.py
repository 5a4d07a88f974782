"""What the page shows of one case: facts, scores, conversation, advice, spans and errors, none of them endless."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from advisor_harness.evals.records import CaseRecord, Score
from advisor_harness.evals.reports.html.talk import MOST_TURNS, Consulted, Turn, consulted, turns
from advisor_harness.evals.reports.html.waterfall import MOST_BARS, Bar, bars
from advisor_harness.evals.reports.summary import CaseRow
from advisor_harness.evals.reports.words import clip, number, plural, usd
from advisor_harness.evals.store import RunStore

__all__ = ['Attempt', 'ScoreLine', 'attempts']

_T = TypeVar('_T')

_LONGEST_OUTPUT = 6_000
_LONGEST_REASON = 2_000
_LONGEST_ERROR = 12_000
_MARKS = {True: 'pass', False: 'fail', None: 'none'}


@dataclass(frozen=True, kw_only=True)
class ScoreLine:
    """One score."""

    name: str
    value: str
    kind: str
    """`pass`, `fail`, `none` or `value`."""
    reason: str


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One repeat of a case."""

    repeat: int
    state: str
    facts: tuple[tuple[str, str], ...]
    error: str | None
    error_kind: str
    """What raised where, such as `ValueError in the task`; empty without an error."""
    traceback: str | None
    scores: tuple[ScoreLine, ...]
    output: str
    turns: Sequence[Turn]
    more_turns: int
    consulted: tuple[Consulted, ...]
    bars: Sequence[Bar]
    more_bars: int
    trace_problem: str | None


def attempts(row: CaseRow, store: RunStore) -> tuple[Attempt, ...]:
    """What every repeat of a case left, in order."""
    return tuple(_attempt(record, store) for record in row.records)


def _attempt(record: CaseRecord, store: RunStore) -> Attempt:
    lost: list[str] = []
    spans = _kept(store.spans, record, 'spans', lost) or []
    said, drawn = turns(_kept(store.messages, record, 'messages', lost) or []), bars(spans)
    error, traceback = record.error, _kept(store.traceback, record, 'traceback', lost)
    return Attempt(
        repeat=record.repeat,
        state=record.state,
        facts=(*_facts(record), *(('Lost', f'{what}: the run does not hold them any more') for what in lost)),
        error=None if error is None else clip(error.message, _LONGEST_ERROR),
        error_kind='' if error is None else f'{error.type} in the {error.where}',
        traceback=None if traceback is None else clip(traceback, _LONGEST_ERROR),
        scores=tuple(_score(name, score) for name, score in record.scores.items()),
        output=clip(_shown(record.output), _LONGEST_OUTPUT),
        turns=said[:MOST_TURNS],
        more_turns=max(0, len(said) - MOST_TURNS),
        consulted=tuple(consulted(spans)),
        bars=drawn[:MOST_BARS],
        more_bars=max(0, len(drawn) - MOST_BARS),
        trace_problem=record.trace_problem,
    )


def _kept(read: Callable[[CaseRecord], _T], record: CaseRecord, what: str, lost: list[str]) -> _T | None:
    """What belongs to a record; `None`, and noted in `lost`, where somebody removed it: a run can do without."""
    try:
        return read(record)
    except (KeyError, OSError, ValueError):
        lost.append(what)
        return None


def _facts(record: CaseRecord) -> Iterator[tuple[str, str]]:
    if record.tags:
        yield 'Tags', ', '.join(record.tags)
    if (used := record.cassette) is not None:
        counts = f'{plural(used.hits, "answer")} played, {used.misses} missed, {used.unused} not asked for'
        yield 'Recording', f'{used.file} (by {used.recorded_with}): {counts}'
    else:
        yield 'Recording', 'none'
    tokens = (record.usage.get('input_tokens'), record.usage.get('output_tokens'))
    if None not in tokens:
        requests = record.usage.get('requests')
        asked = '' if requests is None else f' in {plural(requests, "request")}'
        yield 'Tokens', f'{tokens[0]} in, {tokens[1]} out{asked}'
    yield 'Cost', 'unknown: a price is not known' if record.cost_usd is None else usd(record.cost_usd)
    if record.recorded_latency_s is not None:
        yield 'Recorded latency', f'{number(record.recorded_latency_s)} s'
    yield 'Trace', 'complete' if record.trace_complete else f'not complete: {record.trace_problem or "no reason given"}'
    yield 'Took here', f'{record.duration_s:.3f} s'


def _score(name: str, score: Score) -> ScoreLine:
    value = score.value
    if isinstance(value, bool) or value is None:
        kind, text = _MARKS[value], {True: 'true', False: 'false', None: 'nothing to measure'}[value]
    else:
        kind, text = 'value', value if isinstance(value, str) else number(value)
    return ScoreLine(name=name, value=clip(text, 200), kind=kind, reason=clip(score.reason or '', _LONGEST_REASON))


def _shown(output: Any) -> str:
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=2)
