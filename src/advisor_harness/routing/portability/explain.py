"""The dry run: what a request would do with a history."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from advisor_harness.routing.portability.options import Portability
from advisor_harness.routing.portability.report import PortabilityReport

__all__ = ['explain']


def explain(
    messages: Sequence[ModelMessage],
    model: Model,
    *,
    settings: ModelSettings | None = None,
    portability: Portability | None = None,
) -> PortabilityReport:
    """Say what a request would do with a history, and send nothing."""
    return PortabilityReport()
