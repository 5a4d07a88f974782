"""The spans of a case in their order, told apart by whose they are: the executor's or, inside a consultation, not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from advisor_harness.evals.scorers._reading import AnyContext
from advisor_harness.telemetry.conventions import CONSULT_ADVISOR
from advisor_harness.telemetry.spans import SpanView, finished

__all__ = ['Trace', 'arguments', 'texts_in', 'tool_name']

_TOOL = 'execute_tool '


class Trace:
    """The spans of a case."""

    def __init__(self, ctx: AnyContext) -> None:
        self.spans: Sequence[SpanView] = finished(ctx.span_tree)
        self._by_id = {span.span_id: span for span in self.spans}

    @cached_property
    def consultations(self) -> list[SpanView]:
        """Spans of consultations, in the order of their starts."""
        return [span for span in self.spans if span.name == CONSULT_ADVISOR]

    @cached_property
    def advisor_calls(self) -> list[SpanView]:
        """The executor's calls of a local advisor, refused ones included."""
        return [span for span in self.spans if span.name == f'{_TOOL}advisor']

    @cached_property
    def tool_calls(self) -> list[SpanView]:
        """The executor's other tool calls."""
        tools = [span for span in self.spans if span.name.startswith(_TOOL) and span.name != f'{_TOOL}advisor']
        return [span for span in tools if not self.inside_consultation(span)]

    @cached_property
    def executor_requests(self) -> list[SpanView]:
        """Model requests outside of consultations."""
        return [span for span in self._requests if not self.inside_consultation(span)]

    @cached_property
    def advisor_requests(self) -> list[SpanView]:
        """Model requests of local consultations."""
        return [span for span in self._requests if self.inside_consultation(span)]

    @property
    def _requests(self) -> list[SpanView]:
        # Provider SDKs emit spans with the same operation under names of their own.
        chats = (span for span in self.spans if span.attributes.get('gen_ai.operation.name') == 'chat')
        return [span for span in chats if span.name.startswith('chat ')]

    def above(self, span: SpanView) -> Iterator[SpanView]:
        """Parent, its parent and so on."""
        parent = self._by_id.get(span.parent_id or 0)
        while parent is not None:
            yield parent
            parent = self._by_id.get(parent.parent_id or 0)

    def inside_consultation(self, span: SpanView) -> bool:
        """Whether a span belongs to an advisor."""
        return any(above.name == CONSULT_ADVISOR for above in self.above(span))

    def call_of(self, consultation: SpanView) -> SpanView | None:
        """The executor's call that a local consultation answers."""
        return next((span for span in self.above(consultation) if span in self.advisor_calls), None)


def tool_name(span: SpanView) -> str:
    """Name of the tool that was called."""
    return span.name.removeprefix(_TOOL)


def arguments(span: SpanView) -> Mapping[str, Any]:
    """Arguments of a tool call; empty when the span does not keep them."""
    found = _loaded(span.attributes.get('gen_ai.tool.call.arguments'))
    return cast('Mapping[str, Any]', found) if isinstance(found, Mapping) else {}


def texts_in(value: Any) -> Iterator[str]:
    """Every text in an attribute that may hold JSON, keys aside."""
    loaded = _loaded(value)
    if isinstance(loaded, str):
        yield loaded
    elif isinstance(loaded, Mapping):
        for each in cast('Mapping[str, Any]', loaded).values():
            yield from texts_in(each)
    elif isinstance(loaded, list | tuple):
        for each in cast('Sequence[Any]', loaded):
            yield from texts_in(each)


def _loaded(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith(('{', '[')):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
