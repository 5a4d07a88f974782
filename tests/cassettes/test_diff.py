from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st

from advisor_harness.cassettes.diff import Change, compare, request_changes
from advisor_harness.cassettes.matching import Identity, Matching, matcher_for

from .support import URL, anthropic_events, entry, write_cassette

EVENTS = {'content-type': ['text/event-stream']}


def identity(url: str = URL, body: str = '{}') -> Identity:
    return matcher_for(Matching()).identify('POST', url, 'application/json', body.encode())


def test_changes_of_a_request_are_named_by_their_place() -> None:
    """Members by dotted path with `*`, parameters of the query by `?name`, and the URL without its query."""
    recorded = identity(f'{URL}?beta=true&a=1', '{"n": 1, "messages": [{"content": "a"}], "odd key": 1}')
    sent = identity(f'{URL}s?a=2', '{"n": 2, "messages": [{"content": "b"}], "tools": []}')
    assert request_changes(recorded, sent) == [
        Change('messages.*.content', '~', '"a" -> "b"'),
        Change('n', '~', '1 -> 2'),
        Change('odd key', '-', '1'),
        Change('tools', '+', '[]'),
        Change('?a', '~', '"1" -> "2"'),
        Change('?beta', '-', '"true"'),
        Change('url', '~', f'"{URL}" -> "{URL}s"'),
    ]


def test_a_request_that_counts_as_the_same_has_no_changes() -> None:
    """What matching leaves out is no change, and the order of ids alone is told as that."""
    assert request_changes(identity(body='{"user": 1}'), identity(body='{"user": 2}')) == []
    a, b = 'pyd_ai_' + 'a' * 32, 'pyd_ai_' + 'b' * 32
    one, other = identity(body=f'{{"x": ["{a}", "{a}"]}}'), identity(body=f'{{"x": ["{a}", "{b}"]}}')
    assert [change.place for change in request_changes(one, other)] == ['x.*']


def test_a_body_that_is_no_json_is_one_place() -> None:
    """Text is compared as a whole."""
    changes = request_changes(identity(body='a'), identity(body='b'))
    assert [str(change) for change in changes] == ['~ body: "a" -> "b"']


def test_recordings_that_mean_the_same(tmp_path: Path) -> None:
    """Spacing, order of members, event borders, latency and other headers are no difference."""
    one = write_cassette(
        tmp_path / 'a.yaml',
        {**entry({'a': 1, 'b': 2}, {'c': 1, 'd': 2}), 'recorded': {'latency_s': 1.0}},
        entry({'s': 1}, headers=EVENTS, body={'string': anthropic_events('fo', 'ur').decode()}),
    )
    other = write_cassette(
        tmp_path / 'b.yaml',
        entry({'b': 2, 'a': 1}, {'d': 2, 'c': 1}, headers={'content-type': ['application/json'], 'vary': ['x']}),
        entry({'s': 1}, headers=EVENTS, body={'string': anthropic_events('four').decode()}),
    )
    assert compare(one, other) == []


def test_every_side_of_a_recording_is_compared(tmp_path: Path) -> None:
    """Who answered, requests, status, headers that matter, endings and bodies."""
    one = write_cassette(
        tmp_path / 'a.yaml',
        entry({'n': 1}, {'text': 'a'}),
        entry({'s': 1}, headers=EVENTS, body={'string': anthropic_events('a').decode()}, truncated=True),
        recorded_with={'by': 'emulator', 'model': 'm'},
    )
    other = write_cassette(
        tmp_path / 'b.yaml',
        entry({'n': 2}, {'text': 'b'}, status=429, headers={'content-type': ['text/json'], 'retry-after': ['1']}),
        entry({'s': 1}, headers=EVENTS, body={'string': anthropic_events('b').decode()}),
        recorded_with={'by': 'provider', 'model': 'm'},
    )
    assert compare(one, other) == [
        '~ recorded_with.by: "emulator" -> "provider"',
        'interaction 1',
        '  ~ request.body.n: 1 -> 2',
        '  ~ response.body.text: "a" -> "b"',
        '  ~ response.headers[\'content-type\']: "application/json" -> "text/json"',
        '  + response.headers[\'retry-after\']: "1"',
        '  ~ response.status: 200 -> 429',
        'interaction 2',
        '  ~ response.body.content[0].text: "a" -> "b"',
        '  ~ response.truncated: true -> false',
    ]


def test_interactions_of_one_side_only_and_moved_ones(tmp_path: Path) -> None:
    """An interaction that was put in between does not make all later ones differ."""
    first, second, third = (entry({'n': n}, {'answer': n}) for n in range(3))
    one = write_cassette(tmp_path / 'a.yaml', first, second)
    other = write_cassette(tmp_path / 'b.yaml', third, first, entry({'n': 1}, {'answer': 9}))
    assert compare(one, other) == [
        f'+ interaction 1: only the second has POST {URL}',
        'interaction 2 (there 3)',
        '  ~ response.body.answer: 1 -> 9',
    ]
    assert compare(other, one)[0] == f'- interaction 1: only the first has POST {URL}'


def test_secrets_of_a_foreign_file_are_not_shown(tmp_path: Path) -> None:
    """Values that look like keys are replaced before they are compared."""
    one = write_cassette(tmp_path / 'a.yaml', entry({}, {'text': 'sk-' + 'a' * 20}))
    other = write_cassette(tmp_path / 'b.yaml', entry({}, {'text': 'none'}))
    assert compare(one, other) == ['interaction 1', '  ~ response.body.text: "scrubbed" -> "none"']


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(alphabet='ab ’\n"', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('xy.', max_size=2), inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(JSON, JSON), max_size=4))
def test_a_recording_does_not_differ_from_itself(tmp_path: Path, bodies: list[tuple[Any, Any]]) -> None:
    """Whatever a file holds, it means the same as itself."""
    path = write_cassette(tmp_path / 'a.yaml', *(entry(sent, answer) for sent, answer in bodies))
    assert compare(path, path) == []


def test_every_shared_recording_does_not_differ_from_itself(shared_cassettes: Path) -> None:
    """Recordings of real providers too, and every pair of them differs."""
    files = sorted(shared_cassettes.glob('*.yaml'))
    assert [compare(file, file) for file in files] == [[]] * len(files)
    assert all(compare(one, other) for one, other in pairwise(files))
