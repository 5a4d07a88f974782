"""The format of scripts: what it accepts, and how it says no."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .script import Advice, Error, Part, Reply, Script, ScriptError, ToolCall, load_script


def one(reply: Any, **conversation: Any) -> dict[str, Any]:
    when = {'model': 'm'}
    return {'name': 's', 'conversations': [{'name': 'c', 'when': when, 'replies': [reply], **conversation}]}


def test_a_yaml_file_and_a_dictionary_give_the_same_script(tmp_path: Path) -> None:
    """A script reads the same from YAML and from Python."""
    path = tmp_path / 'script.yaml'
    path.write_text(
        'name: s\nconversations:\n  - name: c\n    when: {model: m}\n    replies:\n'
        '      - text: Hi.\n        tool_calls: [{name: look, args: {q: a}}]\n'
    )
    expected = one({'text': 'Hi.', 'tool_calls': [{'name': 'look', 'args': {'q': 'a'}}]})
    assert load_script(path) == load_script(expected) == load_script(str(path))


def test_a_script_that_was_read_is_taken_as_it_is() -> None:
    """Loading a script twice changes nothing."""
    script = load_script(one({'text': 'Hi.'}))
    assert load_script(script) is script


def test_shorthand_content_has_a_fixed_order() -> None:
    """Shorthand fields become parts in the order thinking, advice, text, tool calls."""
    reply = Reply.model_validate(
        {'tool_calls': [{'name': 'look'}], 'text': 'Hi.', 'advice': {'text': 'Yes.'}, 'thinking': 'Hm.'}
    )
    assert reply.content == (
        Part(thinking='Hm.'),
        Part(advice=Advice(text='Yes.')),
        Part(text='Hi.'),
        Part(tool_call=ToolCall(name='look')),
    )


def test_an_error_is_a_status_a_kind_or_both() -> None:
    """`error: 429` and `error: quota` are short for the fields that they set."""
    written = [429, 'quota', {'kind': 'quota', 'status': 403}]
    assert [Reply.model_validate({'error': error}).error for error in written] == [
        Error(status=429),
        Error(kind='quota'),
        Error(kind='quota', status=403),
    ]


@pytest.mark.parametrize(
    ('reply', 'pauses'),
    [
        ({'parts': [{'text': 'Wait.'}, {'pending_advice': True}]}, True),
        ({'parts': [{'pending_advice': True}, {'tool_call': {'name': 'look'}}]}, False),
        ({'advice': {'text': 'a'}, 'stop_reason': 'pause_turn'}, True),
        ({'text': 'Hi.'}, False),
        ({'attempts': [{'error': 500}, {'parts': [{'pending_advice': True}]}]}, True),
    ],
)
def test_a_reply_pauses_where_only_the_advisor_is_awaited(reply: dict[str, Any], pauses: bool) -> None:
    """A pending advisor call pauses the turn, unless the client has a tool to run first."""
    assert Reply.model_validate(reply).pauses is pauses


@pytest.mark.parametrize(
    ('reply', 'problem'),
    [
        (
            {},
            'says nothing: give content, `parts`, `error`, `raw`, `attempts` or `fault: {reset: true}`',
        ),
        ({'text': 'Hi.', 'error': 500}, 'takes one form; got `text`, `error`'),
        ({'error': 500, 'stop_reason': 'x'}, '`stop_reason` need content to describe'),
        (
            {'error': 500, 'fault': {'error_after': 1, 'error': 500}},
            '`fault.error_after` needs content to break off',
        ),
        ({'attempts': [{'attempts': [{'text': 'Hi.'}]}]}, 'attempts have no attempts of their own'),
        (
            {'text': 'Hi.', 'stop_reason': 'pause_turn'},
            'a paused turn needs `advice` or `pending_advice`, so that its continuation is recognised',
        ),
    ],
)
def test_a_reply_has_one_form(reply: dict[str, Any], problem: str) -> None:
    """A reply that says nothing, or two things at once, is refused with the place and the way out."""
    with pytest.raises(ScriptError) as caught:
        load_script(one(reply))
    assert str(caught.value) == f'script is not a valid emulator script:\n  conversations[0].replies[0]: {problem}'


@pytest.mark.parametrize(
    ('reply', 'place', 'problem'),
    [
        (
            {'advice': {'text': 'a', 'redacted': 'b'}},
            '.advice[0]',
            'needs exactly one of `text`, `redacted`, `error`; got `text`, `redacted`',
        ),
        (
            {'advice': {'error': 'overloaded', 'truncated': True}},
            '.advice[0]',
            '`truncated` needs `text` or `redacted`: a failed consultation has nothing to cut',
        ),
        (
            {'parts': [{}]},
            '.parts[0]',
            'needs exactly one of `text`, `thinking`, `redacted_thinking`, `advice`, `pending_advice`, `tool_call`;'
            ' got none',
        ),
        ({'error': {'message': 'x'}}, '.error', 'needs `status` or `kind`'),
        ({'error': 200}, '.error.status', 'Input should be greater than or equal to 400'),
        (
            {'text': 'a', 'fault': {'cut_after': 1, 'reset': True}},
            '.fault',
            'a response ends in one way only; got `cut_after`, `reset`',
        ),
        (
            {'text': 'a', 'fault': {'error_after': 1}},
            '.fault',
            '`error_after` and `error` come together: where the stream breaks, and with what',
        ),
        ({'text': 'a', 'fault': {'delay_s': 31}}, '.fault.delay_s', 'Input should be less than or equal to 30'),
        ({'txt': 'a', 'text': 'b'}, '.txt', 'Extra inputs are not permitted'),
    ],
)
def test_what_is_wrong_inside_a_reply_is_named_with_its_place(reply: dict[str, Any], place: str, problem: str) -> None:
    """Every rule names the field that broke it."""
    with pytest.raises(ScriptError) as caught:
        load_script(one(reply))
    expected = f'script is not a valid emulator script:\n  conversations[0].replies[0]{place}: {problem}'
    assert str(caught.value) == expected


def test_a_conversation_says_what_it_answers() -> None:
    """An empty `when` would answer everything by accident, so it is refused."""
    with pytest.raises(ScriptError) as caught:
        load_script(one({'text': 'Hi.'}, when={}))
    assert str(caught.value) == (
        'script is not a valid emulator script:\n  conversations[0].when: answers nothing in particular: give at least'
        ' one of `model`, `api`, `user`, `system`, `offers`, `lacks`'
    )


def test_nothing_follows_a_reply_that_leaves_no_turn() -> None:
    """After an error the client sends the same request again, so a later reply could never be reached."""
    with pytest.raises(ScriptError) as caught:
        load_script(one({}, replies=[{'error': 500}, {'text': 'Hi.'}]))
    assert str(caught.value) == (
        'script is not a valid emulator script:\n  conversations[0]: reply 0 leaves no turn in the history, so nothing'
        ' after it is ever sent; put it last, or use `attempts` for retries of the same request'
    )


def test_conversation_names_differ() -> None:
    """Two conversations of one name would give equal ids."""
    twice = one({'text': 'Hi.'})
    with pytest.raises(ScriptError) as caught:
        load_script({**twice, 'conversations': twice['conversations'] * 2})
    assert str(caught.value) == (
        'script is not a valid emulator script:\n  script: conversation names must differ; `c` used more than once'
    )


def test_broken_yaml_names_the_file(tmp_path: Path) -> None:
    """A file that is not YAML is reported by path, line and column."""
    path = tmp_path / 'broken.yaml'
    path.write_text('name: [')
    with pytest.raises(ScriptError) as caught:
        load_script(path)
    assert str(caught.value) == (
        f'{path} is not valid YAML: while parsing a flow node\nexpected the node content, but found'
        ' \'<stream end>\'\n  in "<unicode string>", line 1, column 8:\n    name: [\n           ^'
    )


def test_problems_of_a_file_name_the_file(tmp_path: Path) -> None:
    """All problems of a file are listed below its path."""
    path = tmp_path / 'empty.yaml'
    path.write_text('conversations: []')
    with pytest.raises(ScriptError) as caught:
        load_script(path)
    assert str(caught.value) == (
        f'{path} is not a valid emulator script:\n  name: Field required\n'
        '  conversations: Value should have at least 1 item after validation, not 0'
    )


def test_the_example_of_the_documentation_is_a_script() -> None:
    """The first example in the description of the format is valid, word for word."""
    import textwrap

    import yaml

    from . import script

    documented = str(script.__doc__).split('\n\n')[2]
    names = [c.name for c in Script.model_validate(yaml.safe_load(textwrap.dedent(documented))).conversations]
    assert names == ['executor', 'advisor']


def test_the_replies_of_the_documentation_are_replies() -> None:
    """Every form of reply in the description of the format is valid, word for word."""
    import textwrap

    import yaml

    from . import script

    documented = next(block for block in str(script.__doc__).split('\n\n') if block.startswith('    - text: Paris.'))
    replies = [Reply.model_validate(reply) for reply in yaml.safe_load(textwrap.dedent(documented))]
    assert [reply.is_turn for reply in replies] == [True, True, True, False, False, True]
