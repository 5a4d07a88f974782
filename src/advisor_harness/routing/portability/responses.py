"""Responses: opaque data of another place is taken out, and what it carried is kept in a form the target reads."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import is_not
from typing import Any, cast

from pydantic_ai.messages import (
    CompactionPart,
    FilePart,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    SpeechPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserContent,
)

from advisor_harness.routing.portability.draft import Draft, Entry
from advisor_harness.routing.portability.files import convert_model_file
from advisor_harness.routing.portability.native import (
    NativePart,
    convert_native,
    is_advice,
    is_tool_search,
    replays_native,
)
from advisor_harness.routing.portability.origin import is_own_part, same_model
from advisor_harness.routing.portability.target import Target
from advisor_harness.routing.portability.thinking import convert_thinking, replays_thinking

__all__ = ['convert_responses']


def convert_responses(draft: Draft, *, advisor_offered: bool | None = None) -> None:
    """Rewrite every response that the target cannot read as it is, and leave out what then holds nothing.

    Args:
        draft: The history.
        advisor_offered: Whether the request offers the target's native advisor; without it, the advice of earlier
            consultations goes as text. `None` if that is not known.
    """
    for position in reversed(range(len(draft.entries))):
        entry = draft.entries[position]
        if not isinstance(entry.message, ModelResponse):
            continue
        rewriting = _Rewriting(draft, entry, entry.message, advisor_offered)
        message = rewriting.message()
        if rewriting.shown:
            draft.hand_to_user(position, rewriting.shown)
        if _is_sent(message, draft.target):
            draft.entries[position] = entry.rewritten(message)
        else:
            del draft.entries[position]


@dataclass
class _Rewriting:
    draft: Draft
    entry: Entry
    original: ModelResponse
    advisor_offered: bool | None
    shown: list[UserContent] = field(default_factory=list[UserContent])
    """What goes to the user's next turn."""

    def message(self) -> ModelResponse:
        parts = [new for n, part in enumerate(self.original.parts) for new in self._part(n, part)]
        message = self.original
        if len(parts) != len(message.parts) or any(map(is_not, parts, message.parts)):
            message = replace(message, parts=parts)
        return message if self.entry.own else _without_place(message, self.draft.target)

    def _part(self, n: int, part: ModelResponsePart) -> list[ModelResponsePart]:
        own = self.entry.own and is_own_part(part, self.original, self.draft.target)
        match part:
            case ThinkingPart():
                kept = own and replays_thinking(part, self.original, self.draft.target)
                return [part] if kept else convert_thinking(self.draft, self.entry, n, part)
            case NativeToolCallPart() | NativeToolReturnPart():
                return self._native(n, cast('NativePart', part), own)
            case FilePart():
                kept = own and self._replays(own_files=True)
                return [part] if kept else convert_model_file(self.draft, self.entry, n, part, self.shown)
            case TextPart() | ToolCallPart():
                return self._own(part) if own else self._bare(n, part)
            case CompactionPart():
                return [part] if own else []
            case _:
                return [part]

    def _native(self, n: int, part: NativePart, own: bool) -> list[ModelResponsePart]:
        if is_tool_search(part):
            return [part if own else _nameless(part)]
        kept = own and self._replays() and not (is_advice(part) and self.advisor_offered is False)
        return [part] if kept else convert_native(self.draft, self.entry, n, part, self.shown)

    def _replays(self, *, own_files: bool = False) -> bool:
        # What a model's own adapter leaves out of its own turns is not lost by a change of models.
        target = self.draft.target
        return same_model(self.original, target) or (
            replays_native(target) and not (own_files and _drops_files(target))
        )

    def _own(self, part: TextPart | ToolCallPart[Any]) -> list[ModelResponsePart]:
        # Most APIs refuse blank text, but it may carry an id or a signature.
        blank = isinstance(part, TextPart) and not part.content.strip() and not part.id and not part.provider_details
        return [] if blank else [part]

    def _bare(self, n: int, part: TextPart | ToolCallPart[Any]) -> list[ModelResponsePart]:
        if isinstance(part, TextPart) and not part.content.strip():
            return []
        details: dict[str, Any] = part.provider_details or {}
        if details.get('thought_signature') or details.get('extra_content'):
            action = 'raise' if self.draft.portability.thinking == 'raise' else 'drop'
            detail = 'The signature of the thinking before a part cannot be read by another place.'
            self.draft.report(self.entry, n, 'thinking', action, detail)
        return [_nameless(part)]


def _nameless(part: Any) -> Any:
    """The part without what only its provider can read."""
    if part.id is None and part.provider_name is None and part.provider_details is None:
        return part
    return replace(part, id=None, provider_name=None, provider_details=None)


def _without_place(message: ModelResponse, target: Target) -> ModelResponse:
    """A response without ids of what its provider holds, nor a name that the target would take for its own."""
    name = None if message.provider_name in target.names else message.provider_name
    if (name, None, None) == (message.provider_name, message.provider_details, message.provider_response_id):
        return message
    return replace(message, provider_name=name, provider_details=None, provider_response_id=None)


def _drops_files(target: Target) -> bool:
    return target.family in ('anthropic', 'bedrock', 'xai')


def _is_sent(message: ModelResponse, target: Target) -> bool:
    """Whether the target's adapter makes a message of it that holds something."""
    return any(_holds(part, target) for part in message.parts)


def _holds(part: ModelResponsePart, target: Target) -> bool:
    match part:
        case TextPart():
            return bool(part.content.strip())
        case NativeToolCallPart() | NativeToolReturnPart():
            return replays_native(target) or is_tool_search(cast('NativePart', part))
        case FilePart():
            return target.family == 'google'
        case ThinkingPart() | ToolCallPart() | CompactionPart() | SpeechPart():
            return True
