"""Spans as JSON: what a run keeps of the trace of a case, one object per span.

    {"name": s, "trace_id": hex, "span_id": hex, "parent_id": hex|null, "kind": s, "start_ns": n, "end_ns": n,
     "status": "unset|ok|error", "status_text": s|null, "attributes": {...}, "scope": s, "phase": "task|scorer"}

Events are left out: what matters is in attributes, and the texts of exceptions are not repeated for every span above.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

__all__ = ['Phase', 'span_from_json', 'span_to_json']

Phase = Literal['task', 'scorer']


def span_to_json(span: ReadableSpan, *, phase: Phase = 'task') -> dict[str, Any]:
    """The JSON object of a finished span."""
    context = span.get_span_context()
    assert context is not None  # every span that an SDK finished has one
    return {
        'name': span.name,
        'trace_id': f'{context.trace_id:032x}',
        'span_id': f'{context.span_id:016x}',
        'parent_id': None if span.parent is None else f'{span.parent.span_id:016x}',
        'kind': span.kind.name.lower(),
        'start_ns': span.start_time,
        'end_ns': span.end_time,
        'status': span.status.status_code.name.lower(),
        'status_text': span.status.description,
        'attributes': dict(span.attributes or {}),
        'scope': scope_name(span),
        'phase': phase,
    }


def span_from_json(data: Mapping[str, Any]) -> ReadableSpan:
    """The span that `span_to_json` wrote; lists come back as tuples, as the SDK holds them."""
    trace_id = int(data['trace_id'], 16)
    parent = data['parent_id']
    return ReadableSpan(
        name=data['name'],
        context=_context(trace_id, int(data['span_id'], 16)),
        parent=None if parent is None else _context(trace_id, int(parent, 16)),
        attributes={name: _attribute(value) for name, value in data['attributes'].items()},
        kind=SpanKind[data['kind'].upper()],
        status=Status(StatusCode[data['status'].upper()], data['status_text']),
        start_time=data['start_ns'],
        end_time=data['end_ns'],
        instrumentation_scope=InstrumentationScope(data['scope']),
    )


def scope_name(span: ReadableSpan) -> str:
    """Name of the library that made the span, empty when it did not say."""
    return '' if span.instrumentation_scope is None else span.instrumentation_scope.name


def _attribute(value: Any) -> Any:
    return tuple(cast('list[Any]', value)) if isinstance(value, list) else value


def _context(trace_id: int, span_id: int) -> SpanContext:
    return SpanContext(trace_id, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
