"""Runs that a page has something to show of, and a reader of what it holds."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from advisor_harness.evals.records import CaseError, CaseRecord, Score
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import Flip, RunVerdict, SuiteVerdict, Verdict
from tests.evals.reports.sample import (
    BLOCKED,
    INCONCLUSIVE,
    INCONCLUSIVE_RECORDS,
    condition,
    gate,
    record,
    stored,
    used,
)

HOSTILE = '</script><script>alert(1)</script> "&" \x1b[31m https://evil.example/?a=b'

MESSAGES = [
    {
        'kind': 'request',
        'instructions': 'Be brief.',
        'parts': [
            {'part_kind': 'system-prompt', 'content': 'You are careful.'},
            {
                'part_kind': 'user-prompt',
                'content': ['Refund or escalate?', {'kind': 'binary', 'media_type': 'image/png'}],
            },
        ],
    },
    {
        'kind': 'response',
        'parts': [
            {'part_kind': 'thinking', 'content': None},
            {'part_kind': 'tool-call', 'tool_name': 'advisor', 'args': '{"prompt": "What would you do?"}'},
            {'part_kind': 'tool-call', 'tool_name': 'lookup', 'args': {'order': 7}},
        ],
    },
    {
        'kind': 'request',
        'instructions': 'Be brief.',
        'parts': [
            {'part_kind': 'tool-return', 'tool_name': 'advisor', 'content': 'Refund: the parcel was lost.'},
            {'part_kind': 'retry-prompt', 'tool_name': 'lookup', 'content': 'no such order'},
        ],
    },
    {'kind': 'response', 'parts': [{'part_kind': 'text', 'content': 'escalate'}]},
]


def span(name: str, number: int, parent: int | None, start_ms: float, end_ms: float, **more: Any) -> dict[str, Any]:
    """A span as a run keeps it, from and to milliseconds."""
    given = {'status': 'unset', 'status_text': None, 'attributes': {}} | more
    return {
        'name': name,
        'trace_id': f'{1:032x}',
        'span_id': f'{number:016x}',
        'parent_id': None if parent is None else f'{parent:016x}',
        'kind': 'internal',
        'start_ns': round(start_ms * 1e6),
        'end_ns': round(end_ms * 1e6),
        'scope': 'tested',
        'phase': 'task',
        **given,
    }


CONSULTED = {
    'advisor.consultation.outcome': 'advised',
    'advisor.consultation.path': 'local',
    'advisor.model': 'opus',
    'advisor.usage.input_tokens': 70,
    'advisor.usage.output_tokens': 12,
    'logfire.msg': 'consult advisor opus (local): advised',
}
SPANS = [
    span('invoke_agent executor', 1, None, 0, 100),
    span('chat haiku', 2, 1, 5, 25),
    span('execute_tool advisor', 3, 1, 30, 80),
    span('consult advisor', 4, 3, 31, 79, attributes=CONSULTED),
    span('chat opus', 5, 4, 35, 75, status='error', status_text='overloaded,\ntry again'),
]


def talked(store: RunStore, given: CaseRecord) -> CaseRecord:
    """The record with a conversation and a trace beside it."""
    messages = store._attachments.add('messages', given.key, json.dumps(MESSAGES).encode())  # pyright: ignore[reportPrivateUsage] - as JSON, without models
    return replace(given, spans=store.write_spans(given.key, SPANS), messages=messages)


ADVICE = SuiteVerdict(
    suite='advice',
    regime='replay',
    verdict=Verdict.BLOCKED,
    preconditions=(condition('cassettes', 8, 8), condition('traces', 8, 8)),
    gates=(
        gate('right', 0.75, '>= 0.9', 'fail', 4, 4, baseline=1.0, delta=-0.25, detail='harmful flip: refund'),
        gate('lift', 0.25, '>= 0.05', 'pass', 4, 4, baseline=0.2, delta=0.05, interval=(0.08, 0.33), p_value=0.012),
        gate('tokens', 210.0, 'shown only', 'info', 4, 4, severity='info', baseline=200.0),
    ),
    flips=(
        Flip(case='refund', arm='advised', from_='pass', to='fail', why='right: not the same'),
        Flip(case='river', arm='advised', from_='fail', to='pass'),
    ),
    detectable={
        'cases': {'test': 'mcnemar', 'n': 4, 'drop': None, 'alpha': 0.05, 'power': 0.8, 'churn': 0.0, 'text': 'none'},
        'right': {
            'test': 'mcnemar',
            'n': 30,
            'drop': 0.2134,
            'alpha': 0.05,
            'power': 0.8,
            'churn': 0.0,
            'text': 'a drop of 21.4 pp or more is seen in 80% of runs (n=30)',
        },
    },
    baseline={
        'name': 'main',
        'run_id': '20261201-080000',
        'accepted': {'by': 'ada', 'reason': 'first'},
        'exact': False,
        'pairs': 8,
        'added': ['new'],
        'removed': [],
        'renamed': {'old': 'capital'},
        'changed': [],
    },
    quarantined={'flaky': 'issue 7'},
    expired={'river': 'issue 3 (until 2026-11-01)'},
)


def rich(folder: Path) -> tuple[RunVerdict, RunStore]:
    """Three suites with arms, a baseline, conversations, hostile text, a miss, a crash and a quarantined case."""
    store = stored(folder)
    for place, case in enumerate(('capital', 'river', 'refund', HOSTILE, 'flaky')):
        for arm, cost in (('solo', 0.001), ('advised', 0.0035)):
            right = (case != 'refund') if arm == 'advised' else place > 1
            facts: dict[str, Any] = {
                'arm': arm,
                'state': 'ok' if right else 'failed',
                'scores': {'right': Score(right, None if right else HOSTILE), 'grade': Score(0.5), 'kind': Score('a')},
                'output': {'said': HOSTILE},
                'usage': {'requests': 2, 'input_tokens': 100, 'output_tokens': 20 + place},
                'cost_usd': cost,
                'tags': ('hard',),
                'cassette': used('advice', f'{case}-{arm}', 'provider' if place else 'emulator'),
                'recorded_latency_s': 1.5,
            }
            store.append(talked(store, record('advice', case, **facts)))
    lost = INCONCLUSIVE_RECORDS[1]
    traceback = store.write_traceback(lost.key, 'Traceback (most recent call last):\n  boom()\nUnmatchedRequest: no')
    for each in (*INCONCLUSIVE_RECORDS[::2], replace(lost, traceback=traceback)):
        store.append(each)
    crash = record('choice', 'crash', state='error', scores={}, error=CaseError('TimeoutError', 'no answer', 'task'))
    store.append(crash)
    return RunVerdict(run_id='20270101-120000', suites=(ADVICE, BLOCKED, INCONCLUSIVE), narrowed="tag 'hard'"), store


def many(folder: Path, count: int, failing: int) -> tuple[RunVerdict, RunStore]:
    """One suite of `count` cases with conversations and traces, of which `failing` failed."""
    store = stored(folder)
    for number in range(count):
        bad = number < failing
        scores = {'right': Score(not bad, 'not the same' if bad else None)}
        given = record('s', f'case-{number:04}', state='failed' if bad else 'ok', scores=scores, output='x' * 9_000)
        store.append(talked(store, given))
    gates = (gate('right', 1 - failing / count, '>= 1', 'fail' if failing else 'pass', count, count),)
    verdict = Verdict.BLOCKED if failing else Verdict.PASS
    suite = SuiteVerdict(suite='s', regime='replay', verdict=verdict, gates=gates)
    return RunVerdict(run_id='20270101-120000', suites=(suite,)), store


class Page(HTMLParser):
    """The elements of a page with their attributes, and the text inside of them."""

    _EMPTY = frozenset({'meta', 'input', 'line', 'path', 'circle', 'br', 'img', 'link'})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, list[str]] = {}
        """The text directly inside of every kind of element."""
        self._pieces: list[str] = []
        self.unclosed: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or '' for name, value in attrs}))
        if tag not in self._EMPTY:
            self.unclosed.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or '' for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.unclosed[-1] == tag, f'</{tag}> inside of <{self.unclosed[-1]}>'
        self.unclosed.pop()

    def handle_data(self, data: str) -> None:
        if self.unclosed:
            self.texts.setdefault(self.unclosed[-1], []).append(data)
        if not {'style', 'script'} & set(self.unclosed):
            self._pieces.append(data)

    @property
    def text(self) -> str:
        """All text, styles and scripts left out."""
        return ''.join(self._pieces)

    @property
    def words(self) -> str:
        """All text with one space between words, cells and elements."""
        return ' '.join(' '.join(self._pieces).split())

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of every element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def ids(self) -> list[str]:
        """Every id, in order."""
        return [attributes['id'] for _, attributes in self.elements if 'id' in attributes]
