"""What happens when advice is limited, unusable or not to be had.

Executors and advisors are reached through their providers' real SDKs over recorded HTTP bodies. The bodies come from an
emulator, so this suite proves how the software behaves, and nothing about the quality of advice.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import _emulated
from pydantic import BaseModel, Field
from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import ModelMessage, NativeToolReturnPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

from advisor_harness import Advisor
from advisor_harness.cassettes import CassetteModels, cassette_client
from advisor_harness.evals import Suite, scorers

ADVISOR = 'claude-opus-4-8'
KEY = 'none needed'


class Inputs(TypedDict, total=False):
    """One case: what the executor is told, and how its advisor is set up."""

    prompt: str
    executor: str
    advisor: Literal['usual', 'refused', 'impatient']
    options: dict[str, Any]
    structured: bool
    sequential: bool
    request_limit: int
    look: bool
    """Whether the executor has another tool, `look`."""
    final: bool
    """Whether the executor ends its run with a structured output."""


class Assessment(BaseModel):
    """Advice in a fixed format."""

    decision: Literal['proceed', 'revise', 'stop']
    risk: int = Field(ge=0, le=100)


def advisor_model(kind: str) -> str | Model:
    """The advisor: as usual, one at an address where nobody listens, or one that waits for a quarter of a second."""
    if kind == 'refused':
        provider = OpenAIProvider(base_url=f'{_emulated.REFUSED}/v1', api_key=KEY, http_client=cassette_client())
        return OpenAIChatModel('gpt-5.4', provider=provider)
    if kind == 'impatient':
        return AnthropicModel(
            ADVISOR,
            provider=AnthropicProvider(api_key=KEY, http_client=cassette_client()),
            settings=AnthropicModelSettings(timeout=0.25, max_retries=0),
        )
    return f'anthropic:{ADVISOR}'


def look() -> str:
    """Look at the code."""
    return 'A race.'


async def run_case(inputs: Inputs, arm: str) -> dict[str, Any]:
    """Run the agent and tell what became of it; only errors of a run are told, all others end the case."""
    advisor = Advisor(
        advisor_model(inputs.get('advisor', 'usual')),
        output_type=Assessment if inputs.get('structured') else str,
        max_tokens=1024,
        **inputs.get('options', {}),
    )
    agent = Agent(
        inputs.get('executor', 'openai-chat:gpt-4o-mini'),
        name='executor',
        output_type=Assessment if inputs.get('final') else str,
        tools=[look] if inputs.get('look') else [],
        model_settings={'max_tokens': 4096},
        capabilities=[advisor, CassetteModels()],
    )
    one_by_one = agent.parallel_tool_call_execution_mode('sequential') if inputs.get('sequential') else nullcontext()
    limits = UsageLimits(request_limit=inputs.get('request_limit', 20))
    answer: dict[str, Any] = {'output': None, 'error': None}
    with capture_run_messages() as messages, one_by_one:
        try:
            output = (await agent.run(inputs['prompt'], usage_limits=limits)).output
            answer['output'] = output.model_dump() if isinstance(output, BaseModel) else output
        except (AgentRunError, UserError) as error:
            answer['error'] = type(error).__name__
    return {**answer, 'heard': heard(messages)}


def heard(messages: list[ModelMessage]) -> list[Any]:
    """What the executor got for its calls, in their order; of a native advisor what its provider returned."""
    found: list[Any] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolReturnPart) and part.tool_name == 'advisor':
                content = part.content
                found.append(content.model_dump() if isinstance(content, BaseModel) else content)
            elif isinstance(part, NativeToolReturnPart) and isinstance(part.content, dict) and 'text' in part.content:
                found.append(part.content['text'])
    return found


@dataclass
class ExpectedAnswers(Evaluator[Inputs, dict[str, Any], Any]):
    """Whether the executor got exactly what the case expects for its calls (`heard`): every text is fixed."""

    def evaluate(self, ctx: EvaluatorContext[Inputs, dict[str, Any], Any]) -> EvaluationReason:
        expected, got = (ctx.expected_output or {})['heard'], ctx.output['heard']
        return EvaluationReason(got == expected, None if got == expected else f'{got!r}, expected {expected!r}')


suite = Suite(
    dataset='failure_modes.yaml',
    task=run_case,
    scorers=(
        ExpectedAnswers(),
        scorers.ExpectedOutcomes(),
        scorers.ExpectedRefusals(),
        scorers.ExpectedError(),
        scorers.ExpectedErrorCode(),
        scorers.RequestCount(),
    ),
    cassettes='../cassettes/failure_modes',
    policy='failure_modes.policy.yaml',
    recording=_emulated.emulating('failure_modes.emulator.yaml'),
)
