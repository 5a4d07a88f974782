"""Models that answer with their own name, and short ways to look at what a run left behind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

__all__ = ['mark', 'marks', 'routes_of', 'talker']


def talker(name: str, *, calls: str | None = None, seen: list[AgentInfo] | None = None) -> FunctionModel:
    """A model that calls tool `calls` once per run, if there is one, and then says its name."""

    def due(messages: list[ModelMessage]) -> bool:
        last = messages[-1]
        returned = isinstance(last, ModelRequest) and any(isinstance(part, ToolReturnPart) for part in last.parts)
        return calls is not None and not returned

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if seen is not None:
            seen.append(info)
        part = ToolCallPart(calls or '', {}, tool_call_id='call_1') if due(messages) else TextPart(name)
        return ModelResponse(parts=[part])

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        if seen is not None:
            seen.append(info)
        if due(messages):
            yield {0: DeltaToolCall(name=calls, json_args='{}', tool_call_id='call_1')}
        else:
            yield name

    return FunctionModel(answer, stream_function=stream, model_name=name)


def mark(route: str | None, model: str) -> dict[str, Any]:
    """The stamp of a response that `talker(model)` gave."""
    return {'route': route, 'identity': 'function||FunctionModel', 'model': f'function:{model}'}


def marks(messages: Sequence[ModelMessage], key: str = 'router') -> list[Any]:
    """The stamps of all responses, `None` for one without."""
    return [(m.metadata or {}).get(key) for m in messages if isinstance(m, ModelResponse)]


def routes_of(messages: Sequence[ModelMessage], key: str = 'router') -> list[str | None]:
    """The routes of all responses."""
    return [stamp['route'] for stamp in marks(messages, key)]
