"""Documented behaviour A3-A7, A22-A28, A33-A34 and A45: the local advisor (numbers of `facts/advisor.md`)."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRequest,
    ModelResponse,
    NativeOutput,
    PromptedOutput,
    RunContext,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolOutput,
    UserPromptPart,
)
from pydantic_ai.exceptions import (
    ModelAuthenticationError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelRateLimitError,
    ModelServerError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
    UserError,
)
from pydantic_ai.messages import BinaryContent
from pydantic_ai.usage import UsageLimits

from advisor_harness import Advisor

from .scripts import (
    OPUS,
    Approval,
    Provider,
    Script,
    answers,
    asks,
    calls,
    client_call,
    consulted,
    executor,
    failing,
    gives,
    message,
    native_advice,
    says,
    text,
    together,
    tool_returns,
)

pytestmark = pytest.mark.anyio


class Verdict(BaseModel):
    sound: bool


def judged(sound: bool) -> str:
    return f'sound: {sound}'


@pytest.mark.parametrize(
    ('output_type', 'expected'),
    [
        (Verdict, Verdict(sound=True)),
        (ToolOutput(Verdict), Verdict(sound=True)),
        (NativeOutput(Verdict), Verdict(sound=True)),
        (PromptedOutput(Verdict), Verdict(sound=True)),
        ([Verdict, dict[str, int]], Verdict(sound=True)),
        (judged, 'sound: True'),
    ],
    ids=['type', 'tool', 'native', 'prompted', 'list', 'function'],
)
async def test_a3_a5_any_output_specification_gives_the_validated_object(output_type: Any, expected: object) -> None:
    """Whatever form the output takes, the validated object itself is the tool's result."""
    advisor = Script(gives(sound=True)).model('advisor')
    result, _ = await consulted(Advisor(advisor, output_type=output_type), asks('Sound?'))
    assert answers(result.all_messages()) == [expected]


async def test_a6_texts_adapt_to_structured_output() -> None:
    """The advisor's instructions and the tool's description speak of text or of a format."""
    told: list[tuple[str | None, str | None]] = []
    for output_type, answer in ((str, says('Yes.')), (Verdict, gives(sound=True))):
        advisor = Script(answer)
        _, script = await consulted(Advisor(advisor.model(), output_type=output_type), asks('Sound?'))
        told.append((advisor.infos[0].instructions, script.infos[0].function_tools[0].description))
    (text_task, text_tool), (object_task, object_tool) = told
    assert text_task == (
        'You advise another model that is working on a task and asks for your judgement. Reply with short, concrete '
        'advice that it can act on. Write to that model, never to the end user.'
    )
    assert object_task == text_task.replace(
        'Reply with short, concrete advice that it can act on.', 'Answer its question in the requested output format.'
    )
    assert object_tool == (text_tool or '').replace(
        'decision.', 'decision. The result is a validated object in a fixed format.'
    )


async def test_a7_over_quota_is_text_even_when_structured() -> None:
    """Over the limit a structured advisor answers with the limit text."""
    advisor = Script(gives(sound=True)).model('advisor')
    result, _ = await consulted(Advisor(advisor, output_type=Verdict, max_uses=1), asks('One?', 'Two?'))
    assert answers(result.all_messages()) == [
        Verdict(sound=True),
        'Advisor consultation limit reached for this model request. Continue without further advice.',
    ]


async def test_a22_history_is_everything_before_the_response_that_asks() -> None:
    """`forward_history=True` sends the completed messages as they are, without the pending call."""
    advisor, script = Script(says('Use a lock.')), executor(calls('look'), asks('How?'))
    agent = Agent(
        script.model(), capabilities=[Advisor(advisor.model('advisor'), forward_history=True)], system_prompt='Be good.'
    )
    agent.tool_plain(lambda: 'a race', name='look')
    result = await agent.run('Go.')
    asked, looked, question = advisor.requests[0]
    assert [asked, looked] == result.all_messages()[:2]
    assert [type(part) for part in asked.parts] == [SystemPromptPart, UserPromptPart]
    assert [part.content for part in question.parts if not isinstance(part, ToolCallPart)] == ['a race', 'How?']


