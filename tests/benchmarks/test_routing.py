"""What routing costs: one request through a router, beside the same request without one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ThinkingPart, UserPromptPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pytest_benchmark.fixture import BenchmarkFixture

from advisor_harness.routing import FailoverModel, Router, SqliteRouteStore

TURNS = 20


async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse([TextPart('ok')])


MODEL = FunctionModel(answer, model_name='m')


def history() -> list[ModelMessage]:
    """Twenty turns of another provider, with thinking that has to be converted."""
    messages: list[ModelMessage] = []
    for number in range(TURNS):
        thinking = ThinkingPart(f'Thought {number}', signature='S', provider_name='other')
        messages.append(ModelRequest([UserPromptPart(f'Question {number}')], conversation_id='c1'))
        messages.append(ModelResponse([thinking, TextPart('a')], provider_name='other', conversation_id='c1'))
    return messages


def measure(benchmark: BenchmarkFixture, agent: Agent[Any, Any], messages: list[ModelMessage]) -> None:
    with asyncio.Runner() as runner:

        async def once() -> None:
            await agent.run('hello', message_history=messages, conversation_id='c1')

        benchmark(lambda: runner.run(once()))


@pytest.mark.parametrize('turns', [0, TURNS])
def test_a_request_without_a_router(benchmark: BenchmarkFixture, turns: int) -> None:
    """The run as pydantic-ai makes it."""
    measure(benchmark, Agent(MODEL), history() if turns else [])


@pytest.mark.parametrize('turns', [0, TURNS])
def test_a_routed_request(benchmark: BenchmarkFixture, turns: int) -> None:
    """The same run with a router: what is more is the cost of routing it and of looking through its history."""
    measure(benchmark, Agent(capabilities=[Router({'m': MODEL})]), history() if turns else [])


def test_a_routed_request_with_a_file(benchmark: BenchmarkFixture, tmp_path: Any) -> None:
    """The store is a file: one look-up before the run, in a thread."""
    store = SqliteRouteStore(tmp_path / 'routes.db')
    measure(benchmark, Agent(capabilities=[Router({'m': MODEL}, store=store)]), [])
    store.close()


@pytest.mark.parametrize('kind', ['alone', 'chain'])
def test_a_request_through_a_failover_model(benchmark: BenchmarkFixture, kind: str) -> None:
    """The first of two models answers."""
    model: Model = FailoverModel(MODEL, MODEL) if kind == 'chain' else MODEL
    measure(benchmark, Agent(model), [])
