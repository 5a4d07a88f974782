"""Which model serves the requests of a run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent, ModelSettings, RunContext
from pydantic_ai.capabilities import AbstractCapability, ResolveModelId, SelectModel
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters, ModelResolutionContext
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.usage import RunUsage

from advisor_harness.routing import (
    InMemoryRouteStore,
    Route,
    RouteNotFoundError,
    Router,
    RouteState,
    SqliteRouteStore,
)
from tests.routing.support import mark, marks, routes_of, talker

pytestmark = pytest.mark.anyio

FAST, SMART = talker('fast'), talker('smart')


def two(**options: Any) -> Router:
    return Router({'fast': FAST, 'smart': SMART}, **options)


def escalating(router: Router) -> Agent[object, str]:
    """An agent whose tool sets the route `smart`."""
    agent = Agent(capabilities=[router])

    @agent.tool
    async def escalate(ctx: RunContext[object]) -> str:
        await router.set_active_route(ctx, 'smart')
        return await router.get_active_route(ctx)

    return agent


async def test_a_conversation_moves_to_another_route_and_keeps_its_history() -> None:
    """After the route was set, the other model serves, and it is sent the turn that the first one served."""
    router = two()
    agent = Agent(capabilities=[router])
    first = await agent.run('hello')
    await router.set_active_route(first.all_messages(), 'smart')
    second = await agent.run('again', message_history=first.all_messages())
    assert (first.output, second.output) == ('fast', 'smart')
    assert second.all_messages()[:2] == first.all_messages()
    assert routes_of(second.all_messages()) == ['fast', 'smart']


async def test_a_tool_changes_the_route_of_its_own_run() -> None:
    """R6: the request after the tool is served by the route the tool has set."""
    router = Router({'fast': talker('fast', calls='escalate'), 'smart': SMART})
    result = await escalating(router).run('hello')
    assert (result.output, routes_of(result.all_messages())) == ('smart', ['fast', 'smart'])


async def test_a_run_cadence_keeps_the_route_until_the_run_ends() -> None:
    """R6: with `cadence='run'` the route that a tool has set waits for the next run."""
    router = Router({'fast': talker('fast', calls='escalate'), 'smart': SMART}, cadence='run')
    agent = escalating(router)
    first = await agent.run('hello')
    second = await agent.run('again', message_history=first.all_messages())
    assert routes_of(second.all_messages()) == ['fast', 'fast', 'smart']


async def test_everything_in_a_step_sees_the_model_that_serves_it() -> None:
    """R6: instructions and settings callables get the route's model as `ctx.model` on every step."""
    seen: list[str] = []
    router = Router({'fast': talker('fast', calls='escalate'), 'smart': SMART})
    agent = escalating(router)

    @agent.instructions
    def who(ctx: RunContext[object]) -> str:
        seen.append(ctx.model.model_name)
        return 'be brief'

    await agent.run('hello')
    assert seen == ['fast', 'smart']


async def test_settings_belong_to_the_route_that_serves() -> None:
    """A route's settings win over the agent's, lose to the run's, and end with its request."""
    seen: list[AgentInfo] = []
    router = Router(
        {
            'fast': Route(talker('fast', calls='escalate', seen=seen), ModelSettings(temperature=0.1, top_p=0.5)),
            'smart': talker('smart', seen=seen),
        }
    )
    agent = escalating(router)
    agent.model_settings = ModelSettings(temperature=0.9, max_tokens=7)
    await agent.run('hello', model_settings=ModelSettings(top_p=1.0))
    assert [info.model_settings for info in seen] == [
        {'temperature': 0.1, 'max_tokens': 7, 'top_p': 1.0},
        {'temperature': 0.9, 'max_tokens': 7, 'top_p': 1.0},
    ]


async def test_a_model_given_to_the_run_wins_and_leaves_the_route_as_it_is() -> None:
    """R7: `run(model=...)` and `override` serve without the route and its settings; the next run has it again."""
    seen: list[AgentInfo] = []
    given = talker('given', seen=seen)
    router = Router({'fast': FAST, 'smart': Route(SMART, ModelSettings(temperature=0.1))})
    agent = Agent(capabilities=[router])
    await router.set_active_route('c1', 'smart')
    first = await agent.run('1', model=given, conversation_id='c1')
    with agent.override(model=given):
        second = await agent.run('2', message_history=first.all_messages())
    third = await agent.run('3', message_history=second.all_messages())
    assert marks(third.all_messages()) == [mark(None, 'given'), mark(None, 'given'), mark('smart', 'smart')]
    assert [info.model_settings for info in seen] == [None, None]


async def test_the_last_capability_with_a_model_wins() -> None:
    """A selector that is listed later serves instead of a route, and is stamped as such."""
    agent = Agent(capabilities=[two(), SelectModel(lambda ctx: talker('selected'))])
    result = await agent.run('hello')
    assert marks(result.all_messages()) == [mark(None, 'selected')]


