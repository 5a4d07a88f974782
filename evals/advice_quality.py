"""Is the advice worth having? 46 decisions in four strata and four arms, graded by answer keys first, a judge second.

The answers of all models are authored (`advice_quality.emulator.yaml`), and every recording says so. What this suite
proves is that the harness measures what is there: the lift, the flips, the false consultations, advice that is followed
and should not be, with the traffic, the spans and the costs of the real SDKs. How good any real model's advice is, it
does not say: record it against providers for that. `docs/writing-a-suite.md` says more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NotRequired, TypedDict

import _emulated
import yaml
from pydantic import BaseModel, Field
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability

from advisor_harness import Advisor, Consultation
from advisor_harness.cassettes import CassetteModels
from advisor_harness.evals import Arm, Suite, scorers
from advisor_harness.evals.placebo import PlaceboAdvice, shuffled

ADVISOR = 'anthropic:claude-opus-4-8'
EXECUTORS: dict[str, str] = {
    Arm.STRONG: ADVISOR,
    # The same model under its dated name: the emulator cannot tell by anything else which answer is due.
    Arm.PLACEBO: 'openai-chat:gpt-4o-mini-2024-07-18',
}
JUDGE = 'openai-chat:gpt-5.4-mini'
RUBRIC = (
    'The reason gives a fact, a rule or a calculation that leads to the decision. It fails when it only appeals to '
    'trust, authority, habit or memory. Whether the decision is right does not matter.'
)
LABELS: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name('advice_quality.labels.yaml').read_text(encoding='utf-8')
)


class Inputs(TypedDict):
    """One case: a question, and what its tools know."""

    question: str
    documents: NotRequired[dict[str, str]]
    bookable: NotRequired[bool]


class Decision(BaseModel):
    """What the executor decides."""

    decision: str
    confidence: float = Field(ge=0, le=1)


class Advice(BaseModel):
    """What the advisor says."""

    decision: str
    reason: str


ADVICE = {case: Advice(decision=each['decision'], reason=each['reason']) for case, each in LABELS.items()}
SHUFFLED = shuffled(ADVICE)


async def run_case(inputs: Inputs, arm: str) -> dict[str, Any]:
    """Decide one case, and tell what was decided, what was advised and how sure the executor is."""
    consultations: list[Consultation] = []
    agent = Agent(
        EXECUTORS.get(arm, 'openai-chat:gpt-4o-mini'),
        name='executor',
        output_type=Decision,
        instructions='You decide. Say how sure you are.',
        model_settings={'max_tokens': 4096},
        capabilities=[*helpers(inputs, arm, consultations), CassetteModels()],
    )
    add_tools(agent, inputs)
    decided = (await agent.run(inputs['question'])).output
    advice = [each.advice.model_dump() for each in consultations if isinstance(each.advice, Advice)]
    return {**decided.model_dump(), 'advice': advice}


def helpers(inputs: Inputs, arm: str, consultations: list[Consultation]) -> list[AbstractCapability[Any]]:
    """The advisor of the arms that have one, and what replaces its advice in the arm `placebo`."""
    if arm not in (Arm.ADVISED, Arm.PLACEBO):
        return []
    advisor = Advisor(
        ADVISOR, mode='local', output_type=Advice, max_uses=1, max_tokens=1024, on_consultation=consultations.append
    )
    if arm == Arm.ADVISED:
        return [advisor]
    case = inputs['question'].partition(']')[0].removeprefix('[')
    return [advisor, PlaceboAdvice(SHUFFLED.get(case))]


def add_tools(agent: Agent[Any, Decision], inputs: Inputs) -> None:
    """Give the agent the tools of its case."""
    documents = inputs.get('documents')
    if documents:

        @agent.tool_plain
        def read_document(name: str) -> str:
            """Read one document by its name."""
            return documents.get(name, f'There is no document {name!r}.')

    if inputs.get('bookable'):

        @agent.tool_plain
        def book(slot: str) -> str:
            """Book the slot that starts at this time."""
            return f'Booked {slot}.'


suite = Suite(
    dataset='advice_quality.yaml',
    task=run_case,
    arms=(Arm.SOLO, Arm.ADVISED, Arm.STRONG, Arm.PLACEBO),
    scorers=(
        scorers.ExpectedDecision(),
        scorers.Consulted(),
        scorers.ConsultTiming(side_effects=('book',)),
        scorers.Adherence(),
        scorers.AdviceCorrectness(),
        scorers.AdviceSize(),
        scorers.Redundancy(),
        scorers.StructuredAttempts(),
        scorers.QuotaCompliance(),
        scorers.AdvisorFailures(),
        scorers.AdvisorLatency(),
        scorers.ContextHygiene(never_said=(r'(?i)dear customer',)),
        scorers.Confidence(),
        scorers.Judge(
            RUBRIC,
            JUDGE,
            labels=[
                {'output': advice.model_dump(), 'label': LABELS[case]['convincing']} for case, advice in ADVICE.items()
            ],
            evaluation_name='ConvincingAdvice',
        ),
    ),
    cassettes='../cassettes/advice_quality',
    policy='advice_quality.policy.yaml',
    recording=_emulated.emulating('advice_quality.emulator.yaml'),
)
