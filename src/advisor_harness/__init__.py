"""Let a Pydantic AI agent consult a second model, see every decision as a span, and prove that the advice is worth it.

The names below are imported on first use, so that a command which needs none of them starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from advisor_harness.advisor import Advisor as Advisor, Consultation as Consultation, Outcome as Outcome
    from advisor_harness.routing import (
        Portability as Portability,
        PortableModel as PortableModel,
        Route as Route,
        Router as Router,
    )

    __version__: str

__all__ = ['Advisor', 'Consultation', 'Outcome', 'Portability', 'PortableModel', 'Route', 'Router', '__version__']

_ROOMS = {
    'Advisor': 'advisor_harness.advisor',
    'Consultation': 'advisor_harness.advisor',
    'Outcome': 'advisor_harness.advisor',
    'Portability': 'advisor_harness.routing',
    'PortableModel': 'advisor_harness.routing',
    'Route': 'advisor_harness.routing',
    'Router': 'advisor_harness.routing',
}


def __getattr__(name: str) -> object:
    if name == '__version__':
        from importlib.metadata import version  # a third of the time that `--help` takes

        return version('advisor-harness')
    if name in _ROOMS:
        return getattr(import_module(_ROOMS[name]), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def __dir__() -> list[str]:
    return sorted(__all__)
