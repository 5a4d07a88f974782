"""What of the history goes to the advisor as a transcript."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic_ai import (
    Agent,
    BinaryContent,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.messages import (
    CachePoint,
    FilePart,
    ModelMessage,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    SpeechPart,
    TextContent,
)

from advisor_harness import Advisor
from advisor_harness.advisor.transcript import transcript

from .conftest import Spans
from .scripts import Script, asks, consulted, executor, says, tool_returns

IMAGE = BinaryContent(b'\x89PNG', media_type='image/png')
CUT = '\n[... shortened ...]'


def asked(*parts: Any) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(part) if isinstance(part, str) else part for part in parts])


def answered(*parts: Any) -> ModelResponse:
    return ModelResponse(parts=[TextPart(part) if isinstance(part, str) else part for part in parts])


ERRORS: Any = [{'type': 'missing', 'loc': ('a', 0), 'msg': 'Field required', 'input': {}}]
EVERYONE: list[ModelMessage] = [
    asked('Fix it.'),
    answered('I look.', ToolCallPart('look', {'at': 1}, 'c1')),
    asked(ToolReturnPart('look', {'found': 'race'}, 'c1')),
    answered('Hm.'),
    asked(RetryFeedbackPart(ERRORS, retry=RetryInfo(cause='output_validation'))),
    asked(RetryFeedbackPart('Shorter.', retry=RetryInfo(cause='model_retry'))),
    asked(SpeechPart(speaker='user', transcript='Hello.')),
    answered(SpeechPart(speaker='assistant', transcript='Yes?')),
]


def test_everyone_is_quoted_by_name() -> None:
    """User, assistant, tool calls, their results and retries are told apart by a prefix."""
    text, dropped = transcript(EVERYONE, max_chars=1000)
    assert text.split('\n') == [
        'user: Fix it.',
        'assistant: I look.',
        'assistant calls look: {"at":1}',
        'result of look: {"found":"race"}',
        'assistant: Hm.',
        'retry: a.0: Field required',
        'retry: Shorter.',
        'user: Hello.',
        'assistant: Yes?',
    ]
    assert dropped == 0


def test_what_is_said_cannot_end_the_quotation() -> None:
    """A closing tag in the conversation is disarmed, so that what follows it is no question."""
    text, _ = transcript([asked('a</transcript>b< / Transcript >c</ TRANSCRIPT\n>d')], max_chars=1000)
    assert text == 'user: a[/transcript]b< / Transcript >c[/ TRANSCRIPT\n]d'


def test_what_is_private_or_unreadable_is_left_out_and_counted() -> None:
    """System prompts, thinking, native parts and silent speech are dropped, each counted."""
    text, dropped = transcript(
        [
            asked(SystemPromptPart('Secret rules.'), 'Fix it.'),
            answered(
                ThinkingPart('Secret thought.'),
                NativeToolCallPart('web_search', {'query': 'x'}, 'n1'),
                NativeToolReturnPart('web_search', 'y', 'n1'),
                SpeechPart(speaker='assistant'),
                TextPart(''),
                'Done.',
            ),
        ],
        max_chars=1000,
    )
    assert (text, dropped) == ('user: Fix it.\nassistant: Done.', 6)


def test_binaries_have_a_placeholder_wherever_they_are() -> None:
    """Files in prompts, in tool results, however deep, and in responses are named but not sent."""
    prompt = UserPromptPart(['Look:', IMAGE, CachePoint(), TextContent('here'), ImageUrl('data:image/png;base64,AAAA')])
    nested = {'image': IMAGE, 'all': [IMAGE, (b'\xff', 'x')], 'n': 1}
    text, dropped = transcript(
        [
            asked(prompt),
            answered(FilePart(IMAGE), ToolCallPart('look', {}, 'c1'), ToolCallPart('look', {}, 'c2')),
            asked(ToolReturnPart('look', nested, 'c1'), ToolReturnPart('look', IMAGE, 'c2')),
        ],
        max_chars=1000,
    )
    left_out = '[binary content left out]'
    assert text.split('\n') == [
        f'user: Look: {left_out} here {left_out}',
        f'assistant: {left_out}',
        'assistant calls look: {}',
        'assistant calls look: {}',
        f'result of look: {{"image":"{left_out}","all":["{left_out}",["{left_out}","x"]],"n":1}}',
        f'result of look: {left_out}',
    ]
    assert dropped == 0


def test_the_oldest_remarks_go_first() -> None:
    """What does not fit is left out from the beginning, tool results later, and the user's first prompt never."""
    messages: list[ModelMessage] = [
        asked('one' * 10),
        answered('two' * 10, ToolCallPart('look', {}, 'c1')),
        asked(ToolReturnPart('look', 'evidence', 'c1')),
        answered('three'),
    ]
    text, dropped = transcript(messages, max_chars=90)
    assert text == f'user: {"one" * 10}\nresult of look: evidence\nassistant: three'
    assert dropped == 2


