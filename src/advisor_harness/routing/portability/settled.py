"""A conversion that need not be done again: pydantic-ai prepares the messages of a request, and sends the same ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import is_not
from typing import Any, cast

from pydantic_ai.messages import ModelMessage
from pydantic_ai.settings import ModelSettings

from advisor_harness.routing.portability.convert import Conversion

__all__ = ['Settled', 'settled']

# What no rule reads. Settings that are not listed, those of providers too, are converted for.
_INERT = frozenset(
    {
        'extra_headers',
        'frequency_penalty',
        'logit_bias',
        'max_tokens',
        'parallel_tool_calls',
        'presence_penalty',
        'seed',
        'stop_sequences',
        'temperature',
        'timeout',
        'tool_choice',
        'top_k',
        'top_p',
    }
)


@dataclass(frozen=True)
class Settled:
    """What a conversion has left, as it was then."""

    found: Conversion
    advisor_offered: bool | None
    snapshot: list[Any]
    """The very messages and parts, and their fields: one that was changed meanwhile is to be converted."""

    def holds(
        self, messages: Sequence[ModelMessage], settings: ModelSettings | None, advisor_offered: bool | None
    ) -> bool:
        """Whether converting `messages` with `settings` would find the same."""
        return (
            self.advisor_offered == advisor_offered
            and _inert(settings)
            and len(messages) == len(self.snapshot)
            and all(message is seen[0] for message, seen in zip(messages, self.snapshot, strict=True))
            and _snapshot(messages) == self.snapshot
        )


def settled(
    found: Conversion, prepared: Sequence[ModelMessage], sent: Sequence[ModelMessage], advisor_offered: bool | None
) -> Settled | None:
    """What need not be converted again; `None` where more than the conversion was done, or settings must change.

    Args:
        found: The conversion, made without the settings of a request.
        prepared: What the wrapped model made of its messages.
        sent: The same with what is carried.
        advisor_offered: As for the conversion.
    """
    if found.overrides or len(prepared) != len(found.messages) or any(map(is_not, prepared, found.messages)):
        return None
    return Settled(found, advisor_offered, _snapshot(sent))


def _inert(settings: ModelSettings | None) -> bool:
    return settings is None or settings.keys() <= _INERT


def _snapshot(messages: Sequence[ModelMessage]) -> list[Any]:
    return [(message, _fields(message), [(part, _fields(part)) for part in message.parts]) for message in messages]


def _fields(item: object) -> Mapping[str, Any]:
    fields: dict[str, Any] = {**vars(item)}
    content = fields.get('content')
    # A list is still the same object when something was added to it.
    if isinstance(content, list):
        fields['content'] = tuple(cast('list[Any]', content))
    return fields
