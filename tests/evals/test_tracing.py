"""The harness's own tracing: always recording, whatever else is going on in the process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_evals.evaluators import EqualsExpected, HasMatchingSpan, MaxModelRequests

from advisor_harness.evals import RunStore
from tests.evals.support import Scripted, case, mirror, one_record, run, suite

pytestmark = pytest.mark.anyio


@pytest.fixture
def instrumentation() -> Iterator[InstrumentationSettings]:
    """Somebody else's instrumentation of all agents, and what it collects."""
    settings = InstrumentationSettings(tracer_provider=TracerProvider())
    Agent.instrument_all(settings)
    yield settings
    Agent.instrument_all(False)


async def test_what_instrumented_agents_before_is_restored(instrumentation: InstrumentationSettings) -> None:
    """A run takes over the instrumentation of all agents and gives it back, also when two runs overlap."""
    during: list[object] = []

    async def task(inputs: str, arm: str) -> str:
        during.append(Agent._instrument_default is instrumentation)  # pyright: ignore[reportPrivateUsage] - no getter
        return await mirror(inputs, arm)

    await asyncio.gather(run(suite(task=task)), run(suite(task=task)))
    assert during == [False, False]
    assert Agent._instrument_default is instrumentation  # pyright: ignore[reportPrivateUsage] - no getter


async def test_several_runs_in_one_process() -> None:
    """Each of several runs, one after the other and at once, has its own spans."""
    stores = [await run(suite()), *await asyncio.gather(run(suite()), run(suite()))]
    for store in stores:
        (record,) = store.records().values()
        top, _ = store.spans(record)
        assert (record.trace_complete, top['attributes']['evals.run']) == (True, store.id)


@pytest.mark.parametrize(
    ('name', 'value'), [('OTEL_TRACES_SAMPLER', 'always_off'), ('OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', '1')]
)
async def test_sampling_and_limits_of_the_environment_do_not_apply(name: str, value: str) -> None:
    """In a process whose environment drops spans or attributes, a run records all the same."""
    result = in_a_process(
        """
        import asyncio
        from tests.evals.support import one_record, suite
        record = asyncio.run(one_record(suite()))
        print(record.state, record.trace_complete, record.usage['requests'])
        """,
        **{name: value},
    )
    assert result == 'ok True 1\n'


async def test_a_global_provider_that_drops_spans_does_not_matter() -> None:
    """Scorers see the harness's spans even where the global provider samples everything out."""
    result = in_a_process(
        """
        import asyncio
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
        from pydantic_evals.evaluators import MaxModelRequests
        from tests.evals.support import one_record, suite
        trace.set_tracer_provider(TracerProvider(sampler=ALWAYS_OFF))
        for limit in (1, 0):
            record = asyncio.run(one_record(suite(scorers=(MaxModelRequests(limit),))))
            print(record.state, record.trace_complete)
        """
    )
    assert result == 'ok True\nfailed True\n'


async def test_logfire_configured_in_the_process() -> None:
    """With Logfire as the global provider, the agents' spans are still the harness's, and the case's trace is whole."""
    result = in_a_process(
        """
        import asyncio, logfire
        from tests.evals.support import mirror, one_record, suite
        logfire.configure(send_to_logfire=False, console=False)
        logfire.instrument_pydantic_ai()
        async def task(inputs, arm):
            with logfire.span('mine'):
                return await mirror(inputs, arm)
        for _ in range(2):
            record = asyncio.run(one_record(suite(task=task)))
            print(record.state, record.trace_complete, record.trace_problem, record.usage['requests'])
            logfire.configure(send_to_logfire=False, console=False)
        """
    )
    assert result == 'ok True None 1\n' * 2


async def test_spans_of_the_global_api_are_collected() -> None:
    """A task's own spans, and those of an agent instrumented for the global provider, belong to the case."""

    async def task(inputs: str, arm: str) -> str:
        with trace.get_tracer('mine').start_as_current_span('my step'):
            agent = Agent('test', name='other')
            agent.instrument = True
            await agent.run('x')
            return await mirror(inputs, arm)

    store = await run(suite(task=task))
    (record,) = store.records().values()
    assert record.trace_complete
    spans = store.spans(record)
    names = {span['span_id']: span['name'] for span in spans}
    assert [(span['name'], names.get(span['parent_id'])) for span in spans] == [
        ('my step', None),
        ('invoke_agent other', 'my step'),
        ('chat test', 'invoke_agent other'),
        ('invoke_agent executor', 'my step'),
        ('chat mirror', 'invoke_agent executor'),
    ]


