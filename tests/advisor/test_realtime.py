"""An advisor in a realtime session, where there are no model requests to decide at."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import UserError
from pydantic_ai.realtime import RealtimeModel
from pydantic_ai.realtime.codec import RealtimeConnection, ResponseDone, SessionUsage, ToolCall, ToolResult
from pydantic_ai.realtime.lifecycle import InferredLifecycle
from pydantic_ai.usage import RequestUsage

from advisor_harness import Advisor, Consultation

from .scripts import OPUS, Script, outcomes, says

pytestmark = [
    pytest.mark.anyio,
    # Core says that a session has no model requests, as it does for every capability with hooks on them.
    pytest.mark.filterwarnings('ignore:Capability `Advisor` .* realtime sessions never call'),
]


class Connection(RealtimeConnection):
    """Makes the scripted calls, one turn after the other, and keeps what comes back."""

    def __init__(self, turns: list[list[str]]) -> None:
        self.turns = turns
        self.results: list[str] = []
        self._lifecycle = InferredLifecycle()
        self._answered = asyncio.Event()

    async def send(self, content: Any) -> Any:
        with self._lifecycle.sending(content):
            if isinstance(content, ToolResult):
                self.results.append(content.output)
                self._answered.set()
        return self._lifecycle.take_pending()

    async def frames(self) -> AsyncIterator[Any]:
        expected = 0
        for number, prompts in enumerate(self.turns):
            expected += len(prompts)
            asked = {f'call-{number}-{n}': json.dumps({'prompt': prompt}) for n, prompt in enumerate(prompts)}
            made = [
                # The usage that follows says that all calls belong to one response.
                ToolCall(call_id, tool_name='advisor', args=arguments, response_usage_follows=True)
                for call_id, arguments in asked.items()
            ]
            yield self._lifecycle.frame_for([*made, SessionUsage(RequestUsage(output_tokens=1))])
            yield self._lifecycle.frame_for([ResponseDone()])
            while len(self.results) < expected:
                self._answered.clear()
                await self._answered.wait()


class Speaker(RealtimeModel):
    """A realtime model of another provider."""

    def __init__(self, *turns: list[str]) -> None:
        super().__init__()
        self.connection = Connection(list(turns))
        self.tools: list[str] = []

    @asynccontextmanager
    async def connect(
        self, *, messages: Any, model_settings: Any, model_request_parameters: Any
    ) -> AsyncGenerator[Any]:
        self.tools = [tool.name for tool in model_request_parameters.function_tools]
        yield self.connection

    @property
    def model_name(self) -> str:
        return 'speaker'

    @property
    def system(self) -> str:
        return 'house'


async def speak(speaker: Speaker, advisor: Advisor[object]) -> list[str]:
    async with Agent(capabilities=[advisor]).realtime(speaker).session() as session:
        async for _ in session:
            pass
    return speaker.connection.results


async def test_a_session_consults_locally_with_a_quota_per_turn() -> None:
    """Each turn of the model is an executor request of its own."""
    records: list[Consultation] = []
    ours = Advisor[object](Script(says('Use a lock.')).model(), max_uses=1, on_consultation=records.append)
    speaker = Speaker(['One?', 'Two?'], ['Three?'])
    results = await speak(speaker, ours)
    limit = 'Advisor consultation limit reached for this model request. Continue without further advice.'
    assert (speaker.tools, sorted(results)) == (['advisor'], sorted([limit, 'Use a lock.', 'Use a lock.']))
    assert sorted(outcomes(records)) == ['advised', 'advised', 'limit_reached']
    assert {record.executor_model for record in records} == {'house:speaker'}


async def test_a_session_forwards_what_was_said() -> None:
    """The history of a session goes along like any other."""
    advisor = Script(says('Use a lock.'))
    results = await speak(Speaker(['One?'], ['Two?']), Advisor(advisor.model(), forward_history=True))
    assert results == ['Use a lock.', 'Use a lock.']
    sent = [part.content for message in advisor.requests[1] for part in message.parts if hasattr(part, 'content')]
    assert sent == ['Use a lock.', 'Two?']


async def test_native_is_refused_when_a_session_connects() -> None:
    """No realtime model has an advisor of its own."""
    with pytest.raises(UserError, match='they are not served by the same provider'):
        await speak(Speaker(), Advisor(f'anthropic:{OPUS}', mode='native'))
