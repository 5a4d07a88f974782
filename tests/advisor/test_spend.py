"""What a run took, executor and advisor apart: on every path, in every form of its messages, unknown where unknown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessage,
    ModelResponse,
    capture_run_messages,
)
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.native_tools import AdvisorTool, WebSearchTool
from pydantic_ai.usage import RequestUsage
from pydantic_ai_harness.advisor import Advisor as Reference

from advisor_harness import Advisor, Consultation, Outcome
from advisor_harness.advisor import RoleSpend, Spend, spend
from advisor_harness.advisor.spend import note_consultation

from .scripts import (
    OPUS,
    Approval,
    Provider,
    Script,
    asks,
    calls,
    client_call,
    completion,
    consulted,
    executor,
    failing,
    iterations,
    message,
    native_advice,
    native_error,
    says,
    server_tool_usage,
    text,
    together,
)
from .test_native import recorded

pytestmark = pytest.mark.anyio

NAME = f'anthropic:{OPUS}'
ROUTER = 'openrouter:anthropic/claude-opus-4.8'
NOTHING = RoleSpend(requests=0, input_tokens=0, output_tokens=0, cost_usd=Decimal(0))
UNKNOWN = RoleSpend(requests=None, input_tokens=None, output_tokens=None, cost_usd=None)


RECORD = Consultation(
    path='local',
    outcome=Outcome.ADVISED,
    index=1,
    run_step=1,
    call_id='c',
    executor_model='a:b',
    advisor_model='a:c',
    prompt='?',
)


def role(requests: int | None, inputs: int | None, outputs: int | None, cost: str | None = None) -> RoleSpend:
    cost_usd = None if cost is None else Decimal(cost)
    return RoleSpend(requests=requests, input_tokens=inputs, output_tokens=outputs, cost_usd=cost_usd)


def paid(*parts: str, cost: str) -> ModelResponse:
    """A response with a known price."""
    return replace(says(*parts), usage=RequestUsage(input_tokens=7, output_tokens=3, cost=Decimal(cost)))


def reloaded(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(list(messages)))


def test_of_no_messages_nothing_is_spent() -> None:
    """No response, no request: that is known."""
    assert spend([]) == Spend(executor=NOTHING, advisor=NOTHING)
    assert spend([ModelRequest(parts=[UserPromptPart('Go.')])]) == Spend(executor=NOTHING, advisor=NOTHING)


async def test_without_an_advisor_the_executor_took_everything() -> None:
    """A history with no advisor at all has an advisor that took nothing."""
    result = await Agent(Script(says('done')).model()).run('Go.')
    assert spend(result) == Spend(executor=role(1, 7, 3), advisor=NOTHING)


async def test_local_consultations_are_counted_apart() -> None:
    """Together the roles are the run's usage; the advisor's price is its own."""
    advisor = Script(paid('Yes.', cost='0.5'), paid('No.', cost='0.25'))
    result, _ = await consulted(Advisor(advisor.model()), asks('One?', 'Two?'))
    assert spend(result) == Spend(executor=role(2, 14, 6), advisor=role(2, 14, 6, '0.75'))
    usage = result.usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens) == (4, 28, 12)


async def test_messages_say_the_same_as_the_result_also_from_json() -> None:
    """A list of messages counts as its run does, and survives being stored."""
    result, _ = await consulted(Advisor(Script(paid('Yes.', cost='0.1')).model()), asks('One?'))
    expected = Spend(executor=role(2, 14, 6), advisor=role(1, 7, 3, '0.1'))
    messages = result.all_messages()
    assert [spend(messages), spend(tuple(messages)), spend(reloaded(messages))] == [expected] * 3


async def test_a_note_holds_no_text_and_is_sent_to_no_model() -> None:
    """What is left in the messages are ids, names and numbers, and a provider's request body has none of it."""
    provider = Provider(
        message(
            *[{'type': 'tool_use', 'id': 'call-1', 'name': 'advisor', 'input': {'prompt': 'CANARY?'}}], stop='tool_use'
        ),
        message(text('done')),
    )
    result = await Agent(provider.anthropic(), capabilities=[Advisor(Script(says('CANARY!')).model())]).run('Go.')
    response = result.all_messages()[1]
    assert isinstance(response, ModelResponse)
    assert response.metadata
    assert response.metadata['advisor_harness.advisor'] == {
        'local': [
            {
                'run_id': result.run_id,
                'call_id': 'call-1',
                'requests': 1,
                'input_tokens': 7,
                'output_tokens': 3,
                'cost_usd': None,
            }
        ]
    }
    assert 'advisor_harness' not in str(provider.bodies)


