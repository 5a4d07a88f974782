"""What the budgets of the design speak of, measured. Run with `python -m nox -s bench`; nothing here is a check."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracer, Tracer
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage
from pytest_benchmark.fixture import BenchmarkFixture

from advisor_harness import Advisor
from advisor_harness.telemetry import emit
from advisor_harness.telemetry.facts import ClaimFacts, ConsultationFacts

CLAIM = ClaimFacts(granted=True, scope='request', enforcer='capability', call_id='call_1', limit=2, used=1, remaining=1)
CONSULTATION = ConsultationFacts(
    path='local', outcome='advised', call_id='call_1', provider='anthropic', model='claude-opus-4-8', index=1
)


def tracer() -> Tracer:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(InMemorySpanExporter()))
    return provider.get_tracer('bench')


def context(of: Tracer) -> RunContext[None]:
    return RunContext(deps=None, model=TestModel(), usage=RunUsage(), tracer=of, run_id='r', conversation_id='c')


def test_bare_span_of_twelve_attributes(benchmark: BenchmarkFixture) -> None:
    """The yardstick for our own spans."""
    bare, attributes = tracer(), {f'bench.a{n}': n for n in range(12)}
    benchmark(lambda: bare.start_span('bare', attributes=attributes).end())


@pytest.mark.parametrize('instrumented', [True, False])
def test_claim_span(benchmark: BenchmarkFixture, instrumented: bool) -> None:
    """A decision without duration."""
    ctx = context(tracer() if instrumented else NoOpTracer())
    benchmark(lambda: emit.claim(ctx, CLAIM))


@pytest.mark.parametrize('instrumented', [True, False])
def test_consultation_span(benchmark: BenchmarkFixture, instrumented: bool) -> None:
    """A consultation with its start and its end."""
    ctx = context(tracer() if instrumented else NoOpTracer())

    def consult() -> None:
        with emit.consulting(ctx, CONSULTATION) as span:
            span.end_with(CONSULTATION)

    benchmark(consult)


def test_run_with_one_consultation(benchmark: BenchmarkFixture) -> None:
    """A whole run of an uninstrumented executor that asks once."""

    def executor(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(
            [ToolCallPart('advisor', {'prompt': 'Which way?'}) if len(messages) == 1 else TextPart('left')]
        )

    def advisor(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([TextPart('Go left.')])

    agent = Agent(FunctionModel(executor), capabilities=[Advisor(FunctionModel(advisor))])
    with asyncio.Runner() as runner:
        benchmark(lambda: runner.run(agent.run('Where to?')))


def test_help(benchmark: BenchmarkFixture) -> None:
    """`advisor-harness --help`, the interpreter included."""
    command = [sys.executable, '-m', 'advisor_harness', '--help']
    benchmark.pedantic(lambda: subprocess.run(command, check=True, capture_output=True), rounds=5)
