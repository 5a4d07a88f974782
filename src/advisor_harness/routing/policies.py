"""Policies: routers that decide by the request which route serves, instead of waiting to be told.

Whatever a policy would say, a route that was set for the conversation wins. What a policy has said is stamped like any
route, so the history always tells who served.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack, get_args

from pydantic_ai.models import ModelSelectionContext
from pydantic_ai.tools import AgentDepsT

from advisor_harness.routing.conversation import Place
from advisor_harness.routing.decision import Selection
from advisor_harness.routing.errors import RouteConflictError, RoutingError
from advisor_harness.routing.options import Cadence, OnMissingRoute, Sticky, check_choice
from advisor_harness.routing.portability import Portability
from advisor_harness.routing.route import RouteLike
from advisor_harness.routing.router import Router
from advisor_harness.routing.serving import OnSwitch
from advisor_harness.routing.state import RouteState, RouteStore

__all__ = ['PolicyOptions', 'PolicyRouter', 'RouteSelector', 'SelectRoute']

RouteSelector = Callable[[ModelSelectionContext[AgentDepsT]], str | Awaitable[str]]
"""Names the route of one request."""


class RouterOptions(TypedDict, total=False):
    """The options of `Router`."""

    default_route: str | None
    store: RouteStore | None
    state_key: str
    cadence: Cadence
    on_missing_route: OnMissingRoute
    portability: Portability | None
    on_switch: OnSwitch | None


class PolicyOptions(RouterOptions, total=False):
    """The options of every policy."""

    sticky: Sticky


@dataclass(init=False)
class PolicyRouter(Router[AgentDepsT]):
    """A router with a policy. Its options are those of `Router`."""

    sticky: Sticky
    """`none`: every request is decided by itself. `conversation`: the first decision holds for the conversation, in
    the store and in the history, until another route is set or it is cleared."""

    def __init__(
        self,
        routes: Mapping[str, RouteLike],
        *,
        sticky: Sticky = 'none',
        **options: Unpack[RouterOptions],
    ) -> None:
        """Set up the router. Raises as `Router` does, and `ValueError` for a word that `sticky` does not know."""
        check_choice(f'{type(self).__name__}.sticky', sticky, get_args(Sticky))
        super().__init__(routes, **options)
        self.sticky = sticky

    @abstractmethod
    async def _ask(self, ctx: ModelSelectionContext[AgentDepsT]) -> Selection:
        """Decide which route serves the request."""

    async def _pick(self, ctx: ModelSelectionContext[AgentDepsT]) -> Selection:
        place = Place(ctx.conversation_id, ctx.messages)
        state = await self._stored(place)
        if self._is_settled(place, state):
            return await self._choose(place)
        selection = await self._ask(ctx)
        if self.sticky == 'none' or place.conversation_id is None:
            return selection
        return await self._keep(selection, place, state)

    def _is_settled(self, place: Place, state: RouteState | None) -> bool:
        """Whether a route was set, or the conversation keeps the one that it has."""
        if state is not None:
            return state.route is not None
        return self.sticky == 'conversation' and self._remembered(place, None) is not None

    async def _keep(self, selection: Selection, place: Place, state: RouteState | None) -> Selection:
        """Write the first decision of a conversation, unless another request has been faster: then that one holds."""
        decided = RouteState(selection.name, selection.note)
        try:
            await self.store.set(self.state_key, place.required_id, decided, expect=state or RouteState(None))
        except RouteConflictError:
            return await self._choose(place)
        return selection


@dataclass(init=False)
class SelectRoute(PolicyRouter[AgentDepsT]):
    """Let a function of yours name the route of every request.

    ```python
    def by_length(ctx: ModelSelectionContext[object]) -> str:
        return 'smart' if len(str(ctx.prompt)) > 2000 else 'fast'

    agent = Agent(capabilities=[SelectRoute({'fast': 'openai:gpt-5-mini', 'smart': 'openai:gpt-5.2'}, by_length)])
    ```

    It is called once per request, or once per run with `cadence='run'`, and not at all for a conversation whose route
    was set, or is kept (`sticky='conversation'`). It must not change what it is given. What it raises ends the run.
    """

    selector: RouteSelector[AgentDepsT]
    """Called with the pydantic-ai context of the selection; sync or async."""

    def __init__(
        self, routes: Mapping[str, RouteLike], selector: RouteSelector[AgentDepsT], **options: Unpack[PolicyOptions]
    ) -> None:
        """Set up the router; `options` are those of `PolicyRouter`.

        Raises:
            TypeError: `selector` cannot be called, or an option is unknown.
            ValueError: as `PolicyRouter`.
            RouteNotFoundError: `default_route` is not registered.
        """
        if not callable(selector):
            raise TypeError(f'`SelectRoute.selector` must be callable; got {selector!r}.')
        super().__init__(routes, **options)
        self.selector = selector

    async def _ask(self, ctx: ModelSelectionContext[AgentDepsT]) -> Selection:
        answer = self.selector(ctx)
        name: Any = await answer if inspect.isawaitable(answer) else answer
        if not isinstance(name, str):
            raise RoutingError(
                f'`SelectRoute.selector` must name a route; it returned {name!r}. '
                'Return the name of a registered route, such as the default one.'
            )
        return self._named(name, 'selector')
