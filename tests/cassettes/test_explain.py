from __future__ import annotations

from typing import Any

from advisor_harness.cassettes.explain import Candidate, differences, nearest
from advisor_harness.cassettes.matching import Identity

URL = 'https://api.example.com/v1/chat'


def identity(body: Any, url: str = URL, method: str = 'POST') -> Identity:
    return Identity(method, url, body, b'')


def lines(recorded: Identity, sent: Identity) -> list[str]:
    return [difference.line for difference in differences(recorded, sent)]


def test_differences_are_named_by_path() -> None:
    """Method and URL first, then the body: changed, added and missing members, as JSON."""
    recorded = identity({'max_tokens': 4096, 'stream': False, 'old': [1], 'odd key': 'a'}, f'{URL}?beta=true', 'PUT')
    sent = identity({'max_tokens': 128000, 'stream': True, 'new': None, 'odd key': 'b'})

    assert lines(recorded, sent) == [
        '~ method: PUT -> POST',
        f'~ url: {URL}?beta=true -> {URL}',
        '~ max_tokens: 4096 -> 128000',
        '+ new: null',
        '~ [\'odd key\']: "a" -> "b"',
        '- old: [1]',
        '~ stream: false -> true',
    ]


def test_lists_differ_by_element() -> None:
    """Elements are compared by index; a longer list has added ones, a shorter one lacks some."""
    assert lines(identity({'m': [{'c': 'a'}, 2]}), identity({'m': [{'c': 'b'}, 2, 3]})) == [
        '~ m[0].c: "a" -> "b"',
        '+ m[2]: 3',
    ]
    assert lines(identity({'m': [1, 2]}), identity({'m': [1]})) == ['- m[1]: 2']


def test_types_differ_though_values_look_alike() -> None:
    """`1`, `1.0` and `true` are different answers to the same question."""
    assert lines(identity({'a': 1, 'b': 1}), identity({'a': 1.0, 'b': True})) == ['~ a: 1 -> 1.0', '~ b: 1 -> true']
    assert lines(identity('text'), identity({'a': 1})) == ['~ body: "text" -> {"a": 1}']


def test_long_texts_are_clipped_around_the_difference() -> None:
    """Of two long texts a reader sees where they part, and at which character."""
    start = 'x' * 100
    assert lines(identity({'t': f'{start}cat{"y" * 100}'}), identity({'t': f'{start}dog{"y" * 100}'})) == [
        f'~ t: …"{"x" * 30}cat{"y" * 27}"… -> …"{"x" * 30}dog{"y" * 27}"… (character 101)'
    ]
    assert lines(identity({'t': start}), identity({'t': start + 'z'})) == [
        f'~ t: …"{"x" * 30}" -> …"{"x" * 30}z" (character 101)'
    ]
    assert lines(identity({'t': ['a' * 200]}), identity({'t': 1})) == [f'~ t: ["{"a" * 88}… -> 1']


def test_the_nearest_request_shares_most() -> None:
    """The candidate with most common values wins, the first of equals."""
    body = {'model': 'm', 'messages': [{'role': 'user', 'content': 'hello'}]}
    sent = identity({**body, 'temperature': 1})
    candidates = [
        Candidate(1, identity({'model': 'other'}), played=False),
        Candidate(2, identity(body), played=True),
        Candidate(3, identity(body), played=False),
    ]

    found = nearest(sent, candidates)

    assert found is not None
    assert found.describe() == (
        'interaction 2 (83% the same, already played) differs first at $.temperature\n  + temperature: 1'
    )


def test_the_path_names_the_body_before_the_url() -> None:
    """The first difference is a JSON path where there is one: that is what an author can change."""
    both = nearest(identity({'a': 2}), [Candidate(1, identity({'a': 1}, f'{URL}?beta=true'), played=False)])
    only_url = nearest(identity({'a': 1}), [Candidate(1, identity({'a': 1}, f'{URL}?beta=true'), played=False)])

    assert both is not None
    assert both.path == '$.a'
    assert only_url is not None
    assert only_url.path == 'url'


def test_many_differences_are_counted_not_listed() -> None:
    """At most 25 differences are shown."""
    found = nearest(identity({f'k{i:02}': i for i in range(30)}), [Candidate(1, identity({}), played=False)])

    assert found is not None
    assert found.describe().splitlines()[-2:] == ['  + k24: 24', '  and 5 more differences']
    assert len(found.describe().splitlines()) == 27


def test_equal_texts_differ_in_their_links() -> None:
    """When only the order of volatile ids differs there is no path to show, and the text says so."""
    found = nearest(identity({'a': 1}), [Candidate(4, identity({'a': 1}), played=False)])

    assert found is not None
    assert found.path is None
    assert found.describe() == 'interaction 4 (100% the same, not played yet) differs only in the order of volatile ids'


def test_without_candidates_nothing_is_near() -> None:
    """An empty cassette has no nearest request."""
    assert nearest(identity({}), []) is None
