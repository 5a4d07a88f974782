"""The conversion of a history for one model: one concern after another, each pure, none of which sends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_not

from pydantic_ai.messages import ModelMessage, ModelRequest, repair_messages

from advisor_harness.routing.portability.carry import Carried, without_carried
from advisor_harness.routing.portability.compaction import settle_compactions
from advisor_harness.routing.portability.draft import Draft
from advisor_harness.routing.portability.files import convert_request_files
from advisor_harness.routing.portability.ids import fit_tool_call_ids
from advisor_harness.routing.portability.loop import settle_thinking
from advisor_harness.routing.portability.options import Portability
from advisor_harness.routing.portability.report import PortabilityIssue, PortabilityReport
from advisor_harness.routing.portability.responses import convert_responses
from advisor_harness.routing.portability.state import (
    Overrides,
    held_elsewhere,
    settle_conversation,
    settle_suspended_turn,
)
from advisor_harness.routing.portability.target import Target
from advisor_harness.routing.portability.window import check_window, estimated_tokens

__all__ = ['Conversion', 'convert']


@dataclass(frozen=True)
class Conversion:
    """What is sent instead of a history, and what that costs."""

    messages: list[ModelMessage]
    """The history as the target reads it."""
    report: PortabilityReport
    overrides: Overrides
    """Settings of the request that take the place of those it was made with."""
    elsewhere: list[str]
    """Ids of responses and conversations that other places hold."""


def convert(
    messages: Sequence[ModelMessage],
    target: Target,
    portability: Portability,
    *,
    advisor_offered: bool | None = None,
    before: Carried | None = None,
) -> Conversion:
    """Rewrite a history for a model that is to continue it. The messages themselves stay as they are.

    It is deterministic, so that a provider's prompt cache holds, and what it has rewritten it leaves as it is.

    Args:
        messages: The history, with or without a new request at its end.
        target: The model, and the settings it will be sent.
        portability: What is to become of what it cannot read.
        advisor_offered: Whether the request offers a native advisor; `None` if that is not known.
        before: What an earlier step of the same request found in what `messages` were before.
    """
    before = Carried() if before is None else before
    repaired = _repaired(without_carried(messages))
    draft = Draft.of(repaired, target, portability)
    elsewhere = [*before.elsewhere, *held_elsewhere(draft)]
    overrides = settle_conversation(draft, elsewhere)
    settle_suspended_turn(draft)
    sent_from = settle_compactions(draft)
    fit_tool_call_ids(draft)
    draft.entries = [convert_request_files(draft, entry) for entry in draft.entries]
    convert_responses(draft, advisor_offered=advisor_offered)
    converted = [entry.message for entry in draft.entries]
    if len(converted) != len(repaired) or any(map(is_not, converted, repaired)):
        # What was left out may leave a result without its call, or two requests in a row.
        converted = _repaired(converted)
    overrides |= settle_thinking(draft, converted)
    # In front of a summary of its own the adapter sends nothing, so what stands there takes no room.
    sent = [entry.message for entry in draft.entries if entry.index >= sent_from] if sent_from else converted
    tokens = estimated_tokens(sent)
    check_window(draft, tokens)
    return Conversion(converted, _report(draft.issues, before, tokens, sent_from), overrides, elsewhere)


def _repaired(messages: list[ModelMessage]) -> list[ModelMessage]:
    """The messages as pydantic-ai sends them: every call with its result and every result with its call."""
    # Calls of a turn that is not finished may be answered yet.
    return repair_messages(messages, repair_last_response=bool(messages) and isinstance(messages[-1], ModelRequest))


def _report(issues: list[PortabilityIssue], before: Carried, tokens: int, sent_from: int) -> PortabilityReport:
    if before.report is not None:
        # The messages were rewritten already, so what is found in them now is a trace of what was found then.
        known = before.report.kinds
        more = (i for i in issues if i.message_index is None and not (i.kind == 'context_window' in known))
        return before.report.with_issues(more)
    sent = [issue for issue in issues if issue.message_index is None or issue.message_index >= sent_from]
    return PortabilityReport(sorted(sent, key=_place), tokens).with_issues([])


def _place(issue: PortabilityIssue) -> tuple[bool, int, int]:
    return issue.message_index is None, issue.message_index or 0, -1 if issue.part_index is None else issue.part_index
