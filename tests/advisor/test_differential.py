"""Our advisor beside the reference implementation: the same where that is right, and every difference by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelResponse
from pydantic_ai.capabilities import ResolveModelId
from pydantic_ai.exceptions import UserError
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import UsageLimits
from pydantic_ai_harness.advisor import Advisor as Reference

from advisor_harness import Advisor

from .scripts import (
    OPUS,
    SONNET,
    Approval,
    Cache,
    Provider,
    Script,
    Step,
    asks,
    calls,
    completion,
    executor,
    failing,
    gives,
    message,
    says,
    text,
    together,
    tool_returns,
)

pytestmark = pytest.mark.anyio

NAME = f'anthropic:{OPUS}'
ROUTER = 'openrouter:anthropic/claude-opus-4.8'


class Verdict(BaseModel):
    sound: bool


@dataclass
class Seen:
    """What a user, the executor and the providers saw of a run."""

    error: str | None = None
    """Type of what ended it, or of what refused the options."""
    output: Any = None
    results: list[tuple[str, Any]] = field(default_factory=list)
    """Outcome and content of the tool results; of retries only that they were asked for."""
    tools: list[list[str]] = field(default_factory=list)
    """The tools of each executor request on the wire."""
    asked: list[list[Any]] = field(default_factory=list)
    """What the advisor was sent, request by request."""
    usage: tuple[int, ...] = ()


def kinds(error: BaseException) -> str:
    """The type of an error, as far as callers may rely on it."""
    return type(error).__name__


def results(messages: Any) -> list[tuple[str, Any]]:
    return [(part.outcome, None if part.outcome == 'retried' else part.content) for part in tool_returns(messages)]


def contents(messages: Any) -> list[Any]:
    """What the parts of a request say, retry texts aside."""
    parts = [part for message in messages for part in message.parts if hasattr(part, 'content')]
    return [None if getattr(part, 'outcome', None) == 'retried' else part.content for part in parts]


async def observe(
    kind: Any, model: Any, script: Script, asked: Script | None, options: Any, *, agent: Any = None, **run: Any
) -> Seen:
    seen = Seen()
    try:
        agent = Agent(script.model(), capabilities=[kind(model, **options)], **(agent or {}))
        result = await agent.run('Go.', **run)
    except Exception as error:
        seen.error = kinds(error)
    else:
        seen.output, usage = result.output, result.usage
        seen.usage = (usage.requests, usage.input_tokens, usage.output_tokens, usage.tool_calls)
        seen.results = results(result.all_messages())
    seen.tools = script.tools
    if asked is not None:
        seen.asked = [contents(sent) for sent in asked.requests]
    return seen


EXECUTORS: dict[str, Callable[[], tuple[Any, Provider | Script]]] = {
    'function': lambda: (lambda script: (script.model(), script))(executor()),
    'anthropic': lambda: (lambda p: (p.anthropic(), p))(Provider(message(text('done')))),
    'openrouter': lambda: (lambda p: (p.openrouter(), p))(Provider(completion('done'))),
}
ADVISORS: dict[str, Callable[[], Any]] = {
    'anthropic': lambda: NAME,
    'openrouter': lambda: ROUTER,
    'bare': lambda: OPUS,
    'gateway': lambda: f'gateway/{NAME}',
    'openai': lambda: 'openai:gpt-5',
    'instance': lambda: Script(says('Use a lock.')).model(),
}
SELECTIONS = list(product(EXECUTORS, ADVISORS, ['auto', 'native', 'local'], [None, 2], [str, Verdict]))


async def select(kind: Any, served: str, advisor: str, **options: Any) -> Any:
    """Where a request of this executor goes: its tools on the wire, or the error that refused it."""
    model, sent = EXECUTORS[served]()
    try:
        await Agent(model, capabilities=[kind(ADVISORS[advisor](), **options)]).run('Go.')
    except Exception as error:
        return kinds(error)
    return sent.tools if isinstance(sent, Script) else [body.get('tools', [])[0].get('type') for body in sent.bodies]


@pytest.mark.parametrize(
    ('served', 'advisor', 'mode', 'max_uses', 'output_type'),
    SELECTIONS,
    ids=['-'.join(str(getattr(value, '__name__', value)) for value in case) for case in SELECTIONS],
)
async def test_the_same_path_is_taken(served: str, advisor: str, mode: str, max_uses: Any, output_type: Any) -> None:
    """Options, executor and advisor lead to the same tool on the wire, or are refused with the same type of error."""
    options = {'mode': mode, 'max_uses': max_uses, 'output_type': output_type}
    assert await select(Advisor, served, advisor, **options) == await select(Reference, served, advisor, **options)


def own(answer: Any) -> Callable[[], tuple[Any, Script | None]]:
    return lambda: (Provider(answer).anthropic(OPUS), None)


def scripted(*steps: Step) -> Callable[[], tuple[Any, Script | None]]:
    return lambda: (lambda script: (script.model('wise'), script))(Script(*steps))


def filtered(messages: Any, info: Any) -> ModelResponse:
    return ModelResponse(parts=[], finish_reason='content_filter', provider_details={'finish_reason': 'no'})


ANSWERS: dict[str, tuple[Callable[[], tuple[Any, Script | None]], Any]] = {
    'text': (scripted(says('Use a lock.')), str),
    'object': (scripted(gives(sound=True)), Verdict),
    'second try': (scripted(gives(wrong=1), gives(sound=True)), Verdict),
    'never valid': (scripted(gives(wrong=1)), Verdict),
    'recovers': (scripted(gives(wrong=1), gives(wrong=1), gives(sound=True)), Verdict),
    'nothing': (scripted(says('')), str),
    'filtered': (scripted(filtered), str),
    'bug': (scripted(ZeroDivisionError('bug')), str),
    '400': (own(failing(400)), str),
    '401': (own(failing(401)), str),
    '404': (own(failing(404)), str),
    '429': (own(failing(429)), str),
    '500': (own(failing(500)), str),
    '529': (own(failing(529)), str),
    'refused': (own(httpx2.ConnectError('refused')), str),
    'slow': (own(httpx2.ReadTimeout('slow')), str),
    'unknown': (lambda: ('nonsense:model', None), str),
    'no key': (lambda: (NAME, None), str),
}
QUESTIONS: dict[str, list[ModelResponse]] = {
    'one': [asks('One?')],
    'parallel': [asks('One?', 'Two?', 'Three?')],
    'in turn': [asks('One?'), asks('Two?', first=2), asks('Three?', first=3)],
    'invalid arguments': [together(calls('advisor', call_id='call-9', wrong=1), asks('One?'))],
}
RUNS = [
    *product(ANSWERS, QUESTIONS, [None, 1], [False]),
    *product(['text', 'recovers', '429'], QUESTIONS, [None, 2], [True]),
]


@pytest.mark.parametrize(
    ('answer', 'questions', 'max_uses', 'forward_history'), RUNS, ids=['-'.join(map(str, case)) for case in RUNS]
)
async def test_a_local_consultation_ends_the_same(
    answer: str, questions: str, max_uses: int | None, forward_history: bool
) -> None:
    """Results, errors, usage and what the advisor was sent are those of the reference."""
    build, output_type = ANSWERS[answer]
    options = {'output_type': output_type, 'max_uses': max_uses, 'forward_history': forward_history, 'max_tokens': 2048}
    seen: list[Seen] = []
    for kind in (Advisor, Reference):
        model, asked = build()
        seen.append(await observe(kind, model, executor(*QUESTIONS[questions]), asked, options))
    ours, theirs = seen
    assert ours == theirs


@pytest.mark.parametrize('limit', range(1, 6))
@pytest.mark.parametrize('parallel', [True, False])
async def test_usage_limits_end_the_run_the_same(limit: int, parallel: bool) -> None:
    """Shared limits stop ours where they stop the reference."""
    steps = [asks('One?', 'Two?')] if parallel else [asks('One?'), asks('Two?', first=2)]
    seen: list[Seen] = []
    for kind in (Advisor, Reference):
        asked, limits = Script(says('Use a lock.')), UsageLimits(request_limit=limit)
        seen.append(await observe(kind, asked.model(), executor(*steps), asked, {}, usage_limits=limits))
    assert seen[0] == seen[1]


RETRIES = list(product(['text', 'second try', 'recovers', 'never valid', 'nothing', 'filtered'], QUESTIONS, [0, 2, 5]))


@pytest.mark.parametrize(
    ('answer', 'questions', 'retries'), RETRIES, ids=['-'.join(map(str, case)) for case in RETRIES]
)
async def test_retries_are_spent_the_same(answer: str, questions: str, retries: int) -> None:
    """An unusable answer takes one of the executor's tool retries, and the run ends when they are spent."""
    build, output_type = ANSWERS[answer]
    seen: list[Seen] = []
    for kind in (Advisor, Reference):
        model, asked = build()
        script, options = executor(*QUESTIONS[questions]), {'output_type': output_type}
        seen.append(await observe(kind, model, script, asked, options, agent={'retries': retries}))
    assert seen[0] == seen[1]


