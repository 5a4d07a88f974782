"""The spans of a case as bars: when each began, how long it took, and what it belongs to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advisor_harness.evals.reports.words import clip, one_line
from advisor_harness.telemetry.conventions import LOGFIRE_MSG, SPAN_ATTRIBUTES

__all__ = ['MOST_BARS', 'Bar', 'bars']

MOST_BARS = 150
"""Most spans of one case: what follows is counted."""

_DEEPEST = 8
_LONGEST_ERROR = 100
_THINNEST = 0.4  # percent: shorter spans are seen all the same

_KINDS = (
    ('chat ', 'model'),
    ('execute_tool ', 'tool'),
    ('invoke_agent ', 'agent'),
    ('consult advisor', 'advisor'),
    ('select advisor', 'advisor'),
    ('claim advisor', 'advisor'),
    ('route model', 'route'),
)


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One span."""

    name: str
    kind: str
    """`model`, `tool`, `agent`, `advisor`, `route` or `other`."""
    depth: int
    """How many spans it stands below, as far as the page is wide."""
    left: float
    """Where it begins, in percent of the case."""
    width: float
    """How long it is, in percent of the case."""
    duration: str
    error: str | None
    """What the span says of its failure, which may be nothing; `None` when it did not fail."""


def bars(spans: Sequence[Mapping[str, Any]]) -> list[Bar]:
    """The bars of spans, as JSON, each below the span that it belongs to, in the order in which they began."""
    if not spans:
        return []
    known = {span['span_id'] for span in spans}
    below: dict[str | None, list[Mapping[str, Any]]] = defaultdict(list)
    for span in sorted(spans, key=lambda span: (span['start_ns'], -span['end_ns'])):
        below[span['parent_id'] if span['parent_id'] in known else None].append(span)
    first = min(span['start_ns'] for span in spans)
    whole = max(1, max(span['end_ns'] for span in spans) - first)
    found: list[Bar] = []
    stack = [(0, span) for span in reversed(below[None])]
    while stack:
        depth, span = stack.pop()
        found.append(_bar(span, depth, first, whole))
        stack += [(depth + 1, child) for child in reversed(below[span['span_id']])]
    return found


def _bar(span: Mapping[str, Any], depth: int, first: int, whole: int) -> Bar:
    name = str(span['name'])
    took = span['end_ns'] - span['start_ns']
    width = min(100.0, max(_THINNEST, 100 * took / whole))
    message = span['attributes'].get(LOGFIRE_MSG) if name in SPAN_ATTRIBUTES else None
    return Bar(
        name=str(message or name),
        kind=next((kind for prefix, kind in _KINDS if name.startswith(prefix)), 'other'),
        depth=min(depth, _DEEPEST),
        left=round(min(100 - width, 100 * (span['start_ns'] - first) / whole), 2),
        width=round(width, 2),
        duration=_duration(took),
        error=clip(one_line(span['status_text'] or ''), _LONGEST_ERROR) if span['status'] == 'error' else None,
    )


def _duration(ns: int) -> str:
    if ns >= 1_000_000_000:
        return f'{ns / 1e9:.2f} s'
    return f'{ns / 1e6:.1f} ms' if ns >= 100_000 else f'{ns / 1e3:.0f} µs'
