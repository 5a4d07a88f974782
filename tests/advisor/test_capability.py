"""The capability among others: deferred calls, wrappers, tools that call tools, resumed runs, captured messages."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRequest,
    ModelResponse,
    RunContext,
    ToolCallPart,
    UserPromptPart,
    capture_run_messages,
)
from pydantic_ai.capabilities import PrefixTools
from pydantic_ai.exceptions import CallDeferred
from pydantic_ai.messages import NativeToolCallPart

from advisor_harness import Advisor, Consultation
from advisor_harness.telemetry import read

from .conftest import Spans
from .scripts import (
    OPUS,
    Approval,
    Provider,
    Script,
    answers,
    asks,
    calls,
    executor,
    message,
    native_advice,
    outcomes,
    says,
    server_result,
    text,
    together,
)

pytestmark = pytest.mark.anyio

NAME = f'anthropic:{OPUS}'


async def test_a_deferred_tool_in_the_same_response_keeps_the_advice() -> None:
    """The advisor answers, the run waits for the other call, and resuming it asks no second time."""
    advisor, script = Script(says('Use a lock.')), executor(together(asks('How?'), calls('later')))
    agent = Agent(
        script.model(), output_type=[str, DeferredToolRequests], capabilities=[Advisor[object](advisor.model())]
    )

    @agent.tool_plain
    def later() -> str:
        raise CallDeferred

    waiting = await agent.run('Go.')
    assert isinstance(waiting.output, DeferredToolRequests)
    assert answers(waiting.all_messages()) == ['Use a lock.']
    done = DeferredToolResults(calls={'call-x': 'found'})
    result = await agent.run(message_history=waiting.all_messages(), deferred_tool_results=done)
    assert (result.output, len(advisor.requests)) == ('done', 1)


async def test_an_approved_consultation_and_the_next_response_have_a_quota_each() -> None:
    """A call that is approved in a later run counts there, and takes nothing from that run's first response."""
    ours = Advisor[object](Script(says('Use a lock.')).model(), max_uses=1)
    script = executor(asks('One?'), asks('Two?', first=2))
    agent = Agent(script.model(), output_type=[str, DeferredToolRequests], capabilities=[Approval(), ours])
    waiting = await agent.run('Go.')
    approved = DeferredToolResults(approvals={'call-1': True})
    again = await agent.run(message_history=waiting.all_messages(), deferred_tool_results=approved)
    assert isinstance(again.output, DeferredToolRequests)
    approved = DeferredToolResults(approvals={'call-2': True})
    result = await agent.run(message_history=again.all_messages(), deferred_tool_results=approved)
    assert answers(result.all_messages()) == ['Use a lock.', 'Use a lock.']


async def test_a_resumed_call_and_the_response_after_it_are_different_requests() -> None:
    """Running an old response's call opens no window that the run's own first response would share."""
    ours = Advisor[object](Script(says('Use a lock.')).model(), max_uses=1)
    script = executor(asks('Two?', first=2))
    history = [ModelRequest(parts=[UserPromptPart('Go.')]), asks('One?')]
    result = await Agent(script.model(), capabilities=[ours]).run(message_history=history)
    assert answers(result.all_messages()) == ['Use a lock.', 'Use a lock.']


async def test_a_suspended_turn_is_resumed_by_another_run() -> None:
    """A run that takes up a paused turn gets the result of its call, and records it."""
    provider, records = Provider(message(server_result(), text('done'))), list[Consultation]()
    pending = NativeToolCallPart('advisor', {}, 'srvtoolu_1', provider_name='anthropic')
    history = [
        ModelRequest(parts=[UserPromptPart('Go.')]),
        ModelResponse(parts=[pending], provider_name='anthropic', state='suspended'),
    ]
    agent = Agent(provider.anthropic(), capabilities=[Advisor(NAME, on_consultation=records.append)])
    result = await agent.run(message_history=history)
    assert (result.output, outcomes(records)) == ('done', ['advised'])
    assert [block['type'] for block in provider.bodies[0]['messages'][-1]['content']] == ['server_tool_use']


