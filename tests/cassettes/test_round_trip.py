"""Whatever is recorded is in the file exactly, and is replayed exactly."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import anyio
import httpx2
from hypothesis import HealthCheck, given, settings, strategies as st

from advisor_harness.cassettes import Cassette, CassetteTransport, Interaction

from .support import URL, read_yaml

TEXT = st.text(st.characters(codec='utf-8'), max_size=40) | st.sampled_from(
    [
        'a\r\nb',
        '\x00',
        '\u2028',
        '\u2029',
        '\x85',
        ' lead',
        'trail ',
        'yes',
        '1e3',
        '- a',
        '2026-11-30',
        '😀',
        'ｆｕｌｌ',
        '\ufeff',
        '“q”\n',
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
CONTENT = st.one_of(
    st.tuples(st.just('application/json'), JSON.map(lambda value: json.dumps(value, ensure_ascii=False).encode())),
    st.tuples(st.just('application/json'), JSON.map(lambda value: json.dumps(value).encode())),
    st.tuples(st.sampled_from(['text/plain', 'text/event-stream', 'application/json']), TEXT.map(str.encode)),
    st.tuples(st.sampled_from(['image/png', 'application/json', 'text/plain']), st.binary(max_size=60)),
    st.tuples(
        st.just('application/x-www-form-urlencoded'),
        st.lists(st.tuples(TEXT, TEXT), max_size=3).map(lambda pairs: str(httpx2.QueryParams(pairs)).encode()),
    ),
    st.tuples(
        st.sampled_from(['application/json', 'text/plain']),
        st.sampled_from(
            [
                b'{"password": "hunter22", "a": 1}',
                b'{"text": "my key sk-abcdefghij0123456789 is here"}',
                b'{"arguments": "{\\"api_key\\": \\"abc\\"}"}',
                b'{"a": NaN}',
                b'{"a": 1, "a": 2}',
                b'{"a": "\\ud800"}',
                b'null',
                b'"text"',
                b' {"a":',
            ]
        ),
    ),
)


async def exchange(cassette: Cassette, sent: tuple[str, bytes], answer: tuple[str, bytes]) -> httpx2.Response:
    network = httpx2.MockTransport(
        lambda request: httpx2.Response(200, headers={'content-type': answer[0]}, content=answer[1])
    )
    async with httpx2.AsyncClient(transport=CassetteTransport(lambda: network, cassette=cassette)) as client:
        return await client.post(URL, content=sent[1], headers={'content-type': sent[0]})


def decoded(content_type: str, body: bytes) -> Any:
    try:
        return json.loads(body) if content_type == 'application/json' else body
    except ValueError:
        return body


def same(one: Any, other: Any) -> bool:
    return repr(one) == repr(other)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sent=CONTENT, answer=CONTENT)
def test_record_replay_replay(sent: tuple[str, bytes], answer: tuple[str, bytes]) -> None:
    """C3: a request finds its recording, and the answer is the same in every replay and after saving again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'x.yaml'
        recording = Cassette.open(path, mode='record')
        live = anyio.run(exchange, recording, sent, answer)
        recording.save()
        replays: list[httpx2.Response] = []
        for _ in range(2):
            cassette = Cassette.open(path)
            replays.append(anyio.run(exchange, cassette, sent, answer))
            cassette.check()
        stored = read_yaml(path)['interactions'][0]

    assert live.content == answer[1]
    first, second = (decoded(answer[0], response.content) for response in replays)
    assert same(first, second)
    assert [r.status_code for r in replays] == [200, 200]
    assert same(first, decoded(answer[0], live.content)) or b'scrubbed' in replays[0].content
    assert same(loaded(stored), first)


def loaded(stored: dict[str, Any]) -> Any:
    response = Interaction.from_mapping(stored).response
    return decoded(response.content_type, response.body)
