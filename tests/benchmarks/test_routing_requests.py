"""What routing costs: one request through a router, beside the same request without one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ThinkingPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pytest_benchmark.fixture import BenchmarkFixture

from advisor_harness.routing import FailoverModel, Router, SqliteRouteStore
from tests.benchmarks.test_cassettes import paired, timed

TURNS = 20
RUNS = 10
ROUNDS = 9


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


def measure(
    benchmark: BenchmarkFixture, ours: Agent[Any, Any], other: Agent[Any, Any], messages: list[ModelMessage]
) -> None:
    """Both agents in turns, on one loop: `difference` is what the first costs on top, in seconds per request."""
    with asyncio.Runner() as runner:

        def run(agent: Agent[Any, Any]) -> Callable[[], float]:
            async def some() -> int:
                for _ in range(RUNS):
                    await agent.run('hello', message_history=messages, conversation_id='c1')
                return RUNS

            return lambda: timed(runner, some)

        paired(benchmark, run(ours), run(other), rounds=ROUNDS)


@pytest.mark.parametrize('turns', [0, TURNS])
def test_routing_a_request(benchmark: BenchmarkFixture, turns: int) -> None:
    """A run with a router beside the same run without one, on a fresh conversation and on one that has to move."""
    measure(benchmark, Agent(capabilities=[Router({'m': MODEL})]), Agent(MODEL), history() if turns else [])


def test_routing_a_request_by_a_file(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """The store is a file beside one in memory: a look-up in a thread."""
    store = SqliteRouteStore(tmp_path / 'routes.db')
    by_file = Agent(capabilities=[Router({'m': MODEL}, store=store)])
    measure(benchmark, by_file, Agent(capabilities=[Router({'m': MODEL})]), [])
    store.close()


def test_routing_a_request_through_a_chain(benchmark: BenchmarkFixture) -> None:
    """A `FailoverModel` whose first model answers, beside that model alone."""
    measure(benchmark, Agent(FailoverModel(MODEL, MODEL)), Agent(MODEL), [])
