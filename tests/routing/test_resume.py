"""Resuming a turn that its provider has not finished."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent, ModelSettings
from pydantic_ai.exceptions import ModelHTTPError, UserError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from advisor_harness.routing import NoActiveRouteError, Route, RouteNotFoundError, Router
from tests.routing.support import mark, marks, talker

pytestmark = pytest.mark.anyio


def paused(metadata: dict[str, Any] | None) -> list[ModelMessage]:
    """A history that ends in a turn which is not finished."""
    return [
        ModelRequest([UserPromptPart('go on')], conversation_id='c1'),
        ModelResponse(
            [TextPart('part')], model_name='smart', state='suspended', conversation_id='c1', metadata=metadata
        ),
    ]


async def test_the_stamped_route_resumes_the_turn_and_keeps_it() -> None:
    """R8: the run gets the model from the stamp; its response bears the route, and its request the route's settings."""
    seen: list[AgentInfo] = []
    smart = talker('smart', seen=seen)
    router = Router({'fast': talker('fast'), 'smart': Route(smart, ModelSettings(temperature=0.1))})
    agent = Agent(capabilities=[router])
    history = paused({'router': mark('smart', 'smart')})
    model = router.resume_model(history)
    assert model is smart
    result = await agent.run(None, message_history=history, model=model)
    assert marks(result.all_messages()) == [mark('smart', 'smart')]
    assert [info.model_settings for info in seen] == [{'temperature': 0.1}]
    later = await agent.run('more', message_history=result.all_messages())
    assert marks(later.new_messages()) == [mark('smart', 'smart')]


async def test_another_model_that_resumes_the_turn_is_not_the_route() -> None:
    """A turn that is finished by a model that did not begin it is stamped without a route."""
    agent = Agent(capabilities=[Router({'fast': talker('fast'), 'smart': talker('smart')})])
    history = paused({'router': mark('smart', 'smart')})
    result = await agent.run(None, message_history=history, model=talker('given'))
    assert marks(result.all_messages()) == [mark(None, 'given')]


async def test_a_turn_of_a_fallback_candidate_is_resumed_by_its_route() -> None:
    """The stamp names the candidate that began the turn; the route's whole model resumes it."""

    async def down(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ModelHTTPError(503, 'down')

    chain = FallbackModel(FunctionModel(down, model_name='first'), talker('second'))
    router = Router({'chain': chain})
    history = paused({'router': mark('chain', 'second')})
    result = await Agent(capabilities=[router]).run(None, message_history=history, model=router.resume_model(history))
    assert marks(result.all_messages()) == [mark('chain', 'second')]


@pytest.mark.parametrize('messages', [[], paused(None)[:1]])
def test_what_is_not_suspended_needs_no_model(messages: list[ModelMessage]) -> None:
    """A history that ends in a request, or nowhere, has nothing to resume."""
    assert Router({'fast': talker('fast')}).resume_model(messages) is None


def test_a_finished_response_needs_no_model() -> None:
    """A complete response at the end of a history has nothing to resume."""
    messages: list[ModelMessage] = [ModelResponse([TextPart('a')], metadata={'router': mark('fast', 'fast')})]
    assert Router({'fast': talker('fast')}).resume_model(messages) is None


@pytest.mark.parametrize(('metadata', 'served'), [(None, 'smart'), ({'router': mark(None, 'given')}, 'function:given')])
def test_a_response_without_a_route_cannot_be_resumed_by_one(metadata: Any, served: str) -> None:
    """R8: without a stamp, or with one that names no route, the error says which model gave the response."""
    with pytest.raises(NoActiveRouteError) as error:
        Router({'fast': talker('fast')}).resume_model(paused(metadata))
    assert str(error.value) == (
        f"The suspended response names no route under 'router'; model {served!r} gave it. "
        'Pass that model to `run(model=...)` yourself.'
    )


def test_a_stamped_route_that_is_gone_cannot_resume() -> None:
    """A route that is not registered any more is an error that names it, also where requests may use the default."""
    router = Router({'fast': talker('fast')}, on_missing_route='default')
    with pytest.raises(RouteNotFoundError) as error:
        router.resume_model(paused({'router': mark('smart', 'smart')}))
    assert (error.value.route, error.value.known) == ('smart', ('fast',))


def test_a_route_given_by_id_is_built() -> None:
    """A model id becomes a model by pydantic-ai's own rules."""
    stamp = {'route': 'test', 'identity': 'test||TestModel', 'model': 'test:test'}
    model = Router({'test': 'test'}).resume_model(paused({'router': stamp}))
    assert isinstance(model, TestModel)


async def test_without_the_model_pydantic_ai_refuses_to_resume() -> None:
    """A run that resumes must be given the model: the reason that `resume_model` exists."""
    agent = Agent(capabilities=[Router({'fast': talker('fast')})])
    with pytest.raises(UserError, match=r'Cannot resume a suspended response with a dynamic capability model'):
        await agent.run(None, message_history=paused({'router': mark('fast', 'fast')}))