async def test_under_a_prefix_it_is_the_same_advisor(spans: Spans) -> None:
    """A renamed tool consults and is recognised as ours."""
    script = executor(calls('house_advisor', prompt='How?'))
    ours = PrefixTools(Advisor(Script(says('Use a lock.')).model(), max_uses=1), 'house')
    result = await Agent(script.model(), capabilities=[spans.capability(), ours]).run('Go.')
    assert (script.tools[0], answers(result.all_messages(), 'house_advisor')) == (['house_advisor'], ['Use a lock.'])
    assert [(s.path, s.reason) for s in read.selections(spans.finished)] == [('local', 'model_instance')]


async def test_under_a_prefix_a_native_advisor_still_replaces_the_tool() -> None:
    """The provider's tool takes the place of the local one whatever that is called."""
    provider = Provider(message(*native_advice(), text('done')))
    await Agent(provider.anthropic(), capabilities=[PrefixTools(Advisor(NAME), 'house')]).run('Go.')
    assert provider.tools() == ['advisor_20260301']


@pytest.mark.parametrize('forward_history', [True, 'transcript'])
async def test_a_tool_may_consult_on_its_own(forward_history: Any) -> None:
    """A tool that calls the advisor's tool, as code that runs in a sandbox does, gets advice on what came before."""
    advisor = Script(says('Use a lock.'))
    script = executor(calls('work'))
    ours = Advisor[object](advisor.model(), forward_history=forward_history, max_uses=1)
    agent = Agent(script.model(), capabilities=[ours])

    @agent.tool
    async def work(ctx: RunContext[object]) -> str:
        assert ctx.tool_manager is not None
        return await ctx.tool_manager.handle_call(ToolCallPart('advisor', {'prompt': 'How?'}, 'inner-1'))

    result = await agent.run('Go.')
    assert answers(result.all_messages(), 'work') == ['Use a lock.']
    sent = ' '.join(str(part.content) for part in advisor.requests[0][0].parts)
    assert ('Go.' in sent, 'work' in sent) == (True, False)


async def test_messages_captured_around_the_executor_are_its_own() -> None:
    """A user's `capture_run_messages` is not disturbed, and the record counts the advisor's messages only."""
    records: list[Consultation] = []
    ours = Advisor(Script(says('Use a lock.')).model(), on_consultation=records.append, forward_history=True)
    agent = Agent(executor(asks('How?')).model(), capabilities=[ours])
    with capture_run_messages() as messages:
        result = await agent.run('Go.')
    assert messages == result.all_messages()
    assert [(record.requests, record.input_tokens, record.output_tokens) for record in records] == [(1, 7, 3)]


async def test_one_advisor_serves_several_agents() -> None:
    """A capability that two agents share keeps their runs apart."""
    ours = Advisor[object](Script(says('Use a lock.')).model(), max_uses_per_run=1)
    outputs = [
        answers((await Agent(executor(asks('How?')).model(), capabilities=[ours]).run('Go.')).all_messages())
        for _ in range(2)
    ]
    assert outputs == [['Use a lock.'], ['Use a lock.']]


async def test_a_subclass_stays_what_it_is() -> None:
    """Copies for a run and merges keep the class and fields of a subclass."""

    class House(Advisor[object]):
        def __init__(self, note: str) -> None:
            super().__init__('test', max_uses=1)
            self.note = note

    ours = House('ours')
    script = executor()
    agent = Agent(script.model(), capabilities=[ours])
    seen: list[Any] = []

    @agent.instructions
    def look(ctx: RunContext[object]) -> None:
        seen.append(ctx.capabilities['advisor'])

    await agent.run('Go.')
    combined = House.combine([ours, House('theirs')])
    assert [(type(found), found.note, found is ours) for found in (*seen, combined)] == [
        (House, 'ours', False),
        (House, 'theirs', False),
    ]


async def test_a_result_of_a_later_version_cannot_be_read() -> None:
    """Content of an unknown kind is advice that we cannot read, never no advice."""
    records: list[Consultation] = []
    content = {'type': 'advisor_result_of_tomorrow', 'blob': 'x'}
    provider = Provider(message(*native_advice(**content), text('done')))
    agent = Agent(provider.anthropic(), capabilities=[Advisor(NAME, on_consultation=records.append)])
    with pytest.warns(UserWarning, match='Pydantic serializer warnings'):
        await agent.run('Go.')
    assert outcomes(records) == ['redacted']
