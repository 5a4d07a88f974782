"""Placebo advice: what the executor hears instead, and what that means for recordings."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

from advisor_harness import Advisor, Consultation
from advisor_harness.evals import SuiteError
from advisor_harness.evals.placebo import EMPTY, PlaceboAdvice, own_advice, shuffled
from tests.evals.scorers.runs import ask, scripted
from tests.evals.support import case, suite

pytestmark = pytest.mark.anyio


async def hear(placebo: PlaceboAdvice[None], *more: str) -> tuple[list[Any], int]:
    """What the executor hears for its call, and how many consultations took place."""
    told: list[Consultation] = []
    advisor = Advisor(scripted('sage', 'Real advice.'), on_consultation=told.append)
    executor: FunctionModel = scripted('worker', ask('Left?'), *more, 'Done.')
    result = await Agent(executor, name='executor', capabilities=[advisor, placebo]).run('Do it.')
    parts = [part for message in result.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]
    return [part.content for part in parts], len(told)


async def test_the_executor_hears_something_else() -> None:
    """The advice is replaced, and no advisor is asked for it."""
    assert await hear(PlaceboAdvice(EMPTY)) == ([''], 0)
    assert await hear(PlaceboAdvice({'decision': 'left'})) == ([{'decision': 'left'}], 0)


async def test_the_consultation_may_take_place_all_the_same() -> None:
    """Equal cost and equal requests of the advisor, whose advice nobody hears."""
    assert await hear(PlaceboAdvice('Another case.', consult=True)) == (['Another case.'], 1)


async def test_the_advice_may_come_from_a_function() -> None:
    """Sync or async, from the question."""
    assert await hear(PlaceboAdvice(lambda ctx, args: args['prompt'] * 2)) == (['Left?Left?'], 0)


async def test_the_executor_may_advise_itself() -> None:
    """Its own answer to its question takes the place of the advice."""
    assert await hear(PlaceboAdvice(own_advice), 'I think so.') == (['I think so.'], 0)


async def test_other_tools_keep_their_results() -> None:
    """Only the advisor's tool is replaced."""
    agent = Agent(scripted('worker', [('look', {})], 'Done.'), capabilities=[PlaceboAdvice()])

    @agent.tool_plain
    def look() -> str:
        return 'seen'

    messages = (await agent.run('Look.')).all_messages()
    assert [part.content for part in messages[2].parts if isinstance(part, ToolReturnPart)] == ['seen']


async def test_a_native_advisor_cannot_be_replaced() -> None:
    """Real advice is never counted as a placebo."""
    from pydantic_ai.native_tools import AdvisorTool

    class Capable(TestModel):
        @classmethod
        def supported_native_tools(cls) -> frozenset[type[Any]]:
            return frozenset({AdvisorTool})

    agent = Agent(Capable(), capabilities=[PlaceboAdvice(), _Native()])
    with pytest.raises(UserError) as caught:
        await agent.run('Do it.')
    assert str(caught.value) == (
        "`PlaceboAdvice` cannot replace the advice of a native advisor. Use `Advisor(..., mode='local')`."
    )


def _Native() -> Any:
    from pydantic_ai.capabilities import NativeTool
    from pydantic_ai.native_tools import AdvisorTool

    return NativeTool(AdvisorTool(model='claude-opus-4-8'))


def test_shuffled_gives_nobody_their_own_words() -> None:
    """Every case gets the advice of another, also where some are advised alike; the same seed shuffles alike."""
    advice = {'a': 'left', 'b': 'left', 'c': 'right', 'd': 'up', 'e': 'down'}
    for seed in range(50):
        found = shuffled(advice, seed=seed)
        assert set(found) == set(advice)
        assert sorted(found.values()) == sorted(advice.values())
        assert all(found[case] != advice[case] for case in advice)
        assert found == shuffled(advice, seed=seed)


@pytest.mark.parametrize(
    ('advice', 'message'),
    [
        ({}, 'cannot shuffle the advice of 0 cases, 0 of which are advised alike: some would get their own'),
        ({'a': 1}, 'cannot shuffle the advice of 1 cases, 1 of which are advised alike: some would get their own'),
        (
            {'a': 1, 'b': 1, 'c': 2},
            'cannot shuffle the advice of 3 cases, 2 of which are advised alike: some would get their own',
        ),
    ],
)
def test_what_cannot_be_shuffled(advice: dict[str, int], message: str) -> None:
    """Too few cases, or too many that are advised alike, leave somebody with their own words."""
    with pytest.raises(ValueError) as caught:
        shuffled(advice)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    'plays', [{'placebo': 'strong'}, {'solo': 'advised'}, {'other': 'solo'}, {'advised': 'solo', 'placebo': 'advised'}]
)
def test_an_arm_plays_the_recordings_of_one_before_it(plays: dict[str, str]) -> None:
    """The other arm exists, comes first, so that recording works, and has recordings of its own."""
    arms = ('solo', 'advised', 'placebo')
    arm, other = list(plays.items())[-1]
    with pytest.raises(SuiteError) as caught:
        suite(case('a'), arms=arms, plays=plays)
    assert caught.value.message == (
        f'`Suite.plays` must name an arm and one before it that has recordings of its own; got {arm!r}: {other!r} '
        f'with arms {arms!r}'
    )
