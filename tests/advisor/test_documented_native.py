"""Documented behaviour A29, A32 and A39: the provider's own advisor and streaming (numbers of `facts/advisor.md`)."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent, AgentRunResultEvent, TextPart
from pydantic_ai.messages import (
    FinalResultEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
)

from advisor_harness import Advisor, Consultation

from .scripts import (
    OPUS,
    Provider,
    Script,
    answers,
    asks,
    completion,
    executor,
    iterations,
    message,
    native_advice,
    native_error,
    outcomes,
    says,
    server_tool_usage,
    text,
)

pytestmark = pytest.mark.anyio


def native(provider: Provider, **options: Any) -> Agent[object, str]:
    return Agent(provider.anthropic(), capabilities=[Advisor[object](f'anthropic:{OPUS}', **options)])


async def test_a29_anthropic_reports_the_advisors_usage_in_details() -> None:
    """The advisor's iterations are in the usage details, apart from the executor's tokens."""
    body = message(*native_advice(), text('done'), iterations=iterations((100, 20), (50, 10)))
    usage = (await native(Provider(body)).run('Go.')).usage
    assert (usage.input_tokens, usage.output_tokens) == (10, 5)
    assert {key: value for key, value in usage.details.items() if key.startswith('advisor')} == {
        'advisor_iterations': 2,
        'advisor_input_tokens': 150,
        'advisor_output_tokens': 30,
    }


async def test_a29_openrouter_reports_counts_in_provider_details() -> None:
    """OpenRouter's count of server tool calls stands in the response's provider details."""
    provider = Provider(completion(**server_tool_usage(2)))
    agent = Agent(provider.openrouter(), capabilities=[Advisor('openrouter:anthropic/claude-opus-4.8')])
    details = (await agent.run('Go.')).response.provider_details
    assert details is not None
    assert details['server_tool_use'] == {'tool_calls_requested': 2, 'tool_calls_executed': 2}


async def test_a32_a_native_error_is_a_tool_result_and_the_run_goes_on() -> None:
    """The provider tells the executor itself; history keeps its block as it came."""
    result = await native(Provider(message(*native_error('overloaded'), text('done without')))).run('Go.')
    call, answer, last = result.response.parts
    assert isinstance(call, NativeToolCallPart)
    assert isinstance(answer, NativeToolReturnPart)
    assert (answer.content, last) == (
        {'type': 'advisor_tool_result_error', 'error_code': 'overloaded'},
        TextPart('done without'),
    )


async def test_a39_a_streamed_run_pauses_for_a_local_consultation() -> None:
    """`run_stream` gives the text after the advice, and no piece of the advice."""
    script = executor(asks('How?'))
    agent = Agent(script.model(), capabilities=[Advisor(Script(says('Use a lock.')).model())])
    async with agent.run_stream('Go.') as stream:
        pieces = [piece async for piece in stream.stream_text(delta=True)]
    assert (pieces, answers(stream.all_messages())) == (['done'], ['Use a lock.'])


async def test_a39_a_streamed_run_pauses_for_a_native_consultation() -> None:
    """The native advisor's blocks are parts of the streamed response, its advice no text of it."""
    records: list[Consultation] = []
    agent = native(Provider(message(*native_advice(), text('done'))), on_consultation=records.append)
    async with agent.run_stream('Go.') as stream:
        pieces = [piece async for piece in stream.stream_text(delta=True)]
    assert (pieces, [record.advice for record in records]) == (['done'], ['Use a lock.'])


async def test_a39_events_of_a_local_consultation_are_those_of_a_tool() -> None:
    """`run_stream_events` shows the call, its result and then the executor's text."""
    script = executor(asks('How?'))
    agent = Agent(script.model(), capabilities=[Advisor(Script(says('Use a lock.')).model())])
    async with agent.run_stream_events('Go.') as stream:
        events = [type(event) async for event in stream if not isinstance(event, PartDeltaEvent)]
    assert events == [
        PartStartEvent,
        PartEndEvent,
        FunctionToolCallEvent,
        FunctionToolResultEvent,
        PartStartEvent,
        FinalResultEvent,
        PartEndEvent,
        AgentRunResultEvent,
    ]


async def test_a39_iter_drives_consultations_node_by_node() -> None:
    """A run driven by `iter` consults where its tool node runs."""
    script, records = executor(asks('How?')), list[Consultation]()
    agent = Agent(
        script.model(), capabilities=[Advisor(Script(says('Use a lock.')).model(), on_consultation=records.append)]
    )
    seen: list[tuple[str, int]] = []
    async with agent.iter('Go.') as run:
        async for node in run:
            seen.append((type(node).__name__, len(records)))
    assert seen == [
        ('UserPromptNode', 0),
        ('ModelRequestNode', 0),
        ('CallToolsNode', 0),
        ('ModelRequestNode', 1),
        ('CallToolsNode', 1),
        ('End', 1),
    ]


async def test_a_streamed_openrouter_run_is_recorded_like_another() -> None:
    """OpenRouter's counts are read from a stream too."""
    records: list[Consultation] = []
    advisor = Advisor('openrouter:anthropic/claude-opus-4.8', on_consultation=records.append)
    agent = Agent(Provider(completion(**server_tool_usage(1))).openrouter(), capabilities=[advisor])
    async with agent.run_stream('Go.') as stream:
        output = await stream.get_output()
    assert (output, outcomes(records), records[0].call_id) == ('Boomerang.', ['redacted'], 'gen-1#1')
