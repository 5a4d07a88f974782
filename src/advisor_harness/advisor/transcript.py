"""What of the executor's history the advisor gets to see.

Three forms: nothing, the completed messages as they are (`forward_history=True`), or one quoted block of text
(`'transcript'`). A transcript names who said what, leaves out system prompts, thinking and binary content, and ends in
the question. Where it must be shortened, the oldest remarks go first and tool results later: they are the evidence.
What the user asked for first stays: it is the task.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    CachePoint,
    FilePart,
    ModelMessage,
    ModelResponse,
    RetryFeedbackPart,
    SpeechPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
    is_multi_modal_content,
)
from pydantic_core import PydanticSerializationError

from advisor_harness.advisor.options import Options

__all__ = ['Forwarded', 'asking', 'forward', 'transcript']

_REMARK, _EVIDENCE, _TASK = range(3)
_USER = 'user: '
_CUT = '\n[... shortened ...]'
_BINARY = '[binary content left out]'
_END = re.compile(r'<(/\s*transcript\s*)>', re.IGNORECASE)


@dataclass(frozen=True)
class Forwarded:
    """What goes to the advisor: the prompt as sent, and the history beside it."""

    prompt: str
    messages: Sequence[ModelMessage] | None = None
    """Messages sent along as such, `None` without history."""
    sent_messages: int | None = None
    """Messages that were sent in any form, `None` without history."""
    sent_chars: int | None = None
    """Characters of the transcript, or of all text in the messages; `None` without history."""
    dropped_parts: int | None = None
    """Parts that a transcript left out, `None` in the other forms."""


def forward(ctx: RunContext[Any], options: Options, question: str) -> Forwarded:
    """Put together what one consultation sends, redacted where the option says so.

    The history is everything before the response that asks: that response holds the pending call itself.
    """
    redact = _as_is if options.redact is None else _text_only(options.redact)
    question = redact(question)
    if options.forward_history is False:
        return Forwarded(question)
    completed = ctx.messages[: asking(ctx)]
    if options.forward_history is True:
        return Forwarded(
            question, messages=completed, sent_messages=len(completed), sent_chars=_chars(completed), dropped_parts=0
        )
    text, dropped = transcript(completed, max_chars=options.max_transcript_chars, redact=redact)
    prompt = f'The conversation so far, quoted:\n<transcript>\n{text}\n</transcript>\n\nThe question:\n{question}'
    return Forwarded(prompt, sent_messages=len(completed), sent_chars=len(text), dropped_parts=dropped)


def transcript(
    messages: Sequence[ModelMessage], *, max_chars: int, redact: Callable[[str], str] | None = None
) -> tuple[str, int]:
    """Quote `messages` in at most `max_chars` characters; returns the text and how many parts were left out.

    `redact` sees every remark whole, before anything is shortened: half a secret would no longer look like one.
    """
    entries = _with_task([entry for message in messages for entry in _entries(message)])
    kept = [replace(entry, text=_quoted((redact or _as_is)(entry.text))) for entry in entries if entry.text]
    remarks = sum(entry.rank == _REMARK for entry in kept)
    # Where nothing but remarks is left, the last one is cut rather than left out, beside the task.
    least = 1 + (remarks == len(kept) - 1)
    kept = _shortened(kept, max_chars, min(remarks, len(kept) - least))
    # A result of which only a few characters were left would be no evidence.
    most_results = max(1, max_chars // (2 * len(_CUT)))
    kept = _shortened(kept, max_chars, len(kept) - most_results)
    return '\n'.join(_fitted(kept, max_chars)), len(entries) - len(kept)


def asking(ctx: RunContext[Any]) -> int:
    """Where the response that asks stands in `ctx.messages`, or their end when it is not among them.

    It is the last message, unless the call waited for an approval while its siblings were answered.
    """
    for index in range(len(ctx.messages) - 1, -1, -1):
        message = ctx.messages[index]
        if isinstance(message, ModelResponse) and any(
            isinstance(part, ToolCallPart) and part.tool_call_id == ctx.tool_call_id for part in message.parts
        ):
            return index
    # A tool that calls tools on its own gives the call an id that is in no response.
    return len(ctx.messages) - bool(ctx.messages and isinstance(ctx.messages[-1], ModelResponse))


@dataclass(frozen=True, eq=False)
class _Entry:
    text: str
    """Empty where the part is left out."""
    rank: int = 0
    """What has a lower rank is left out first."""


def _with_task(entries: list[_Entry]) -> list[_Entry]:
    """The entries, the first prompt of the user marked as the task."""
    first = next((index for index, entry in enumerate(entries) if entry.text.startswith(_USER)), None)
    return [replace(entry, rank=_TASK) if index == first else entry for index, entry in enumerate(entries)]


def _entries(message: ModelMessage) -> Iterator[_Entry]:
    for part in message.parts:
        match part:
            case UserPromptPart(content=content):
                yield _Entry(f'{_USER}{_user_text(content)}')
            case ToolReturnPart():
                yield _Entry(f'result of {part.tool_name}: {_result_text(part)}', _EVIDENCE)
            case TextPart(content=content) if content:
                yield _Entry(f'assistant: {content}')
            case SpeechPart(speaker=speaker, transcript=content) if content:
                yield _Entry(f'{speaker}: {content}')
            case FilePart():
                yield _Entry(f'assistant: {_BINARY}')
            case ToolCallPart():
                yield _Entry(f'assistant calls {part.tool_name}: {_arguments_text(part)}')
            case RetryFeedbackPart(content=content):
                yield _Entry(f'retry: {_feedback_text(content)}')
            case _:
                yield _Entry('')


def _user_text(content: str | Sequence[UserContent]) -> str:
    if isinstance(content, str):
        return content
    return ' '.join(_item_text(item) for item in content if not isinstance(item, CachePoint))


def _item_text(item: UserContent) -> str:
    if isinstance(item, str):
        return item
    return item.content if isinstance(item, TextContent) else _BINARY


def _feedback_text(content: str | Sequence[Any]) -> str:
    if isinstance(content, str):
        return content
    return '; '.join(f'{".".join(map(str, error["loc"]))}: {error["msg"]}' for error in content)


def _result_text(part: ToolReturnPart[Any]) -> str:
    readable = replace(part, content=_without_files(part.content))
    return _json_or_repr(readable.model_response_str, readable.content)


def _arguments_text(part: ToolCallPart[Any]) -> str:
    return _json_or_repr(part.args_as_json_str, part.args)


def _json_or_repr(as_json: Callable[[], str], value: object) -> str:
    """The text of a value, also of one that JSON cannot hold: half a surrogate pair in a tool's result, say."""
    try:
        return as_json()
    except PydanticSerializationError:
        return repr(value)


