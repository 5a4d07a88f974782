"""An advised agent for tests that kill its process: what it asks, when it dies, and what it says in the end."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.messages import ModelRequest, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage, UsageLimits

from advisor_harness import Advisor, Consultation


class Structured(BaseModel):
    text: str


STEPS: tuple[tuple[str, ...], ...] = (('One?', 'Two?', 'Three?'), ('Down?',), ('Sound?',))
"""What the executor asks, request by request: three at once where two are allowed, one that fails, one more."""


class Program:
    """The agent, with a file that gets one line per request to the advisor: it outlives the process."""

    def __init__(self, journal: Path, *durability: Any, die_at: int | None = None) -> None:
        self.journal, self.die_at = journal, die_at
        self.records: list[Consultation] = []
        ours = Advisor[object](
            FunctionModel(self.advise, model_name='advisor'),
            max_uses=2,
            output_type=Structured,
            forward_history=True,
            on_error='continue',
            on_consultation=self.records.append,
        )
        model = FunctionModel(self.execute, model_name='executor')
        self.agent: Agent[object, str] = Agent(model, name='executor', capabilities=[ours, *durability])

    async def advise(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        question = str(messages[-1].parts[-1].content)  # type: ignore[union-attr]  # a prompt is text here
        with self.journal.open('a') as journal:
            journal.write(f'{question}\n')
        if question == 'Down?':
            raise ModelConnectionError('advisor', 'down')
        usage = RequestUsage(input_tokens=100 * len(question), output_tokens=len(question))
        return ModelResponse([ToolCallPart(info.output_tools[0].name, {'text': f'Advice on {question}'})], usage=usage)

    async def execute(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        step = sum(isinstance(message, ModelResponse) for message in messages)
        if step == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        usage = RequestUsage(input_tokens=1, output_tokens=1)
        if step == len(STEPS):
            return ModelResponse([TextPart('done')], usage=usage)
        calls = [ToolCallPart('advisor', {'prompt': prompt}, f'call-{step}-{prompt}') for prompt in STEPS[step]]
        return ModelResponse(calls, usage=usage)

    async def work(self) -> dict[str, Any]:
        """Run the agent; what a user could see of it, as JSON."""
        result = await self.agent.run('Go.', usage_limits=UsageLimits(request_limit=20))
        parts = [p for m in result.all_messages() if isinstance(m, ModelRequest) for p in m.parts]
        usage = result.usage
        return {
            'output': result.output,
            'answers': [[p.tool_call_id, str(p.content), p.outcome] for p in parts if isinstance(p, ToolReturnPart)],
            'usage': [usage.requests, usage.input_tokens, usage.output_tokens],
            'records': sorted(map(shown, self.records)),
        }


def shown(record: Consultation) -> list[Any]:
    """A record as JSON, its duration only as being there."""
    return [
        record.run_step,
        record.call_id,
        record.outcome.value,
        record.error_code,
        record.requests,
        record.input_tokens,
        record.output_tokens,
        str(record.cost_usd),
        repr(record.advice),
        record.advisor_model,
        record.duration_s is not None,
    ]


def dying_step(argument: str) -> int | None:
    """The executor's request before which the process dies, `never` for none."""
    return None if argument == 'never' else int(argument)
