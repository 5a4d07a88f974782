"""Consultations under a durable execution engine: what is checkpointed, and what stays in the workflow.

The engine checkpoints one consultation as one unit. Limits, shared answers, spans and records stay outside: they are
made again, the same, when a workflow is recovered. Hence nothing that a unit does may decide them, except by what it
returns: the room a consultation may need is claimed before it starts, all of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapperCapability
from pydantic_ai.durable_exec import BaseDurabilityCapability
from pydantic_ai.exceptions import RunCancelled, UsageLimitExceeded
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.output import ToolOutput
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool
from pydantic_ai.usage import RunUsage, UsageLimits

from advisor_harness.advisor.asking import Question, Reply, ask, failed
from advisor_harness.advisor.options import Options
from advisor_harness.advisor.outcome import Outcome
from advisor_harness.advisor.reservation import Reservation, Reservations

__all__ = ['WorkflowToolset', 'ask_as_unit', 'ask_durably', 'in_workflow', 'most_requests', 'packed']

Unit = Callable[[RunContext[Any], Question, RunUsage], Awaitable[Reply]]

_REPLY = '_advisor_harness_reply'


def in_workflow(ctx: RunContext[Any]) -> bool:
    """Whether an engine attached to the agent is running its run, so that it can checkpoint."""
    found: list[bool] = []

    def visit(capability: AbstractCapability[Any]) -> None:
        while isinstance(capability, WrapperCapability):
            capability = capability.wrapped
        if isinstance(capability, BaseDurabilityCapability):
            found.append(capability.in_durable_context)

    if ctx.root_capability is not None:
        ctx.root_capability.apply(visit)
    return any(found)


async def ask_durably(
    unit: Unit, ctx: RunContext[Any], options: Options, question: Question, reservation: Reservation
) -> Reply:
    """Ask in a unit of the engine, which may have the answer already; `unit` is the capability's durable operation."""
    others = reservation.committed
    try:
        reservation.claim_up_to(most_requests(options.output_type))
    except UsageLimitExceeded as error:
        return failed(error, options)
    # A usage of its own: the engine takes all that is added to the context's usage meanwhile for the unit's, although
    # other consultations run beside it.
    apart = replace(ctx, usage=RunUsage())
    try:
        reply = await unit(apart, packed(question), others)
    except (asyncio.CancelledError, RunCancelled) as cancelled:
        reply = _told(cancelled, replace(_unknown(Exception(), options), outcome=Outcome.CANCELLED, code=None))
    except Exception as error:  # noqa: BLE001 - recorded by `consultation`, then raised again
        reply = _told(error, _unknown(error, options))
    reservation.usage.incr(reply.usage)
    if reply.limit is not None:
        reply = replace(reply, cause=UsageLimitExceeded(reply.limit))
    return replace(reply, advice=_typed(reply.advice, options.output_type))


async def ask_as_unit(ctx: RunContext[Any], options: Options, question: Question, others: RunUsage) -> Reply:
    """The unit itself, in whatever process: ask, and return what can be checkpointed.

    What ends the executor's run is raised, for the engine to retry or record as it does with any error; but not a limit
    that an answer crossed, which a retry would cross again.

    Args:
        ctx: The context, as far as the engine carries it.
        options: The options of the advisor.
        question: What to send.
        others: What the run has used and reserved besides this consultation.
    """
    reservation = Reservations().open(others, ctx.usage_limits or UsageLimits(), output_tokens=options.max_tokens)
    reply = await ask(ctx, options, _unpacked(question), reservation)
    cause, reply = reply.cause, replace(reply, cause=None)
    survivable = reply.outcome in (Outcome.EMPTY, Outcome.INVALID_OUTPUT, Outcome.REFUSED) or (
        reply.optional and options.on_error == 'continue'
    )
    if isinstance(cause, UsageLimitExceeded):
        return replace(reply, limit=str(cause))
    if cause is None or survivable:
        return reply
    setattr(cause, _REPLY, reply)
    raise cause


def most_requests(output_type: object) -> int:
    """The most requests that one consultation makes: one, and its retries of an answer that does not fit."""
    specs: Iterable[object] = (
        cast('Iterable[object]', output_type) if isinstance(output_type, list | tuple) else (output_type,)
    )
    retries = [spec.max_retries for spec in specs if isinstance(spec, ToolOutput)]
    return 1 + max((each for each in retries if each is not None), default=1)


def packed(question: Question) -> Question:
    """The question with its history as JSON, without what differs when a run is made again.

    Prefect recognises a unit by its arguments. And a schema of typed messages takes seconds to build, for every agent.
    """
    if question.history is None:
        return question
    messages = ModelMessagesTypeAdapter.dump_python(list(question.history), mode='json')
    for each in (*messages, *(part for message in messages for part in message['parts'])):
        for key in ('timestamp', 'run_id', 'conversation_id'):
            each.pop(key, None)
    return replace(question, history=messages)


class WorkflowToolset(AbstractToolset[AgentDepsT]):
    """A function toolset that engines leave in the workflow.

    Temporal and Prefect run function tools as units, on the capability that the agent was made with, which has not the
    limits of the run. Here the consultation alone is a unit.
    """

    def __init__(self, tools: FunctionToolset[AgentDepsT]) -> None:
        self._tools = tools

    @property
    def id(self) -> str | None:
        """The id of the toolset."""
        return self._tools.id

    @property
    def label(self) -> str:
        """What errors call the toolset."""
        return self._tools.label

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """The tools of the toolset."""
        return await self._tools.get_tools(ctx)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> Any:
        """Call a tool where the run is."""
        return await self._tools.call_tool(name, tool_args, ctx, tool)


def _unpacked(question: Question) -> Question:
    if question.history is None:
        return question
    return replace(question, history=ModelMessagesTypeAdapter.validate_python(question.history))


def _told(error: BaseException, otherwise: Reply) -> Reply:
    """What the unit knew when it raised `error`; the error does not keep it in every engine."""
    reply = getattr(error, _REPLY, None)
    return replace(reply if isinstance(reply, Reply) else otherwise, cause=error)


def _unknown(error: Exception, options: Options) -> Reply:
    """The reply of a unit that broke off and did not say how much it had asked."""
    return replace(failed(error, options), requests=None, input_tokens=None, output_tokens=None, cost_usd=None)


def _typed(advice: object, output_type: object) -> object:
    """Structured advice as it was before an engine turned it into JSON."""
    if advice is None or not isinstance(output_type, type) or isinstance(advice, output_type):
        return advice
    return TypeAdapter(output_type).validate_python(advice)