LOCAL: dict[str, tuple[Callable[[], Any], dict[str, Any], RoleSpend]] = {
    'refused by a limit': (lambda: Script(says('Yes.')).model(), {'max_uses': 1}, role(1, 7, 3)),
    'failed unanswered': (
        lambda: Provider(failing(529)).anthropic(OPUS),
        {'on_error': 'continue'},
        role(2, None, None),
    ),
    'empty, asked twice': (lambda: Script(says('')).model(), {'on_error': 'continue'}, role(4, 28, 12)),
}


@pytest.mark.parametrize('case', LOCAL)
async def test_consultations_without_advice_are_counted(case: str) -> None:
    """What a failed consultation took counts; what a request without an answer took is unknown, not nothing."""
    model, options, expected = LOCAL[case]
    result, _ = await consulted(Advisor(model(), **options), asks('One?', 'Two?'))
    assert spend(result).advisor == expected


async def test_a_retried_and_an_invalid_call_are_counted_as_what_they_are() -> None:
    """A call whose arguments were wrong asked nobody; an unusable answer was paid for."""
    advisor = Script(says(''), says(''), says('Yes.'))
    steps = [calls('advisor', wrong=1), asks('One?'), asks('Two?', first=2)]
    agent = Agent(executor(*steps).model(), capabilities=[Advisor(advisor.model())], retries=3)
    assert spend(await agent.run('Go.')).advisor == role(3, 21, 9)


async def test_an_error_that_ends_the_run_leaves_what_it_took() -> None:
    """The messages of a run that ended in an error are counted as they are."""
    with capture_run_messages() as messages, pytest.raises(ZeroDivisionError):
        await consulted(Advisor(Script(says(''), ZeroDivisionError('bug')).model()), asks('One?'))
    assert spend(messages).advisor == role(1, 7, 3)


async def test_a_cancelled_consultation_is_unknown() -> None:
    """The request of a cancelled consultation counts, its tokens are unknown, what was finished before stays."""

    async def hang(messages: Any, info: Any) -> Any:
        task.cancel()
        await asyncio.Event().wait()

    ours = Advisor(Script(says('Yes.'), hang).model())
    with capture_run_messages() as messages:
        task = asyncio.ensure_future(consulted(ours, asks('One?'), asks('Two?', first=2)))
        with pytest.raises(asyncio.CancelledError):
            await task
    assert spend(messages) == Spend(executor=role(2, 14, 6), advisor=role(2, None, None))


async def test_a_resumed_conversation_counts_its_own_run() -> None:
    """The result of a second run is that run's; all messages are both runs'."""
    agent = Agent(
        Script(asks('One?'), says('a'), asks('Two?', first=2), asks('Three?', first=3), says('b')).model(),
        capabilities=[Advisor(Script(paid('Yes.', cost='1')).model())],
    )
    first = await agent.run('Go.')
    history = reloaded(first.all_messages())
    second = await agent.run('On.', message_history=history)
    assert spend(first).advisor == role(1, 7, 3, '1')
    assert spend(second) == Spend(executor=role(3, 21, 9), advisor=role(2, 14, 6, '2'))
    assert spend(second.all_messages()) == Spend(executor=role(5, 35, 15), advisor=role(3, 21, 9, '3'))
    assert spend(history) == spend(first), 'a history that a run went on with stays as it was'


