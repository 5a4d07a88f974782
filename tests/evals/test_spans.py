"""Spans as JSON and back."""

from __future__ import annotations

import json

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, Status, StatusCode

from advisor_harness.evals.spans import span_from_json, span_to_json
from advisor_harness.telemetry import tree


def spans() -> list[ReadableSpan]:
    """A span of every trait that is kept, and its child."""
    memory, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer('pydantic-ai')
    attributes = {'text': 'ü', 'yes': True, 'n': 3, 'share': 0.5, 'names': ['a', 'b']}
    with tracer.start_as_current_span('top', attributes=attributes, kind=SpanKind.CLIENT) as top:
        tracer.start_span('below').end()
        top.set_status(Status(StatusCode.ERROR, 'why'))
    return sorted(memory.get_finished_spans(), key=lambda span: span.start_time or 0)


def test_a_span_survives_a_file() -> None:
    """Name, ids, times, kind, status, attributes and scope come back; the tree prints the same."""
    before = spans()
    objects = [span_to_json(span) for span in before]
    after = [span_from_json(each) for each in json.loads(json.dumps(objects))]
    assert [span_to_json(span) for span in after] == objects
    assert tree.render(after, attributes='all') == tree.render(before, attributes='all')
    top, below = objects
    assert top == {
        'name': 'top',
        'trace_id': top['trace_id'],
        'span_id': top['span_id'],
        'parent_id': None,
        'kind': 'client',
        'start_ns': before[0].start_time,
        'end_ns': before[0].end_time,
        'status': 'error',
        'status_text': 'why',
        'attributes': {'text': 'ü', 'yes': True, 'n': 3, 'share': 0.5, 'names': ('a', 'b')},
        'scope': 'pydantic-ai',
        'phase': 'task',
    }
    assert (below['trace_id'], below['parent_id']) == (top['trace_id'], top['span_id'])