async def test_a_model_that_a_hook_puts_in_place_is_not_the_route() -> None:
    """What served is stamped, not what was selected."""

    class Swap(AbstractCapability[object]):
        async def before_model_request(
            self, ctx: RunContext[object], request_context: ModelRequestContext
        ) -> ModelRequestContext:
            request_context.model = talker('swapped')
            return request_context

    for capabilities in ([two(), Swap()], [Swap(), two()]):
        result = await Agent(capabilities=capabilities).run('hello')
        assert marks(result.all_messages()) == [mark(None, 'swapped')]


async def test_wrappers_of_other_capabilities_do_not_hide_the_route() -> None:
    """A route is recognised through the wrapper that another capability puts around its model."""

    class Wrap(AbstractCapability[object]):
        def get_wrapper_model(self, model: Model) -> Model:
            return WrapperModel(model)

    for capabilities in ([two(), Wrap()], [Wrap(), two()]):
        result = await Agent(capabilities=capabilities).run('hello')
        assert marks(result.all_messages()) == [mark('fast', 'fast')]


async def test_a_model_id_is_resolved_by_the_run() -> None:
    """An id goes through the run's `resolve_model_id` capabilities, with its deps, and serves under its own name."""

    def resolve(ctx: ModelResolutionContext[str], model_id: str) -> Model | None:
        return talker(f'{ctx.deps}-{model_id}') if model_id == 'house-model' else None

    agent = Agent(deps_type=str, capabilities=[Router({'house': 'house-model'}), ResolveModelId(resolve)])
    result = await agent.run('hello', deps='tenant')
    assert marks(result.all_messages()) == [mark('house', 'tenant-house-model')]


async def test_a_known_model_id_needs_no_capability() -> None:
    """An id that pydantic-ai knows becomes a model by itself."""
    result = await Agent(capabilities=[Router({'test': 'test'})]).run('hello')
    assert marks(result.all_messages()) == [{'route': 'test', 'identity': 'test||TestModel', 'model': 'test:test'}]


async def test_a_route_that_is_gone_stops_the_run() -> None:
    """R2: a persisted route that is not registered any more is an error that names the registered ones."""
    router = two()
    agent = Agent(capabilities=[router])
    await router.set_active_route('c1', 'smart')
    del router.routes['smart']
    with pytest.raises(RouteNotFoundError) as error:
        await agent.run('hello', conversation_id='c1')
    assert str(error.value) == (
        "Route 'smart' is not registered (registered: 'fast'). "
        'Register it in `Router.routes`, or set a registered route with `Router.set_active_route()`.'
    )


async def test_a_route_that_is_gone_may_fall_back_to_the_default() -> None:
    """R2: with `on_missing_route='default'` the default serves, and the stored name stays what it was."""
    router = two(on_missing_route='default')
    await router.store.set('router', 'c1', RouteState('gone'))
    result = await Agent(capabilities=[router]).run('hello', conversation_id='c1')
    assert marks(result.all_messages()) == [mark('fast', 'fast')]
    assert await router.store.get('router', 'c1') == RouteState('gone')


async def test_a_replaced_route_serves_from_the_next_request_on() -> None:
    """The table is read for every request: a new model under an old name serves at once."""
    router = Router({'fast': talker('fast', calls='replace')})
    agent = Agent(capabilities=[router])

    @agent.tool_plain
    def replace() -> str:
        router.routes['fast'] = talker('faster')
        return 'done'

    result = await agent.run('hello')
    assert marks(result.all_messages()) == [mark('fast', 'fast'), mark('fast', 'faster')]


async def test_the_route_travels_with_the_history() -> None:
    """R3: through JSON into another agent with an empty store, the conversation keeps the route that served it."""
    router = two()
    await router.set_active_route('c1', 'smart')
    first = await Agent(capabilities=[router]).run('hello', conversation_id='c1')
    messages = ModelMessagesTypeAdapter.validate_json(first.all_messages_json())
    second = await Agent(capabilities=[two()]).run('again', message_history=messages)
    assert routes_of(second.all_messages()) == ['smart', 'smart']


async def test_the_route_survives_a_restart_in_the_store(tmp_path: Any) -> None:
    """A route that was set but has not served yet is found in the file by the next process."""
    store = SqliteRouteStore(tmp_path / 'routes.db')
    await two(store=store).set_active_route('c1', 'smart')
    store.close()
    router = two(store=SqliteRouteStore(tmp_path / 'routes.db'))
    result = await Agent(capabilities=[router]).run('hello', conversation_id='c1')
    assert routes_of(result.all_messages()) == ['smart']


