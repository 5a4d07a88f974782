"""Instrumentation for an agent that runs inside another agent's run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai import Agent, RunContext
    from pydantic_ai.capabilities import AbstractCapability

__all__ = ['hand_over_instrumentation']


def hand_over_instrumentation(ctx: RunContext[Any], nested_agent: Agent[Any, Any]) -> None:
    """Instrument `nested_agent` as the run of `ctx` is: the same tracer, the same say over content, or not at all.

    Without this an agent inside the run of an instrumented one emits nothing, or follows global settings that may
    export content which the outer run keeps back. Changes `nested_agent.instrument`, so give it an agent made for this
    call.

    Args:
        ctx: Context of the outer run, which may be instrumented by a capability, `agent.instrument`,
            `Agent.instrument_all()` or a capability given to the run.
        nested_agent: The agent about to run inside it.
    """
    # Reading and printing spans needs no pydantic-ai, whose import is slow.
    from pydantic_ai.capabilities import Instrumentation, WrapperCapability

    # `None` would fall back to `Agent.instrument_all()`, whatever the outer run does.
    nested_agent.instrument = False

    def visit(capability: AbstractCapability[Any]) -> None:
        while isinstance(capability, WrapperCapability):
            capability = capability.wrapped
        if isinstance(capability, Instrumentation):
            nested_agent.instrument = capability.settings  # the last one applied is the one in force

    if ctx.root_capability is not None:
        ctx.root_capability.apply(visit)
