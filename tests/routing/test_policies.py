"""`SelectRoute`, and what all policies share: what wins over them, and how long a decision holds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent, ModelSettings, RunContext
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models import ModelSelectionContext

from advisor_harness.routing import (
    InMemoryRouteStore,
    Route,
    RouteNotFoundError,
    RouteState,
    RouteSwitch,
    RoutingError,
    SelectRoute,
)
from tests.routing.conftest import Recorded
from tests.routing.support import mark, marks, routes_of, talker

pytestmark = pytest.mark.anyio

Context = ModelSelectionContext[object]


class Selector:
    """Names the route that the prompt names, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def __call__(self, ctx: Context) -> str:
        self.asked.append(ctx.prompt)
        return str(ctx.prompt)


def two(selector: Any, **options: Any) -> SelectRoute[object]:
    return SelectRoute({'fast': talker('fast'), 'smart': talker('smart')}, selector, **options)


async def test_the_function_names_the_route_of_every_request() -> None:
    """Each request of a conversation goes where the function says, and the response is stamped with it."""
    selector = Selector()
    agent = Agent(capabilities=[two(selector)])
    result = await agent.run('smart')
    result = await agent.run('fast', message_history=result.all_messages())
    assert marks(result.all_messages()) == [mark('smart', 'smart'), mark('fast', 'fast')]
    assert selector.asked == ['smart', 'fast']


async def test_the_function_may_be_async_and_sees_the_step() -> None:
    """A selector is asked before each request of a run, with its step and the messages that are sent."""
    seen: list[tuple[int, int]] = []

    async def by_step(ctx: Context) -> str:
        await asyncio.sleep(0)
        seen.append((ctx.run_step, len(ctx.messages)))
        return 'fast' if ctx.run_step == 1 else 'smart'

    router = SelectRoute[object]({'fast': talker('fast', calls='work'), 'smart': talker('smart')}, by_step)
    agent = Agent(capabilities=[router])

    @agent.tool_plain
    def work() -> str:
        return 'done'

    assert routes_of((await agent.run('hello')).all_messages()) == ['fast', 'smart']
    assert seen == [(1, 1), (2, 3)]


async def test_a_run_cadence_asks_once_per_run() -> None:
    """With `cadence='run'` the first answer serves the whole run."""
    asked: list[int] = []

    def by_step(ctx: Context) -> str:
        asked.append(ctx.run_step)
        return 'fast'

    router = SelectRoute[object]({'fast': talker('fast', calls='work')}, by_step, cadence='run')
    agent = Agent(capabilities=[router])

    @agent.tool_plain
    def work() -> str:
        return 'done'

    await agent.run('hello')
    assert asked == [1]


@pytest.mark.parametrize('answer', [None, 3])
async def test_an_answer_that_is_no_name_is_an_error(answer: Any) -> None:
    """A function that forgets to return says so, instead of failing somewhere inside."""
    with pytest.raises(RoutingError) as error:
        await Agent(capabilities=[two(lambda ctx: answer)]).run('hello')
    assert str(error.value) == (
        f'`SelectRoute.selector` must name a route; it returned {answer!r}. '
        'Return the name of a registered route, such as the default one.'
    )


async def test_an_unknown_name_is_an_error_unless_the_default_may_serve(recorded: Recorded) -> None:
    """A name that is not registered is never replaced in silence."""
    with pytest.raises(RouteNotFoundError) as error:
        await Agent(capabilities=[two(lambda ctx: 'gone')]).run('hello')
    assert (error.value.route, error.value.known) == ('gone', ('fast', 'smart'))
    router = two(lambda ctx: 'gone', on_missing_route='default')
    await Agent(capabilities=[router, recorded.instrumentation]).run('hello')
    assert [(facts.route, facts.reason) for facts in recorded.routes] == [('fast', 'error')]


async def test_what_the_function_raises_reaches_the_caller() -> None:
    """An exception of the selector ends the run, as it is."""

    def fail(ctx: Context) -> str:
        raise LookupError('no rule')

    with pytest.raises(LookupError, match=r'^no rule$'):
        await Agent(capabilities=[two(fail)]).run('hello')


@pytest.mark.parametrize('sticky', ['none', 'conversation'])
async def test_a_route_that_was_set_wins_over_the_policy(sticky: str) -> None:
    """Who sets a route decides; cleared, the conversation is the policy's again."""
    selector = Selector()
    router = two(selector, sticky=sticky)
    agent = Agent(capabilities=[router])
    await router.set_active_route('c1', 'smart')
    first = await agent.run('fast', conversation_id='c1')
    assert (routes_of(first.all_messages()), selector.asked) == (['smart'], [])
    await router.clear_active_route('c1')
    second = await agent.run('fast', message_history=first.all_messages())
    assert (routes_of(second.new_messages()), selector.asked) == (['fast'], ['fast'])


async def test_a_tool_outranks_the_policy_in_its_own_run() -> None:
    """A route that a tool sets serves the next request of the run, whatever the function would say."""
    router = SelectRoute[object]({'fast': talker('fast', calls='escalate'), 'smart': talker('smart')}, lambda _: 'fast')
    agent = Agent(capabilities=[router])

    @agent.tool
    async def escalate(ctx: RunContext[object]) -> str:
        await router.set_active_route(ctx, 'smart')
        return 'done'

    assert routes_of((await agent.run('hello')).all_messages()) == ['fast', 'smart']


