"""The harness's own tracing: one provider that always records, for every agent, whatever the environment says.

Sampling variables and attribute limits of the environment do not apply. What cannot be overruled, a disabled SDK, is
refused. Spans that a task makes with the global API are collected too, whoever owns the global provider.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings

from advisor_harness.evals.capture import Capture, active_capture
from advisor_harness.evals.errors import HarnessError
from advisor_harness.evals.spans import scope_name

__all__ = ['instrumented']

_DISABLED = 'OTEL_SDK_DISABLED'


@contextmanager
def instrumented() -> Generator[None]:
    """Record the spans of every agent, and of the global API, for the cases that run inside.

    May be entered several times at once, one after the other, and in one process with other users of OpenTelemetry;
    when the last one leaves, agents are instrumented as they were before.

    Raises:
        HarnessError: the environment disables OpenTelemetry, so that no span would ever be recorded.
    """
    if os.environ.get(_DISABLED, '').strip().lower() == 'true':
        raise HarnessError(
            f'{_DISABLED} is set to true, but without spans no case can be judged: unset it. '
            'Spans leave this machine only on request'
        )
    with _tracing().entered():
        yield


class _Router(SpanProcessor):
    """Takes every span to the case of the task in which it starts."""

    def __init__(self) -> None:
        # Weak, so that a span that never ends does not keep a finished case.
        self._owners: weakref.WeakValueDictionary[int, Capture] = weakref.WeakValueDictionary()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        capture = active_capture()
        # The spans of pydantic-evals are above the case, not part of it.
        if capture is not None and scope_name(span) != 'pydantic-evals':
            self._owners[span.get_span_context().span_id] = capture
            capture.started(span)

    def on_end(self, span: ReadableSpan) -> None:
        context = span.get_span_context()
        if context is not None and (capture := self._owners.pop(context.span_id, None)) is not None:
            capture.ended(span)


class _Tracing:
    """What a process has once, as OpenTelemetry's global provider and pydantic-ai's default are process-wide."""

    def __init__(self) -> None:
        self._router = _Router()
        unlimited = SpanLimits(
            max_attributes=SpanLimits.UNSET,
            max_span_attributes=SpanLimits.UNSET,
            max_attribute_length=SpanLimits.UNSET,
            max_span_attribute_length=SpanLimits.UNSET,
        )
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource.create({SERVICE_NAME: 'advisor-harness'}),
            shutdown_on_exit=False,
            span_limits=unlimited,
        )
        self._provider.add_span_processor(self._router)
        self._settings = InstrumentationSettings(tracer_provider=self._provider)
        self._collected: list[Any] = []
        self._lock = threading.Lock()
        self._users = 0
        self._before: InstrumentationSettings | bool = False

    @contextmanager
    def entered(self) -> Generator[None]:
        with self._lock:
            self._collect_global_spans()
            if not self._users:
                self._before = Agent._instrument_default  # pyright: ignore[reportPrivateUsage] - has no public getter
                Agent.instrument_all(self._settings)
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    Agent.instrument_all(self._before)

    def _collect_global_spans(self) -> None:
        """Agents with `instrument=True` and tasks with spans of their own use the global provider."""
        current = trace.get_tracer_provider()
        if isinstance(current, trace.ProxyTracerProvider):
            trace.set_tracer_provider(self._provider)
            return
        # Logfire's global provider stands for one that every `configure()` replaces.
        provider: Any = getattr(current, 'provider', current)
        known = any(provider is each for each in (self._provider, *self._collected))
        if not known and hasattr(provider, 'add_span_processor'):
            provider.add_span_processor(self._router)
            self._collected.append(provider)


@functools.cache
def _tracing() -> _Tracing:
    return _Tracing()
