"""Which reply a request gets: by what it says, never by when it came."""

from __future__ import annotations

from typing import Any

import pytest

from .matching import NoReply, choose
from .requests import BadRequest, ProviderRequest, read_request
from .script import Api, load_script


def chat(
    *messages: tuple[str, str], model: str = 'm', tools: tuple[str, ...] = (), attempt: int = 0
) -> ProviderRequest:
    body = {
        'model': model,
        'messages': [{'role': role, 'content': text} for role, text in messages],
        'tools': [{'type': 'function', 'function': {'name': name}} for name in tools],
    }
    return read_request('openai-chat', body, attempt=attempt)


def messages(*turns: tuple[str, Any], tools: list[dict[str, Any]] | None = None) -> ProviderRequest:
    body = {
        'model': 'm',
        'messages': [{'role': role, 'content': blocks} for role, blocks in turns],
        'tools': tools or [],
    }
    return read_request('anthropic', body, attempt=0)


def conversation(name: str, *replies: Any, when: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {'name': name, 'when': when, 'replies': list(replies), **more}


def reply_text(request: ProviderRequest, *conversations: dict[str, Any]) -> str | None:
    script = load_script({'name': 's', 'conversations': list(conversations)})
    return choose([script], request).reply.text


def test_the_longest_name_in_the_newest_text_decides() -> None:
    """`case-10` is not answered by `case-1`, although its text contains it."""
    one = conversation('one', {'text': 'one'}, when={'user': 'case-1'})
    ten = conversation('ten', {'text': 'ten'}, when={'user': 'case-10'})
    assert reply_text(chat(('user', 'this is case-10')), one, ten) == 'ten'


def test_a_newer_text_starts_its_own_conversation() -> None:
    """A second prompt in the same history is answered by the conversation that names it, from its first reply."""
    first = conversation('first', {'text': 'a'}, {'text': 'b'}, when={'user': 'hello'})
    second = conversation('second', {'text': 'c'}, when={'user': 'again'})
    history = [('user', 'hello'), ('assistant', 'a'), ('user', 'and again')]
    assert reply_text(chat(*history), first, second) == 'c'
    assert reply_text(chat(*history[:2], ('user', 'unheard of')), first, second) == 'b'


def test_a_conversation_without_user_text_counts_from_the_start() -> None:
    """A conversation that names no text answers last, and counts all assistant turns."""
    anything = conversation('any', {'text': 'a'}, {'text': 'b'}, when={'model': 'm'})
    named = conversation('named', {'text': 'n'}, when={'user': 'hello'})
    assert reply_text(chat(('user', 'x'), ('assistant', 'a'), ('user', 'y')), anything, named) == 'b'
    assert reply_text(chat(('user', 'hello')), anything, named) == 'n'


@pytest.mark.parametrize(
    'when',
    [
        {'model': 'other'},
        {'api': 'anthropic'},
        {'user': 'bye'},
        {'system': 'rude'},
        {'offers': ['look', 'advisor']},
        {'lacks': ['look']},
    ],
)
def test_every_condition_must_hold(when: dict[str, Any]) -> None:
    """One condition that fails sends the request to the next conversation."""
    request = chat(('system', 'Be polite.'), ('user', 'hello'), tools=('look',))
    good = {'model': 'm', 'api': 'openai-chat', 'user': 'hello', 'system': 'polite', 'offers': ['look'], 'lacks': ['x']}
    strict = conversation('strict', {'text': 'strict'}, when=good)
    broken = conversation('broken', {'text': 'broken'}, when={**good, **when})
    assert reply_text(request, broken, strict) == 'strict'


def test_the_step_is_the_number_of_assistant_turns() -> None:
    """Parallel calls of one turn count once, in every format."""
    counted = conversation('c', {'text': '0'}, {'text': '1'}, {'text': '2'}, when={'user': 'hi'})
    call = {'type': 'tool_use', 'id': 't', 'name': 'look', 'input': {}}
    result = {'type': 'tool_result', 'tool_use_id': 't', 'content': 'x'}
    anthropic = messages(('user', 'hi'), ('assistant', [call, call]), ('user', [result, result]))
    calls = [{'type': 'function_call', 'name': 'look', 'arguments': '{}', 'call_id': c} for c in 'ab']
    results = [{'type': 'function_call_output', 'call_id': c, 'output': 'x'} for c in 'ab']
    items = [{'role': 'user', 'content': 'hi'}, {'type': 'reasoning', 'summary': []}, *calls, *results]
    responses = read_request('openai-responses', {'model': 'm', 'input': items}, attempt=0)
    twice = chat(('user', 'hi'), ('assistant', ''), ('tool', 'x'), ('tool', 'y'), ('assistant', ''), ('tool', 'z'))
    assert [reply_text(r, counted) for r in (anthropic, responses, twice)] == ['1', '1', '2']


def test_a_complaint_about_an_empty_answer_counts_as_a_turn() -> None:
    """Clients drop empty answers from the history, but complain; a complaint about a kept answer adds nothing."""
    counted = conversation('c', {'text': ''}, {'text': '1'}, {'text': '2'}, when={'user': 'hi'})
    complaint = ('system', 'Please return text.')
    assert reply_text(chat(('user', 'hi'), complaint), counted) == '1'
    assert reply_text(chat(('user', 'hi'), complaint, complaint), counted) == '2'
    assert reply_text(chat(('user', 'hi'), ('assistant', 'x'), complaint), counted) == '1'
    tagged = [{'type': 'text', 'text': '<system>Please return text.</system>'}]
    assert reply_text(messages(('user', 'hi'), ('user', tagged)), counted) == '1'
    results = [{'type': 'tool_result', 'tool_use_id': 't', 'content': 'x'}, *tagged]
    assert reply_text(messages(('user', 'hi'), ('assistant', []), ('user', results)), counted) == '1'


def test_a_paused_turn_is_recognised_by_its_consultations() -> None:
    """Continuations of a paused turn, and what follows it, find their reply although the history has one turn."""
    pause = {'parts': [{'pending_advice': True}]}
    counted = conversation(
        'c',
        pause,
        {'parts': [{'advice': {'text': 'a'}}, {'pending_advice': True}]},
        {'parts': [{'advice': {'text': 'b'}}, {'tool_call': {'name': 'look'}}]},
        {'text': 'done'},
        when={'user': 'hi'},
    )
    script = load_script({'name': 's', 'conversations': [counted]})
    tool = [{'type': 'advisor_20260301', 'name': 'advisor', 'model': 'x'}]
    uses = [{'type': 'server_tool_use', 'id': f's{n}', 'name': 'advisor', 'input': {}} for n in range(2)]
    histories = [
        [],
        [('assistant', uses[:1])],
        [('assistant', uses)],
        [('assistant', uses[:1]), ('assistant', uses[1:])],
        [('assistant', uses), ('user', [{'type': 'tool_result', 'tool_use_id': 't', 'content': 'x'}])],
    ]
    chosen = [choose([script], messages(('user', 'hi'), *history, tools=tool)).reply for history in histories]
    assert chosen == [script.conversations[0].replies[step] for step in (0, 1, 2, 2, 3)]
    with pytest.raises(NoReply, match=r"^conversation 'c' of script 's' is over after 4 replies"):
        choose([script], messages(('user', 'hi'), ('assistant', [*uses, *uses]), tools=tool))


def test_the_last_reply_repeats_only_where_asked() -> None:
    """`repeat` answers every later turn; without it the conversation is over, and the error says so."""
    request = chat(('user', 'hi'), ('assistant', 'a'), ('user', 'more'), tools=('look',))
    assert reply_text(request, conversation('c', {'text': 'a'}, when={'user': 'hi'}, repeat=True)) == 'a'
    with pytest.raises(NoReply) as caught:
        reply_text(request, conversation('c', {'text': 'a'}, when={'user': 'hi'}))
    assert str(caught.value) == (
        "conversation 'c' of script 's' is over after 1 replies, and the openai-chat request to 'm' (tools: look;"
        " newest user text: 'more') asks for one more; add a reply, or `repeat: true`"
    )


def test_attempts_follow_the_retry_count_of_the_sdk() -> None:
    """The attempt comes from the request, and the last one answers all later attempts."""
    flaky = conversation('c', {'attempts': [{'text': '0'}, {'text': '1'}]}, when={'user': 'hi'})
    assert [reply_text(chat(('user', 'hi'), attempt=n), flaky) for n in (0, 1, 2)] == ['0', '1', '1']


def test_a_request_that_nothing_answers_is_described() -> None:
    """The error has what the request says and which conversations there are."""
    with pytest.raises(NoReply) as caught:
        reply_text(chat(('user', 'hello')), conversation('c', {'text': 'a'}, when={'user': 'bye'}))
    assert str(caught.value) == (
        "no conversation answers the openai-chat request to 'm' (tools: none; newest user text: 'hello'); there are: c"
    )


def test_ids_follow_from_script_conversation_text_and_step() -> None:
    """Equal requests get equal ids; another text, step or script another one."""
    conversations = [conversation('c', {'text': 'a'}, {'text': 'b'}, when={'model': 'm'})]

    def identifier(request: ProviderRequest, name: str = 's') -> str:
        script = load_script({'name': name, 'conversations': conversations})
        return choose([script], request).id('msg_', 'message')

    first = chat(('user', 'hi'))
    different = [chat(('user', 'ho')), chat(('user', 'hi'), ('assistant', 'a'))]
    ids = [identifier(first), identifier(first, 'other'), *map(identifier, different)]
    assert identifier(chat(('user', 'hi'), tools=('look',))) == ids[0] == 'msg_hc4Xwv50GPCXevLI50mCyLTq'
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ('api', 'body', 'problem'),
    [
        ('anthropic', [], 'The request body must be a JSON object.'),
        ('anthropic', {'messages': [{}]}, 'model: Field required'),
        ('openai-responses', {'model': 'm', 'input': []}, 'input: Field required'),
        ('anthropic', {'model': 'm', 'messages': [{}]}, "messages: not in the format of the API (KeyError('content'))"),
    ],
)
def test_a_malformed_request_is_a_bad_request(api: Api, body: Any, problem: str) -> None:
    """What no provider would take is refused as a provider would."""
    with pytest.raises(BadRequest) as caught:
        read_request(api, body, attempt=0)
    assert str(caught.value) == problem
