"""Summaries that a provider wrote in place of older messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from advisor_harness.routing.portability.draft import Draft, Entry
from advisor_harness.routing.portability.origin import is_own_part

__all__ = ['settle_compactions']


@dataclass(frozen=True)
class _Found:
    """A compaction, and where it stands."""

    position: int
    n: int
    part: CompactionPart

    @property
    def summary(self) -> str:
        return (self.part.content or '').strip()

    @property
    def details(self) -> bool:
        return bool(self.part.provider_details and 'encrypted_content' in self.part.provider_details)


def settle_compactions(draft: Draft) -> int:
    """Put readable summaries in the place of the older messages, and refuse unreadable ones that replaced those.

    Returns:
        Index of the message before which the target's adapter sends nothing, because it has a summary of its own: what
        stands there needs no conversion. 0 if it sends all.
    """
    found = list(_compactions(draft.entries))
    own = [one for one in found if _is_own(draft, one)]
    begin = own[-1].position if own else 0
    foreign = [one for one in found if one not in own and one.position >= begin and (one.summary or one.details)]
    action = draft.portability.compaction
    cut = next((one for one in reversed(foreign) if one.summary), None) if action == 'convert' else None
    for one in foreign:
        if one is cut:
            draft.report(draft.entries[one.position], one.n, 'compaction', 'convert', _SUMMARY)
        elif cut is None or (one.position, one.n) > (cut.position, cut.n):
            _settle(draft, one, held=cut is None and not own and not _anything_before(draft.entries, one))
    if cut is not None:
        _cut(draft, cut)
    return begin


def _settle(draft: Draft, one: _Found, *, held: bool) -> None:
    """A compaction that is left out, if what it stands for is still there or can be done without."""
    entry, action = draft.entries[one.position], draft.portability.compaction
    if held and not one.summary:
        draft.report(entry, one.n, 'server_state', 'raise', _HELD)
    else:
        draft.report(entry, one.n, 'compaction', 'raise' if action == 'raise' else 'drop', _LEFT_OUT)


def _cut(draft: Draft, one: _Found) -> None:
    """Leave out what stands before a summary, but for the system prompt, and put the summary where the user speaks."""
    entry = draft.entries[one.position]
    parts = [*_system_prompt(draft.entries[: one.position]), CompactionPart(one.summary)]
    opening = Entry(entry.index, ModelRequest(parts=parts))
    rest = [
        part if n > one.n or isinstance(part, ToolCallPart) else _GONE for n, part in enumerate(entry.message.parts)
    ]
    following = entry.rewritten(replace(_response(entry.message), parts=rest))
    draft.entries = [opening, following, *draft.entries[one.position + 1 :]]


def _compactions(entries: list[Entry]) -> Iterable[_Found]:
    for position, entry in enumerate(entries):
        if isinstance(entry.message, ModelResponse):
            for n, part in enumerate(entry.message.parts):
                if isinstance(part, CompactionPart):
                    yield _Found(position, n, part)


def _is_own(draft: Draft, one: _Found) -> bool:
    """Whether the target's adapter takes the compaction back, and sends nothing of what stands before it."""
    entry = draft.entries[one.position]
    if not entry.own or not is_own_part(one.part, _response(entry.message), draft.target):
        return False
    return one.details or (draft.target.family == 'anthropic' and bool(one.summary))


def _anything_before(entries: list[Entry], one: _Found) -> bool:
    before = [part for entry in entries[: one.position] for part in entry.message.parts]
    before.extend(entries[one.position].message.parts[: one.n])
    said = (TextPart, UserPromptPart, ToolReturnPart)
    return any(isinstance(part, said) or (isinstance(part, CompactionPart) and part.content) for part in before)


def _system_prompt(entries: list[Entry]) -> list[SystemPromptPart]:
    first = next((entry.message for entry in entries if isinstance(entry.message, ModelRequest)), None)
    return [part for part in first.parts if isinstance(part, SystemPromptPart)] if first else []


def _response(message: ModelMessage) -> ModelResponse:
    assert isinstance(message, ModelResponse)
    return message


# The results of calls that a turn made before it was summarised come after it, so those calls stay. All else leaves a
# blank text, which is never sent, in its place: the issues name parts by where they stand in the history.
_GONE = TextPart('')
_SUMMARY = 'A summary by a provider takes the place of the older messages.'
_LEFT_OUT = 'A summary by a provider is left out; the older messages are sent instead.'
_HELD = 'The older messages were replaced by a summary that only the provider which wrote it can read.'
