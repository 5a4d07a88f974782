"""Placebo advice: the executor asks, and hears something that is no advice for its case.

What advice gains over a placebo is due to what it says, not to the asking or the second thought. Give `PlaceboAdvice`
to the agent of arm `placebo`, beside its advisor:

    placebo = [PlaceboAdvice(shuffled(advice)[case])] if arm == Arm.PLACEBO else []
    agent = Agent(..., capabilities=[advisor, *placebo, CassetteModels()])

**Recordings.** A changed tool result changes the executor's next request, so the recording of another arm has no answer
to it: the case misses and is inconclusive, never judged by an answer to other advice. An arm whose executor is recorded
therefore has a recording of its own. Where the executor is scripted, or its run ends with the advice, nothing is asked
after it; there `consult=True` plays the recording of the arm `advised` unchanged (`Suite.plays`).

Native advisors are consulted by their provider, where nothing can take the place of their advice: use `mode='local'`.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, TypeVar, cast

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import ValidatedToolArgs, WrapToolExecuteHandler
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.native_tools import AdvisorTool
from pydantic_ai.tools import AgentDepsT, RunContext, ToolDefinition

__all__ = ['EMPTY', 'PlaceboAdvice', 'own_advice', 'shuffled']

EMPTY = ''
"""Advice that says nothing."""

_Advice = TypeVar('_Advice')


@dataclass
class PlaceboAdvice(AbstractCapability[AgentDepsT]):
    """Answers every call of the advisor with something else.

    Raises:
        UserError: when a request offers a native advisor, whose advice cannot be replaced.
    """

    advice: Any = EMPTY
    """What the executor hears, or a function `(ctx, args) -> advice`, sync or async, such as `own_advice`."""
    consult: bool = False
    """Whether the advisor is asked all the same, and its advice thrown away: equal cost, time and recording."""
    tool: str = 'advisor'
    """Name of the advisor's tool."""

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Refuse what would be real advice under the name of a placebo."""
        if any(isinstance(tool, AdvisorTool) for tool in request_context.model_request_parameters.native_tools):
            raise UserError(
                "`PlaceboAdvice` cannot replace the advice of a native advisor. Use `Advisor(..., mode='local')`."
            )
        return request_context

    async def wrap_tool_execute(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: ValidatedToolArgs,
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Replace the result of the advisor's tool."""
        if call.tool_name != self.tool:
            return await handler(args)
        if self.consult:
            await handler(args)
        if not callable(self.advice):
            return self.advice
        source: Callable[[RunContext[AgentDepsT], ValidatedToolArgs], Awaitable[Any] | Any] = self.advice
        advice = source(ctx, args)
        return await advice if isawaitable(advice) else advice


async def own_advice(ctx: RunContext[Any], args: ValidatedToolArgs) -> str:
    """The executor's own answer to its question: a second thought without a second model."""
    result = await Agent(cast('Model', ctx.model), name='placebo').run(str(args['prompt']), usage=ctx.usage)
    return result.output


def shuffled(advice: Mapping[str, _Advice], *, seed: int = 1) -> dict[str, _Advice]:
    """Every case with the advice of another one; the same for the same cases and seed.

    Raises:
        ValueError: there are fewer than two cases, or one piece of advice belongs to half of them or more, so that some
            case would get its own words.
    """
    cases = list(advice)
    random.Random(seed).shuffle(cases)
    # Equal advice stands together, so a turn by the size of the largest group gives nobody their own.
    groups = {case: next(place for place, other in enumerate(cases) if advice[other] == advice[case]) for case in cases}
    cases.sort(key=lambda case: groups[case])
    largest = max((list(groups.values()).count(place) for place in groups.values()), default=0)
    if len(cases) < 2 or largest * 2 > len(cases):
        raise ValueError(
            f'cannot shuffle the advice of {len(cases)} cases, {largest} of which are advised alike: some would get '
            'their own'
        )
    return {case: advice[cases[(place + largest) % len(cases)]] for place, case in enumerate(cases)}
