"""The stamp on every response, in every run style, and what is told before a switch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart
from pydantic_ai.models import CompletedStreamedResponse, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from advisor_harness.routing import Router, RouteSwitch
from advisor_harness.routing.portability import PortabilityReport
from tests.routing.support import mark, marks, talker

pytestmark = pytest.mark.anyio


def kept(estimated_tokens: int) -> PortabilityReport:
    """The report on a history of plain text."""
    return PortabilityReport([], estimated_tokens)


SWITCHED = [mark('fast', 'fast'), mark('smart', 'smart')]


def escalating(**options: Any) -> tuple[Router, Agent[object, str]]:
    """A router, and an agent whose first model calls a tool that sets the other route."""
    router = Router({'fast': talker('fast', calls='escalate'), 'smart': talker('smart')}, **options)
    agent = Agent(capabilities=[router])

    @agent.tool
    async def escalate(ctx: RunContext[object]) -> str:
        await router.set_active_route(ctx, 'smart', reason='it is hard')
        return 'done'

    return router, agent


async def down(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    raise ModelHTTPError(503, 'down')


async def test_run_is_stamped() -> None:
    """R5: `run` stamps every response, and the stamps survive JSON."""
    result = await escalating()[1].run('hello')
    assert marks(result.all_messages()) == SWITCHED
    assert marks(ModelMessagesTypeAdapter.validate_json(result.all_messages_json())) == SWITCHED


async def test_run_stream_is_stamped() -> None:
    """R5: `run_stream` stamps every response, the streamed last one included."""
    async with escalating()[1].run_stream('hello') as streamed:
        output = await streamed.get_output()
    assert (output, marks(streamed.all_messages())) == ('smart', SWITCHED)


async def test_run_stream_events_is_stamped() -> None:
    """R5: `run_stream_events` stamps every response of its result."""
    found: list[Any] = []
    async with escalating()[1].run_stream_events('hello') as events:
        async for event in events:
            if event.event_kind == 'agent_run_result':
                found = marks(event.result.all_messages())
    assert found == SWITCHED


async def test_an_event_stream_handler_changes_nothing() -> None:
    """`run` with a handler streams inside, and stamps as without."""

    async def drain(ctx: RunContext[object], events: Any) -> None:
        async for _ in events:
            pass

    result = await escalating()[1].run('hello', event_stream_handler=drain)
    assert marks(result.all_messages()) == SWITCHED


async def test_iter_is_stamped() -> None:
    """R5: `iter` stamps every response."""
    async with escalating()[1].iter('hello') as run:
        async for _ in run:
            pass
    assert run.result is not None
    assert marks(run.result.all_messages()) == SWITCHED


def test_run_sync_is_stamped() -> None:
    """`run_sync` stamps every response."""
    with asyncio.Runner() as runner:
        # pydantic-ai takes the thread's loop, which this makes and closes; one of its own would stay open.
        runner.get_loop()
        assert marks(escalating()[1].run_sync('hello').all_messages()) == SWITCHED


async def test_a_stream_that_is_left_early_is_stamped() -> None:
    """A response that was cut off by its consumer still says who gave it."""
    async with escalating()[1].run_stream('hello') as streamed:
        async for _ in streamed.stream_text(delta=True):
            break
        assert marks([streamed.response]) == SWITCHED[1:]


async def test_a_response_that_was_complete_before_it_was_streamed_is_stamped() -> None:
    """A stream that hands out a finished response is stamped on that response, and the response is not changed."""
    finished = ModelResponse([TextPart('kept')], model_name='kept', metadata={'own': 1})

    class Kept(WrapperModel):
        @asynccontextmanager
        async def request_stream(
            self,
            messages: list[ModelMessage],
            model_settings: ModelSettings | None,
            model_request_parameters: ModelRequestParameters,
            run_context: RunContext[Any] | None = None,
        ) -> AsyncGenerator[StreamedResponse]:
            yield CompletedStreamedResponse(finished, model_request_parameters=model_request_parameters)

    agent = Agent(capabilities=[Router({'kept': Kept(talker('kept'))})])
    async with agent.run_stream('hello') as streamed:
        await streamed.get_output()
    assert streamed.all_messages()[-1].metadata == {'own': 1, 'router': mark('kept', 'kept')}
    assert finished.metadata == {'own': 1}


async def test_other_metadata_stays_and_the_models_response_is_not_changed() -> None:
    """The stamp is one key beside what the model has put there, on a copy of the response."""
    answer = ModelResponse([TextPart('hi')], metadata={'own': 1})

    async def reuse(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return answer

    agent = Agent(capabilities=[Router({'fast': FunctionModel(reuse, model_name='fast')})])
    result = await agent.run('hello')
    assert result.all_messages()[-1].metadata == {'own': 1, 'router': mark('fast', 'fast')}
    assert answer.metadata == {'own': 1}


@pytest.mark.parametrize('streamed', [False, True])
async def test_the_candidate_of_a_fallback_model_that_served_is_stamped(streamed: bool) -> None:
    """The stamp bears the route's name, and the model that answered after others had failed."""

    async def down_stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        raise ModelHTTPError(503, 'down')
        yield ''

    chain = FallbackModel(FunctionModel(down, stream_function=down_stream, model_name='first'), talker('second'))
    agent = Agent(capabilities=[Router({'chain': chain})])
    if streamed:
        async with agent.run_stream('hello') as stream:
            await stream.get_output()
        messages = stream.all_messages()
    else:
        messages = (await agent.run('hello')).all_messages()
    assert marks(messages) == [mark('chain', 'second')]


