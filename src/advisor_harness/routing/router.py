"""The capability: named routes, the active route of a conversation, and the model of every request."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic_ai import RunContext
from pydantic_ai.agent.abstract import AgentModelSettings
from pydantic_ai.capabilities import AbstractCapability, AgentModel
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestContext, ModelSelectionContext, infer_model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import AgentDepsT

from advisor_harness.routing.conversation import ConversationRef, Place, locate
from advisor_harness.routing.decision import Selection, Source, decide
from advisor_harness.routing.errors import NoActiveRouteError, RouteConflictError
from advisor_harness.routing.identity import layers, leaves
from advisor_harness.routing.options import (
    Cadence,
    OnMissingRoute,
    check_cadence,
    check_key,
    check_on_missing_route,
    check_on_switch,
    check_portability,
)
from advisor_harness.routing.portability import Portability, PortabilityReport, explain
from advisor_harness.routing.route import RouteLike, RouteTable
from advisor_harness.routing.serving import OnSwitch, ServingModel
from advisor_harness.routing.stamp import Stamp, newest_route, stamp_of, stamps, suspended_tail
from advisor_harness.routing.state import InMemoryRouteStore, RouteState, RouteStore

__all__ = ['Router']


@dataclass(frozen=True)
class _First:
    """What was selected to make a run with, for its first request."""

    routes: RouteTable
    """Says which router has selected."""
    run_id: str
    selection: Selection


# pydantic-ai asks the shared capability for a model before the run has its copy, and the copy again for the same
# request. A policy may pay for an answer, so it is asked once.
_first: ContextVar[_First | None] = ContextVar('advisor_harness_first_selection', default=None)


@dataclass
class _Run:
    """What one run of one agent has decided so far."""

    selection: Selection | None = None
    step: int = 0
    """The step of `selection`."""
    ctx: RunContext[Any] | None = None
    """Context of the request that is being sent."""
    tail: ModelResponse | None = None
    """The unfinished response that it continues."""


@dataclass(init=False)
class Router(AbstractCapability[AgentDepsT]):
    """Serve every conversation of an agent by one of several named models, and change it at any time.

    The active route of a conversation is what was set for it (`set_active_route`), else what served it last (the stamp
    in its history), else the default. Selecting is done before every request, so a tool that sets another route
    changes the model of the next request of its own run. `run(model=...)` and `override(model=...)` win over routes and
    leave the active route as it is.

    ```python
    router = Router({'fast': 'openai:gpt-5-mini', 'smart': Route('anthropic:claude-opus-4-8', {'max_tokens': 8000})})
    agent = Agent(capabilities=[router])
    await router.set_active_route(result.all_messages(), 'smart', reason='the user asked for it')
    ```
    """

    routes: RouteTable
    """The routes by name; a model or a model id is accepted as a route. May change at any time."""
    default_route: str | None
    """Route of a conversation that has none of its own; `None` is the first registered one."""
    store: RouteStore
    """Where the routes that were set are kept."""
    state_key: str
    """Key of this router in the store and in `ModelResponse.metadata`; two routers of one agent need two."""
    cadence: Cadence
    """`step`: every request goes by the active route. `run`: the route of its first request serves a whole run."""
    on_missing_route: OnMissingRoute
    """When the active route is not registered: `raise` a `RouteNotFoundError`, or serve by the `default`."""
    portability: Portability
    """What becomes of a history that the next model cannot read; a route may have its own rules."""
    on_switch: OnSwitch | None
    """Called once per switch, before the request; may be async. What it raises stops the request."""
    _run: _Run | None = field(init=False, repr=False, compare=False, default=None)

    def __init__(
        self,
        routes: Mapping[str, RouteLike],
        *,
        default_route: str | None = None,
        store: RouteStore | None = None,
        state_key: str = 'router',
        cadence: Cadence = 'step',
        on_missing_route: OnMissingRoute = 'raise',
        portability: Portability | None = None,
        on_switch: OnSwitch | None = None,
    ) -> None:
        """Set up the router.

        Raises:
            ValueError: a blank name or key, or a word that `cadence` or `on_missing_route` does not know.
            TypeError: a route that is none, a `portability` that is none, or an `on_switch` that cannot be called.
            RouteNotFoundError: `default_route` is not registered.
        """
        check_cadence(cadence)
        check_on_missing_route(on_missing_route)
        check_key(state_key)
        check_portability(portability)
        check_on_switch(on_switch)
        self.routes = RouteTable(routes)
        if default_route is not None:
            self.routes.find(default_route)
        self.default_route = default_route
        self.store = InMemoryRouteStore() if store is None else store
        self.state_key = state_key
        self.cadence = cadence
        self.on_missing_route = on_missing_route
        self.portability = Portability() if portability is None else portability
        self.on_switch = on_switch
        # The id makes a router that is given to a run take the place of the agent's, and two of one key an error. It is
        # a segment of pydantic-ai's own ids, in which a colon separates.
        self.id = state_key.replace(':', '-')
        self.description = None
        self.defer_loading = False

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """No name: models and stores cannot be written in an agent spec."""
        return None

    async def get_active_route(self, conversation: ConversationRef) -> str:
        """Return the route that the next request of a conversation takes. Writes nothing.

        Args:
            conversation: A conversation id, the context of a run, or a message history. By an id alone, what the
                history says is unknown: only a route that was set is found.

        Raises:
            RouteNotFoundError: the active route is not registered, and `on_missing_route='raise'`.
            NoActiveRouteError: no route is registered.
        """
        return (await self._choose(locate(conversation))).name

    async def set_active_route(
        self, conversation: ConversationRef, name: str, *, expect: str | None = None, reason: str | None = None
    ) -> None:
        """Make `name` the active route of a conversation, from its next request on.

        Args:
            conversation: A conversation id, the context of a run (in a tool), or a message history.
            name: A registered route.
            expect: The route the caller believes active; if another one is, nothing changes. Checked and written in
                one step, also across processes when the store is shared by them.
            reason: Why, for `RouteSwitch`; it is kept in the store and never in a span.

        Raises:
            RouteNotFoundError: `name` is not registered; nothing changed.
            RouteConflictError: another route than `expect` is active; nothing changed.
            RoutingError: the message history carries no conversation id.
        """
        self.routes.find(name)
        place = locate(conversation)
        found = await self._found_as_expected(place, expect) if expect is not None else None
        await self.store.set(self.state_key, place.required_id, RouteState(name, reason), expect=found)

    async def clear_active_route(self, conversation: ConversationRef) -> None:
        """Give a conversation back to the default route, whatever was set for it and whatever served it before.

        Raises:
            RoutingError: the message history carries no conversation id.
        """
        await self.store.set(self.state_key, locate(conversation).required_id, RouteState(None))

    def explain(self, messages: Sequence[ModelMessage], name: str) -> PortabilityReport:
        """Return what a request by route `name` would do with a history. Sends and writes nothing.

        A route that is given by a model id is explained for the model that pydantic-ai's `infer_model` makes of it.

        Raises:
            RouteNotFoundError: `name` is not registered.
        """
        route = self.routes.find(name)
        model, portability = infer_model(route.model), route.portability or self.portability
        return explain(messages, model, settings=route.settings, portability=portability)

    def resume_model(self, messages: Sequence[ModelMessage]) -> Model | None:
        """Return the model to resume an unfinished response with: `run(None, message_history=..., model=...)`.

        pydantic-ai does not select a model for such a run, because only the one that began the turn can finish it.

        Returns:
            The model of the route that is stamped on a suspended response at the end of `messages`; `None` when they do
            not end in one. A route that is given by a model id gets a new model, by pydantic-ai's `infer_model`.

        Raises:
            RouteNotFoundError: the stamped route is not registered.
            NoActiveRouteError: the response has no stamp, or none that names a route.
        """
        tail = suspended_tail(messages)
        if tail is None:
            return None
        stamp = stamp_of(tail, self.state_key)
        if stamp is None or stamp.route is None:
            served = stamp.model if stamp else tail.model_name
            raise NoActiveRouteError(
                f'The suspended response names no route under {self.state_key!r}; model {served!r} gave it. '
                'Pass that model to `run(model=...)` yourself.'
            )
        return infer_model(self.routes.find(stamp.route).model)

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractCapability[AgentDepsT]:
        """Return the copy that decides for one run; routes and store are shared."""
        mine = copy.copy(self)
        mine._run = _Run()
        return mine

    def get_model(self) -> AgentModel[AgentDepsT]:
        """Return the selector of the model of every step."""
        return self._select

    def get_model_settings(self) -> AgentModelSettings[AgentDepsT]:
        """Return what gives the settings of the route that serves a step."""
        return self._settings

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Remember which request is being sent: the model that sends it is not told."""
        if self._run is not None:
            self._run.ctx = ctx
            self._run.tail = suspended_tail(request_context.messages)
        return request_context

    def get_wrapper_model(self, model: Model) -> Model | None:
        """Return the model that sends the request through `model` and stamps its responses."""
        run = self._run
        if run is None or run.ctx is None:
            return None
        ctx, key = run.ctx, self.state_key
        # pydantic-ai takes a response that is being continued out of the history.
        history = [*ctx.messages, run.tail] if run.tail else ctx.messages
        selection = self._serving(run, ctx, model, run.tail)
        decision = decide(
            selection,
            last=next(stamps(history, key, ctx.conversation_id), None),
            previous_route=newest_route(history, key, ctx.conversation_id),
            candidates=tuple(sorted(self.routes)),
        )
        portability = (selection.route.portability if selection else None) or self.portability
        return ServingModel(model, decision, ctx=ctx, state_key=key, portability=portability, on_switch=self.on_switch)

    async def _select(self, ctx: ModelSelectionContext[AgentDepsT]) -> Model | str:
        run = self._run
        if run is None:
            selection = await self._pick(ctx)
            _first.set(_First(self.routes, ctx.run_id, selection) if ctx.run_id is not None else None)
            return selection.route.model
        if run.selection is None:
            run.selection = self._already(ctx) or await self._pick(ctx)
        elif self.cadence == 'step':
            run.selection = await self._pick(ctx)
        run.step = ctx.run_step
        return run.selection.route.model

    def _already(self, ctx: ModelSelectionContext[AgentDepsT]) -> Selection | None:
        first = _first.get()
        mine = first is not None and first.routes is self.routes and first.run_id == ctx.run_id and ctx.run_step == 1
        return first.selection if first is not None and mine else None

    async def _pick(self, ctx: ModelSelectionContext[AgentDepsT]) -> Selection:
        """Select the route of one request."""
        return await self._choose(Place(ctx.conversation_id, ctx.messages))

    def _settings(self, ctx: RunContext[AgentDepsT]) -> ModelSettings:
        if self._run is None:
            return ModelSettings()
        # Only a realtime session has another kind of model, and nothing is selected for one.
        serving = self._serving(self._run, ctx, cast('Model', ctx.model), suspended_tail(ctx.messages))
        return (serving.route.settings if serving else None) or ModelSettings()

    def _serving(self, run: _Run, ctx: RunContext[Any], model: Model, tail: ModelResponse | None) -> Selection | None:
        """The route that serves a request sent through `model`; `None` if a model does that was not selected here."""
        if run.selection is not None and run.step == ctx.run_step:
            # A hook may have put another model in its place since.
            return run.selection if any(layer is ctx.model for layer in layers(model)) else None
        stamp = stamp_of(tail, self.state_key) if tail else None
        if stamp is None or stamp.route is None or stamp.route not in self.routes:
            return None
        # A run that resumes a turn is given its model. It is the route's if the turn was begun by the same one.
        begun_here = any(Stamp.by(stamp.route, leaf) == stamp for leaf in leaves(model))
        return Selection(stamp.route, self.routes[stamp.route], 'stamp') if begun_here else None

    async def _choose(self, place: Place) -> Selection:
        """Select by what was set, else by what served last, else by default. Writes nothing."""
        state = await self._stored(place)
        name = self._remembered(place, state)
        if name is None:
            return self._default('default')
        return self._named(name, 'stored' if state else 'stamp', state.reason if state else None)

    def _named(self, name: str, source: Source, note: str | None = None, about: str | None = None) -> Selection:
        if name not in self.routes and self.on_missing_route == 'default':
            return self._default('missing')
        return Selection(name, self.routes.find(name), source, note, about)

    async def _stored(self, place: Place) -> RouteState | None:
        if place.conversation_id is None:
            return None
        return await self.store.get(self.state_key, place.conversation_id)

    def _remembered(self, place: Place, state: RouteState | None) -> str | None:
        """The name that the store or, where it holds nothing, the history gives; it may not be registered."""
        if state is not None:
            return state.route
        return newest_route(place.messages, self.state_key, place.conversation_id)

    def _default(self, source: Source) -> Selection:
        name = self._default_name()
        return Selection(name, self.routes.find(name), source)

    def _default_name(self) -> str:
        name = self.default_route if self.default_route is not None else next(iter(self.routes), None)
        if name is None:
            raise NoActiveRouteError('No route is registered. Register at least one in `Router.routes`.')
        return name

    async def _found_as_expected(self, place: Place, expect: str) -> RouteState:
        """What the store holds, if it or what stands in for it names the expected route."""
        state = await self._stored(place)
        active = self._remembered(place, state) or self._default_name()
        if active != expect:
            raise RouteConflictError(place.required_id, expected=expect, active=active)
        return state or RouteState(None)
