"""Many conversations at once on one router."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest
from pydantic_ai import Agent

from advisor_harness.routing import InMemoryRouteStore, Router, RouteState
from advisor_harness.routing.serving import ServingModel
from tests.routing.support import marks, talker

pytestmark = pytest.mark.anyio

MANY = 1000
NAMES = ('fast', 'smart', 'other')


async def test_a_thousand_conversations_are_isolated_and_leave_no_more_than_the_bound() -> None:
    """Each is served by its own route; the store has let go of older ones, and nothing of a request stays alive."""
    # Errors that earlier tests have caught may hold theirs.
    before = serving_models()
    store = InMemoryRouteStore(max_conversations=MANY)
    for number in range(MANY):
        await store.set('router', f'old{number}', RouteState('fast'))
    router = Router({name: talker(name) for name in NAMES}, store=store)
    agent = Agent(capabilities=[router])

    async def converse(number: int) -> Any:
        await router.set_active_route(f'c{number}', NAMES[number % 3])
        result = await agent.run('hello', conversation_id=f'c{number}')
        return [stamp['model'] for stamp in marks(result.all_messages())]

    found = await asyncio.gather(*(converse(number) for number in range(MANY)))
    assert found == [[f'function:{NAMES[number % 3]}'] for number in range(MANY)]
    assert len(store) == MANY
    assert serving_models() - before == set()


def serving_models() -> set[int]:
    """The models of single requests that are alive."""
    gc.collect()
    return {id(each) for each in gc.get_objects() if isinstance(each, ServingModel)}
