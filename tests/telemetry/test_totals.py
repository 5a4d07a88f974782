"""Our spans change no total that others compute over a trace."""

from __future__ import annotations

import pytest

from advisor_harness.telemetry import conventions as names
from tests.telemetry.tracing import Tracing, advised_agent, saying

pytestmark = pytest.mark.anyio


async def test_metrics_of_pydantic_evals(tracing: Tracing) -> None:
    """Requests, tokens and cost of a case are those of the `chat` spans, with our spans in the tree and without."""
    otel = pytest.importorskip('pydantic_evals.otel')
    # The public way to these sums needs the tracer provider of the whole process.
    from pydantic_evals._task_run import TaskRun, extract_span_tree_metrics

    await advised_agent(tracing.capability, advisor=saying('ADVICE'), call_ids=('call-1', 'call-2')).run('hi')
    metrics: list[dict[str, float]] = []
    for spans in (tracing.spans, [span for span in tracing.spans if span.name not in names.SPAN_ATTRIBUTES]):
        tree, case = otel.SpanTree(), TaskRun()
        tree.add_readable_spans(spans)
        extract_span_tree_metrics(case, tree)
        metrics.append(case.metrics)
    chats = [span.attributes or {} for span in tracing.spans if span.name.startswith('chat ')]
    tokens = sum(int(str(attributes['gen_ai.usage.input_tokens'])) for attributes in chats)
    assert metrics[0] == metrics[1]
    assert (metrics[0]['requests'], metrics[0]['input_tokens']) == (4, tokens)
