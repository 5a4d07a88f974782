from __future__ import annotations

from pathlib import Path

import pytest

from advisor_harness.cassettes import CassetteError
from advisor_harness.cassettes.render import show

from .support import URL, anthropic_events, entry, sse, write_cassette


def test_a_cassette_is_shown_for_a_reader(tmp_path: Path) -> None:
    """Source, latency, and each interaction with its bodies: JSON by member, streams as the answer they add up to."""
    asked = {'model': 'm', 'messages': [{'role': 'user', 'content': 'one  \ntwo'}], 'tools': []}
    failed = entry({'picture': 'x' * 200}, network_error='ReadTimeout')
    failed['response']['status'] = {'code': 0, 'message': ''}
    stream = {'content-type': ['text/event-stream']}
    path = write_cassette(
        tmp_path / 'x.yaml',
        {**entry(asked, {'text': 'é'}), 'recorded': {'latency_s': 1.25}},
        entry(None, status=404, body={'string': 'not\n  found'}),
        failed,
        entry(asked, headers=stream, body={'string': anthropic_events('fo', 'ur').decode()}, truncated=True),
        entry('text', headers={'content-type': ['image/png']}, body={'string': b'\x00\xff'}),
        entry(None, headers=stream, body={'string': ''}, abandoned=True),
        recorded_with={'by': 'emulator', 'model': 'm', 'date': '2026-11-30'},
    )
    messages = (
        '    model: m\n    messages:\n    - role: user\n      content: |-\n        one\n        two\n    tools: []\n'
    )

    assert show(path) == (
        f'{path}: 6 interactions\n'
        '  recorded with  emulator, model m, date 2026-11-30\n'
        '  latency        1.250 s (5 of 6 do not say)\n'
        '\n'
        f'1. POST {URL}, 1.250 s\n'
        f'  request   84 bytes\n{messages}'
        '  response  200, 14 bytes\n'
        '    text: é\n'
        '\n'
        f'2. POST {URL}\n'
        '  response  404, 11 bytes\n'
        '    not\n'
        '      found\n'
        '\n'
        f'3. POST {URL}\n'
        '  request   215 bytes\n'
        f'    picture: {"x" * 60}… (200 characters)\n'
        '  response  ReadTimeout, 0 bytes\n'
        '\n'
        f'4. POST {URL}\n'
        f'  request   84 bytes\n{messages}'
        f'  response  200, {len(anthropic_events("fo", "ur"))} bytes in 7 events\n'
        '    id: msg_1\n'
        '    type: message\n'
        '    role: assistant\n'
        '    model: claude-test\n'
        '    content:\n'
        '    - type: text\n'
        '      text: four\n'
        '    stop_reason: end_turn\n'
        '    stop_sequence: null\n'
        '    usage:\n'
        '      input_tokens: 3\n'
        '      output_tokens: 2\n'
        '            the stream was closed here; how it went on is not known\n'
        '\n'
        f'5. POST {URL}\n'
        '  request   6 bytes\n'
        '    text\n'
        '  response  200, 2 bytes\n'
        '    no text\n'
        '\n'
        f'6. POST {URL}\n'
        '  response  200, 0 bytes in 0 events\n'
        '            the caller went away here; what would have come is not known\n'
    )


def test_secrets_of_the_file_are_hidden(tmp_path: Path) -> None:
    """A recording of another tool may hold what this one never writes: in URLs, members, texts and streams."""
    key = 'sk-' + 'a' * 20
    events = sse(f'{{"choices": [{{"delta": {{"content": "the key is {key}"}}}}]}}').decode()
    path = write_cassette(
        tmp_path / 'x.yaml',
        entry({'password': 'hunter2', 'text': f'use {key}'}, {'api_key': 'k'}, url=f'{URL}?key=hunter2'),
        entry(None, headers={'content-type': ['text/event-stream']}, body={'string': events}),
        entry(None, headers={'content-type': ['text/plain']}, body={'string': f'Bearer {"b" * 20}'}),
    )

    text = show(path)
    assert [secret for secret in ('hunter2', key, 'b' * 20, 'api_key: k') if secret in text] == []
    assert text.count('scrubbed') == 6


def test_every_shared_recording_is_shown(shared_cassettes: Path) -> None:
    """Recordings of real providers are short enough to be read, and streams are folded."""
    shown = {file.stem: show(file) for file in sorted(shared_cassettes.glob('*.yaml'))}
    assert 'text: The answer is **4**.' in shown['anthropic_advisor_tool_stream']
    assert 'text: The capital of Mexico is Mexico City.' in shown['google_streaming_tool_call_thought_signature']
    assert max(len(line) for text in shown.values() for line in text.splitlines()) < 400


def test_a_file_that_does_not_say_its_source(tmp_path: Path) -> None:
    """An unknown source is said to be unknown."""
    path = write_cassette(tmp_path / 'x.yaml', entry({'a': 1}, [1]))

    assert show(str(path)).splitlines()[:3] == [
        f'{path}: 1 interaction',
        '  recorded with  unknown: the file does not say who answered',
        '',
    ]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """There is nothing to show of a file that does not exist."""
    with pytest.raises(CassetteError, match='no cassette file'):
        show(tmp_path / 'x.yaml')
