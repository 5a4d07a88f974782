"""A history that is not sent, because what it would lose is not to be lost.

ModelAPIError (pydantic-ai), so that a `FallbackModel` tries its next model
  PortabilityError           something in it is to be refused
    ServerSideHistoryError   a provider holds what the model would have to know
"""

from __future__ import annotations

from typing import Any

from pydantic_ai.exceptions import ModelAPIError

from advisor_harness.routing.portability.report import PortabilityIssue, PortabilityReport

__all__ = ['PortabilityError', 'ServerSideHistoryError', 'refusal']


class PortabilityError(ModelAPIError):
    """A history was not sent: the model cannot read all of it, and `Portability` says that this is not to happen."""

    def __init__(self, model_name: str, report: PortabilityReport) -> None:
        self.report = report
        """What was found; `report.blocking` is why nothing was sent."""
        super().__init__(model_name, self._message(model_name, report.blocking))

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__class__, (self.model_name, self.report), self.__getstate__()

    @staticmethod
    def _message(model_name: str, blocking: list[PortabilityIssue]) -> str:
        options = ', '.join(sorted({f'`{_OPTIONS[issue.kind]}`' for issue in blocking}))
        return (
            f'Nothing was sent to {model_name!r}. {_listed(blocking)} '
            f'Stay with the model that wrote it, or say in `Portability` what is to become of it ({options}).'
        )


class ServerSideHistoryError(PortabilityError):
    """A history was not sent: a provider holds what was said, and the next model would answer without it."""

    @staticmethod
    def _message(model_name: str, blocking: list[PortabilityIssue]) -> str:
        return (
            f'Nothing was sent to {model_name!r}. {_listed(blocking)} '
            'Stay with the model that wrote it, or rebuild the conversation from its messages: pass all of them as '
            "`message_history`, and leave the provider's id out of the settings or set "
            "`Portability(server_state='drop')`."
        )


def refusal(model_name: str, report: PortabilityReport) -> PortabilityError:
    """The error for a report that blocks."""
    held = any(issue.kind == 'server_state' for issue in report.blocking)
    return (ServerSideHistoryError if held else PortabilityError)(model_name, report)


def _listed(blocking: list[PortabilityIssue]) -> str:
    details = list(dict.fromkeys(issue.detail for issue in blocking))
    more = f' There are {len(details) - _SHOWN} more of this.' if len(details) > _SHOWN else ''
    return ' '.join(details[:_SHOWN]) + more


_SHOWN = 3
_OPTIONS = {
    'thinking': 'thinking',
    'native_tool': 'native_tools',
    'model_file': 'model_files',
    'uploaded_file': 'uploaded_files',
    'media': 'media',
    'compaction': 'compaction',
    'server_state': 'server_state',
    'tool_call_id': 'tool_call_ids',
    'context_window': 'context_window',
}
