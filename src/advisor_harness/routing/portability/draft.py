"""A history while it is being rewritten: its messages with where they stood, and the issues found so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserContent, UserPromptPart

from advisor_harness.routing.portability.options import Action, Portability
from advisor_harness.routing.portability.origin import is_own, source_of
from advisor_harness.routing.portability.report import Kind, PortabilityIssue
from advisor_harness.routing.portability.target import Target

__all__ = ['USER', 'Draft', 'Entry']

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)

USER = 'user'
"""The source of what no model wrote."""


@dataclass(frozen=True)
class Entry:
    """One message, and what is known of it before anything was rewritten."""

    index: int
    message: ModelMessage
    own: bool = False
    """Whether the target's place wrote it; a request is nobody's."""
    written: ModelResponse | None = None
    """The response as it was written."""

    @property
    def source(self) -> str:
        """Who wrote it."""
        return USER if self.written is None else source_of(self.written)

    def rewritten(self, message: ModelMessage) -> Entry:
        """The entry with another message in its place."""
        return self if message is self.message else Entry(self.index, message, self.own, self.written)


@dataclass
class Draft:
    """What one conversion works on. The messages it was given are never changed, only replaced."""

    target: Target
    portability: Portability
    entries: list[Entry]
    issues: list[PortabilityIssue] = field(default_factory=list[PortabilityIssue])

    @classmethod
    def of(cls, messages: Sequence[ModelMessage], target: Target, portability: Portability) -> Draft:
        """The draft of a history that nothing was done to yet."""
        return cls(target, portability, [_entry(n, message, target) for n, message in enumerate(messages)])

    def report(self, entry: Entry, part: int | None, kind: Kind, action: Action, detail: str) -> None:
        """Add an issue with something in a message of a response's source, or the user's."""
        self.report_from(entry.source, entry, part, kind, action, detail)

    def report_from(
        self, source: str, entry: Entry | None, part: int | None, kind: Kind, action: Action, detail: str
    ) -> None:
        """Add an issue with something of another source than its message, or in no message."""
        index = entry.index if entry else None
        self.issues.append(PortabilityIssue(index, part, kind, source, self.target.identity, action, detail))

    def hand_to_user(self, position: int, content: list[UserContent]) -> None:
        """Put content at the start of the user's turn after the response at `position`, behind its tool results.

        Only a request may hold files, so what a model made is shown to the next one there.
        """
        # The time of the response, so that converting twice gives equal messages.
        prompt = UserPromptPart(content, timestamp=self.entries[position].message.timestamp or _LONG_AGO)
        following = self.entries[position + 1] if position + 1 < len(self.entries) else None
        if following is None or not isinstance(following.message, ModelRequest):
            index = self.entries[position].index
            self.entries.insert(position + 1, Entry(index, ModelRequest(parts=[prompt])))
            return
        parts = list(following.message.parts)
        first = next((n for n, part in enumerate(parts) if isinstance(part, UserPromptPart)), len(parts))
        parts.insert(first, prompt)
        self.entries[position + 1] = following.rewritten(replace(following.message, parts=parts))


def _entry(index: int, message: ModelMessage, target: Target) -> Entry:
    if isinstance(message, ModelResponse):
        return Entry(index, message, own=is_own(message, target), written=message)
    return Entry(index, message)