async def test_an_approved_call_is_paid_by_the_run_that_asks() -> None:
    """A call that waited for an approval counts in the run that consults, not in the one that made it."""
    agent = Agent(
        executor(together(asks('?'), calls('look'))).model(),
        output_type=[str, DeferredToolRequests],
        capabilities=[Approval(), Advisor(Script(says('Yes.')).model())],
    )

    @agent.tool_plain
    def look() -> str:
        return 'a race'

    waiting = await agent.run('Go.')
    before = waiting.all_messages()
    approved = DeferredToolResults(approvals={'call-1': True})
    resumed = await agent.run(message_history=before, deferred_tool_results=approved)
    assert (spend(waiting).advisor, spend(before).advisor) == (NOTHING, NOTHING)
    assert spend(resumed) == Spend(executor=role(1, 7, 3), advisor=role(1, 7, 3))
    assert spend(resumed.all_messages()) == Spend(executor=role(2, 14, 6), advisor=role(1, 7, 3))


async def test_a_streamed_run_is_counted_the_same() -> None:
    """`run_stream` keeps the notes of its consultations."""
    script = executor(asks('One?'))
    agent = Agent(script.model(), capabilities=[Advisor(Script(says('Yes.')).model())])
    async with agent.run_stream('Go.') as stream:
        await stream.get_output()
    assert spend(stream).advisor == spend(stream.all_messages()).advisor == role(1, 7, 3)


NATIVE: dict[str, tuple[list[dict[str, Any]], RoleSpend]] = {
    'one': ([message(*native_advice(), text('a'), iterations=iterations((1000, 100)))], role(1, 1000, 100, '0.0075')),
    'two in one response': (
        [
            message(
                *native_advice('srvtoolu_1'),
                *native_advice('srvtoolu_2'),
                text('a'),
                iterations=iterations((1000, 0), (1000, 100)),
            )
        ],
        role(2, 2000, 100, '0.0125'),
    ),
    'refused': ([message(*native_error('max_uses_exceeded'), text('a'))], NOTHING),
    'refused, then advised': (
        [
            message(
                *native_error('max_uses_exceeded', 'srvtoolu_1'),
                *native_advice('srvtoolu_2'),
                text('a'),
                iterations=iterations((1000, 100)),
            )
        ],
        role(1, 1000, 100, '0.0075'),
    ),
    'not reported': ([message(*native_advice(), text('a'))], UNKNOWN),
    'none': ([message(text('a'))], NOTHING),
}


@pytest.mark.parametrize('case', NATIVE)
async def test_consultations_of_anthropic_are_priced_at_the_advisors_model(case: str) -> None:
    """The provider's iterations are the advisor's, once; the executor's own tokens are what is left."""
    bodies, expected = NATIVE[case]
    result = await Agent(Provider(*bodies).anthropic(), capabilities=[Advisor(NAME)]).run('Go.')
    messages = result.all_messages()
    assert [spend(result).advisor, spend(reloaded(messages)).advisor] == [expected] * 2
    assert spend(result).executor == role(1, 10, 5, '0.000035')


async def test_local_and_native_consultations_of_one_history_add_up() -> None:
    """An executor that changes within a conversation leaves both kinds."""
    local = Agent(executor(asks('One?')).model(), capabilities=[Advisor(Script(paid('Yes.', cost='1')).model())])
    first = await local.run('Go.')
    body = message(*native_advice(), text('a'), iterations=iterations((1000, 100)))
    native = Agent(Provider(body).anthropic(), capabilities=[Advisor(NAME)])
    second = await native.run('On.', message_history=first.all_messages())
    assert spend(second.all_messages()).advisor == role(2, 1007, 103, '1.0075')
    assert spend(second).advisor == role(1, 1000, 100, '0.0075')


