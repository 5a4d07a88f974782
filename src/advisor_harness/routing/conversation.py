"""A conversation, named in any of the ways an application has at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from advisor_harness.routing.errors import RoutingError

__all__ = ['ConversationRef', 'Place', 'locate']

ConversationRef = str | RunContext[Any] | Sequence[ModelMessage]
"""A conversation id, the context of a run, or a message history."""


@dataclass(frozen=True)
class Place:
    """Where to look for a conversation's route: under its id in a store, and on the responses of its history."""

    conversation_id: str | None
    messages: Sequence[ModelMessage] = ()

    @property
    def required_id(self) -> str:
        """The id, for a write.

        Raises:
            RoutingError: the messages carry none.
        """
        if self.conversation_id is None:
            raise RoutingError(
                'A route can only be set for a conversation with an id, and these messages carry none. '
                'Use the messages of a run, or pass the id.'
            )
        return self.conversation_id


def locate(conversation: ConversationRef) -> Place:
    """The place of a conversation. A history has the id of its last message that has one, as for pydantic-ai."""
    if isinstance(conversation, str):
        if not conversation.strip():
            raise ValueError(f'A conversation id must not be blank; got {conversation!r}.')
        return Place(conversation)
    if isinstance(conversation, RunContext):
        return Place(conversation.conversation_id, conversation.messages)
    if not _is_history(conversation):
        raise TypeError(
            f'A conversation must be an id, the context of a run or a list of messages; got {conversation!r}.'
        )
    ids = (message.conversation_id for message in reversed(conversation) if message.conversation_id is not None)
    return Place(next(ids, None), conversation)


def _is_history(value: Any) -> bool:
    return isinstance(value, Sequence) and all(
        isinstance(each, ModelRequest | ModelResponse) for each in cast('Sequence[Any]', value)
    )
