from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from advisor_harness.cassettes.folding import fold

from .support import anthropic_events, anthropic_message, openai_chunks, sse


def stream(*events: Any) -> bytes:
    return sse(*(event if isinstance(event, str) else json.dumps(event) for event in events))


def test_an_anthropic_stream_is_the_message() -> None:
    """Deltas of text add up to the block, and the last usage and stop reason stay."""
    assert fold(anthropic_events('fo', 'ur')) == anthropic_message('four')


def test_every_kind_of_anthropic_delta() -> None:
    """Thoughts, signatures, arguments of tools and citations go to their block; an error is kept."""
    blocks = [{'type': 'thinking', 'thinking': ''}, {'type': 'tool_use', 'input': {}}, {'type': 'text', 'text': ''}]
    deltas: list[tuple[int, dict[str, Any]]] = [
        (0, {'type': 'thinking_delta', 'thinking': 'Hm'}),
        (0, {'type': 'signature_delta', 'signature': 'S'}),
        (1, {'type': 'input_json_delta', 'partial_json': '{"a":'}),
        (1, {'type': 'input_json_delta', 'partial_json': '1}'}),
        (2, {'type': 'citations_delta', 'citation': {'url': 'u'}}),
        (2, {'type': 'new_delta', 'x': 1}),
    ]
    events = [
        {'type': 'message_start', 'message': {'id': 'm'}},
        *({'type': 'content_block_start', 'index': i, 'content_block': block} for i, block in enumerate(blocks)),
        *({'type': 'content_block_delta', 'index': i, 'delta': delta} for i, delta in deltas),
        {'type': 'error', 'error': {'type': 'overloaded_error'}},
    ]
    assert fold(stream(*events)) == {
        'id': 'm',
        'error': {'type': 'overloaded_error'},
        'content': [
            {'type': 'thinking', 'thinking': 'Hm', 'signature': 'S'},
            {'type': 'tool_use', 'input': {'a': 1}},
            {'type': 'text', 'text': '', 'citations': [{'url': 'u'}], 'deltas': [{'type': 'new_delta', 'x': 1}]},
        ],
    }


def test_a_chat_stream_is_the_completion() -> None:
    """Texts go on, tool calls go on by their index, and `[DONE]` is no part of the answer."""
    folded = fold(sse(*openai_chunks('fo', 'ur')))
    assert folded['choices'] == [{'message': {'role': 'assistant', 'content': 'four'}, 'finish_reason': 'stop'}]

    calls = [
        {'tool_calls': [{'index': 0, 'id': 'c', 'function': {'name': 'f', 'arguments': '{"a"'}}]},
        {'tool_calls': [{'index': 0, 'function': {'arguments': ': 1}'}}]},
        {'tool_calls': [{'index': 1, 'id': 'd', 'function': {'name': 'g', 'arguments': ''}}]},
    ]
    events = [{'choices': [{'index': 0, 'delta': delta}]} for delta in calls]
    assert fold(stream(*events, '[DONE]')) == {
        'choices': [
            {
                'message': {
                    'tool_calls': [
                        {'index': 0, 'id': 'c', 'function': {'name': 'f', 'arguments': '{"a": 1}'}},
                        {'index': 1, 'id': 'd', 'function': {'name': 'g', 'arguments': ''}},
                    ]
                }
            }
        ]
    }


def test_a_responses_stream_is_its_last_response() -> None:
    """The final response holds everything; a stream cut before it shows what had come."""
    created = {'type': 'response.created', 'response': {'id': 'r', 'output': []}}
    text = [{'type': 'response.output_text.delta', 'delta': piece} for piece in ('fo', 'ur')]
    done = {'type': 'response.completed', 'response': {'id': 'r', 'output': [{'type': 'message'}]}}
    assert fold(stream(created, *text, done)) == {'id': 'r', 'output': [{'type': 'message'}]}
    assert fold(stream(created, *text)) == {'id': 'r', 'output': 'four'}
    item = {'type': 'response.output_item.done', 'item': {'type': 'reasoning'}}
    assert fold(stream(created, item)) == {'id': 'r', 'output': [{'type': 'reasoning'}]}


def test_a_google_stream_is_one_candidate() -> None:
    """Texts of one kind are joined; thoughts, calls and signatures stay apart."""
    parts: list[dict[str, Any]] = [
        {'text': 'Hm', 'thought': True},
        {'text': 'fo'},
        {'text': 'ur'},
        {'functionCall': {'name': 'f'}},
        {'text': '!', 'thoughtSignature': 'S'},
        {'text': '?'},
    ]
    events = [{'candidates': [{'content': {'parts': [part]}, 'index': 0}]} for part in parts]
    assert fold(stream(*events, {'modelVersion': 'g'})) == {
        'modelVersion': 'g',
        'candidates': [
            {'index': 0, 'content': {'role': 'model', 'parts': [parts[0], {'text': 'four'}, *parts[3:]]}},
        ],
    }


@pytest.mark.parametrize(
    ('body', 'folded'),
    [
        (b'', []),
        (b': ping\n\n', []),
        (b'data: 1\n\ndata: two\n\n', [1, 'two']),
        (b'data: {"delta": "4"}\n\ndata: [DONE]\n\n', [{'delta': '4'}, '[DONE]']),
        (b'data: {"choices": []}\n\ndata: broken\n\n', [{'choices': []}, 'broken']),
        (b'data: a\ndata: b\n\n', ['a\nb']),
    ],
)
def test_other_streams_are_the_list_of_their_events(body: bytes, folded: Any) -> None:
    """What is not understood is not folded, and nothing of it is lost."""
    assert fold(body) == folded


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=('Cs',)))))
def test_where_a_text_is_cut_does_not_matter(pieces: list[str]) -> None:
    """A stream of any pieces folds to the text that they are together."""
    folded = fold(anthropic_events(*pieces))
    assert folded['content'] == [{'type': 'text', 'text': ''.join(pieces)}]


def test_strange_members_do_not_break_it() -> None:
    """Events of the known kinds with members of other kinds are folded as far as they go."""
    odd = [
        {'type': 'message_start', 'message': None},
        {'type': 'content_block_delta', 'delta': None},
        {'type': 'content_block_start', 'content_block': 3},
    ]
    assert fold(stream(*odd)) == {'content': [{}]}
    assert fold(stream({'choices': None}, {'choices': [{'delta': 1}]})) == {'choices': [{'message': {}}]}
    assert fold(stream({'candidates': [None]})) == {'candidates': [{'content': {'role': 'model', 'parts': []}}]}