async def test_a22_without_forwarding_only_the_prompt_is_sent() -> None:
    """By default the advisor gets the question and nothing of the conversation."""
    advisor = Script(says('Use a lock.'))
    await consulted(Advisor(advisor.model('advisor')), asks('How?'), prompt='A secret task.')
    assert [part.content for message in advisor.requests[0] for part in message.parts] == ['How?']


async def test_a24_context_depends_on_the_path() -> None:
    """Anthropic's own advisor is sent no prompt by us, the local one nothing but the prompt."""
    native = Provider(message(*native_advice(), text('done')))
    await Agent(native.anthropic(), capabilities=[Advisor(f'anthropic:{OPUS}')]).run('Go.')
    own = Provider(message(text('Use a lock.'), model=OPUS))
    await consulted(Advisor(own.anthropic(OPUS)), asks('How?'))
    assert native.bodies[0]['messages'] == [{'role': 'user', 'content': [{'type': 'text', 'text': 'Go.'}]}]
    assert own.bodies[0]['messages'] == [{'role': 'user', 'content': [{'type': 'text', 'text': 'How?'}]}]


async def test_a25_the_local_advisor_has_its_own_instructions_and_no_tools() -> None:
    """Neither instructions, tools, settings nor dependencies of the executor reach the advisor."""
    advisor, script = Script(says('Use a lock.')), executor(asks('How?'))
    agent = Agent(
        script.model(),
        deps_type=str,
        instructions='Executor only.',
        model_settings={'temperature': 0.5},
        capabilities=[Advisor(advisor.model('advisor'), max_tokens=2048)],
    )
    agent.tool_plain(lambda: 'a race', name='look')
    await agent.run('Go.', deps='dependency')
    info = advisor.infos[0]
    assert (info.function_tools, info.output_tools, info.model_settings) == ([], [], {'max_tokens': 2048})
    assert info.instructions is not None
    assert 'Executor only.' not in info.instructions


async def test_a25_output_functions_get_no_dependencies() -> None:
    """An output function with a context runs in the advisor's own run, which has no dependencies."""
    seen: list[object] = []

    def keep(ctx: RunContext[Any], sound: bool) -> str:
        seen.append(ctx.deps)
        return 'kept'

    script = executor(asks('Sound?'))
    advisor = Script(gives(sound=True)).model('advisor')
    agent = Agent(script.model(), deps_type=str, capabilities=[Advisor(advisor, output_type=keep)])
    result = await agent.run('Go.', deps='dependency')
    assert (answers(result.all_messages()), seen) == (['kept'], [None])


async def test_a26_the_description_asks_for_complete_context() -> None:
    """The executor is told to put everything into the prompt, as the advisor may see nothing else."""
    _, script = await consulted(Advisor('test'))
    assert script.infos[0].function_tools[0].description == (
        'Ask a stronger model for advice before a difficult or consequential decision. Put the whole question and '
        'everything needed to answer it into `prompt`: the advisor may not see this conversation.'
    )


async def test_a27_data_goes_where_the_path_goes() -> None:
    """On the native path no one but the executor's provider is called, on the local path the advisor's is too."""
    native, own = Provider(message(*native_advice(), text('done'))), Provider(message(text('Use a lock.'), model=OPUS))
    await Agent(native.anthropic(), capabilities=[Advisor(f'anthropic:{OPUS}')]).run('Go.')
    assert (len(native.requests), len(own.requests)) == (1, 0)
    local = Provider(message(client_call('advisor', prompt='How?'), stop='tool_use'), message(text('done')))
    await Agent(local.anthropic(), capabilities=[Advisor(own.anthropic(OPUS))]).run('Go.')
    assert (len(local.requests), len(own.requests)) == (2, 1)


async def test_a28_usage_is_shared_with_the_executor() -> None:
    """The advisor's requests and tokens count in the run's usage."""
    result, _ = await consulted(Advisor(Script(says('Use a lock.')).model('advisor')), asks('How?'))
    usage = result.usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens, usage.tool_calls) == (3, 21, 9, 1)


async def test_a28_usage_limits_are_shared_with_the_executor() -> None:
    """The run's request limit stops the advisor too, and ends the run."""
    advisor = Script(says('Use a lock.'))
    with pytest.raises(UsageLimitExceeded, match='The next request would exceed the request_limit of 1'):
        await consulted(Advisor(advisor.model()), asks('How?'), usage_limits=UsageLimits(request_limit=1))
    assert advisor.requests == []


