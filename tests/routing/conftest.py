"""An instrumented run whose spans a test can read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings

from advisor_harness.telemetry import RouteFacts, read, validate


@dataclass
class Recorded:
    """The spans of the runs that `instrumentation` is given to."""

    instrumentation: Instrumentation
    exporter: InMemorySpanExporter

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    @property
    def routes(self) -> list[RouteFacts]:
        return read.routes(self.spans)


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    """Spans in memory; at the end of the test every one of ours must keep to the vocabulary."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    found = Recorded(Instrumentation(InstrumentationSettings(tracer_provider=provider)), exporter)
    yield found
    assert {span.name: problems for span in found.spans if (problems := validate.problems(span))} == {}