def _without_files(content: Any) -> Any:
    """A tool's result with placeholders for the files in it, however deep in its lists and mappings."""
    if is_multi_modal_content(content) or isinstance(content, bytes):
        return _BINARY
    if isinstance(content, Mapping):
        return {key: _without_files(value) for key, value in cast('Mapping[Any, Any]', content).items()}
    if isinstance(content, list | tuple):
        return [_without_files(item) for item in cast('Sequence[Any]', content)]
    return content


def _chars(messages: Sequence[ModelMessage]) -> int:
    """Characters of text in messages that are sent as they are: what a transcript leaves out is in it too."""
    return sum(len(_part_text(part)) for message in messages for part in message.parts)


def _part_text(part: object) -> str:
    match part:
        case UserPromptPart(content=content):
            return _user_text(content)
        case ToolReturnPart():
            return _result_text(cast('ToolReturnPart[Any]', part))
        case ToolCallPart():
            return _arguments_text(cast('ToolCallPart[Any]', part))
        case _:
            content = getattr(part, 'content', None)
            return content if isinstance(content, str) else ''


def _shortened(entries: list[_Entry], max_chars: int, droppable: int) -> list[_Entry]:
    """Leave out the oldest entries, lowest rank first, until the rest fits or `droppable` are gone.

    A task that is long by itself is cut to half the room at least, before others are left out for it.
    """
    excess = _size(entries) - max_chars
    excess -= sum(max(0, len(entry.text) - max_chars // 2) for entry in entries if entry.rank == _TASK)
    left_out: set[int] = set()
    for index in sorted(range(len(entries)), key=lambda index: entries[index].rank):
        if excess <= 0 or len(left_out) >= droppable:
            break
        left_out.add(index)
        excess -= len(entries[index].text) + 1
    return [entry for index, entry in enumerate(entries) if index not in left_out]


def _quoted(text: str) -> str:
    """The text without the end of the quotation: what is said in a conversation must not pass for the question."""
    return _END.sub(r'[\1]', text)


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


def _text_only(redact: Callable[[str], object]) -> Callable[[str], str]:
    """`redact`, its results checked: core would send a question that is `None` as no question at all."""

    def redacted(text: str) -> str:
        result = redact(text)
        if not isinstance(result, str):
            raise TypeError(f'`Advisor.redact` must return the text to send, a `str`; got {type(result).__name__}.')
        return result

    return redacted


def _as_is(text: str) -> str:
    return text
