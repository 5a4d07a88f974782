"""One view of a span, whether the OpenTelemetry SDK holds it or a pydantic-evals tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias, cast

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from pydantic_evals.otel import SpanNode, SpanTree

    SpanSource: TypeAlias = 'SpanTree | Iterable[ReadableSpan | SpanNode | SpanView]'
    """A `SpanTree`, or spans of any mixture of these kinds."""

__all__ = ['SpanView', 'finished', 'view']


@dataclass(frozen=True, kw_only=True)
class SpanView:
    """What reading, printing and checking need to know of a span."""

    name: str
    trace_id: int
    span_id: int
    parent_id: int | None
    """Id of the parent span, `None` for a root."""
    start_ns: int
    """Start, nanoseconds since the epoch."""
    end_ns: int
    """End, nanoseconds since the epoch."""
    attributes: Mapping[str, Any]
    """The attributes; sequences are tuples."""
    status: str
    """`unset`, `ok` or `error`."""
    description: str | None = None
    """The status description; `None` when there is none or the source does not keep it."""
    kind: str | None = None
    """`internal`, `client` ...; `None` when the source does not keep it."""
    events: int | None = None
    """Number of span events; `None` when the source does not keep them."""


def finished(spans: SpanSource) -> list[SpanView]:
    """The spans in the order of their starts, without Logfire's announcements of spans that have not ended.

    Args:
        spans: A pydantic-evals `SpanTree`, or an iterable of the SDK's `ReadableSpan` or of tree nodes.
    """
    views = [view(span) for span in spans]
    ended = [span for span in views if span.attributes.get('logfire.span_type') != 'pending_span']
    return sorted(ended, key=lambda span: span.start_ns)


def view(span: ReadableSpan | SpanNode | SpanView) -> SpanView:
    """The view of one span.

    Raises:
        TypeError: `span` is none of the kinds that are known here.
        ValueError: `span` has not ended.
    """
    if isinstance(span, SpanView):
        return span
    if hasattr(span, 'start_timestamp'):  # told apart without importing the SDK or pydantic-evals
        return _of_node(cast('SpanNode', span))
    if hasattr(span, 'start_time'):
        return _of_sdk(cast('ReadableSpan', span))
    raise TypeError(f'{type(span).__name__!r} is no span. Give a `ReadableSpan` of the SDK or a `SpanNode`.')


def _of_sdk(span: ReadableSpan) -> SpanView:
    context = span.context
    if context is None or span.start_time is None or span.end_time is None:
        raise ValueError(f'span {span.name!r} has not ended. Read spans after their run is over.')
    return SpanView(
        name=span.name,
        trace_id=context.trace_id,
        span_id=context.span_id,
        parent_id=span.parent.span_id if span.parent else None,
        start_ns=span.start_time,
        end_ns=span.end_time,
        attributes=_attributes(span.attributes),
        status=span.status.status_code.name.lower(),
        description=span.status.description,
        kind=span.kind.name.lower(),
        events=len(span.events),
    )


def _of_node(node: SpanNode) -> SpanView:
    return SpanView(
        name=node.name,
        trace_id=node.trace_id,
        span_id=node.span_id,
        parent_id=node.parent_span_id,
        start_ns=_nanoseconds(node.start_timestamp),
        end_ns=_nanoseconds(node.end_timestamp),
        attributes=_attributes(node.attributes),
        status=node.status,
    )


def _attributes(attributes: Mapping[str, Any] | None) -> Mapping[str, Any]:
    pairs = (attributes or {}).items()
    return {key: tuple(cast('list[Any]', value)) if isinstance(value, list) else value for key, value in pairs}


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _nanoseconds(moment: datetime) -> int:
    since = moment - _EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1_000
