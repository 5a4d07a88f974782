"""The mark that every response bears: which route and which model it came from.

It travels with the history, through JSON too, so a conversation keeps its route in a process that has never seen it. It
is data that a client may have forged: a route is only ever looked up by it, never a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model

from advisor_harness.routing.identity import identity

__all__ = ['Stamp', 'newest_route', 'stamp_of', 'stamps', 'suspended_tail']


@dataclass(frozen=True)
class Stamp:
    """Who served one response."""

    route: str | None
    """The route; `None` when a model served that was given to the run instead."""
    identity: str
    """The place that can read the response's opaque data; see `identity.identity`."""
    model: str
    """`provider:name` of the model that served."""

    @classmethod
    def by(cls, route: str | None, leaf: Model) -> Stamp:
        """The stamp of `leaf`, a model that is no wrapper."""
        return cls(route, identity(leaf), leaf.model_id)

    @classmethod
    def read(cls, found: object) -> Stamp | None:
        """The stamp that stands in `ModelResponse.metadata`, `None` for what is not of a stamp's shape."""
        match found:
            case {'route': str() | None as route, 'identity': str(place), 'model': str(model)}:
                return cls(route, place, model)
            case _:
                return None

    def as_metadata(self) -> dict[str, Any]:
        """The stamp as it stands in `ModelResponse.metadata`."""
        return {'route': self.route, 'identity': self.identity, 'model': self.model}


def stamp_of(response: ModelResponse, state_key: str) -> Stamp | None:
    """The stamp of a response, `None` if it has none. What is not of a stamp's shape is none."""
    return Stamp.read((response.metadata or {}).get(state_key))


def stamps(messages: Sequence[ModelMessage], state_key: str, conversation_id: str | None) -> Iterator[Stamp]:
    """The stamps of one conversation, the newest first.

    A history that was forked off another conversation (`conversation_id='new'`) still holds that one's responses; they
    say nothing about this one. `None` takes the stamps of every conversation.
    """
    for message in reversed(messages):
        if not isinstance(message, ModelResponse):
            continue
        if conversation_id is not None and message.conversation_id not in (None, conversation_id):
            continue
        if (stamp := stamp_of(message, state_key)) is not None:
            yield stamp


def newest_route(messages: Sequence[ModelMessage], state_key: str, conversation_id: str | None) -> str | None:
    """The route that served the conversation last. Models that served without a route do not change it."""
    return next(
        (stamp.route for stamp in stamps(messages, state_key, conversation_id) if stamp.route is not None), None
    )


def suspended_tail(messages: Sequence[ModelMessage]) -> ModelResponse | None:
    """The response at the end of `messages` that its provider has not finished, if that is how they end."""
    last = messages[-1] if messages else None
    return last if isinstance(last, ModelResponse) and last.state == 'suspended' else None