async def test_a_conversation_object_keeps_its_route() -> None:
    """R3: `conversation=` carries id and history, and so the route."""
    router = two()
    agent = Agent(capabilities=[router])
    first = await agent.run('hello')
    await router.set_active_route(first.conversation.conversation_id or '', 'smart')
    second = await agent.run('again', conversation=first.conversation)
    assert routes_of(second.all_messages()) == ['fast', 'smart']


async def test_a_fork_starts_on_the_default() -> None:
    """R3: a new conversation from an old history has no route of its own, unless it is given the old one's."""
    router = two()
    agent = Agent(capabilities=[router])
    await router.set_active_route('c1', 'smart')
    old = (await agent.run('hello', conversation_id='c1')).all_messages()
    fork = await agent.run('again', message_history=old, conversation_id='new')
    await router.set_active_route('c3', await router.get_active_route(old))
    heir = await agent.run('again', message_history=old, conversation_id='c3')
    assert (routes_of(fork.new_messages()), routes_of(heir.new_messages())) == (['fast'], ['smart'])


async def test_a_child_agent_is_not_moved_by_its_parents_route() -> None:
    """R4: an agent that is run by a tool has its own conversation, so the same router gives it its own route."""
    router = Router({'fast': FAST, 'smart': talker('smart', calls='delegate')})
    child, parent = Agent(capabilities=[router]), Agent(capabilities=[router])
    children: list[str | None] = []

    @parent.tool_plain
    async def delegate() -> str:
        result = await child.run('help')
        children.extend(routes_of(result.all_messages()))
        return result.output

    await router.set_active_route('c1', 'smart')
    result = await parent.run('hello', conversation_id='c1')
    assert (children, routes_of(result.all_messages())) == (['fast'], ['smart', 'smart'])


async def test_the_shared_router_decides_for_no_run() -> None:
    """Decisions are made by the copy that a run has of its own: the agent's router wraps and remembers nothing."""
    router, ctx = two(), RunContext[object](deps=None, model=FAST, usage=RunUsage())
    parameters = ModelRequestParameters()
    request = ModelRequestContext(model=FAST, messages=[], model_settings=None, model_request_parameters=parameters)
    assert await router.before_model_request(ctx, request) is request
    settings = router.get_model_settings()
    assert callable(settings)
    assert (router.get_wrapper_model(FAST), settings(ctx)) == (None, {})


async def test_an_answer_that_no_model_gave_has_no_stamp() -> None:
    """A capability that answers from a cache serves by no route, and leaves the conversation's route alone."""

    class Cache(AbstractCapability[object]):
        async def wrap_model_request(
            self, ctx: RunContext[object], *, request_context: ModelRequestContext, handler: Any
        ) -> ModelResponse:
            return ModelResponse([TextPart('kept')])

    result = await Agent(capabilities=[two(default_route='smart'), Cache()]).run('hello')
    assert (result.output, marks(result.all_messages())) == ('kept', [None])


async def test_a_router_given_to_a_run_takes_the_agents_place() -> None:
    """Only the run's router serves and stamps."""
    agent = Agent(capabilities=[two()])
    result = await agent.run('hello', capabilities=[Router({'own': talker('own')})])
    assert marks(result.all_messages()) == [mark('own', 'own')]


async def test_two_routers_of_one_key_are_refused() -> None:
    """Two routers of one agent would stamp over each other, so they need two keys."""
    with pytest.raises(UserError):
        Agent(capabilities=[two(), two()])


async def test_two_routers_of_two_keys_stamp_side_by_side() -> None:
    """The last router serves; each says under its own key what its route was, also under a key with a colon."""
    agent = Agent(capabilities=[two(), Router({'own': talker('own')}, state_key='my:router')])
    messages = (await agent.run('hello')).all_messages()
    assert (marks(messages), marks(messages, 'my:router')) == ([mark(None, 'own')], [mark('own', 'own')])


@pytest.mark.parametrize('cadence', ['step', 'run'])
async def test_200_conversations_at_once_do_not_mix(cadence: str) -> None:
    """R4: concurrent runs on one agent each follow their own route, also where a tool changes it on the way."""
    store = InMemoryRouteStore(max_conversations=200)
    router = Router(
        {'fast': talker('fast', calls='escalate'), 'smart': SMART, 'other': talker('other')},
        store=store,
        cadence=cadence,  # pyright: ignore[reportArgumentType]  # parametrised
    )
    agent = escalating(router)

    async def talk(number: int) -> list[str | None]:
        if number % 2:
            await router.set_active_route(f'c{number}', 'other')
        return routes_of((await agent.run('hello', conversation_id=f'c{number}')).all_messages())

    found = await asyncio.gather(*(talk(number) for number in range(200)))
    escalated: list[str | None] = ['fast', 'smart' if cadence == 'step' else 'fast']
    assert found == [['other'] if number % 2 else escalated for number in range(200)]
    assert len(store) == 200