async def test_messages_of_cores_own_tool_need_the_advisors_name() -> None:
    """Without our note the tokens are known and their price is not, until the caller says whose they are."""
    body = message(*native_advice(), text('a'), iterations=iterations((1000, 100)))
    agent = Agent(Provider(body).anthropic(), capabilities=[NativeTool(AdvisorTool(model=OPUS))])
    result = await agent.run('Go.')
    assert spend(result).advisor == role(1, 1000, 100)
    assert spend(result, advisor=OPUS).advisor == role(1, 1000, 100, '0.0075')


async def routed(body: dict[str, Any], *capabilities: Any, **run: Any) -> Any:
    return await Agent(Provider(body).openrouter(), capabilities=capabilities, **run).run('Go.')


async def test_openrouters_charge_is_parted() -> None:
    """The advisor took what OpenRouter charged beyond the executor's upstream cost; its tokens are unknown."""
    result = await routed(completion(**server_tool_usage(2)), Advisor(ROUTER))
    expected = Spend(executor=role(1, 900, 69, '0.0001764'), advisor=role(2, None, None, '0.0158850'))
    assert [spend(result), spend(reloaded(result.all_messages()))] == [expected] * 2


async def test_openrouter_without_consultations_is_the_executors() -> None:
    """What was charged is the executor's where no server tool ran, whatever the upstream cost was."""
    result = await routed(completion(cost=0.5, cost_details={'upstream_inference_cost': 0.25}), Advisor(ROUTER))
    assert spend(result) == Spend(executor=role(1, 900, 69, '0.5'), advisor=NOTHING)


async def test_openrouter_with_a_key_of_the_users_own_is_unknown() -> None:
    """With BYOK the charge is a fee, and neither role's cost is known."""
    result = await routed(completion(**server_tool_usage(1), is_byok=True), Advisor(ROUTER))
    assert spend(result) == Spend(executor=role(1, 900, 69), advisor=role(1, None, None))


async def test_openrouters_other_server_tools_make_both_unknown() -> None:
    """Where several server tools ran their counts and costs cannot be told apart."""
    result = await routed(completion(**server_tool_usage(2)), Advisor(ROUTER), NativeTool(WebSearchTool()))
    assert spend(result) == Spend(executor=role(1, 900, 69), advisor=UNKNOWN)


async def test_openrouters_server_tools_are_no_consultations_where_none_was_offered() -> None:
    """What other server tools cost is the executor's."""
    ours = Advisor('openai:gpt-5')
    result = await routed(completion(**server_tool_usage(2)), ours, NativeTool(WebSearchTool()))
    assert spend(result) == Spend(executor=role(1, 900, 69, '0.0160614'), advisor=NOTHING)


async def test_a_history_without_notes_leaves_local_consultations_unknown() -> None:
    """The reference leaves nothing to count; an unknown does not become 0."""
    agent = Agent(executor(asks('One?')).model(), capabilities=[Reference(Script(says('Yes.')).model())])
    assert spend(await agent.run('Go.')) == Spend(executor=role(2, 14, 6), advisor=UNKNOWN)


@pytest.mark.parametrize(
    ('outcome', 'content', 'expected'),
    [
        ('success', 'Yes.', UNKNOWN),
        ('failed', 'Advisor unavailable.', UNKNOWN),
        ('retried', 'No usable answer.', UNKNOWN),
        ('retried', [{'type': 'missing', 'loc': ('prompt',), 'msg': 'Field required', 'input': {}}], NOTHING),
        ('denied', 'No.', NOTHING),
    ],
)
def test_a_result_without_a_note_is_unknown_if_someone_was_asked(outcome: Any, content: Any, expected: Any) -> None:
    """A denied call and one whose arguments were wrong asked nobody."""
    call = ModelResponse(parts=[ToolCallPart('advisor', {'prompt': '?'}, 'c')], usage=RequestUsage(input_tokens=1))
    answer = ModelRequest(parts=[ToolReturnPart('advisor', content, 'c', outcome=outcome)])
    assert spend([call, answer]).advisor == expected


