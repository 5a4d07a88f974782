"""Which path consultations take, and why, for executors as they really send: read from the spans of each case."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, TypedDict

import _emulated
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel

from advisor_harness import Advisor
from advisor_harness.cassettes import CassetteModels
from advisor_harness.evals import Suite, scorers


class Inputs(TypedDict, total=False):
    """One cell of the matrix."""

    executor: str | list[str]
    """A model name, or the candidates of a `FallbackModel`."""
    advisor: str
    options: dict[str, Any]
    structured: bool
    """Whether advice has a format of its own."""
    instance: bool
    """Whether the advisor is given as a `Model` instead of a name."""
    wrapped: bool
    """Whether the executor's model is inside a wrapper."""
    override: str
    """The model that the run is given in the executor's place."""


class Assessment(BaseModel):
    """Advice in a fixed format."""

    risk: int


def executor_model(inputs: Inputs) -> Model:
    """The executor as the case describes it, on the clients that replay."""
    named = inputs['executor']
    model = CassetteModels.model(named) if isinstance(named, str) else FallbackModel(*map(CassetteModels.model, named))
    return WrapperModel(model) if inputs.get('wrapped') else model


async def run_case(inputs: Inputs, arm: str) -> str:
    """Let the executor answer once; what is scored is the span of its selection."""
    advisor = Advisor(
        CassetteModels.model(inputs['advisor']) if inputs.get('instance') else inputs['advisor'],
        output_type=Assessment if inputs.get('structured') else str,
        **inputs.get('options', {}),
    )
    agent = Agent(
        executor_model(inputs),
        name='executor',
        model_settings={'max_tokens': 4096},
        capabilities=[advisor, CassetteModels()],
    )
    other = inputs.get('override')
    with agent.override(model=CassetteModels.model(other)) if other else nullcontext():
        return (await agent.run('Name one colour.')).output


suite = Suite(
    dataset='selection.yaml',
    task=run_case,
    scorers=(scorers.ExpectedSelection(), scorers.OwnSpansValid()),
    cassettes='../cassettes/selection',
    policy='selection.policy.yaml',
    recording=_emulated.emulating('selection.emulator.yaml'),
)
