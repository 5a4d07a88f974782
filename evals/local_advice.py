"""Advice of a real model: SmolLM2-135M on this machine answers, half in text and half in a fixed format.

In the arm `advised` the executor is scripted: it always consults and decides as it is told, so that every case measures
the advisor alone. In `solo` the same model decides by itself, without a word about advice and without giving a reason:
`lift` shows what it gains from being asked as an advisor. In `placebo` the scripted executor consults as in
`advised` and hears the advice that belongs to another case; as no request follows the advice, this plays the recordings
of `advised`. The model is small and its advice is poor; the point is that a harness says so.
"""

from __future__ import annotations

import json
from typing import Any, Literal, TypedDict

import _local_model
from pydantic import BaseModel, Field
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider

from advisor_harness import Advisor, Consultation
from advisor_harness.cassettes import cassette_client
from advisor_harness.evals import Arm, Suite, scorers
from advisor_harness.evals.placebo import PlaceboAdvice


class Question(TypedDict):
    """One case: what is asked, and how the answer must look."""

    question: str
    form: Literal['text', 'structured']


class Assessment(BaseModel):
    """A decision that a program can act on."""

    decision: Literal['proceed', 'revise', 'stop']
    risk: int = Field(ge=0, le=100)
    reason: str = Field(min_length=1, max_length=300)


class Choice(BaseModel):
    """The decision alone."""

    decision: Literal['proceed', 'revise', 'stop']


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
    """An executor that asks its advisor, then says what it heard."""

    def step(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse([ToolCallPart('advisor', {'prompt': question}, tool_call_id='ask')])
        (heard,) = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        return ModelResponse([TextPart(heard.model_response_str())])

    return FunctionModel(step, model_name='scripted-executor')


async def run_case(inputs: Question, arm: str) -> dict[str, Any]:
    """Ask once and return what was advised and, in a fixed format, what was decided."""
    if arm == Arm.SOLO:
        return await decide_alone(inputs)
    records: list[Consultation] = []
    advisor = Advisor(
        advisor_model(),
        output_type=answer_type(inputs),
        max_tokens=1024,
        on_consultation=records.append,
    )
    instead = [PlaceboAdvice(MISPLACED[inputs['form']], consult=True)] if arm == Arm.PLACEBO else []
    agent = Agent(executor(inputs['question']), name='executor', capabilities=[advisor, *instead])
    heard = (await agent.run('Decide, and ask your advisor first.')).output
    (record,) = records
    advice = record.advice.model_dump() if isinstance(record.advice, BaseModel) else record.advice
    return {'outcome': str(record.outcome), 'advice': advice, 'decision': decision_in(heard, inputs)}


async def decide_alone(inputs: Question) -> dict[str, Any]:
    """Let the model decide without being an advisor."""
    # Only decisions are graded, so there is no need for reasons or whole texts, which the model writes slowly.
    structured = inputs['form'] == 'structured'
    agent = Agent(
        advisor_model(),
        name='executor',
        output_type=NativeOutput(Choice) if structured else str,
        model_settings={'max_tokens': 64 if structured else 8},
    )
    try:
        answer = (await agent.run(inputs['question'])).output
    except UnexpectedModelBehavior as error:
        return {'outcome': type(error).__name__, 'advice': None, 'decision': None}
    return {'outcome': 'answered', 'advice': None, 'decision': getattr(answer, 'decision', None)}


def answer_type(inputs: Question) -> Any:
    """The format of the case."""
    return NativeOutput(Assessment) if inputs['form'] == 'structured' else str


def decision_in(heard: str, inputs: Question) -> str | None:
    """What the scripted executor decides: what it heard, where that is a decision."""
    return json.loads(heard)['decision'] if inputs['form'] == 'structured' else None


MISPLACED = {
    'text': 'Deploy it on Friday.',
    'structured': {'decision': 'proceed', 'risk': 50, 'reason': 'The colours of the page should be checked first.'},
}
"""Advice for nobody: the same for every case, and about something else."""

suite = Suite(
    dataset='local_advice.yaml',
    task=run_case,
    arms=(Arm.SOLO, Arm.ADVISED, Arm.PLACEBO),
    plays={Arm.PLACEBO: Arm.ADVISED},
    scorers=(
        scorers.ExpectedDecision(),
        scorers.Consulted(),
        scorers.AdviceCorrectness(),
        scorers.AdvisorLatency(),
        scorers.AdviceWithinBounds(),
        scorers.NotTruncated(),
        scorers.NotAnEcho(),
        scorers.StructuredAdviceValid(tag='structured', ranges={'risk': (0, 100)}),
    ),
    cassettes='../cassettes/local_advice',
    policy='local_advice.policy.yaml',
    recording=_local_model.serving,
)