async def test_identical_questions_are_paid_once() -> None:
    """A call that shares an answer adds nothing, and is not taken for one without a note."""
    result, _ = await consulted(Advisor(Script(says('Yes.')).model()), asks('?', '?'))
    assert spend(result).advisor == role(1, 7, 3)


@pytest.mark.parametrize('state', ['interrupted', 'incomplete', 'suspended'])
def test_a_response_that_was_cut_off_took_an_unknown_amount(state: Any) -> None:
    """What a provider said until then is no total."""
    cut = ModelResponse(parts=[TextPart('a')], usage=RequestUsage(input_tokens=1, cost=Decimal(1)), state=state)
    assert spend([cut]).executor == role(1, None, None)


def test_a_response_without_usage_took_an_unknown_amount() -> None:
    """Core marks responses whose provider left the usage out."""
    assert spend([ModelResponse(parts=[], usage=RequestUsage(unmeasured_requests=1))]).executor == role(1, None, None)


async def test_candidates_whose_answer_was_rejected_are_the_executors() -> None:
    """A `FallbackModel` pays for answers that it throws away."""
    bad, good = Script(paid('bad', cost='1')).model('bad'), Script(paid('good', cost='2')).model('good')

    def rejected(response: ModelResponse) -> bool:
        return 'bad' in repr(response.parts)

    fallback = FallbackModel(bad, good, fallback_on=[rejected])
    result = await Agent(fallback).run('Go.')
    assert spend(result).executor == role(1, 14, 6, '3')


async def test_notes_of_others_in_the_metadata_stay() -> None:
    """Metadata is shared: what a router or an application keeps there is not lost."""
    first = replace(says(ToolCallPart('advisor', {'prompt': '?'}, 'call-1')), metadata={'router': {'route': 'a'}})

    def keeps(messages: Any, info: Any) -> ModelResponse:
        return first

    result, _ = await consulted(Advisor(Script(says('Yes.')).model()), keeps)
    response = result.all_messages()[1]
    assert isinstance(response, ModelResponse)
    assert response.metadata
    assert sorted(response.metadata) == ['advisor_harness.advisor', 'router']
    assert first.metadata == {'router': {'route': 'a'}}


def test_metadata_of_another_shape_is_no_note() -> None:
    """Another package's value under the same key is left alone."""
    odd = ModelResponse(parts=[], usage=RequestUsage(input_tokens=1), metadata={'advisor_harness.advisor': 'mine'})
    assert spend([odd]).advisor == NOTHING


GOOD_NOTE = {'run_id': 'r', 'call_id': 'c1', 'requests': 1, 'input_tokens': 2, 'output_tokens': 3, 'cost_usd': '0.5'}


@pytest.mark.parametrize(
    ('notes', 'expected'),
    [
        ({'local': [GOOD_NOTE]}, role(1, 2, 3, '0.5')),
        ({'local': None}, UNKNOWN),
        ({'local': 3}, UNKNOWN),
        ({'local': [1]}, UNKNOWN),
        ({'local': [GOOD_NOTE, {}]}, UNKNOWN),
        ({'native': 3}, UNKNOWN),
        ({'native': {**GOOD_NOTE, 'requests': '1'}}, role(None, 2, 3, '0.5')),
        ({'native': {**GOOD_NOTE, 'input_tokens': True}}, role(1, None, 3, '0.5')),
        ({'native': {**GOOD_NOTE, 'output_tokens': -3}}, role(1, 2, None, '0.5')),
        ({'native': {**GOOD_NOTE, 'cost_usd': 'much'}}, role(1, 2, 3)),
        ({'native': {**GOOD_NOTE, 'cost_usd': 'NaN'}}, role(1, 2, 3)),
        ({'native': {**GOOD_NOTE, 'cost_usd': 0.5}}, role(1, 2, 3)),
    ],
)
def test_what_is_damaged_in_a_note_is_unknown(notes: dict[str, Any], expected: RoleSpend) -> None:
    """Metadata is anybody's to change: it is never an error, and never counts as nothing."""
    response = ModelResponse([TextPart('x')], metadata={'advisor_harness.advisor': notes})
    assert spend([response]).advisor == expected