async def test_on_switch_is_told_once_before_the_request() -> None:
    """The callback gets the switch before the new model is asked; a first and a kept route are no switch."""
    told: list[Any] = []

    async def smart(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        told.append('request')
        return ModelResponse([TextPart('smart')])

    router, agent = escalating(on_switch=told.append)
    router.routes['smart'] = FunctionModel(smart)
    first = await agent.run('hello', conversation_id='c1')
    await agent.run('again', message_history=first.all_messages())
    assert told == [RouteSwitch('c1', 'fast', 'smart', 'it is hard', kept(2)), 'request', 'request']


async def test_on_switch_may_be_async_and_gets_a_reason_in_any_case() -> None:
    """Without words of whoever set the route, the reason is the one on the span."""
    told: list[RouteSwitch] = []

    async def tell(switch: RouteSwitch) -> None:
        told.append(switch)

    router = Router({'fast': talker('fast'), 'smart': talker('smart')}, on_switch=tell)
    agent = Agent(capabilities=[router])
    result = await agent.run('1', conversation_id='c1')
    await router.set_active_route('c1', 'smart')
    result = await agent.run('2', message_history=result.all_messages())
    await router.clear_active_route('c1')
    await agent.run('3', message_history=result.all_messages())
    assert told == [
        RouteSwitch('c1', 'fast', 'smart', 'rule', kept(1)),
        RouteSwitch('c1', 'smart', 'fast', 'default', kept(3)),
    ]


async def test_on_switch_stops_the_request_by_raising() -> None:
    """What the callback raises reaches the caller, and the new model is not asked."""

    def refuse(switch: RouteSwitch) -> None:
        raise PermissionError(switch.route)

    router, agent = escalating(on_switch=refuse)
    asked: list[AgentInfo] = []
    router.routes['smart'] = talker('smart', seen=asked)
    with pytest.raises(PermissionError, match=r'^smart$'):
        await agent.run('hello')
    assert asked == []


async def test_a_turn_in_several_requests_is_announced_once() -> None:
    """A provider that pauses its turn is asked again in the same step: one switch, one stamp."""
    told: list[RouteSwitch] = []
    states = iter(['suspended', 'complete'])

    async def pausing(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([TextPart('part')], state=next(states))  # pyright: ignore[reportArgumentType] - a state

    router, agent = escalating(on_switch=told.append)
    router.routes['smart'] = FunctionModel(pausing, model_name='smart')
    result = await agent.run('hello', conversation_id='c1')
    assert (told, marks(result.all_messages())) == (
        [RouteSwitch('c1', 'fast', 'smart', 'it is hard', kept(2))],
        SWITCHED,
    )
