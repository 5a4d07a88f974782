"""Spans of a run, checked against the vocabulary, and no request to a provider that a test did not script."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings

from advisor_harness.telemetry import tree
from advisor_harness.telemetry.validate import problems


class Spans:
    """A tracer provider of the test's own, and what it was sent."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._provider = TracerProvider()
        self._provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    def capability(self, *, include_content: bool = False) -> Instrumentation:
        return Instrumentation(
            settings=InstrumentationSettings(tracer_provider=self._provider, include_content=include_content)
        )

    @property
    def finished(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def tree(self) -> str:
        return tree.render(self.finished)


@pytest.fixture
def spans() -> Iterator[Spans]:
    """The spans of the runs that get `spans.capability()`; every one of ours keeps to the vocabulary."""
    collected = Spans()
    yield collected
    assert [problem for span in collected.finished for problem in problems(span)] == []


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider's key in the environment must change nothing."""
    for name in ('ANTHROPIC_API_KEY', 'OPENROUTER_API_KEY', 'OPENAI_API_KEY'):
        monkeypatch.delenv(name, raising=False)
