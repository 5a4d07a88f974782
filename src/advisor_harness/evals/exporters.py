"""Exporters of a run: they see every span of every case, and nothing that they do changes a record."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

__all__ = ['Exporter', 'exporting']

Exporter = SpanProcessor | SpanExporter
"""A processor sees spans as they start and end; an exporter gets them in batches, in a thread."""

# A suite of a thousand cases ends more spans in a second than the default of 2,048 holds.
_QUEUE = 1 << 16

_logger = logging.getLogger(__name__)


@asynccontextmanager
async def exporting(exporters: Sequence[Exporter]) -> AsyncGenerator[tuple[SpanProcessor, ...]]:
    """Open the exporters of a run; when it is over, send what is left and shut them down."""
    processors = tuple(map(_Guarded, exporters))
    try:
        yield processors
    finally:
        for processor in processors:
            # In a thread: an endpoint that does not answer must not hold up the tasks of other runs.
            await asyncio.to_thread(processor.shutdown)


class _Guarded(SpanProcessor):
    """Keeps the errors of an exporter away from the agent whose spans it gets; the first one is logged."""

    def __init__(self, exporter: Exporter) -> None:
        self._inner = (
            exporter if isinstance(exporter, SpanProcessor) else BatchSpanProcessor(exporter, max_queue_size=_QUEUE)
        )
        self._failed = False

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        try:
            self._inner.on_start(span, parent_context)
        except Exception as e:  # noqa: BLE001 - an exporter of any kind must not stop an agent
            self._note(e)

    def on_end(self, span: ReadableSpan) -> None:
        try:
            self._inner.on_end(span)
        except Exception as e:  # noqa: BLE001 - an exporter of any kind must not stop an agent
            self._note(e)

    def shutdown(self) -> None:
        try:
            self._inner.force_flush()
            self._inner.shutdown()
        except Exception as e:  # noqa: BLE001 - the run is over and its records are written
            self._note(e)

    def _note(self, error: Exception) -> None:
        if not self._failed:
            _logger.warning('an exporter of spans failed: %s: %s', type(error).__name__, error)
        self._failed = True
