"""The consultation as an activity of Temporal: called as a worker calls it, with what its converter makes of it."""

from __future__ import annotations

from typing import Any, get_type_hints

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.durable_exec.temporal import TemporalDurability, TemporalRunContext
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RunUsage, UsageLimits
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import ActivityEnvironment

from advisor_harness import Advisor
from advisor_harness.advisor.asking import Question
from advisor_harness.advisor.durable import packed
from tests.advisor.scripts import Script, gives

NAME = 'agent__executor__capability__advisor__consult'
"""Persisted in Temporal's history: a change strands workflows in flight."""


class Verdict(BaseModel):
    sound: bool


def agent(advisor: Script) -> Agent[None, str]:
    ours = Advisor[None](advisor.model('advisor'), output_type=Verdict, forward_history=True)
    return Agent(TestModel(), name='executor', capabilities=[ours, TemporalDurability()])


def activities(advised: Agent[None, str]) -> dict[str, Any]:
    bound = TemporalDurability.from_agent(advised)
    assert bound is not None
    return {each.__temporal_activity_definition.name: each for each in bound.temporal_activities}


async def wire(value: Any, hint: Any) -> Any:
    """A value after its way through Temporal's payloads."""
    payloads = await pydantic_data_converter.encode([value])
    return (await pydantic_data_converter.decode(payloads, [hint]))[0]


async def consult_as_worker() -> tuple[Any, list[Any]]:
    """Run the activity from its serialised arguments; what the workflow gets, and what the advisor was sent."""
    advisor = Script(gives(sound=True))
    advised = agent(advisor)
    activity = activities(advised)[NAME]
    hints = get_type_hints(activity)
    ctx = RunContext[None](
        deps=None,
        model=TestModel(),
        usage=RunUsage(),
        usage_limits=UsageLimits(request_limit=3),
        run_id='the-run',
        run_step=1,
        tool_call_id='call-1',
        tool_name='advisor',
    )
    question = packed(Question(prompt='Sound?', history=[ModelRequest([UserPromptPart('Go.')], run_id='the-run')]))
    params = hints['params'](
        arguments={'question': question, 'others': RunUsage(requests=1)},
        serialized_run_context=TemporalRunContext.serialize_run_context(ctx),
        model_id=None,
    )
    result = await ActivityEnvironment().run(activity, await wire(params, hints['params']), None)
    sent = [part.content for message in advisor.requests[0] for part in message.parts]
    return await wire(result, hints['return']), sent
