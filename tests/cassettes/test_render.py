from __future__ import annotations

from pathlib import Path

import pytest

from advisor_harness.cassettes import CassetteError
from advisor_harness.cassettes.render import show

from .support import URL, entry, write_cassette


def test_a_cassette_is_shown_for_a_reader(tmp_path: Path) -> None:
    """Source, latency, and each interaction with what matters of its request and answer."""
    asked = {'model': 'm', 'stream': True, 'max_tokens': 5, 'messages': [{}, {}], 'tools': [{}]}
    failed = entry({'a': 'x' * 200}, network_error='ReadTimeout')
    failed['response']['status'] = {'code': 0, 'message': ''}
    stream = {'content-type': ['text/event-stream']}
    path = write_cassette(
        tmp_path / 'x.yaml',
        {**entry(asked, {'text': 'é' * 120}), 'recorded': {'latency_s': 1.25}},
        entry(None, status=404, body={'string': 'not\n  found'}),
        failed,
        entry(asked, headers=stream, body={'string': 'data: 1\n\ndata: 2\n\n'}, truncated=True),
        entry('text', headers={'content-type': ['image/png']}, body={'string': b'\x00\xff'}),
        entry(asked, headers=stream, body={'string': ''}, abandoned=True),
        recorded_with={'by': 'emulator', 'model': 'm', 'date': '2026-11-30'},
    )

    assert show(path) == (
        f'{path}: 6 interactions\n'
        '  recorded with  emulator, model m, date 2026-11-30\n'
        '  latency        1.250 s (5 of 6 do not say)\n'
        '\n'
        f'1. POST {URL}, 1.250 s\n'
        '  request   84 bytes model m, max_tokens 5, stream true, messages [2], tools [1]\n'
        f'  response  200, 252 bytes {{"text": "{"é" * 90}…\n'
        '\n'
        f'2. POST {URL}\n'
        '  response  404, 11 bytes not found\n'
        '\n'
        f'3. POST {URL}\n'
        f'  request   209 bytes {{"a": "{"x" * 93}…\n'
        '  response  ReadTimeout, 0 bytes\n'
        '\n'
        f'4. POST {URL}\n'
        '  request   84 bytes model m, max_tokens 5, stream true, messages [2], tools [1]\n'
        '  response  200, 18 bytes 2 events\n'
        '            the stream was closed here; how it went on is not known\n'
        '\n'
        f'5. POST {URL}\n'
        '  request   6 bytes "text"\n'
        '  response  200, 2 bytes image/png\n'
        '\n'
        f'6. POST {URL}\n'
        '  request   84 bytes model m, max_tokens 5, stream true, messages [2], tools [1]\n'
        '  response  200, 0 bytes 0 events\n'
        '            the caller went away here; what would have come is not known\n'
    )


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