async def test_a_sticky_conversation_keeps_its_first_answer(recorded: Recorded) -> None:
    """The function is asked once; the answer is kept in the store and holds for every later request."""
    selector = Selector()
    router = two(selector, sticky='conversation')
    agent = Agent(capabilities=[router, recorded.instrumentation])
    first = await agent.run('smart', conversation_id='c1')
    await agent.run('fast', message_history=first.all_messages())
    await agent.run('fast', conversation_id='c1')
    assert selector.asked == ['smart']
    assert [(facts.route, facts.reason) for facts in recorded.routes] == [
        ('smart', 'rule'),
        ('smart', 'sticky'),
        # Without its history the conversation has no stamp; the store still knows its route.
        ('smart', 'rule'),
    ]
    assert await router.store.get('router', 'c1') == RouteState('smart')


async def test_a_sticky_conversation_is_known_by_its_history() -> None:
    """In a process with an empty store the stamp keeps the route, and the function is not asked."""
    first = await Agent(capabilities=[two(Selector())]).run('smart')
    messages = ModelMessagesTypeAdapter.validate_json(first.all_messages_json())
    selector = Selector()
    second = await Agent(capabilities=[two(selector, sticky='conversation')]).run('fast', message_history=messages)
    assert (routes_of(second.all_messages()), selector.asked) == (['smart', 'smart'], [])


async def test_a_cleared_sticky_conversation_is_decided_again_and_kept() -> None:
    """After `clear_active_route` the next answer is the one that holds."""
    selector = Selector()
    router = two(selector, sticky='conversation')
    agent = Agent(capabilities=[router])
    result = await agent.run('smart', conversation_id='c1')
    await router.clear_active_route('c1')
    for prompt in ('fast', 'smart'):
        result = await agent.run(prompt, message_history=result.all_messages())
    assert (routes_of(result.all_messages()), selector.asked) == (['smart', 'fast', 'fast'], ['smart', 'fast'])


async def test_of_first_answers_at_once_one_holds() -> None:
    """Two first requests of one conversation that are decided differently are served by one route."""
    both = asyncio.Barrier(2)

    async def late(ctx: Context) -> str:
        await both.wait()
        return str(ctx.prompt)

    router = two(late, sticky='conversation')
    agent = Agent(capabilities=[router])
    results = await asyncio.gather(*(agent.run(name, conversation_id='c1') for name in ('fast', 'smart')))
    kept = await router.get_active_route('c1')
    assert [routes_of(result.all_messages()) for result in results] == [[kept], [kept]]


async def test_without_stickiness_nothing_is_stored() -> None:
    """A policy that decides every request leaves no state behind."""
    store = InMemoryRouteStore()
    await Agent(capabilities=[two(Selector(), store=store)]).run('smart', conversation_id='c1')
    assert len(store) == 0


async def test_a_switch_between_answers_is_announced_with_settings_of_the_route() -> None:
    """Settings, `on_switch` and resuming work as in any router."""
    told: list[RouteSwitch] = []
    seen: list[Any] = []
    routes = {'fast': talker('fast'), 'smart': Route(talker('smart', seen=seen), ModelSettings(temperature=0.1))}
    router = SelectRoute[object](routes, Selector(), on_switch=told.append)
    agent = Agent(capabilities=[router])
    result = await agent.run('fast')
    await agent.run('smart', message_history=result.all_messages())
    assert [(switch.previous, switch.route, switch.reason) for switch in told] == [('fast', 'smart', 'rule')]
    assert [info.model_settings for info in seen] == [{'temperature': 0.1}]


async def test_a_model_is_selected_outside_of_a_run_too() -> None:
    """pydantic-ai may select a model without a run; the next run is decided for itself."""
    selector = Selector()
    router = two(selector)
    select: Any = router.get_model()
    agent = Agent(capabilities=[router])
    ctx = ModelSelectionContext(agent=agent, deps=None, model=None, run_step=1, messages=[], usage=Any, prompt='smart')  # pyright: ignore[reportArgumentType] - not looked at
    assert (await select(ctx)).model_name == 'smart'
    assert (await agent.run('fast')).output == 'fast'


async def test_two_hundred_conversations_are_decided_each_by_itself() -> None:
    """Concurrent runs never get each other's answer, and each asks once."""
    selector = Selector()
    agent = Agent(capabilities=[two(selector)])
    prompts = ['fast' if number % 2 else 'smart' for number in range(200)]
    results = await asyncio.gather(*(agent.run(prompt) for prompt in prompts))
    assert [result.output for result in results] == prompts
    assert len(selector.asked) == 200


@pytest.mark.parametrize(
    ('selector', 'options', 'kind', 'message'),
    [
        ('fast', {}, TypeError, "`SelectRoute.selector` must be callable; got 'fast'."),
        (
            Selector(),
            {'sticky': 'always'},
            ValueError,
            "`SelectRoute.sticky` must be 'none' or 'conversation'; got 'always'.",
        ),
        (Selector(), {'cadence': 'turn'}, ValueError, "`Router.cadence` must be 'step' or 'run'; got 'turn'."),
    ],
)
def test_options_are_checked_early(selector: Any, options: dict[str, Any], kind: type[Exception], message: str) -> None:
    """What cannot work is refused at construction, by name and value."""
    with pytest.raises(kind) as error:
        two(selector, **options)
    assert str(error.value) == message
