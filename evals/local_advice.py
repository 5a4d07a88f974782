"""Advice of a real model: SmolLM2-135M on this machine answers, half in text and half in a fixed format.

The executor is scripted and always consults, so that every case measures the advisor alone. The model is small and its
advice is poor; the point is that a harness says so.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import _local_model
from pydantic import BaseModel, Field
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider

from advisor_harness import Advisor, Consultation
from advisor_harness.cassettes import cassette_client
from advisor_harness.evals import Suite, scorers


class Question(TypedDict):
    """One case: what is asked, and how the answer must look."""

    question: str
    form: Literal['text', 'structured']


class Assessment(BaseModel):
    """A decision that a program can act on."""

    decision: Literal['proceed', 'revise', 'stop']
    risk: int = Field(ge=0, le=100)
    reason: str = Field(min_length=1, max_length=300)


def advisor_model() -> OpenAIChatModel:
    """The local model: greedy and seeded, so that a new recording differs only where the model or the request does."""
    return OpenAIChatModel(
        _local_model.MODEL,
        provider=OpenAIProvider(
            base_url=f'{_local_model.ORIGIN}/v1', api_key='none needed', http_client=cassette_client()
        ),
        profile=OpenAIModelProfile(supports_json_schema_output=True),
        settings=OpenAIChatModelSettings(temperature=0.0, seed=1),
    )


def executor(question: str) -> FunctionModel:
    """An executor that asks its advisor, then says that it is done."""

    def step(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse([ToolCallPart('advisor', {'prompt': question}, tool_call_id='ask')])
        return ModelResponse([TextPart('noted')])

    return FunctionModel(step, model_name='scripted-executor')


async def run_case(inputs: Question, arm: str) -> dict[str, Any]:
    """Ask once and return what the executor was told."""
    records: list[Consultation] = []
    advisor = Advisor(
        advisor_model(),
        output_type=NativeOutput(Assessment) if inputs['form'] == 'structured' else str,
        max_tokens=1024,
        on_consultation=records.append,
    )
    agent = Agent(executor(inputs['question']), name='executor', capabilities=[advisor])
    await agent.run('Decide, and ask your advisor first.')
    (record,) = records
    advice = record.advice.model_dump() if isinstance(record.advice, BaseModel) else record.advice
    return {'outcome': str(record.outcome), 'advice': advice}


suite = Suite(
    dataset='local_advice.yaml',
    task=run_case,
    scorers=(
        scorers.AdviceWithinBounds(),
        scorers.NotTruncated(),
        scorers.NotAnEcho(),
        scorers.StructuredAdviceValid(tag='structured', ranges={'risk': (0, 100)}),
    ),
    cassettes='../cassettes/local_advice',
    policy='local_advice.policy.yaml',
    recording=_local_model.serving,
)
