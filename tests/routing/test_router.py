"""Setting up a router, and the active route of a conversation outside of any run."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.test import TestModel

from advisor_harness.routing import (
    InMemoryRouteStore,
    NoActiveRouteError,
    Route,
    RouteConflictError,
    RouteNotFoundError,
    Router,
    RouteState,
    RoutingError,
)
from tests.routing.support import mark, talker

pytestmark = pytest.mark.anyio

KEY_RULE = "`Router.state_key` must not be blank, nor '__pydantic_ai__', pydantic-ai's own key; got "
FAST, SMART = talker('fast'), talker('smart')


def two(**options: Any) -> Router:
    return Router({'fast': FAST, 'smart': SMART}, **options)


def history(*routes: str | None, conversation_id: str | None = 'c1') -> list[ModelMessage]:
    """One turn per route, each stamped with it."""
    messages: list[ModelMessage] = []
    for route in routes:
        messages.append(ModelRequest([UserPromptPart('q')], conversation_id=conversation_id))
        metadata = {'router': mark(route, route or 'given')}
        messages.append(ModelResponse([TextPart('a')], conversation_id=conversation_id, metadata=metadata))
    return messages


def test_a_model_or_a_model_id_is_a_route_without_settings() -> None:
    """What is registered as a model, an id or a route is a route when it is read."""
    router = Router({'model': FAST, 'id': 'openai:gpt-5-mini', 'route': Route(SMART, {'temperature': 0.1})})
    assert dict(router.routes) == {
        'model': Route(FAST),
        'id': Route('openai:gpt-5-mini'),
        'route': Route(SMART, {'temperature': 0.1}),
    }


def test_routes_are_a_copy_that_can_be_changed() -> None:
    """Routes are added, replaced and removed on the router; the mapping it was made from does not matter any more."""
    given: dict[str, Any] = {'fast': FAST}
    router = Router(given)
    given['late'] = SMART
    router.routes['smart'] = SMART
    router.routes['fast'] = Route(FAST, {'max_tokens': 5})
    assert dict(router.routes) == {'fast': Route(FAST, {'max_tokens': 5}), 'smart': Route(SMART)}
    del router.routes['fast']
    assert list(router.routes) == ['smart']
    assert repr(router.routes) == f'RouteTable({{"smart": {Route(SMART)!r}}})'.replace('"', "'")


@pytest.mark.parametrize(
    ('name', 'kind', 'message'),
    [
        ('', ValueError, "The name of a route must not be blank; got ''."),
        (' \t', ValueError, "The name of a route must not be blank; got ' \\t'."),
        (3, TypeError, 'The name of a route must be text; got 3.'),
    ],
)
def test_names_are_checked_on_insert(name: Any, kind: type[Exception], message: str) -> None:
    """A name that is blank or no text is refused by the constructor and by the mapping, which stays as it was."""
    with pytest.raises(kind) as error:
        Router({name: FAST})
    assert str(error.value) == message
    router = two()
    with pytest.raises(kind) as error:
        router.routes[name] = FAST
    assert (str(error.value), list(router.routes)) == (message, ['fast', 'smart'])


@pytest.mark.parametrize(
    ('model', 'kind', 'message'),
    [
        (None, TypeError, '`Route.model` must be a model or a model id; got None.'),
        (' ', ValueError, "`Route.model` must name a model; got ' '. Use an id like 'openai:gpt-5-mini'."),
    ],
)
def test_a_route_needs_a_model(model: Any, kind: type[Exception], message: str) -> None:
    """A route whose model is none, or a blank id, is refused when it is registered."""
    with pytest.raises(kind) as error:
        Router({'fast': model})
    assert str(error.value) == message


@pytest.mark.parametrize(
    ('options', 'kind', 'message'),
    [
        ({'cadence': 'turn'}, ValueError, "`Router.cadence` must be 'step' or 'run'; got 'turn'."),
        (
            {'on_missing_route': 'skip'},
            ValueError,
            "`Router.on_missing_route` must be 'raise' or 'default'; got 'skip'.",
        ),
        ({'state_key': ' '}, ValueError, KEY_RULE + "' '."),
        ({'state_key': '__pydantic_ai__'}, ValueError, KEY_RULE + "'__pydantic_ai__'."),
        ({'state_key': 3}, TypeError, '`Router.state_key` must be text; got 3.'),
        ({'on_switch': 3}, TypeError, '`Router.on_switch` must be callable; got 3.'),
        (
            {'default_route': 'gone'},
            RouteNotFoundError,
            "Route 'gone' is not registered (registered: 'fast', 'smart'). "
            'Register it in `Router.routes`, or set a registered route with `Router.set_active_route()`.',
        ),
    ],
)
def test_options_are_checked_early(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    """An option that cannot work is refused at construction, by name and value."""
    with pytest.raises(kind) as error:
        two(**options)
    assert str(error.value) == message


async def test_the_default_is_the_first_route_unless_one_is_named() -> None:
    """R1: without `default_route` the first registered route is the default, also after the table has changed."""
    assert await two().get_active_route('c1') == 'fast'
    assert await two(default_route='smart').get_active_route('c1') == 'smart'
    router = two()
    del router.routes['fast']
    assert await router.get_active_route('c1') == 'smart'


async def test_no_route_at_all_is_an_error_when_one_is_needed() -> None:
    """A router may be made empty and filled later; asked too early it says what is missing."""
    router = Router({})
    with pytest.raises(NoActiveRouteError) as error:
        await router.get_active_route('c1')
    assert str(error.value) == 'No route is registered. Register at least one in `Router.routes`.'
    router.routes['late'] = FAST
    assert await router.get_active_route('c1') == 'late'


async def test_a_removed_default_is_not_replaced_in_silence() -> None:
    """A default that was named and then removed is an error, not the next best route."""
    router = two(default_route='smart')
    del router.routes['smart']
    with pytest.raises(RouteNotFoundError) as error:
        await router.get_active_route('c1')
    assert (error.value.route, error.value.known) == ('smart', ('fast',))


async def test_reading_the_active_route_writes_nothing() -> None:
    """R1: after any number of reads a store is still empty and a history is what it was."""
    store = InMemoryRouteStore()
    router, messages = two(store=store), history('smart')
    before = deepcopy(messages)
    found = [await router.get_active_route(place) for place in ('c1', messages, [])]
    assert (found, len(store), messages) == (['fast', 'smart', 'fast'], 0, before)


async def test_a_route_that_was_set_is_read_back() -> None:
    """R2: what was set is active for that conversation and no other, and kept with its reason."""
    router = two()
    await router.set_active_route('c1', 'smart', reason='hard question')
    assert [await router.get_active_route(conversation) for conversation in ('c1', 'c2')] == ['smart', 'fast']
    assert await router.store.get('router', 'c1') == RouteState('smart', 'hard question')


async def test_an_unknown_name_changes_nothing() -> None:
    """R2: setting a route that is not registered fails, names the registered ones and leaves the state as it was."""
    router = two()
    await router.set_active_route('c1', 'smart')
    with pytest.raises(RouteNotFoundError) as error:
        await router.set_active_route('c1', 'Fast')
    assert (error.value.route, error.value.known) == ('Fast', ('fast', 'smart'))
    assert await router.get_active_route('c1') == 'smart'


async def test_clearing_gives_the_conversation_back_to_the_default() -> None:
    """After `clear_active_route` the default serves, also when the history bears the stamp of another route."""
    router, messages = two(), history('smart')
    await router.set_active_route(messages, 'smart')
    await router.clear_active_route(messages)
    assert [await router.get_active_route(place) for place in ('c1', messages)] == ['fast', 'fast']


async def test_expect_refuses_to_overwrite_another_decision() -> None:
    """R4: `expect` lets a write through only while the route it names is active; the default counts as active."""
    router = two()
    await router.set_active_route('c1', 'smart', expect='fast')
    with pytest.raises(RouteConflictError) as error:
        await router.set_active_route('c1', 'smart', expect='fast')
    assert str(error.value) == (
        "Conversation 'c1' has route 'smart' where route 'fast' was expected; nothing was changed. "
        'Read the active route again, and decide again.'
    )
    assert (error.value.conversation_id, error.value.expected, error.value.active) == ('c1', 'fast', 'smart')
    await router.set_active_route('c1', 'fast', expect='smart')
    assert await router.get_active_route('c1') == 'fast'


async def test_expect_compares_with_the_stamp_where_the_store_holds_nothing() -> None:
    """In a process with an empty store, the route the caller believes active is the one in the history."""
    router = two()
    with pytest.raises(RouteConflictError):
        await router.set_active_route(history('smart'), 'smart', expect='fast')
    await router.set_active_route(history('smart'), 'fast', expect='smart')
    assert await router.get_active_route('c1') == 'fast'


async def test_expect_repairs_a_route_that_is_gone() -> None:
    """A stored name that is not registered any more can be expected, and so replaced."""
    router = two()
    await router.set_active_route('c1', 'smart')
    del router.routes['smart']
    await router.set_active_route('c1', 'fast', expect='smart')
    assert await router.get_active_route('c1') == 'fast'


async def test_a_write_between_check_and_write_is_a_conflict() -> None:
    """Who reads the route, and is overtaken by another writer before the own write, is told so."""

    class Overtaken(InMemoryRouteStore):
        async def get(self, state_key: str, conversation_id: str) -> RouteState | None:
            found = await super().get(state_key, conversation_id)
            await super().set(state_key, conversation_id, RouteState('smart'))
            return found

    router = two(store=Overtaken())
    with pytest.raises(RouteConflictError) as error:
        await router.set_active_route('c1', 'fast', expect='fast')
    assert str(error.value) == (
        "Conversation 'c1' has route 'smart' where no route of its own was expected; nothing was changed. "
        'Read the active route again, and decide again.'
    )


async def test_a_history_names_its_conversation_and_its_route() -> None:
    """The newest stamp of a route counts; a model that served without one does not change the active route."""
    router = two()
    assert await router.get_active_route(history('fast', 'smart', None)) == 'smart'
    assert await router.get_active_route(history('smart', 'fast')) == 'fast'
    assert await router.get_active_route(history('smart', conversation_id=None)) == 'smart'


async def test_the_store_wins_over_the_stamp() -> None:
    """A route that was set for the conversation outranks the one that served it last."""
    router = two()
    await router.set_active_route('c1', 'fast')
    assert await router.get_active_route(history('smart')) == 'fast'


@pytest.mark.parametrize(
    'metadata',
    [
        None,
        {'router': 'smart'},
        {'router': {'route': 'smart'}},
        {'router': {'route': ['smart'], 'identity': 'i', 'model': 'm'}},
        {'router': {'route': 'smart', 'identity': None, 'model': 'm'}},
        {'other': mark('smart', 'smart')},
    ],
)
async def test_what_is_not_shaped_like_a_stamp_is_none(metadata: Any) -> None:
    """Metadata of another shape, or of another router, says nothing about the route."""
    messages: list[ModelMessage] = [ModelResponse([TextPart('a')], conversation_id='c1', metadata=metadata)]
    assert await two().get_active_route(messages) == 'fast'


async def test_a_stamp_is_looked_up_among_the_routes_and_never_used_as_a_model() -> None:
    """A forged stamp that names a model id is a route that is not registered."""
    with pytest.raises(RouteNotFoundError) as error:
        await two().get_active_route(history('openai:gpt-5.2-pro'))
    assert error.value.route == 'openai:gpt-5.2-pro'
    assert await two(on_missing_route='default').get_active_route(history('openai:gpt-5.2-pro')) == 'fast'


async def test_state_keys_are_independent() -> None:
    """R3: two routers of one store with two keys do not see each other's routes."""
    store = InMemoryRouteStore()
    one, other = two(store=store, state_key='one'), two(store=store, state_key='other')
    await one.set_active_route('c1', 'smart')
    assert [await router.get_active_route('c1') for router in (one, other)] == ['smart', 'fast']