TOOLS = list(product(['auto', 'native'], [None, 1, 3], [None, 1024, 4096], [None, '5m', '1h'], [False, True]))


@pytest.mark.parametrize(
    ('mode', 'max_uses', 'max_tokens', 'caching', 'forward_history'),
    TOOLS,
    ids=['-'.join(map(str, case)) for case in TOOLS],
)
async def test_a_native_tool_is_the_same_on_the_wire(
    mode: Any, max_uses: Any, max_tokens: Any, caching: Any, forward_history: Any
) -> None:
    """Every option reaches Anthropic as the reference sends it."""
    sent: list[Any] = []
    for kind in (Advisor, Reference):
        provider = Provider(message(text('done')))
        ours = kind(
            NAME,
            mode=mode,
            max_uses=max_uses,
            max_tokens=max_tokens,
            caching=caching,
            forward_history=forward_history,
        )
        await Agent(provider.anthropic(), capabilities=[ours]).run('Go.')
        sent.append((provider.bodies, [request.headers.get('anthropic-beta') for request in provider.requests]))
    assert sent[0] == sent[1]


def test_there_are_enough_scenarios() -> None:
    """The comparison stands on hundreds of cases, over modes, models, options, parallelism and retries."""
    assert (len(SELECTIONS), len(RUNS), len(RETRIES), len(TOOLS)) == (216, 168, 72, 108)


