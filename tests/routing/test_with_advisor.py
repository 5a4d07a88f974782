"""A router and an advisor on one agent: who consults how is decided anew for every request."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel

from advisor_harness import Advisor, Consultation, Portability, Router
from advisor_harness.routing import FailoverModel
from advisor_harness.telemetry import read
from tests.advisor.scripts import (
    OPUS,
    Provider,
    client_call,
    completion,
    failing,
    message,
    native_advice,
    outcomes,
    text,
)
from tests.routing.conftest import Recorded
from tests.routing.support import routes_of, talker

pytestmark = pytest.mark.anyio

NAME = f'anthropic:{OPUS}'


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider's key in the environment must change nothing."""
    for name in ('ANTHROPIC_API_KEY', 'OPENROUTER_API_KEY'):
        monkeypatch.delenv(name, raising=False)


async def test_a_route_change_in_a_run_decides_native_or_local_anew(recorded: Recorded) -> None:
    """The first request offers the native advisor; the one after the switch the local tool, and back again."""
    claude = Provider(message(client_call('go_on'), stop='tool_use'), message(text('done')))
    other = Provider(completion('almost'))
    router = Router({'claude': claude.anthropic(), 'other': other.openrouter()})
    agent = Agent(capabilities=[recorded.instrumentation, router, Advisor(NAME)])

    @agent.tool
    async def go_on(ctx: RunContext[object]) -> str:
        await router.set_active_route(ctx, 'other')
        return 'gone on'

    result = await agent.run('Go.')
    await router.set_active_route(result.all_messages(), 'claude')
    result = await agent.run('And?', message_history=result.all_messages())
    assert routes_of(result.all_messages()) == ['claude', 'other', 'claude']
    assert [sorted(claude.tools(0)), sorted(other.tools()), sorted(claude.tools(1))] == [
        ['advisor_20260301', 'go_on'],
        ['advisor', 'go_on'],
        ['advisor_20260301', 'go_on'],
    ]
    selections = read.selections(recorded.spans)
    assert [(each.path, each.reason) for each in selections] == [
        ('native', 'native_match'),
        ('local', 'provider_mismatch'),
        ('native', 'native_match'),
    ]


@pytest.mark.parametrize(('native_tools', 'known'), [('convert', True), ('drop', False)])
async def test_native_advice_is_text_for_the_next_provider(native_tools: Any, known: bool, recorded: Recorded) -> None:
    """What a native advisor said reaches another provider as text, or is left out by policy, and the span says so."""
    claude, other = Provider(message(*native_advice(), text('A lock.'))), Provider(completion('done'))
    records: list[Consultation] = []
    router = Router(
        {'claude': claude.anthropic(), 'other': other.openrouter()}, portability=Portability(native_tools=native_tools)
    )
    advisor = Advisor(NAME, on_consultation=records.append)
    agent = Agent(capabilities=[recorded.instrumentation, router, advisor])
    first = await agent.run('Lock or queue?')
    await router.set_active_route(first.all_messages(), 'other')
    await agent.run('And now?', message_history=first.all_messages())
    assert outcomes(records) == ['advised']
    assert ('Use a lock.' in str(other.bodies[0]['messages'])) is known
    assert 'A lock.' in str(other.bodies[0]['messages'])
    facts = recorded.routes[-1]
    assert facts.issues == ('native_tool',)
    assert facts.history_action == ('converted' if known else 'dropped_parts')


async def test_native_advice_is_native_again_on_return() -> None:
    """Back on the provider that gave it, advice is sent as it came."""
    claude = Provider(message(*native_advice(), text('A lock.')), message(text('sure')))
    other = Provider(completion('done'))
    router = Router({'claude': claude.anthropic(), 'other': other.openrouter()})
    agent = Agent(capabilities=[router, Advisor(NAME)])
    result = await agent.run('Lock or queue?')
    for name in ('other', 'claude'):
        await router.set_active_route(result.all_messages(), name)
        result = await agent.run('And now?', message_history=result.all_messages())
    sent = claude.bodies[1]['messages'][1]['content']
    assert [block['type'] for block in sent] == ['server_tool_use', 'advisor_tool_result', 'text']


async def test_local_advice_is_an_ordinary_result_on_every_route() -> None:
    """A local consultation of one route is a tool call and its result to the next, also under the native advisor."""

    async def ask(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse([ToolCallPart('advisor', {'prompt': 'Lock or queue?'}, tool_call_id='c:1')])
        return ModelResponse([TextPart('A lock.')])

    claude = Provider(message(text('done')))
    router = Router({'fast': FunctionModel(ask), 'claude': claude.anthropic()})
    agent = Agent(capabilities=[router, Advisor(talker('Use a lock.'))])
    first = await agent.run('Lock or queue?')
    await router.set_active_route(first.all_messages(), 'claude')
    await agent.run('And now?', message_history=first.all_messages())
    call, returned = (claude.bodies[0]['messages'][place]['content'][0] for place in (1, 2))
    assert (call['type'], call['name'], call['id']) == ('tool_use', 'advisor', returned['tool_use_id'])
    assert 'Use a lock.' in str(returned['content'])


@pytest.mark.parametrize('chain', [FailoverModel, FallbackModel])
async def test_the_advisor_sees_the_candidates_of_a_chain(chain: Any, recorded: Recorded) -> None:
    """A `FailoverModel` is to the advisor what a `FallbackModel` is, also as a route: all of its models must agree."""
    first, second = Provider(failing(529)), Provider(message(*native_advice(), text('done')))
    agree = Router({'chain': chain(first.anthropic(), second.anthropic())})
    await Agent(capabilities=[agree, Advisor(NAME)]).run('Go.')
    assert (first.tools(), second.tools()) == (['advisor_20260301'], ['advisor_20260301'])
    first, second = Provider(failing(529)), Provider(completion('done'))
    differ = Router({'chain': chain(first.anthropic(), second.openrouter())})
    await Agent(capabilities=[recorded.instrumentation, differ, Advisor(NAME)]).run('Go.')
    assert (first.tools(), second.tools()) == (['advisor'], ['advisor'])
    (selection,) = read.selections(recorded.spans)
    assert (selection.path, selection.reason) == ('local', 'executor_fallback')
    assert recorded.routes[0].model == 'openai/gpt-4o-mini'