def test_a_note_is_added_beside_damaged_ones() -> None:
    """A new consultation is noted all the same, and what was there stays unknown."""
    messages: list[ModelMessage] = [
        ModelResponse(
            [ToolCallPart('advisor', {'prompt': '?'}, 'c1')], metadata={'advisor_harness.advisor': {'local': 3}}
        )
    ]
    note_consultation(messages, 0, RECORD, run_id='r')
    assert spend(messages).advisor == UNKNOWN


async def test_the_recording_of_anthropic_is_parted(shared_cassettes: Path) -> None:
    """What Anthropic really sent: the executor's 2390 tokens are the sum of its two passes, the advisor's are apart."""
    provider = Provider(*recorded(shared_cassettes, 'anthropic_advisor_tool'))
    agent = Agent(provider.anthropic('claude-sonnet-5'), capabilities=[Advisor(NAME, max_tokens=1024)])
    result = await agent.run('Go.', model_settings={'max_tokens': 4096})
    assert spend(result).advisor == role(1, 2518, 22, '0.013140')
    assert (spend(result).executor.input_tokens, result.usage.input_tokens) == (2390, 2390)


async def test_the_recording_of_openrouter_is_parted(shared_cassettes: Path) -> None:
    """What OpenRouter really charged: 0.0160614 dollars, nearly all of it for the advisor."""
    result = await routed(*recorded(shared_cassettes, 'openrouter_advisor_tool'), Advisor(ROUTER, max_tokens=1024))
    assert (spend(result).executor.cost_usd, spend(result).advisor) == (
        Decimal('0.0001764'),
        role(1, None, None, '0.0158850'),
    )


@pytest.mark.parametrize(
    ('content', 'expected'),
    [
        (native_advice(), UNKNOWN),
        (native_error('overloaded'), UNKNOWN),
        (native_error('max_uses_exceeded'), NOTHING),
    ],
)
async def test_native_results_without_a_note_are_unknown_if_the_provider_ran_them(content: Any, expected: Any) -> None:
    """Core's own tool, in a response whose usage does not part the roles."""
    agent = Agent(
        Provider(message(*content, text('a'))).anthropic(), capabilities=[NativeTool(AdvisorTool(model=OPUS))]
    )
    assert spend(await agent.run('Go.')).advisor == expected


async def test_a_repeated_result_is_paid_where_the_provider_reports_it() -> None:
    """What a later response reports for a result that was told before is that response's share."""
    provider = Provider(
        message(*native_advice(), client_call('look'), stop='tool_use', iterations=iterations((1000, 100))),
        message(*native_advice(), text('a'), iterations=iterations((1000, 0))),
    )
    agent = Agent(provider.anthropic(), capabilities=[Advisor(NAME)])

    @agent.tool_plain
    def look() -> str:
        return 'a race'

    assert spend(await agent.run('Go.')).advisor == role(2, 2000, 100, '0.0125')


async def test_a_local_advisor_with_a_key_of_the_users_own_costs_an_unknown_amount() -> None:
    """OpenRouter's figure is its fee only."""
    provider = Provider(completion('Yes.', cost=0.5, is_byok=True))
    result, _ = await consulted(Advisor(provider.openrouter()), asks('How?'))
    assert spend(result).advisor == role(1, 900, 69)


def test_without_a_response_there_is_nowhere_to_leave_a_note() -> None:
    """A conversation that no response is in yet stays as it is."""
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart('Go.')])]
    before = list(messages)
    note_consultation(messages, 5, RECORD, run_id='r')
    assert messages == before
