"""What the budgets of the design speak of, measured. Run with `python -m nox -s bench`; nothing here is a check."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
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
from advisor_harness.cassettes import cassette_client, use_cassette
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


def cassette_of(folder: Path, interactions: int) -> Path:
    """A file with that many different chat requests."""
    path = folder / f'{interactions}.yaml'
    recorded = [
        {
            'request': {
                'method': 'POST',
                'uri': 'https://api.example.com/v1/chat',
                'headers': {'content-type': ['application/json']},
                'parsed_body': {'model': 'm', 'messages': [{'role': 'user', 'content': f'question {n} ' + 'x' * 900}]},
            },
            'response': {
                'status': {'code': 200, 'message': 'OK'},
                'headers': {'content-type': ['application/json']},
                'parsed_body': {'answer': n},
            },
        }
        for n in range(interactions)
    ]
    path.write_text(yaml.dump({'interactions': recorded, 'version': 1}, Dumper=yaml.CDumper, sort_keys=False))
    return path


@pytest.mark.parametrize('interactions', [10, 1_000, 10_000])
def test_replay_of_one_request(benchmark: BenchmarkFixture, tmp_path: Path, interactions: int) -> None:
    """One request through the shared client, out of files of very different sizes."""
    path = cassette_of(tmp_path, interactions)
    with asyncio.Runner() as runner, use_cassette(path):
        benchmark.pedantic(_request(runner, interactions), rounds=min(interactions, 500), iterations=1)


def _request(runner: asyncio.Runner, interactions: int) -> Callable[[], Any]:
    numbers = iter(range(interactions))

    async def send() -> httpx2.Response:
        body = {'model': 'm', 'messages': [{'role': 'user', 'content': f'question {next(numbers)} ' + 'x' * 900}]}
        return await cassette_client().post('https://api.example.com/v1/chat', json=body)

    # A runner keeps the context it was made in, where the cassette was not open yet.
    return lambda: runner.run(send(), context=copy_context())


def test_loading_a_thousand_interactions(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """From file to index."""
    path = cassette_of(tmp_path, 1_000)

    def load() -> None:
        with use_cassette(path):
            pass

    benchmark.pedantic(load, rounds=3)


def test_help(benchmark: BenchmarkFixture) -> None:
    """`advisor-harness --help`, the interpreter included."""
    command = [sys.executable, '-m', 'advisor_harness', '--help']
    benchmark.pedantic(lambda: subprocess.run(command, check=True, capture_output=True), rounds=5)
