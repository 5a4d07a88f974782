"""What can go wrong with routes. Every error is the application's to fix, and says how.

UserError (pydantic-ai)
  RoutingError
    RouteNotFoundError   a name that is not registered
    NoActiveRouteError   nothing says which route serves
    RouteConflictError   another writer was faster
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic_ai.exceptions import UserError

__all__ = ['NoActiveRouteError', 'RouteConflictError', 'RouteNotFoundError', 'RoutingError']


class RoutingError(UserError):
    """Routes are set up or used in a way that cannot work."""


class RouteNotFoundError(RoutingError):
    """A route was named that is not registered."""

    def __init__(self, route: str, known: Iterable[str]) -> None:
        self.route = route
        """The name that is not registered."""
        self.known = tuple(known)
        """The registered names, in the order of registration."""
        names = ', '.join(repr(name) for name in self.known) or 'none'
        super().__init__(
            f'Route {route!r} is not registered (registered: {names}). '
            'Register it in `Router.routes`, or set a registered route with `Router.set_active_route()`.'
        )


class NoActiveRouteError(RoutingError):
    """Nothing says which route serves: no route is registered, or a response does not name its own."""


class RouteConflictError(RoutingError):
    """The active route was not the expected one, so it was left as it is."""

    def __init__(self, conversation_id: str, *, expected: str | None, active: str | None) -> None:
        self.conversation_id = conversation_id
        """The conversation whose route was to change."""
        self.expected = expected
        """The route the caller believed active; `None` for none of its own."""
        self.active = active
        """The route that was found; `None` for none of its own."""
        super().__init__(
            f'Conversation {conversation_id!r} has {_named(active)} where {_named(expected)} was expected; '
            'nothing was changed. Read the active route again, and decide again.'
        )


def _named(route: str | None) -> str:
    return 'no route of its own' if route is None else f'route {route!r}'
