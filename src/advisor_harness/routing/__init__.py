"""Named routes: change the model of a conversation at any time, and always know which one served.

`Router` is the capability. It keeps the active route of every conversation in a `RouteStore`, stamps every response
with the route and the model that served it, and emits one span `route model request` per request.
"""

from __future__ import annotations

from advisor_harness.routing.decision import RouteSwitch as RouteSwitch
from advisor_harness.routing.errors import (
    NoActiveRouteError as NoActiveRouteError,
    RouteConflictError as RouteConflictError,
    RouteNotFoundError as RouteNotFoundError,
    RoutingError as RoutingError,
)
from advisor_harness.routing.failover import FailoverModel as FailoverModel
from advisor_harness.routing.policies import SelectRoute as SelectRoute
from advisor_harness.routing.portability import (
    Portability as Portability,
    PortabilityError as PortabilityError,
    PortabilityIssue as PortabilityIssue,
    PortabilityReport as PortabilityReport,
    PortableModel as PortableModel,
    ServerSideHistoryError as ServerSideHistoryError,
)
from advisor_harness.routing.route import Route as Route
from advisor_harness.routing.router import Router as Router
from advisor_harness.routing.semantic import SemanticRoute as SemanticRoute
from advisor_harness.routing.state import (
    InMemoryRouteStore as InMemoryRouteStore,
    RouteState as RouteState,
    RouteStore as RouteStore,
    SqliteRouteStore as SqliteRouteStore,
)

__all__ = [
    'FailoverModel',
    'InMemoryRouteStore',
    'NoActiveRouteError',
    'Portability',
    'PortabilityError',
    'PortabilityIssue',
    'PortabilityReport',
    'PortableModel',
    'Route',
    'RouteConflictError',
    'RouteNotFoundError',
    'RouteState',
    'RouteStore',
    'RouteSwitch',
    'Router',
    'RoutingError',
    'SelectRoute',
    'SemanticRoute',
    'ServerSideHistoryError',
    'SqliteRouteStore',
]
