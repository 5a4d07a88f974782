"""The fixture that holds every span of every test to the vocabulary really does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from opentelemetry.sdk.trace import Span, TracerProvider
from opentelemetry.trace import Tracer

from advisor_harness.telemetry import emit
from tests.telemetry.checking import ValidatingProcessor, watching
from tests.telemetry.tracing import SELECTION, Tracing

COMPLAINT = (
    "span 'GET /': advisor.mode belongs on our own spans only; those are "
    'select advisor, claim advisor quota, consult advisor, route model request'
)

EARLIER = TracerProvider(shutdown_on_exit=False)


def of_logfire() -> Tracer:
    logfire = pytest.importorskip('logfire')
    local = logfire.configure(local=True, send_to_logfire=False, console=False)
    return local.config.get_tracer_provider().get_tracer('app')


@pytest.mark.parametrize(
    'tracer',
    [
        lambda: TracerProvider(shutdown_on_exit=False).get_tracer('app'),
        lambda: EARLIER.get_tracer('app'),
        of_logfire,
    ],
    ids=['of the test', 'from before the test', 'of logfire'],
)
def test_spans_of_every_provider_are_checked(
    tracer: Callable[[], Tracer], span_vocabulary: ValidatingProcessor
) -> None:
    """Whoever made the provider and when, a span that breaks the vocabulary is found."""
    tracer().start_span('GET /', attributes={'advisor.mode': 'auto'}).end()
    assert span_vocabulary.problems == [COMPLAINT]
    span_vocabulary.problems.clear()


def test_span_that_ends_twice_is_checked_once(span_vocabulary: ValidatingProcessor) -> None:
    """Only the first end counts, as for the SDK."""
    span = EARLIER.get_tracer('app').start_span('GET /', attributes={'advisor.mode': 'auto'})
    span.end()
    span.end()
    assert span_vocabulary.problems == [COMPLAINT]
    span_vocabulary.problems.clear()


def test_processor_works_with_one_provider(tracing: Tracing, span_vocabulary: ValidatingProcessor) -> None:
    """The processor can be given to a provider as well."""
    processor = ValidatingProcessor()
    tracing.provider.add_span_processor(processor)
    emit.select(tracing.context(), SELECTION)
    tracing.provider.get_tracer('app').start_span('GET /', attributes={'advisor.mode': 'auto'}).end()
    assert processor.problems == span_vocabulary.problems == [COMPLAINT]
    span_vocabulary.problems.clear()


def test_span_end_is_restored() -> None:
    """The SDK is as it was once the block is left."""
    before = Span.end
    with watching():
        assert Span.end is not before
    assert Span.end is before
