"""The model that sends a history in a form its provider can read."""

from __future__ import annotations

from collections.abc import Callable

from pydantic_ai.models import KnownModelName, Model
from pydantic_ai.models.wrapper import WrapperModel

from advisor_harness.routing.portability.options import Portability
from advisor_harness.routing.portability.report import PortabilityReport

__all__ = ['OnReport', 'PortableModel', 'wrap']

OnReport = Callable[[PortabilityReport], None]
"""Called with the report of every request, before it is sent or refused."""


class PortableModel(WrapperModel):
    """Continues a history that other models wrote, by the rules of a `Portability`."""

    def __init__(
        self,
        wrapped: Model | KnownModelName,
        portability: Portability | None = None,
        *,
        on_report: OnReport | None = None,
    ) -> None:
        super().__init__(wrapped)
        self.portability = Portability() if portability is None else portability
        self.on_report = on_report


def wrap(model: Model, portability: Portability, *, on_report: OnReport | None = None) -> Model:
    """`model`, with a `PortableModel` around every model in it that may serve a request."""
    return PortableModel(model, portability, on_report=on_report)
