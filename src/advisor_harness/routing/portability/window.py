"""Whether a history fits into the model's context window, as far as that can be told without asking."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    TextContent,
)

from advisor_harness.routing.portability.draft import USER, Draft

__all__ = ['check_window', 'estimated_tokens']

_CHARACTERS_PER_TOKEN = 4
"""About what tokenizers of today make of prose. Bytes would count every letter outside of ASCII twice or three times,
and refuse histories in most languages that are well within the window."""

_TOKENS_PER_IMAGE = 85
"""The fewest any provider counts for one: OpenAI's price of an image in low detail."""


def estimated_tokens(messages: Sequence[ModelMessage]) -> int:
    """A rough estimate of how many tokens the messages are. Files but images, and tools, are not counted."""
    size, images = 0, 0
    for text in _texts(messages):
        if text is None:
            images += 1
        else:
            size += len(text)
    return size // _CHARACTERS_PER_TOKEN + images * _TOKENS_PER_IMAGE


def check_window(draft: Draft, tokens: int) -> None:
    """Refuse a history that is longer than the model's context window, where that is known."""
    window = draft.target.model.context_window
    if window is None or tokens <= window:
        return
    action = 'drop' if draft.portability.context_window == 'drop' else 'raise'
    detail = f'About {tokens:,} tokens are too many for a context window of {window:,}.'
    draft.report_from(USER, None, None, 'context_window', action, detail)


def _texts(messages: Sequence[ModelMessage]) -> Iterable[str | None]:
    """Every text of the messages, and `None` for every image."""
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    # Only the instructions of the last request are sent.
    yield (requests[-1].instructions if requests else None) or ''
    for message in messages:
        for part in message.parts:
            yield from _part_texts(part)


def _part_texts(part: Any) -> Iterable[str | None]:
    for name in ('content', 'args'):
        yield from _value_texts(getattr(part, name, None))


def _value_texts(value: Any) -> Iterable[str | None]:
    match value:
        case None:
            return
        case str():
            yield value
        case TextContent() | InstructionPart():
            yield value.content
        case ImageUrl():
            yield None
        case BinaryContent():
            yield from [None] if value.is_image else []
        case list() | tuple():
            for item in cast('Sequence[Any]', value):
                yield from _value_texts(item)
        case Mapping():
            yield json.dumps(value, default=str)
        case _:
            return