async def told(kind: Any, *steps: Step, answers: tuple[Step, ...], **options: Any) -> tuple[list[Any], int]:
    """All texts of the tool's results, and how often the advisor was asked."""
    asked, script = Script(*answers), executor(*steps)
    result = await Agent(script.model(), capabilities=[kind(asked.model(), **options)]).run('Go.')
    return [part.content for part in tool_returns(result.all_messages())], len(asked.requests)


async def test_difference_fixed_retry_texts() -> None:
    """The reference hands the executor the exception's text, with the provider's body; ours a fixed one (H18)."""
    ours, theirs = [(await told(kind, asks('?'), answers=(filtered,)))[0][0] for kind in (Advisor, Reference)]
    assert ours == 'The advisor gave no usable answer (content_filter). Ask again, or continue without advice.'
    assert theirs.startswith("Content filter triggered. Finish reason: 'no', body:")


async def test_difference_truncated_advice_is_marked() -> None:
    """The reference hands over advice that was cut as if it were whole (H19)."""
    cut = (says('Use a lo', finish_reason='length'),)
    ours, theirs = [(await told(kind, asks('?'), answers=cut))[0] for kind in (Advisor, Reference)]
    assert (ours, theirs) == (['Use a lo\n\n[Advisor output truncated.]'], ['Use a lo'])


async def test_difference_blank_advice_is_empty() -> None:
    """The reference passes blanks on as advice."""
    ours, theirs = [(await told(kind, asks('?'), answers=(says(' '),)))[0] for kind in (Advisor, Reference)]
    assert (ours, theirs) == (
        ['The advisor gave no usable answer (empty). Ask again, or continue without advice.'],
        [' '],
    )


async def test_difference_identical_questions_share_an_answer() -> None:
    """The reference asks and counts the same question of one response again (H6)."""
    yes = (says('Yes.'),)
    ours, theirs = [await told(kind, asks('?', '?'), answers=yes, max_uses=1) for kind in (Advisor, Reference)]
    limit = 'Advisor consultation limit reached for this model request. Continue without further advice.'
    assert (ours, theirs) == ((['Yes.', 'Yes.'], 1), (['Yes.', limit], 1))


async def test_difference_no_consultation_beside_a_final_output() -> None:
    """The reference consults although the response already ends the run (H6)."""
    asked: list[int] = []
    for kind in (Advisor, Reference):
        advisor = Script(says('Yes.'))
        script = Script(together(asks('?'), calls('final_result', sound=True)))
        await Agent(script.model(), output_type=Verdict, capabilities=[kind(advisor.model())]).run('Go.')
        asked.append(len(advisor.requests))
    assert asked == [0, 1]


