"""What a recorded request asked for, read back into the words of Pydantic AI.

A reader (`drift_anthropic.py`, `drift_chat.py`, ...) takes a body apart member by member. What it does not know it
names instead of guessing: a request that is half understood would be reported as drift, or as none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic_ai.messages import BinaryContent, ModelRequest, ModelRequestPart, ToolReturnPart, UserContent
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition

__all__ = ['Answered', 'Asked', 'Conversation', 'Members', 'NotChecked', 'binary', 'tool_parameters']


class NotChecked(Exception):
    """A recorded request cannot be made again; its text says why."""


@dataclass(frozen=True)
class Answered:
    """A turn of the model, as the answer of the provider that would have brought it."""

    body: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request as a `Model` takes it."""

    turns: list[ModelRequest | Answered]
    settings: dict[str, Any]
    parameters: ModelRequestParameters
    stream: bool


class Members:
    """The members of a JSON object, each to be taken once; what nobody took is not understood.

    Raises:
        NotChecked: `value` is no object.
    """

    def __init__(self, value: Any, where: str = '') -> None:
        if not isinstance(value, dict):
            raise NotChecked(f'{where or "the body"} is no JSON object')
        self._left = dict(cast('dict[str, Any]', value))
        self._where = where

    def take(self, name: str, default: Any = None) -> Any:
        """A member, or `default` where it is absent."""
        return self._left.pop(name, default)

    def peek(self, name: str) -> Any:
        """A member that stays to be taken; `None` where it is absent."""
        return self._left.get(name)

    def required(self, name: str) -> Any:
        """A member that must be there.

        Raises:
            NotChecked: it is not.
        """
        if name not in self._left:
            raise NotChecked(f'it has no `{self._path(name)}`')
        return self._left.pop(name)

    def list(self, name: str) -> list[Any]:
        """A member that is a list; empty where it is absent or `null`.

        Raises:
            NotChecked: it is something else.
        """
        value = self._left.pop(name, None)
        if value is not None and not isinstance(value, list):
            raise NotChecked(f'`{self._path(name)}` is no list')
        return cast('list[Any]', value or [])

    def object(self, name: str) -> Members:
        """A member that is an object; without members where it is absent or `null`.

        Raises:
            NotChecked: it is something else.
        """
        return Members(self._left.pop(name, None) or {}, self._path(name))

    def objects(self, name: str) -> Iterator[Members]:
        """The elements of a member that is a list of objects.

        Raises:
            NotChecked: it is something else.
        """
        for index, value in enumerate(self.list(name)):
            yield Members(value, f'{self._path(name)}[{index}]')

    def settings(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Members that are model settings, by the names of the settings; `null` is none."""
        return {setting: self.take(name) for name, setting in names.items() if self._left.get(name) is not None}

    def end(self) -> None:
        """Say that everything known was taken.

        Raises:
            NotChecked: something with a value is left.
        """
        if unknown := sorted(name for name, value in self._left.items() if value not in (None, [], {})):
            raise NotChecked(f'it is not known what made `{self._path(unknown[0])}`')

    def _path(self, name: str) -> str:
        return f'{self._where}.{name}' if self._where else name


@dataclass
class Conversation:
    """Turns in order; parts of the user's side that follow each other are one turn."""

    turns: list[ModelRequest | Answered] = field(default_factory=list['ModelRequest | Answered'])
    _tool_names: dict[str, str] = field(default_factory=dict[str, str])

    def ask(self, part: ModelRequestPart) -> None:
        """Add something that was sent to the model."""
        last = self.turns[-1] if self.turns else None
        if isinstance(last, ModelRequest):
            last.parts = [*last.parts, part]
        else:
            self.turns.append(ModelRequest(parts=[part]))

    def answered(self, body: dict[str, Any], calls: Mapping[str, str]) -> None:
        """Add a turn of the model, with the names of the tools that it called by the ids of the calls."""
        self._tool_names |= calls
        self.turns.append(Answered(body))

    def returned(self, call_id: str, content: Any, *, failed: bool = False) -> None:
        """Add the result of a tool.

        Raises:
            NotChecked: no turn called it.
        """
        if call_id not in self._tool_names:
            raise NotChecked(f'the result of tool call {call_id!r} belongs to no call')
        outcome = 'failed' if failed else 'success'
        self.ask(ToolReturnPart(self._tool_names[call_id], content, tool_call_id=call_id, outcome=outcome))


def tool_parameters(
    tools: Sequence[ToolDefinition],
    *,
    must_call: bool,
    native: Sequence[Any],
    output: OutputObjectDefinition | None = None,
) -> ModelRequestParameters:
    """Parameters with tools; where the model must call one, those that end a run are told by their usual name."""
    last = [tool for tool in tools if must_call and tool.name.startswith('final_result')]
    return ModelRequestParameters(
        function_tools=[tool for tool in tools if tool not in last],
        output_tools=last,
        output_mode='native' if output else 'tool' if last else 'text',
        output_object=output,
        allow_text_output=not must_call,
        native_tools=[*native],
    )


def binary(data: str, media_type: str) -> UserContent:
    """A file that stands in a request as base64."""
    return BinaryContent.from_data_uri(f'data:{media_type};base64,{data}')
