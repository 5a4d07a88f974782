"""Runs of a scripted executor with an advisor of ours, scored as a suite does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_evals.evaluators import Equals

from advisor_harness import Advisor
from advisor_harness.evals import CaseRecord
from tests.evals.support import one_record, suite

Step = str | list[tuple[str, dict[str, Any]]]
"""A text, or calls of tools."""


def scripted(name: str, *steps: Step | Exception) -> FunctionModel:
    """A model that gives these answers, one after the other."""
    left = iter(steps)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        step = next(left)
        if isinstance(step, Exception):
            raise step
        if isinstance(step, str):
            return ModelResponse([TextPart(step)])
        return ModelResponse([ToolCallPart(tool, args) for tool, args in step])

    return FunctionModel(answer, model_name=name)


def ask(*questions: str) -> Step:
    """The executor asks its advisor, all at once."""
    return [('advisor', {'prompt': question}) for question in questions]


async def scored(
    scorer: Any,
    executor: Sequence[Step],
    advisor: Sequence[Step | Exception] = (),
    *,
    prompt: str = 'Do it.',
    tools: Sequence[Callable[..., Any]] = (),
    error: type[Exception] = ZeroDivisionError,
    **options: Any,
) -> dict[str, Any]:
    """Scores of the case by name; an error of the class given is part of the output."""

    async def task(inputs: str, arm: str) -> str:
        capability = Advisor(scripted('sage', *advisor), **options)
        agent = Agent(scripted('worker', *executor), name='executor', capabilities=[capability], tools=tools)
        try:
            return (await agent.run(prompt)).output
        except error as e:
            return type(e).__name__

    found: CaseRecord = await one_record(suite(task=task, scorers=(scorer, Equals(None))))
    assert found.error is None, found.error
    return {name: score.value for name, score in found.scores.items() if name != 'Equals'}


def read(name: str) -> str:
    """A tool without side effects."""
    return f'{name} says nothing'


def book(slot: str) -> str:
    """A tool with side effects."""
    return f'booked {slot}'
