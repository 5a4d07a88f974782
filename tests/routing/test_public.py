"""The room's public names."""

from __future__ import annotations

import advisor_harness
from advisor_harness import routing


def test_every_public_name_exists_and_every_class_is_public() -> None:
    """`__all__` lists what the room offers, no more and no less."""
    offered = {name for name, value in vars(routing).items() if isinstance(value, type)}
    assert offered == set(routing.__all__)


def test_the_front_door_leads_here() -> None:
    """`Route` and `Router` are imported from the package itself."""
    assert (advisor_harness.Route, advisor_harness.Router) == (routing.Route, routing.Router)
