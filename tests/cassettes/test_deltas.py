from __future__ import annotations

import json

import pytest

from advisor_harness.cassettes.credentials import Credentials
from advisor_harness.cassettes.deltas import joined_texts, rewrite
from advisor_harness.cassettes.scrubbing import Scrubber

from .support import anthropic_events, openai_chunks, sse

KEY = 'sk-abcdefghij0123456789'
PIECES = ['my key is sk-abc', 'defghij01', '23456789, keep it']


def arguments(*pieces: str) -> bytes:
    """Arguments of two tool calls that a chat stream sends in turns."""
    calls = [
        {'choices': [{'index': 0, 'delta': {'tool_calls': [{'index': n, 'function': {'arguments': piece}}]}}]}
        for piece in pieces
        for n in (0, 1)
    ]
    return sse(*map(json.dumps, calls), '[DONE]')


STREAMS = {
    'openai': sse(*openai_chunks(*PIECES)),
    'anthropic': anthropic_events(*PIECES),
    'google': sse(*(json.dumps({'candidates': [{'content': {'parts': [{'text': piece}]}}]}) for piece in PIECES)),
    'responses': sse(*(json.dumps({'type': 'x.delta', 'output_index': 0, 'delta': piece}) for piece in PIECES)),
}


@pytest.mark.parametrize('provider', STREAMS)
def test_a_key_in_pieces_is_scrubbed(provider: str) -> None:
    """C25: a key that no single event shows is scrubbed; the text moves into its first event, the rest stays."""
    clean = Scrubber().events(STREAMS[provider].decode())

    texts = [text for _, text in joined_texts(clean) if 'my key' in text]
    assert texts == ['my key is scrubbed, keep it']
    assert [line for line in clean.splitlines() if 'data:' not in line] == [
        line for line in STREAMS[provider].decode().splitlines() if 'data:' not in line
    ]


@pytest.mark.parametrize('provider', STREAMS)
def test_a_credential_in_pieces_is_found(provider: str) -> None:
    """C26: the tripwire reads the text that the events of a stream add up to, also where the file holds bytes."""
    credentials = Credentials()
    credentials.note({'x-api-key': 'bcdefghij012345'}, 'https://x/', '', b'')
    body = STREAMS[provider]

    for value in (body.decode(), body):
        (finding,) = credentials.find({'string': value}, '$')
        assert finding.startswith("the credential of header 'x-api-key' in $.string, in pieces at ")


def test_texts_that_take_turns_are_kept_apart() -> None:
    """Events that name an index belong to different texts, however they alternate."""
    body = arguments('{"a": ', '1}').decode()

    assert dict(joined_texts(body)) == {
        '.choices[0](index=0).delta.tool_calls[0](index=0).function.arguments': '{"a": 1}',
        '.choices[0](index=0).delta.tool_calls[0](index=1).function.arguments': '{"a": 1}',
    }


def test_streamed_arguments_lose_secret_members() -> None:
    """C25: what a tool is called with is JSON in pieces, whose members count like others."""
    clean = Scrubber().events(arguments('{"user": "ann", "pass', 'word": "hunt', 'er22"}').decode())

    assert 'er22' not in clean
    assert [text for _, text in joined_texts(clean)] == ['{"user": "ann", "password": "scrubbed"}'] * 2


def test_streams_without_secrets_stay_byte_for_byte() -> None:
    """Nothing is written anew unless a text changes, and events that are no JSON are passed over."""
    body = 'data: {"t":  "one"}\r\n\r\ndata: {broken}\r\n\r\ndata: {"t":"two"}\r\n\r\n'

    assert rewrite(body, lambda text: text) == body
    assert rewrite(body, str.upper) == body.replace('{"t":  "one"}', '{"t": "ONETWO"}').replace(
        '{"t":"two"}', '{"t": ""}'
    )


def test_what_every_event_repeats_is_no_text() -> None:
    """Names and ids that stand in every event do not make a text together."""
    body = sse('{"id": "sk-1", "model": "m", "v": "same"}', '{"id": "sk-2", "model": "n", "v": "same"}').decode()

    assert list(joined_texts(body)) == []