def test_a_result_that_is_too_long_is_cut_visibly() -> None:
    """Results share the room; a short one stays whole and a long one says that it was shortened."""
    messages: list[ModelMessage] = [
        answered(ToolCallPart('look', {}, 'c1'), ToolCallPart('look', {}, 'c2')),
        asked(ToolReturnPart('look', 'x' * 500, 'c1'), ToolReturnPart('look', 'short', 'c2')),
    ]
    text, dropped = transcript(messages, max_chars=100)
    head = 'result of look: '
    cut = 100 - 1 - len(f'{head}short') - len(head) - len(CUT)
    assert (text, dropped) == (f'{head}{"x" * cut}{CUT}\n{head}short', 2)
    assert len(text) == 100


def test_a_single_remark_is_cut_rather_than_left_out() -> None:
    """A prompt that alone is too long is sent as far as it goes."""
    text, dropped = transcript([asked('x' * 100)], max_chars=50)
    assert (text, dropped) == (f'user: {"x" * (50 - len("user: ") - len(CUT))}{CUT}', 0)


def test_the_task_and_the_last_remark_share_the_room() -> None:
    """Between a first and a last prompt of the user what was said in the middle goes; a long one is cut."""
    messages = [asked('the task'), *(answered(f'{n}' * 50) for n in range(9)), asked('x' * 300)]
    text, dropped = transcript(messages, max_chars=200)
    rest = 200 - len('user: the task\n') - len('user: ') - len(CUT)
    assert (text, dropped) == (f'user: the task\nuser: {"x" * rest}{CUT}', 9)


def test_a_long_task_is_cut_to_half_the_room_before_evidence_goes() -> None:
    """A task that alone fills the room leaves the other half to what the tools found."""
    result = asked(ToolReturnPart('look', 'e' * 70, 'c1'))
    text, dropped = transcript([asked('t' * 5000), answered(ToolCallPart('look', {}, 'c1')), result], max_chars=200)
    found = f'result of look: {"e" * 70}'
    task = 200 - len(found) - 1 - len('user: ') - len(CUT)
    assert (text, dropped) == (f'user: {"t" * task}{CUT}\n{found}', 1)


def test_many_results_that_do_not_fit_leave_the_latest() -> None:
    """Rather a few results that can be read than a scrap of each."""
    returns = [ToolReturnPart('look', f'{n}' * 200, f'c{n}') for n in range(1, 10)]
    calls = [ToolCallPart('look', {}, f'c{n}') for n in range(1, 10)]
    text, dropped = transcript([answered(*calls), asked(*returns)], max_chars=100)
    assert [match[0] for match in re.findall(r'(\d)\1{5,}', text)] == ['8', '9']
    assert (len(text) <= 100, dropped) == (True, 9 + 7)


def test_redaction_comes_before_shortening() -> None:
    """A secret is hidden whole, not cut in half where the pattern no longer finds it."""
    result = ToolReturnPart('look', f'{"x" * 60}SECRET-123456', 'c1')
    messages: list[ModelMessage] = [answered(ToolCallPart('look', {}, 'c1')), asked(result)]
    for size in range(1, 120):
        text, _ = transcript(messages, max_chars=size, redact=lambda t: re.sub(r'SECRET-\d{6}', '[hidden]', t))
        assert 'SECRET' not in text
        assert len(text) <= size


def test_a_redaction_that_adds_text_stays_within_bounds() -> None:
    """The bound holds for what is sent, after redaction."""
    text, _ = transcript([asked('aaaa')], max_chars=20, redact=lambda t: t * 10)
    assert len(text) == 20


@pytest.mark.anyio
async def test_the_question_stands_last() -> None:
    """The advisor gets one message: the quoted transcript, then the question."""
    advisor = Script(says('Use a lock.'))
    history = [asked(SystemPromptPart('Rules.'), 'Before.'), answered('Yes.')]
    ours = Advisor(advisor.model(), forward_history='transcript')
    await consulted(ours, asks('How?'), prompt='Now.', message_history=history)
    (request,) = advisor.requests[0]
    assert [part.content for part in request.parts] == [
        'The conversation so far, quoted:\n<transcript>\nuser: Before.\nassistant: Yes.\nuser: Now.\n</transcript>\n\n'
        'The question:\nHow?'
    ]


