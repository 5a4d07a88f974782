"""The bare install is the capability alone; these tests run where none of the optional parts is installed."""

from __future__ import annotations

import asyncio
from importlib import import_module
from importlib.util import find_spec

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from advisor_harness import Advisor, Consultation, Outcome, __version__


def _executor(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    if len(messages) == 1:
        return ModelResponse([ToolCallPart('advisor', {'prompt': 'Which way?'})])
    return ModelResponse([TextPart('left')])


def _advisor(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse([TextPart('Go left.')])


def test_an_agent_consults_without_any_optional_part() -> None:
    """The bare install gives a working advisor and its records."""
    records: list[Consultation] = []
    agent = Agent(
        FunctionModel(_executor), capabilities=[Advisor(FunctionModel(_advisor), on_consultation=records.append)]
    )
    result = asyncio.run(agent.run('Where to?'))
    assert result.output == 'left'
    assert [(record.outcome, record.advice) for record in records] == [(Outcome.ADVISED, 'Go left.')]


def test_the_environment_is_bare() -> None:
    """What the other tests prove they prove without the packages of the extras."""
    optional = ('pydantic_evals', 'logfire', 'opentelemetry.sdk', 'rich', 'typer')
    assert [name for name in optional if find_spec(name)] == []


def test_every_room_of_the_bare_install_imports() -> None:
    """The capabilities and the vocabulary need no extra."""
    for room in ('advisor', 'routing', 'telemetry'):
        assert import_module(f'advisor_harness.{room}').__all__


def test_the_version_is_known() -> None:
    """The package knows its version without importing anything else."""
    assert __version__