async def test_difference_a_response_of_no_model_opens_a_window() -> None:
    """The reference refuses a consultation after a cached response (H4)."""
    refused: list[int] = []
    for kind in (Advisor, Reference):
        script, advisor = executor(asks('One?')), Script(says('Yes.')).model()
        cache = Cache(asks('Two?', first=2), skip=True)
        result = await Agent(script.model(), capabilities=[cache, kind(advisor, max_uses=1)]).run('Go.')
        refused.append(sum('limit' in part.content for part in tool_returns(result.all_messages())))
    assert refused == [0, 1]


async def test_difference_agreeing_candidates_are_native() -> None:
    """The reference never consults natively through a `FallbackModel` (H12)."""
    types: list[str] = []
    for kind in (Advisor, Reference):
        provider = Provider(message(text('done')))
        fallback = FallbackModel(provider.anthropic(), provider.anthropic(SONNET))
        await Agent(fallback, capabilities=[kind(NAME)]).run('Go.')
        types += provider.tools()
    assert types == ['advisor_20260301', 'advisor']


async def test_difference_a_pair_that_the_provider_rejects_is_not_sent() -> None:
    """The reference sends a pair that Anthropic answers with 400 (H11)."""
    types: list[str] = []
    for kind in (Advisor, Reference):
        provider = Provider(message(text('done')))
        await Agent(provider.anthropic('claude-opus-5'), capabilities=[kind(NAME)]).run('Go.')
        types += provider.tools()
    assert types == ['advisor', 'advisor_20260301']


async def test_difference_tests_never_pay() -> None:
    """With the reference a `TestModel` executor resolves the real advisor (H16)."""
    assert (await Agent(TestModel(), capabilities=[Advisor(NAME)]).run('Go.')).output
    with pytest.raises(UserError, match='ANTHROPIC_API_KEY'):
        await Agent(TestModel(), capabilities=[Reference(NAME)]).run('Go.')


async def test_difference_names_go_through_the_runs_capabilities() -> None:
    """The reference resolves an advisor's name past the executor's `resolve_model_id` (A12)."""

    async def resolve(ctx: Any, model_id: str) -> Any:
        return Script(says('Yes.')).model() if model_id == 'house:wise' else None

    for kind, expected in ((Advisor, None), (Reference, UserError)):
        agent = Agent(executor(asks('?')).model(), capabilities=[ResolveModelId(resolve), kind('house:wise')])
        if expected is None:
            assert (await agent.run('Go.')).output == 'done'
        else:
            with pytest.raises(expected):
                await agent.run('Go.')


@pytest.mark.parametrize('options', [{'caching': '9h'}, {'forward_history': 5}, {'max_uses': 1.5}])
def test_difference_options_are_checked_at_construction(options: Any) -> None:
    """The reference accepts values that mean nothing, and fails at the first use of them (H14)."""
    with pytest.raises((ValueError, TypeError), match=r'`Advisor\.'):
        Advisor(NAME, **options)
    assert isinstance(Reference(NAME, **options), Reference)


@pytest.mark.parametrize(
    ('first', 'second', 'option', 'expected'),
    [
        ({'mode': 'native'}, {'mode': 'auto'}, 'mode', ('native', 'auto')),
        ({'output_type': Verdict}, {}, 'output_type', (Verdict, str)),
        ({}, {'forward_history': True}, 'forward_history', (False, True)),
        ({'max_uses': 1}, {'max_uses': 5}, 'max_uses', (1, 5)),
    ],
)
def test_difference_merging_never_loosens(first: Any, second: Any, option: str, expected: Any) -> None:
    """The reference takes the later value, also where that sends more or drops a schema (H15)."""
    ours = Advisor.combine([Advisor[object](NAME, **first), Advisor[object](NAME, **second)])
    theirs = Reference.combine([Reference[object](NAME, **first), Reference[object](NAME, **second)])
    assert isinstance(ours, Advisor)
    assert (getattr(ours.options, option), getattr(theirs, option)) == expected


async def test_difference_history_of_an_approved_call() -> None:
    """The reference cannot consult for a call that was approved after its sibling was answered."""
    for kind in (Advisor, Reference):
        ours, script = kind('test', forward_history=True), executor(together(asks('?'), calls('look')))
        agent = Agent(script.model(), output_type=[str, DeferredToolRequests], capabilities=[Approval(), ours])
        agent.tool_plain(lambda: 'a race', name='look')
        waiting = await agent.run('Go.')
        approved = DeferredToolResults(approvals={'call-1': True})
        resumed = agent.run(message_history=waiting.all_messages(), deferred_tool_results=approved)
        if kind is Advisor:
            assert (await resumed).output == 'done'
        else:
            with pytest.raises(UserError, match='unprocessed tool calls'):
                await resumed