async def test_a_write_needs_a_conversation_id() -> None:
    """Messages that carry no id name no conversation to set or clear a route for."""
    message = (
        'A route can only be set for a conversation with an id, and these messages carry none. '
        'Use the messages of a run, or pass the id.'
    )
    with pytest.raises(RoutingError) as error:
        await two().set_active_route(history('fast', conversation_id=None), 'smart')
    assert str(error.value) == message
    with pytest.raises(RoutingError) as error:
        await two().clear_active_route([])
    assert str(error.value) == message


async def test_a_blank_conversation_id_is_refused() -> None:
    """A blank id is a mistake, not a conversation that all careless callers share."""
    with pytest.raises(ValueError) as error:
        await two().get_active_route(' ')
    assert str(error.value) == "A conversation id must not be blank; got ' '."


def test_a_router_is_not_part_of_agent_specs() -> None:
    """Models and stores cannot be written down in a spec, so the router has no name there."""
    assert two().get_serialization_name() is None


def test_bare_test_model_is_a_route() -> None:
    """Any pydantic-ai model is accepted, and kept as the same object."""
    model = TestModel()
    assert Router({'test': model}).routes['test'].model is model


@pytest.mark.parametrize('conversation', [None, 5, {}, [1]])
async def test_a_conversation_is_named_in_one_of_three_ways(conversation: Any) -> None:
    """What is no id, no context and no history is refused in words, and so is the id a run did not have."""
    with pytest.raises(TypeError) as error:
        await Router({'fast': talker('fast')}).get_active_route(conversation)
    assert str(error.value) == (
        f'A conversation must be an id, the context of a run or a list of messages; got {conversation!r}.'
    )
