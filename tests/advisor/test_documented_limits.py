"""Documented behaviour A14, A17-A18, A35-A36, A40 and A42-A43: limits (numbers of `facts/advisor.md`)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent, ModelResponse
from pydantic_ai.capabilities import AbstractCapability

from advisor_harness import Advisor, Consultation

from .scripts import Cache, Script, answers, asks, calls, consulted, executor, outcomes, says, together, tool_returns

pytestmark = pytest.mark.anyio

LIMIT = 'Advisor consultation limit reached for this model request. Continue without further advice.'
RUN_LIMIT = 'Advisor consultation limit reached for this run. Continue without further advice.'


def advisor(**options: Any) -> Advisor[Any]:
    return Advisor(Script(says('Use a lock.')).model('advisor'), **options)


async def test_a17_max_uses_counts_per_executor_request_and_starts_afresh() -> None:
    """Each executor request may consult `max_uses` times, whatever earlier ones did."""
    result, _ = await consulted(advisor(max_uses=1), asks('One?', 'Two?'), asks('Three?', 'Four?', first=3))
    assert answers(result.all_messages()) == ['Use a lock.', LIMIT, 'Use a lock.', LIMIT]


async def test_a18_only_validated_calls_consume_the_quota() -> None:
    """A call whose arguments are invalid is retried and takes nothing; its valid sibling is answered."""
    invalid = calls('advisor', call_id='call-1', wrong='How?')
    result, _ = await consulted(advisor(max_uses=1), together(invalid, asks('How?', first=2)))
    returns = tool_returns(result.all_messages())
    assert [(part.tool_call_id, part.outcome) for part in returns] == [('call-1', 'retried'), ('call-2', 'success')]
    assert returns[1].content == 'Use a lock.'


async def test_a18_a_failing_consultation_consumes_the_quota() -> None:
    """A consultation that was started is spent, whatever came of it: its parallel sibling is refused."""
    empty = Script(says(' '))
    result, _ = await consulted(Advisor(empty.model(), max_uses=1), asks('One?', 'Two?'))
    assert [(part.outcome, part.content) for part in tool_returns(result.all_messages())] == [
        ('retried', 'The advisor gave no usable answer (empty). Ask again, or continue without advice.'),
        ('success', LIMIT),
    ]


async def test_a35_over_quota_the_run_continues_with_a_bounded_message() -> None:
    """The refusal is an ordinary result with a fixed text, and nothing is sent."""
    script = Script(says('Use a lock.'))
    result, _ = await consulted(Advisor(script.model(), max_uses=1), asks(*'abcdefgh'))
    assert result.output == 'done'
    assert answers(result.all_messages()) == ['Use a lock.', *[LIMIT] * 7]
    assert {part.outcome for part in tool_returns(result.all_messages())} == {'success'}
    assert len(script.requests) == 1


async def test_the_run_limit_has_a_text_of_its_own() -> None:
    """`max_uses_per_run` spans requests; what it refuses says so."""
    result, _ = await consulted(advisor(max_uses_per_run=2), asks('One?'), asks('Two?', 'Three?', first=2))
    assert answers(result.all_messages()) == ['Use a lock.', 'Use a lock.', RUN_LIMIT]


class Watching(AbstractCapability[Any]):
    """Does nothing, in every place."""

    async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> ModelResponse:
        return await handler(request_context)

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        return await handler(args)


@pytest.mark.parametrize('first', [True, False])
async def test_a36_there_is_no_ordering_constraint(first: bool) -> None:
    """The advisor works before and after other capabilities, and asks for no place."""
    ours = advisor(max_uses=1)
    script = executor(asks('One?', 'Two?'))
    agent = Agent(script.model(), capabilities=[ours, Watching()] if first else [Watching(), ours])
    result = await agent.run('Go.')
    assert (ours.get_ordering(), answers(result.all_messages())) == (None, ['Use a lock.', LIMIT])


async def test_a40_parallel_consultations_cannot_exceed_the_quota() -> None:
    """Calls that run at the same time share the quota: none starts while the last use is in flight."""
    running: list[int] = []

    async def slow(messages: Any, info: Any) -> ModelResponse:
        running.append(len(running))
        await asyncio.sleep(0)
        return says('Use a lock.')

    result, _ = await consulted(Advisor(Script(slow).model(), max_uses=2), asks(*'abcde'))
    assert answers(result.all_messages()) == ['Use a lock.'] * 2 + [LIMIT] * 3
    assert len(running) == 2


async def test_a42_concurrent_runs_of_one_agent_have_quotas_of_their_own() -> None:
    """Five runs that share the agent and the capability each get their full allowance."""
    ours = advisor(max_uses=1, max_uses_per_run=1)
    agent = Agent(
        Script(lambda messages, info: says('done') if len(messages) > 1 else asks('One?', 'Two?')).model(),
        capabilities=[ours],
    )
    results = await asyncio.gather(*(agent.run('Go.') for _ in range(5)))
    assert [answers(result.all_messages()) for result in results] == [['Use a lock.', RUN_LIMIT]] * 5


async def test_a42_a_run_inside_a_tool_of_the_same_agent_is_isolated() -> None:
    """An agent that runs itself from a tool has one quota for each of the two runs."""
    nested: list[list[Any]] = []

    def act(messages: Any, info: Any) -> ModelResponse:
        if len(messages) > 1:
            return says('done')
        return asks('How?') if messages[0].parts[-1].content == 'inner' else together(asks('How?'), calls('delegate'))

    agent = Agent(Script(act).model(), capabilities=[advisor(max_uses_per_run=1)])

    @agent.tool_plain
    async def delegate() -> str:
        nested.append(answers((await agent.run('inner')).all_messages()))
        return 'delegated'

    result = await agent.run('outer')
    assert (answers(result.all_messages()), nested) == (['Use a lock.'], [['Use a lock.']])


async def test_a43_the_next_response_gets_a_new_quota() -> None:
    """Every response of the executor opens a new window, that of a retry included."""
    result, _ = await consulted(advisor(max_uses=1), *(asks('How?', first=n) for n in range(1, 5)))
    assert answers(result.all_messages()) == ['Use a lock.'] * 4


@pytest.mark.parametrize('skip', [True, False], ids=['SkipModelRequest', 'short circuit'])
async def test_h4_a_response_that_no_model_gave_opens_a_new_window(skip: bool) -> None:
    """A cached or a guard's response consults with a quota of its own, and so does the one after it."""
    script = executor(asks('One?'), asks('Three?', first=3))
    cached = Cache(asks('Two?', first=2), skip=skip)
    agent = Agent(script.model(), capabilities=[cached, advisor(max_uses=1)])
    result = await agent.run('Go.')
    assert answers(result.all_messages()) == ['Use a lock.'] * 3


async def test_identical_questions_in_one_response_share_one_consultation() -> None:
    """The same prompt twice is asked once, takes one use and makes one record."""
    script, records = Script(says('Use a lock.')), list[Consultation]()
    ours = Advisor(script.model(), max_uses=1, on_consultation=records.append)
    result, _ = await consulted(ours, asks('How?', 'How?', 'Else?'))
    assert answers(result.all_messages()) == ['Use a lock.', 'Use a lock.', LIMIT]
    assert (len(script.requests), sorted(outcomes(records))) == (1, ['advised', 'limit_reached'])


async def test_an_identical_question_in_a_later_response_is_asked_again() -> None:
    """Answers are shared within one executor request only."""
    script = Script(says('Use a lock.'), says('Use a queue.'))
    result, _ = await consulted(Advisor(script.model()), asks('How?'), asks('How?', first=2))
    assert answers(result.all_messages()) == ['Use a lock.', 'Use a queue.']
