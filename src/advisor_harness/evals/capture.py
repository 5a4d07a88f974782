"""The spans of one case: what started, what ended, and what belongs to the task or to the scorers."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import get_current_span

from advisor_harness.evals.spans import Phase, span_to_json

__all__ = ['Capture', 'active_capture']

_active: ContextVar[Capture | None] = ContextVar('advisor_harness_capture', default=None)


def active_capture() -> Capture | None:
    """The capture of the case that the current task works for, `None` outside a case."""
    return _active.get()


class Capture:
    """Collects the spans of a case, and passes them on to exporters."""

    def __init__(self, labels: Mapping[str, str | int], exporters: Sequence[SpanProcessor] = ()) -> None:
        self.labels = labels
        """Attributes for the top spans of the case, so that it can be found wherever the spans are sent."""
        self.phase: Phase = 'task'
        """Whom spans that start now belong to."""
        self._exporters = exporters
        self._above = set[int]()
        self._started = dict[int, tuple[int, Phase]]()
        self._open = dict[int, str]()
        self._ended: list[ReadableSpan] = []

    @contextmanager
    def active(self) -> Generator[None]:
        """Collect what the current task starts, and every task that it starts."""
        token = _active.set(self)
        try:
            yield
        finally:
            _active.reset(token)

    def begin(self, phase: Phase) -> None:
        """Spans that start now belong to `phase`; those directly below the current span are top spans of the case."""
        self.phase = phase
        current = get_current_span().get_span_context()
        if current.is_valid:
            self._above.add(current.span_id)

    def started(self, span: Span) -> None:
        """A span of the case started."""
        span_id = span.get_span_context().span_id
        self._started[span_id] = len(self._started), self.phase
        self._open[span_id] = span.name
        if self._is_top(span):
            span.set_attributes(dict(self.labels))
        for exporter in self._exporters:
            exporter.on_start(span)

    def ended(self, span: ReadableSpan) -> None:
        """A span of the case ended."""
        self._open.pop(_id(span), None)
        self._ended.append(span)
        for exporter in self._exporters:
            exporter.on_end(span)

    @property
    def spans(self) -> list[ReadableSpan]:
        """Every span that ended, in the order of their starts."""
        return sorted(self._ended, key=lambda span: (span.start_time or 0, self._started[_id(span)]))

    @property
    def task_spans(self) -> list[ReadableSpan]:
        """The spans that started while the task ran."""
        return [span for span in self.spans if self._phase_of(span) == 'task']

    @property
    def open_names(self) -> list[str]:
        """Names of the spans that started and did not end."""
        return list(self._open.values())

    @property
    def orphans(self) -> list[ReadableSpan]:
        """Spans whose parent is not part of the case."""
        return [span for span in self.spans if not self._is_top(span) and _parent(span) not in self._started]

    def to_json(self) -> list[dict[str, Any]]:
        """The spans as `spans.py` describes them; top spans have no parent."""
        return [
            {**span_to_json(span, phase=self._phase_of(span)), **({'parent_id': None} if self._is_top(span) else {})}
            for span in self.spans
        ]

    def _phase_of(self, span: ReadableSpan) -> Phase:
        return self._started[_id(span)][1]

    def _is_top(self, span: ReadableSpan) -> bool:
        return span.parent is None or span.parent.span_id in self._above


def _id(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None  # only an SDK's spans come here, and they all have one
    return context.span_id


def _parent(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id
