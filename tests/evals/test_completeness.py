"""When the trace of a case can be believed (see also `test_tracing.py` for empty, open and orphaned spans)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from advisor_harness.cassettes import Cassette
from advisor_harness.evals.capture import Capture
from advisor_harness.evals.completeness import model_answers, trace_problem
from tests.evals.spans import Trace
from tests.evals.support import exchange, write_cassette
from tests.telemetry.checking import ValidatingProcessor


def captured(trace: Trace) -> Capture:
    """The spans of a trace as those of a case."""
    capture = Capture({})
    started = TracerProvider(shutdown_on_exit=False).get_tracer('x')
    for span in trace.spans:
        opened: Any = started.start_span(span.name)
        opened._context = span.context  # the ids of the finished span
        capture.started(opened)
        capture.ended(span)
    return capture


def answers(*exchanges: dict[str, Any]) -> int:
    """How many answers of models there are when all of a recording was played."""
    cassette = Cassette.open(write_cassette(Path('x.yaml'), *exchanges))
    cassette._played.update(dict.fromkeys(range(len(exchanges))))  # pyright: ignore[reportPrivateUsage] - as if all were asked for
    return model_answers(cassette)


def changed(**request: Any) -> dict[str, Any]:
    recorded = exchange('ab')
    recorded['request'] |= request
    return recorded


def test_a_trace_with_a_span_for_every_answer_is_complete() -> None:
    """As many model requests as answers, or more, is complete."""
    assert trace_problem(captured(Trace().chat().chat()), 2) is None
    assert trace_problem(captured(Trace().chat().chat()), 1) is None


def test_an_answer_without_a_span_is_noticed() -> None:
    """A model that was asked where nothing was recorded makes the trace incomplete."""
    assert trace_problem(captured(Trace().chat().consult()), 2) == (
        '2 answers of models were played, but only 1 model requests left a span'
    )


def test_a_rejected_answer_of_a_fallback_is_accounted_for() -> None:
    """An answer that a fallback rejected is an attempt below a request."""
    assert trace_problem(captured(Trace().chat().add('model request attempt other', {})), 2) is None


def test_spans_of_this_package_must_keep_to_the_vocabulary(span_vocabulary: ValidatingProcessor) -> None:
    """A consultation without its outcome cannot be read, so the trace is not complete."""
    problem = trace_problem(captured(Trace().chat().add('consult advisor', {'advisor.consultation.path': 'local'})), 0)
    assert problem is not None
    assert problem.startswith("span 'consult advisor': ")
    assert problem.endswith(' is missing; it is required')
    span_vocabulary.problems.clear()


@pytest.mark.parametrize(
    'uri',
    [
        'https://api.openai.com/v1/chat/completions',
        'https://api.openai.com/v1/responses',
        'https://api.anthropic.com/v1/messages?beta=true',
        'https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse',
        'https://api.cohere.com/v2/chat',
    ],
)
def test_what_is_an_answer_of_a_model(uri: str) -> None:
    """Posts to the endpoints of chat models that were answered."""
    assert answers(changed(uri=uri)) == 1


@pytest.mark.parametrize(
    'other',
    [
        changed(method='GET'),
        changed(uri='https://api.openai.com/v1/embeddings'),
        changed(uri='https://api.anthropic.com/v1/messages/count_tokens'),
        exchange('ab', status=429),
        exchange('ab', answer={'stop_reason': 'pause_turn'}),
    ],
)
def test_what_is_none(other: dict[str, Any]) -> None:
    """Other calls, failures that an SDK may try again and turns that go on in the same request are not counted."""
    assert answers(other, exchange('cd')) == 1


def test_only_what_was_played_counts() -> None:
    """An answer that nobody asked for needs no span."""
    cassette = Cassette.open(write_cassette(Path('x.yaml'), exchange('ab')))
    assert model_answers(cassette) == 0