async def test_scorers_see_spans_and_metrics_of_the_task() -> None:
    """`ctx.span_tree` and `ctx.metrics` hold the task's spans, each request counted once."""
    seen: list[object] = []

    def look(ctx: Any) -> bool:
        seen.append(([node.name for node in ctx.span_tree], ctx.metrics))
        return True

    await run(suite(scorers=(Scripted(look), HasMatchingSpan({'name_equals': 'chat mirror'}))))
    assert seen == [
        (['invoke_agent executor', 'chat mirror'], {'requests': 1, 'input_tokens': 51, 'output_tokens': 1}),
    ]


async def test_metrics_of_the_task_survive() -> None:
    """What a task counts itself stays; requests that an SDK reports again are not added."""
    from pydantic_evals import increment_eval_metric

    async def task(inputs: str, arm: str) -> str:
        increment_eval_metric('looks', 2)
        attributes = {'gen_ai.request.model': 'm', 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 51}
        trace.get_tracer('some-sdk').start_span('chat m', attributes=attributes).end()
        return await mirror(inputs, arm)

    seen: list[object] = []
    record = await one_record(suite(task=task, scorers=(Scripted(lambda ctx: seen.append(ctx.metrics) or True),)))
    assert seen == [{'looks': 2, 'requests': 1, 'input_tokens': 51, 'output_tokens': 1}]
    assert record.usage == {'requests': 1, 'input_tokens': 51, 'output_tokens': 1}


class Collecting(SpanExporter):
    """An exporter that remembers what it got, and when it was shut down."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.closed = False

    def export(self, spans: Any) -> SpanExportResult:
        self.names += [span.name for span in spans]
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self.closed = True


class Failing(SpanProcessor):
    """A processor that cannot do anything."""

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        raise OSError('no disk')

    def on_end(self, span: ReadableSpan) -> None:
        raise OSError('no disk')

    def shutdown(self) -> None:
        raise OSError('no disk')


async def test_exporters_get_every_span_and_are_shut_down() -> None:
    """An exporter and a processor get the spans of all cases before the run returns."""
    exporter, memory = Collecting(), InMemorySpanExporter()
    await run(suite(case('a'), case('b')), exporters=(exporter, SimpleSpanProcessor(memory)))
    expected = ['chat mirror', 'chat mirror', 'invoke_agent executor', 'invoke_agent executor']
    assert (sorted(exporter.names), exporter.closed) == (expected, True)
    assert sorted(span.name for span in memory.get_finished_spans()) == expected


async def test_a_failing_exporter_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """An exporter that raises is logged once; agents and records do not notice."""
    record = await one_record(suite(), exporters=(Failing(),))
    assert (record.state, record.trace_complete) == ('ok', True)
    assert [each.message for each in caplog.records] == ['an exporter of spans failed: OSError: no disk']


async def test_spans_outside_of_a_case_belong_to_nobody() -> None:
    """What the process does beside a run is in no record."""
    reached, go = asyncio.Event(), asyncio.Event()

    async def task(inputs: str, arm: str) -> str:
        reached.set()
        await go.wait()
        return await mirror(inputs, arm)

    running = asyncio.ensure_future(run(suite(task=task)))
    await reached.wait()
    await mirror('outside', 'advised')
    go.set()
    store: RunStore = await running
    (record,) = store.records().values()
    assert [span['attributes'].get('final_result') for span in store.spans(record)] == ['ba', None]


async def test_a_span_that_does_not_end_makes_the_trace_incomplete() -> None:
    """A trace with a span that is still open is not complete."""
    spans: list[object] = []

    async def task(inputs: str, arm: str) -> str:
        spans.append(trace.get_tracer('mine').start_span('left open'))
        return await mirror(inputs, arm)

    record = await one_record(suite(task=task, scorers=(EqualsExpected(),)))
    assert (record.trace_complete, record.trace_problem) == (False, "span 'left open' did not end")


async def test_a_parent_that_nobody_recorded_makes_the_trace_incomplete() -> None:
    """A span below one that was sampled out elsewhere has lost its place."""
    dropping = TracerProvider(sampler=ALWAYS_OFF).get_tracer('dropping')

    async def task(inputs: str, arm: str) -> str:
        with dropping.start_as_current_span('dropped'):
            return await mirror(inputs, arm)

    record = await one_record(suite(task=task))
    assert (record.trace_complete, record.trace_problem) == (
        False,
        "the parent of span 'invoke_agent executor' was not recorded",
    )


async def test_a_pydantic_evals_budget_counts_real_requests() -> None:
    """`MaxModelRequests` fails on a run that made more requests than it allows."""
    record = await one_record(suite(scorers=(MaxModelRequests(0),)))
    assert record.state == 'failed'


def in_a_process(code: str, **environment: str) -> str:
    """Run `code` in a fresh process, as the global provider can be set only once in each."""
    here = {'PYTHONPATH': str(Path(__file__).parents[2]), 'PYTHONWARNINGS': 'error', **environment}
    script = Path('script.py')
    script.write_text(textwrap.dedent(code))
    result = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, **here},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, json.dumps(result.stderr[-2000:])
    return result.stdout
