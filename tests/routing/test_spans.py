"""The span `route model request`: one per request, inside its `chat` span, with what was decided and who served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel

from advisor_harness.routing import Router, RouteState
from advisor_harness.telemetry import RouteFacts, SpanOrigin
from tests.routing.conftest import Recorded
from tests.routing.support import talker

pytestmark = pytest.mark.anyio

FIRST = RouteFacts(
    route='fast',
    reason='default',
    decision='initialize',
    provider='function',
    model='fast',
    switched=False,
    candidates=('fast', 'smart'),
)
SWITCH = replace(
    FIRST,
    route='smart',
    reason='rule',
    decision='switch',
    model='smart',
    switched=True,
    previous_model='fast',
    previous_route='fast',
)


def two(**options: Any) -> Router:
    return Router({'smart': talker('smart'), 'fast': talker('fast', calls='escalate')}, default_route='fast', **options)


def agent_of(router: Router, recorded: Recorded) -> Agent[object, str]:
    agent = Agent(capabilities=[router, recorded.instrumentation], name='executor')

    @agent.tool
    async def escalate(ctx: RunContext[object]) -> str:
        await router.set_active_route(ctx, 'smart', reason='a secret about the customer')
        return 'done'

    return agent


def facts(recorded: Recorded) -> list[RouteFacts]:
    """What the spans say, without the requests they belong to."""
    return [replace(found, origin=None) for found in recorded.routes]


def parents(recorded: Recorded) -> list[str]:
    """The names of the spans that the route spans hang under."""
    names = {span.context.span_id: span.name for span in recorded.spans if span.context}
    return [names[span.parent.span_id] for span in recorded.spans if span.name == 'route model request' and span.parent]


async def test_a_run_that_switches(recorded: Recorded) -> None:
    """The first request initializes, the one after the tool switches; each span belongs to its own request."""
    result = await agent_of(two(), recorded).run('hello', conversation_id='c1')
    origin = SpanOrigin(agent_name='executor', run_id=result.run_id, conversation_id='c1', step=1)
    assert recorded.routes == [replace(FIRST, origin=origin), replace(SWITCH, origin=replace(origin, step=2))]
    assert parents(recorded) == ['chat fast', 'chat smart']


async def test_streams_and_iteration_emit_the_same(recorded: Recorded) -> None:
    """`run_stream`, `run_stream_events` and `iter` emit the spans of `run`, at the same place."""
    agent = agent_of(two(), recorded)
    async with agent.run_stream('hello') as streamed:
        await streamed.get_output()
    async with agent.run_stream_events('hello') as events:
        async for _ in events:
            pass
    async with agent.iter('hello') as run:
        async for _ in run:
            pass
    assert facts(recorded) == [FIRST, SWITCH] * 3
    assert parents(recorded) == ['chat fast', 'chat smart'] * 3


async def test_a_kept_route_is_sticky(recorded: Recorded) -> None:
    """The next turn of a conversation retains what served it, whether the store or only the history knows."""
    first = await agent_of(two(), recorded).run('hello')
    recorded.exporter.clear()
    for router in (two(), two()):
        await agent_of(router, recorded).run('again', message_history=first.all_messages())
    kept = replace(SWITCH, reason='sticky', decision='retain', switched=False, previous_model='smart')
    assert facts(recorded) == [replace(kept, previous_route='smart')] * 2


async def test_a_model_given_to_the_run_leaves_the_route(recorded: Recorded) -> None:
    """An override retains the route and names no one; the switch of models is told, there and back."""
    router = Router({'fast': talker('fast')})
    agent = Agent(capabilities=[router, recorded.instrumentation])
    first = await agent.run('1')
    second = await agent.run('2', message_history=first.all_messages(), model=talker('given'))
    await agent.run('3', message_history=second.all_messages())
    alone = replace(FIRST, candidates=('fast',))
    given = replace(
        alone, route=None, reason='override', decision='retain', model='given', switched=True, previous_model='fast'
    )
    back = replace(alone, reason='sticky', decision='retain', switched=True, previous_model='given')
    assert facts(recorded) == [alone, replace(given, previous_route='fast'), replace(back, previous_route='fast')]


async def test_a_missing_route_is_told(recorded: Recorded) -> None:
    """Where the default stands in for a route that is gone, the reason is `error`."""
    router = two(on_missing_route='default')
    await router.store.set('router', 'c1', RouteState('gone'))
    router.routes['fast'] = talker('fast')
    await agent_of(router, recorded).run('hello', conversation_id='c1')
    assert facts(recorded) == [replace(FIRST, reason='error')]


async def test_the_candidate_that_served_is_told(recorded: Recorded) -> None:
    """A fallback chain is named by the model that answered, and as a whole when none has."""

    async def down(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ModelHTTPError(503, 'down')

    broken = FunctionModel(down, model_name='broken')
    for chain in (FallbackModel(broken, talker('spare')), FallbackModel(broken, broken)):
        agent = Agent(capabilities=[Router({'chain': chain}), recorded.instrumentation])
        await asyncio.gather(agent.run('hello'), return_exceptions=True)
    alone = replace(FIRST, route='chain', candidates=('chain',))
    assert facts(recorded) == [
        replace(alone, model='spare'),
        replace(alone, provider='fallback:function,function', model='fallback:broken,broken'),
    ]


@pytest.mark.parametrize('streamed', [False, True])
async def test_a_request_that_is_cancelled_has_its_span(recorded: Recorded, streamed: bool) -> None:
    """The decision is recorded once also when no response comes back."""
    asked = asyncio.Event()

    async def silent(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def silent_stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        await silent(messages, info)
        yield ''

    router = Router({'fast': FunctionModel(silent, stream_function=silent_stream, model_name='fast')})
    agent = Agent(capabilities=[router, recorded.instrumentation])

    async def drain(ctx: RunContext[object], events: Any) -> None:
        async for _ in events:
            pass

    run = asyncio.create_task(agent.run('hello', event_stream_handler=drain if streamed else None))
    await asked.wait()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    assert facts(recorded) == [replace(FIRST, candidates=('fast',))]


async def test_a_turn_in_several_requests_has_one_span(recorded: Recorded) -> None:
    """Continuing a paused turn is the same request of the run."""
    states = iter(['suspended', 'suspended', 'complete'])

    async def pausing(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([TextPart('part')], state=next(states))  # pyright: ignore[reportArgumentType] - a state

    router = Router({'fast': FunctionModel(pausing, model_name='fast')})
    await Agent(capabilities=[router, recorded.instrumentation]).run('hello')
    assert facts(recorded) == [replace(FIRST, candidates=('fast',))]


async def test_reasons_in_words_stay_out_of_spans(recorded: Recorded) -> None:
    """What somebody wrote as the reason of a switch may be content, so no span of ours carries it."""
    await agent_of(two(), recorded).run('hello')
    ours = [span for span in recorded.spans if span.name == 'route model request']
    assert [value for span in ours for value in (span.attributes or {}).values() if 'secret' in str(value)] == []


async def test_a_run_without_instrumentation_emits_nothing(recorded: Recorded) -> None:
    """The router works the same, and creates no span of its own."""
    result = await Agent(capabilities=[Router({'fast': talker('fast')})]).run('hello')
    assert (result.output, recorded.spans) == ('fast', [])
