"""What was found in a history that a model cannot read, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from advisor_harness.routing.portability.options import Action

__all__ = ['Kind', 'PortabilityIssue', 'PortabilityReport']

Kind = Literal[
    'thinking',
    'native_tool',
    'model_file',
    'uploaded_file',
    'media',
    'compaction',
    'server_state',
    'tool_call_id',
    'context_window',
]
"""The option of `Portability` that decides, in the singular."""


@dataclass(frozen=True)
class PortabilityIssue:
    """One thing that the next model cannot read as it stands."""

    message_index: int | None
    """Index into the messages, once pydantic-ai has repaired them (`repair_messages`: as a rule they stay as they
    are); `None` for what stands in no message."""
    part_index: int | None
    """Index into the parts of the message; `None` for what concerns the message as a whole."""
    kind: Kind
    """What it is."""
    source: str
    """Where it comes from: `provider|endpoint|API` of the model that wrote it, as far as it is known, or `user`."""
    target: str
    """`provider|endpoint|API` of the next model."""
    action: Action
    """What becomes of it."""
    detail: str
    """One sentence for people. It quotes no content."""


@dataclass(frozen=True)
class PortabilityReport:
    """What becomes of a history that a model is to continue."""

    issues: list[PortabilityIssue] = field(default_factory=list[PortabilityIssue])
    """In the order of the messages; what stands in no message comes last."""
    estimated_tokens: int | None = None
    """Estimated length of the history as it would be sent, in tokens: text by its size, files only where a least
    figure is known, tools not at all. `None` in a report that was not made for a history."""

    @property
    def blocking(self) -> list[PortabilityIssue]:
        """The issues for which nothing is sent."""
        return [issue for issue in self.issues if issue.action == 'raise']

    @property
    def lossless(self) -> bool:
        """Whether the model is sent all there is: nothing but the ids of tool calls changes."""
        return all(issue.kind == 'tool_call_id' and issue.action == 'convert' for issue in self.issues)

    @property
    def kinds(self) -> list[str]:
        """The kinds of the issues, sorted, each once."""
        return sorted({issue.kind for issue in self.issues})

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {'issues': [vars(issue).copy() for issue in self.issues], 'estimated_tokens': self.estimated_tokens}

    @classmethod
    def from_json(cls, found: Any) -> PortabilityReport:
        """Read what `as_json` wrote.

        Raises:
            TypeError: it is of another shape.
            KeyError: a key is missing.
        """
        return cls([PortabilityIssue(**issue) for issue in found['issues']], found['estimated_tokens'])

    def with_issues(self, more: Iterable[PortabilityIssue]) -> PortabilityReport:
        """The report with what else was found, each issue once."""
        return PortabilityReport(list(_unique([*self.issues, *more])), self.estimated_tokens)


def _unique(issues: Iterable[PortabilityIssue]) -> Iterator[PortabilityIssue]:
    yield from dict.fromkeys(issues)
