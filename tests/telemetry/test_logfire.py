"""Under Logfire, which adds attributes, doubles spans and copies baggage, everything reads as with the plain SDK."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings

from advisor_harness.telemetry import read, tree
from tests.telemetry.tracing import Tracing, advised_agent, saying

pytestmark = pytest.mark.anyio


async def test_reads_and_prints_as_with_the_sdk(tracing: Tracing) -> None:
    """The same run gives the same facts and the same text."""
    logfire = pytest.importorskip('logfire')
    exporter = InMemorySpanExporter()
    processors = [SimpleSpanProcessor(exporter)]
    local = logfire.configure(
        local=True, send_to_logfire=False, console=False, additional_span_processors=processors, inspect_arguments=False
    )
    provider = local.config.get_tracer_provider()
    settings = InstrumentationSettings(tracer_provider=provider, include_content=False)

    async def run(instrumentation: Any) -> None:
        agent = advised_agent(instrumentation, advisor=saying('ADVICE'), call_ids=('call-1', 'call-2'), limit=1)
        await agent.run('hi')

    await run(tracing.capability)
    await run(Instrumentation(settings))
    spans = exporter.get_finished_spans()
    assert tree.render(spans) == tree.render(tracing.spans)
    assert [claim.granted for claim in read.claims(spans)] == [True, False]
    assert [facts.outcome for facts in read.consultations(spans)] == ['advised']
    assert [facts.path for facts in read.selections(spans)] == ['local']
    assert [facts.route for facts in read.routes(spans)] == ['cheap', 'cheap']
