"""A fixture that holds every span of every test to the vocabulary. `tests/conftest.py` imports it.

    if find_spec('opentelemetry.sdk'):  # without the SDK no test can record a span
        from tests.telemetry.checking import span_vocabulary

It watches `Span.end` of the SDK, so that it sees the spans of every tracer provider, whoever made it and when: the
private ones of tests, the harness's own, Logfire's and the global one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from advisor_harness.telemetry.validate import problems


class ValidatingProcessor(SpanProcessor):
    """Collects what is wrong with the spans that end."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.problems += problems(span)


@contextmanager
def watching() -> Generator[ValidatingProcessor]:
    """Check every span of the process that ends within the block."""
    processor = ValidatingProcessor()
    end = Span.end

    def end_and_check(span: Span, end_time: int | None = None) -> None:
        ends_now = span.is_recording()
        end(span, end_time)
        if ends_now:
            processor.on_end(span)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Span, 'end', end_and_check)
        yield processor


@pytest.fixture(autouse=True)
def span_vocabulary() -> Iterator[ValidatingProcessor]:
    """Fail a test that emits a span which breaks the vocabulary. A test that does so on purpose clears `problems`."""
    with watching() as processor:
        yield processor
    assert processor.problems == []