async def test_a33_an_unusable_answer_is_an_ordinary_tool_retry() -> None:
    """The advisor gets one retry of its own, then the executor's tool is retried, and advice can still come."""
    advisor = Script(gives(wrong=1), gives(wrong=1), gives(sound=False))
    result, _ = await consulted(Advisor(advisor.model(), output_type=Verdict), asks('Sound?'), asks('Again?', first=2))
    first, second = tool_returns(result.all_messages())
    assert (first.outcome, first.content) == (
        'retried',
        'The advisor gave no usable answer (invalid_output). Ask again, or continue without advice.',
    )
    assert (second.outcome, second.content, len(advisor.requests)) == ('success', Verdict(sound=False), 3)


async def test_a33_the_second_unusable_answer_ends_the_run() -> None:
    """Tool retries are bounded as for every tool: one by default."""
    advisor = Script(gives(wrong=1))
    with pytest.raises(UnexpectedModelBehavior) as raised:
        await consulted(Advisor(advisor.model(), output_type=Verdict), asks('Sound?'), asks('Again?', first=2))
    assert raised.value.message.startswith("Tool 'advisor' exceeded max retries count of 1.")
    assert len(advisor.requests) == 4


@pytest.mark.parametrize(
    ('status', 'error'),
    [
        (401, ModelAuthenticationError),
        (403, ModelAuthenticationError),
        (404, ModelNotFoundError),
        (429, ModelRateLimitError),
        (500, ModelServerError),
        (529, ModelHTTPError),
        (400, ModelHTTPError),
    ],
)
async def test_a34_provider_errors_end_the_run(status: int, error: type[Exception]) -> None:
    """By default what the advisor's provider refuses is the executor's error."""
    provider = Provider(failing(status))
    with pytest.raises(error):
        await consulted(Advisor(provider.anthropic(OPUS)), asks('How?'))
    assert len(provider.requests) == 1


async def test_a34_errors_of_resolution_end_the_run() -> None:
    """A model that cannot be built, for want of a key, is the executor's error."""
    with pytest.raises(UserError, match='ANTHROPIC_API_KEY'):
        await consulted(Advisor(f'anthropic:{OPUS}'), asks('How?'))


async def test_a45_a_consultation_belongs_to_the_executors_conversation() -> None:
    """The advisor's messages carry the executor's conversation id and a run id of their own."""
    advisor = Script(says('Use a lock.'))
    result, _ = await consulted(Advisor(advisor.model()), asks('How?'), conversation_id='conversation-1')
    request = advisor.requests[0][-1]
    assert isinstance(request, ModelRequest)
    assert request.conversation_id == 'conversation-1'
    assert request.run_id not in (None, result.all_messages()[0].run_id)


async def test_history_before_an_approval_ends_at_the_response_that_asks() -> None:
    """A call that waited for an approval while its sibling was answered forwards nothing of its own response."""
    advisor, script = Script(says('Use a lock.')), executor(together(asks('How?'), calls('look')))
    capabilities = [Approval(), Advisor[object](advisor.model(), forward_history=True)]
    agent = Agent(script.model(), output_type=[str, DeferredToolRequests], capabilities=capabilities)
    agent.tool_plain(lambda: 'a race', name='look')
    waiting = await agent.run('Go.')
    approved = DeferredToolResults(approvals={'call-1': True})
    await agent.run(message_history=waiting.all_messages(), deferred_tool_results=approved)
    assert [part.content for message in advisor.requests[0] for part in message.parts] == ['Go.', 'How?']


async def test_forwarded_history_keeps_thinking_and_files() -> None:
    """`forward_history=True` filters nothing: thinking and files of the conversation go along."""
    image = BinaryContent(b'\x89PNG', media_type='image/png')
    history = [
        ModelRequest(parts=[UserPromptPart(['Look:', image])]),
        ModelResponse(parts=[ThinkingPart('Hmm.'), TextPart('A picture.')]),
    ]
    advisor = Script(says('Use a lock.'))
    await consulted(Advisor(advisor.model(), forward_history=True), asks('How?'), message_history=history)
    assert [part.content for message in advisor.requests[0][:2] for part in message.parts] == [
        ['Look:', image],
        'Hmm.',
        'A picture.',
    ]