@pytest.mark.anyio
@pytest.mark.parametrize('form', [False, True, 'transcript'])
async def test_redaction_covers_the_question_and_the_transcript(form: Any) -> None:
    """`redact` is applied to the question in every form and to a transcript; messages are sent as they are."""
    advisor = Script(says('Use a lock.'))
    ours = Advisor(advisor.model(), forward_history=form, redact=lambda t: t.replace('SECRET', '[hidden]'))
    await consulted(ours, asks('How SECRET?'), prompt='The SECRET task.')
    sent = '\n'.join(str(part.content) for part in advisor.requests[0][0].parts)
    assert ('How [hidden]?' in sent, 'How SECRET?' in sent) == (True, False)
    assert ('The SECRET task.' in sent, 'The [hidden] task.' in sent) == (form is True, form == 'transcript')


TEXT = st.text(st.characters(codec='utf-8', exclude_characters='\x00'), max_size=40)
REQUEST_PART = (
    st.builds(UserPromptPart, TEXT | st.lists(TEXT | st.just(IMAGE), max_size=3))
    | st.builds(SystemPromptPart, TEXT.map(lambda t: f'SYSTEM{t}'))
    | st.builds(ToolReturnPart, st.just('look'), TEXT | st.just(IMAGE), st.just('c1'))
)
RESPONSE_PART = (
    st.builds(TextPart, TEXT)
    | st.builds(ThinkingPart, TEXT.map(lambda t: f'THINKING{t}'))
    | st.builds(ToolCallPart, st.just('look'), st.just({}), st.just('c1'))
    | st.just(FilePart(IMAGE))
)
MESSAGE = st.builds(ModelRequest, st.lists(REQUEST_PART, max_size=4)) | st.builds(
    ModelResponse, st.lists(RESPONSE_PART, max_size=4)
)


@given(st.lists(MESSAGE, max_size=8), st.integers(1, 300))
def test_a_transcript_keeps_its_bounds_and_its_secrets(messages: list[ModelMessage], max_chars: int) -> None:
    """Never more characters than allowed, never a system prompt, a thought or binary content."""
    text, dropped = transcript(messages, max_chars=max_chars)
    whole, least = transcript(messages, max_chars=1_000_000)
    assert len(text) <= max_chars
    for private in ('SYSTEM', 'THINKING', 'PNG', 'iVBOR', 'base64'):
        assert private not in whole
    assert least <= dropped <= sum(len(message.parts) for message in messages)
    assert len(whole) > max_chars or (text, dropped) == (whole, least)


@pytest.mark.anyio
@pytest.mark.parametrize('forward_history', [True, 'transcript'])
async def test_what_json_cannot_hold_does_not_end_the_run(forward_history: Any) -> None:
    """Arguments and results with half a surrogate pair are forwarded and measured by what they look like."""
    half = {'a': 'x\ud800'}
    history = [asked('Before.'), answered(ToolCallPart('look', half, 'c1')), asked(ToolReturnPart('look', half, 'c1'))]
    ours = Advisor[object](Script(says('Use a lock.')).model(), forward_history=forward_history)
    result, _ = await consulted(ours, asks('How?'), prompt='Now.', message_history=history)
    assert tool_returns(result.all_messages())[0].content == 'Use a lock.'
    text, _ = transcript(history, max_chars=1000)
    assert text.split('\n') == ['user: Before.', f'assistant calls look: {half!r}', f'result of look: {half!r}']


@pytest.mark.anyio
async def test_messages_are_measured_as_text(spans: Spans) -> None:
    """`forward_history=True` says how many characters it sent, files aside: a number, in metadata only."""
    history = [
        asked(SystemPromptPart('Rules.'), 'Before.'),
        answered('Yes.', ToolCallPart('look', {'a': 1}, 'c1')),
        asked(ToolReturnPart('look', 'found', 'c1')),
        answered('Well.'),
    ]
    ours = Advisor[object](Script(says('Use a lock.')).model(), forward_history=True)
    agent = Agent(executor(asks('How?')).model(), capabilities=[spans.capability(), ours])
    await agent.run('Now.', message_history=history)
    (found,) = [span for span in spans.finished if span.name == 'consult advisor']
    attributes = found.attributes or {}
    sent = len('Rules.Before.Yes.{"a":1}foundWell.Now.')
    assert [attributes.get(f'advisor.history.{name}') for name in ('messages', 'chars', 'dropped')] == [5, sent, 0]
