"""What one step of a request found, for the next: pydantic-ai prepares messages first and sends them later.

Between the two it copies the list and may merge requests, so the findings ride on the last message, as metadata, which
no provider is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Any

from pydantic_ai.messages import ModelMessage

from advisor_harness.routing.portability.report import PortabilityReport

__all__ = ['Carried', 'carried', 'with_carried', 'without_carried']

_KEY = 'advisor_harness.portability'

# Metadata may come from a client. Only this process can have written what it takes for its own findings.
_PROCESS = token_hex(16)


@dataclass(frozen=True)
class Carried:
    """What an earlier step found."""

    report: PortabilityReport | None = None
    """Its report; `None` if there was no earlier step."""
    elsewhere: list[str] = field(default_factory=list[str])
    """Ids of responses and conversations that other places hold."""


def carried(messages: Sequence[ModelMessage]) -> Carried:
    """What the messages carry."""
    found: Any = ((messages[-1].metadata or {}) if messages else {}).get(_KEY)
    match found:
        case {'process': process, 'report': report, 'elsewhere': elsewhere} if process == _PROCESS:
            return Carried(PortabilityReport.from_json(report), elsewhere)
        case _:
            return Carried()


def with_carried(messages: list[ModelMessage], report: PortabilityReport, elsewhere: list[str]) -> list[ModelMessage]:
    """The messages, carrying what was found."""
    if not messages or not (report.issues or elsewhere):
        return messages
    found = {'process': _PROCESS, 'report': report.as_json(), 'elsewhere': elsewhere}
    last = replace(messages[-1], metadata={**(messages[-1].metadata or {}), _KEY: found})
    return [*messages[:-1], last]


def without_carried(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages as they are sent."""
    last = messages[-1] if messages else None
    if last is None or last.metadata is None or _KEY not in last.metadata:
        return list(messages)
    rest = {key: value for key, value in last.metadata.items() if key != _KEY}
    return [*messages[:-1], replace(last, metadata=rest or None)]
