"""An agent inside an agent's run is instrumented as that run is, however that came about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import CombinedCapability, Hooks, Instrumentation, WrapperCapability

from advisor_harness.telemetry import hand_over_instrumentation, tree
from tests.telemetry.tracing import Tracing, advised_agent, context, saying

pytestmark = pytest.mark.anyio

NESTED = '    consult advisor [INTERNAL]\n      invoke_agent advisor [INTERNAL]\n        chat adv-model [CLIENT]'


@pytest.fixture
def instrumented_by_default() -> Iterator[Tracing]:
    """Global instrumentation, content included, to a provider of its own."""
    tracing = Tracing(include_content=True)
    Agent.instrument_all(tracing.settings)
    yield tracing
    Agent.instrument_all(False)


async def tree_of(agent: Agent[None, str], tracing: Tracing, **options: Any) -> str:
    await agent.run('hi', **options)
    return tree.render(tracing.spans, attributes='none')


def capability(tracing: Tracing) -> Any:
    return tracing.capability


def wrapped(tracing: Tracing) -> Any:
    return WrapperCapability(WrapperCapability(tracing.capability))


def wrapped_with_others(tracing: Tracing) -> Any:
    return WrapperCapability(CombinedCapability([Hooks[Any](), tracing.capability]))


def made_for_the_run(tracing: Tracing) -> Any:
    async def make(ctx: RunContext[Any]) -> Instrumentation:
        return tracing.capability

    return make


@pytest.mark.parametrize('instrument', [capability, wrapped, wrapped_with_others, made_for_the_run])
async def test_instrumented_by_a_capability(tracing: Tracing, instrument: Any) -> None:
    """A capability of the executor instruments the advisor too: alone, wrapped, among others, or made per run."""
    assert NESTED in await tree_of(advised_agent(instrument(tracing), advisor=saying('ADVICE')), tracing)


async def test_instrumented_by_the_agent(tracing: Tracing) -> None:
    """`agent.instrument` of the executor instruments the advisor too."""
    agent = advised_agent(advisor=saying('ADVICE'))
    agent.instrument = tracing.settings
    assert NESTED in await tree_of(agent, tracing)


async def test_instrumented_for_one_run(tracing: Tracing) -> None:
    """A capability given to the run instruments the advisor too."""
    agent = advised_agent(advisor=saying('ADVICE'))
    assert NESTED in await tree_of(agent, tracing, capabilities=[tracing.capability])


async def test_instrumented_by_default(instrumented_by_default: Tracing) -> None:
    """`Agent.instrument_all` instruments both."""
    assert NESTED in await tree_of(advised_agent(advisor=saying('ADVICE')), instrumented_by_default)


async def test_not_instrumented(instrumented_by_default: Tracing) -> None:
    """An executor that is not instrumented keeps its advisor from following the global default."""
    agent = advised_agent(advisor=saying('ADVICE'))
    agent.instrument = False
    assert await tree_of(agent, instrumented_by_default) == ''


async def test_own_settings_win_over_the_default(tracing: Tracing, instrumented_by_default: Tracing) -> None:
    """Settings of the executor hold for the advisor, so that a global default exports none of what they keep back."""
    agent = advised_agent(tracing.capability, advisor=saying('ADVICE'))
    assert NESTED in await tree_of(agent, tracing)
    assert instrumented_by_default.spans == []


async def test_the_last_one_is_in_force() -> None:
    """Of two instrumentations the advisor gets the one that the executor's run has."""
    first, last = Tracing(), Tracing()
    agent = advised_agent(first.capability, advisor=saying('ADVICE'))
    assert NESTED in await tree_of(agent, last, capabilities=[last.capability])
    assert first.spans == []


async def test_context_without_capabilities(tracing: Tracing) -> None:
    """A context that knows no capabilities, as of a test, leaves the nested agent uninstrumented."""
    nested = Agent(saying('ADVICE'))
    nested.instrument = tracing.settings
    hand_over_instrumentation(context(), nested)
    assert nested.instrument is False
