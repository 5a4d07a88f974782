"""What of the executor's history the advisor gets to see.

Three forms: nothing, the completed messages as they are (`forward_history=True`), or one quoted block of text
(`'transcript'`). A transcript names who said what, leaves out system prompts, thinking and binary content, and ends in
the question. Where it must be shortened, the oldest remarks go first and tool results last: they are the evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from advisor_harness.advisor.options import Options

__all__ = ['Forwarded', 'forward', 'transcript']

_CUT = '\n[... shortened ...]'
_BINARY = '[binary content left out]'


@dataclass(frozen=True)
class Forwarded:
    """What goes to the advisor: the prompt as sent, and the history beside it."""

    prompt: str
    messages: Sequence[ModelMessage] | None = None
    """Messages sent along as such, `None` without history."""
    sent_messages: int | None = None
    """Messages that were sent in any form, `None` without history."""
    sent_chars: int | None = None
    """Characters of a transcript, `None` in the other forms."""
    dropped_parts: int | None = None
    """Parts that a transcript left out, `None` in the other forms."""


def forward(ctx: RunContext[Any], options: Options, question: str) -> Forwarded:
    """Put together what one consultation sends, redacted where the option says so.

    The history is everything before the response that asks: that response holds the pending call itself.
    """
    redact = options.redact or _as_is
    question = redact(question)
    if options.forward_history is False:
        return Forwarded(question)
    completed = ctx.messages[:-1]
    if options.forward_history is True:
        return Forwarded(question, messages=completed, sent_messages=len(completed), dropped_parts=0)
    text, dropped = transcript(completed, max_chars=options.max_transcript_chars)
    text = redact(text)
    prompt = f'The conversation so far, quoted:\n<transcript>\n{text}\n</transcript>\n\nThe question:\n{question}'
    return Forwarded(prompt, sent_messages=len(completed), sent_chars=len(text), dropped_parts=dropped)


def transcript(messages: Sequence[ModelMessage], *, max_chars: int) -> tuple[str, int]:
    """Quote `messages` in at most `max_chars` characters; returns the text and how many parts were left out."""
    entries = [entry for message in messages for entry in _entries(message)]
    kept = [entry for entry in entries if entry.text]
    dropped = len(entries) - len(kept)
    while _size(kept) > max_chars and any(not entry.evidence for entry in kept):
        kept.remove(next(entry for entry in kept if not entry.evidence))
        dropped += 1
    while _size(kept) > max_chars and len(kept) > 1 and max_chars < len(kept) * 2 * len(_CUT):
        del kept[0]
        dropped += 1
    return '\n'.join(_fitted(kept, max_chars)), dropped


@dataclass(frozen=True, eq=False)
class _Entry:
    text: str
    """Empty where the part is left out."""
    evidence: bool = False


def _entries(message: ModelMessage) -> Iterator[_Entry]:
    for part in message.parts:
        match part:
            case UserPromptPart(content=content):
                yield _Entry(f'user: {_plain(content)}')
            case ToolReturnPart():
                content = part.model_response_str()
                yield _Entry(f'result of {part.tool_name}: {content}', evidence=True)
            case TextPart(content=content) if content:
                yield _Entry(f'assistant: {content}')
            case ToolCallPart():
                yield _Entry(f'assistant calls {part.tool_name}: {part.args_as_json_str()}')
            case _ if isinstance(message, ModelRequest) and part.part_kind == 'retry-feedback':
                yield _Entry(f'retry: {_plain(getattr(part, "content", ""))}')
            case _:
                yield _Entry('')


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return ' '.join(item if isinstance(item, str) else _BINARY for item in content)  # pyright: ignore[reportUnknownVariableType]
    return _BINARY


def _size(entries: Sequence[_Entry]) -> int:
    return sum(len(entry.text) + 1 for entry in entries) - 1 if entries else 0


def _fitted(entries: Sequence[_Entry], max_chars: int) -> Iterator[str]:
    """Cut every entry that exceeds its fair share of the room, shortest first, so that short ones stay whole."""
    room = max_chars - max(0, len(entries) - 1)
    allowed: dict[int, int] = {}
    for rank, position in enumerate(sorted(range(len(entries)), key=lambda index: len(entries[index].text))):
        share = room // (len(entries) - rank)
        allowed[position] = min(len(entries[position].text), share)
        room -= allowed[position]
    for position, entry in enumerate(entries):
        limit = allowed[position]
        if limit >= len(entry.text):
            yield entry.text
        else:
            yield (entry.text[: max(0, limit - len(_CUT))] + _CUT)[:limit]


def _as_is(text: str) -> str:
    return text
