"""The dry run: what a request would do with a history."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from advisor_harness.routing.identity import layers, leaves
from advisor_harness.routing.portability.convert import convert
from advisor_harness.routing.portability.model import PortableModel
from advisor_harness.routing.portability.options import Portability
from advisor_harness.routing.portability.report import PortabilityReport
from advisor_harness.routing.portability.target import target_of

__all__ = ['explain']


def explain(
    messages: Sequence[ModelMessage],
    model: Model,
    *,
    settings: ModelSettings | None = None,
    portability: Portability | None = None,
) -> PortabilityReport:
    """Say what a request would do with a history, and send nothing.

    Args:
        messages: The history, with or without a new request at its end.
        model: The model that is to continue it. Of several that may serve, as in a `FallbackModel`, it is the first
            that is sent anything at all; if none is, the first.
        settings: Settings the request would be made with, over the model's own.
        portability: What is to become of what the model cannot read; `None` takes that of a `PortableModel` in
            `model`, or the defaults.

    Returns:
        The report that the request makes of the same messages. The tools and settings that only a run adds, and a
        file that cannot be fetched, are not known here.
    """
    rules = portability or _rules(model) or Portability()
    reports = [convert(messages, target_of(leaf, settings), rules).report for leaf in leaves(model)]
    return next((report for report in reports if not report.blocking), reports[0])


def _rules(model: Model) -> Portability | None:
    return next((layer.portability for layer in layers(model) if isinstance(layer, PortableModel)), None)
