"""Continue a history with another model than wrote it, and say what that costs.

`PortableModel` rewrites what the next model cannot read, leaves it out, or refuses to send, as a `Portability` says.
`explain` is its dry run.
"""

from __future__ import annotations

from advisor_harness.routing.portability.errors import (
    PortabilityError as PortabilityError,
    ServerSideHistoryError as ServerSideHistoryError,
)
from advisor_harness.routing.portability.explain import explain as explain
from advisor_harness.routing.portability.model import OnReport as OnReport, PortableModel as PortableModel, wrap as wrap
from advisor_harness.routing.portability.options import Action as Action, Portability as Portability
from advisor_harness.routing.portability.report import (
    Kind as Kind,
    PortabilityIssue as PortabilityIssue,
    PortabilityReport as PortabilityReport,
)

__all__ = [
    'Action',
    'Kind',
    'OnReport',
    'Portability',
    'PortabilityError',
    'PortabilityIssue',
    'PortabilityReport',
    'PortableModel',
    'ServerSideHistoryError',
    'explain',
    'wrap',
]
