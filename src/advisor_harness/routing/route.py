"""A route, and the table of named routes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from pydantic_ai.models import KnownModelName, Model
from pydantic_ai.settings import ModelSettings

from advisor_harness.routing.errors import RouteNotFoundError
from advisor_harness.routing.portability import Portability

__all__ = ['Route', 'RouteLike', 'RouteTable']


@dataclass(frozen=True)
class Route:
    """A model, and the settings that apply while it serves."""

    model: Model | KnownModelName | str
    """The model, or its id: an id is resolved by the run, its `resolve_model_id` capabilities first."""
    settings: ModelSettings | None = None
    """Model settings of the requests this route serves: over the agent's settings, under those given to the run."""
    portability: Portability | None = None
    """What becomes of a history that this route's model cannot read; `None` goes by the router's."""

    def __post_init__(self) -> None:
        model: Any = self.model
        if not isinstance(model, Model | str):
            raise TypeError(f'`Route.model` must be a model or a model id; got {model!r}.')
        if isinstance(model, str) and not model.strip():
            raise ValueError(f"`Route.model` must name a model; got {model!r}. Use an id like 'openai:gpt-5-mini'.")
        portability: Any = self.portability
        if portability is not None and not isinstance(portability, Portability):
            raise TypeError(f'`Route.portability` must be a `Portability`; got {portability!r}.')


RouteLike = Route | Model | KnownModelName | str
"""What is accepted where a route is meant: a model or a model id is a route without settings."""


class RouteTable(MutableMapping[str, Route]):
    """Routes by name, in the order of registration.

    Names are compared as they are, upper and lower case included.

    Raises: `ValueError` for a blank name, `TypeError` for one that is no text and for a value that is no route.
    """

    def __init__(self, routes: Mapping[str, RouteLike]) -> None:
        self._routes: dict[str, Route] = {}
        for name, route in routes.items():
            self[name] = route

    def __getitem__(self, name: str) -> Route:
        return self._routes[name]

    def __setitem__(self, name: str, route: RouteLike) -> None:
        self._routes[_checked(name)] = route if isinstance(route, Route) else Route(route)

    def __delitem__(self, name: str) -> None:
        del self._routes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._routes)

    def __len__(self) -> int:
        return len(self._routes)

    def __repr__(self) -> str:
        return f'RouteTable({self._routes!r})'

    def find(self, name: str) -> Route:
        """The route called `name`.

        Raises:
            RouteNotFoundError: it is not registered.
        """
        if (route := self._routes.get(name)) is None:
            raise RouteNotFoundError(name, self._routes)
        return route


def _checked(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f'The name of a route must be text; got {name!r}.')
    if not name.strip():
        raise ValueError(f'The name of a route must not be blank; got {name!r}.')
    return name
