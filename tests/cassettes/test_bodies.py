from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from advisor_harness.cassettes.bodies import parse_json, request_body, response_body, scrub_body
from advisor_harness.cassettes.scrubbing import Scrubber

KEY = 'sk-abcdefghij0123456789'


@pytest.mark.parametrize('mapping', [{}, {'body': None}, {'body': ''}, {'parsed_body': None}])
def test_no_body_has_many_spellings(mapping: dict[str, Any]) -> None:
    """An absent body, `null` and `''` are the same."""
    assert request_body(mapping) == b''
    assert response_body(mapping) == b''


@pytest.mark.parametrize(
    ('mapping', 'body'),
    [
        ({'parsed_body': {'a': 'é'}}, b'{"a": "\xc3\xa9"}'),
        ({'body': '{"a":1}'}, b'{"a":1}'),
        ({'body': b'\xff\x00'}, b'\xff\x00'),
        ({'body': {'a': 1}}, b'{"a": 1}'),
        ({'body': [1]}, b'[1]'),
    ],
)
def test_request_bodies_take_all_forms(mapping: dict[str, Any], body: bytes) -> None:
    """JSON as YAML, JSON as text, text, bytes, and a mapping under `body` all load."""
    assert request_body(mapping) == body


@pytest.mark.parametrize(
    ('mapping', 'body'),
    [
        ({'parsed_body': [1.5, None]}, b'[1.5, null]'),
        ({'body': {'string': 'data: x\n\n'}}, b'data: x\n\n'),
        ({'body': {'string': b'\x1f\x8b'}}, b'\x1f\x8b'),
        ({'body': {'string': None}}, b''),
        ({'body': {'string': {'a': 1}}}, b'{"a": 1}'),
        ({'body': 'plain'}, b'plain'),
    ],
)
def test_response_bodies_take_all_forms(mapping: dict[str, Any], body: bytes) -> None:
    """A response keeps its body under `parsed_body` or `body.string`; a bare `body` loads too."""
    assert response_body(mapping) == body


@pytest.mark.parametrize(
    ('mapping', 'problem'),
    [
        ({'parsed_body': {'a': [date(2026, 1, 1)]}}, 'parsed_body.a[0] is a date, which JSON does not have: quote it'),
        ({'parsed_body': {'a': b'x'}}, 'parsed_body.a is a bytes, which JSON does not have: quote it'),
        ({'parsed_body': {1: 'x'}}, 'parsed_body has the key 1, an int; JSON keys are text: quote it'),
        ({'parsed_body': {'a': float('nan')}}, 'parsed_body.a is nan, which JSON does not have'),
        ({'parsed_body': {'a': '\ud800'}}, 'parsed_body holds a lone surrogate, which is not text'),
        ({'body': '\ud800'}, 'body holds a lone surrogate, which is not text'),
        ({'body': 3}, 'body is an int; it must be text, !!binary, null or JSON as YAML'),
    ],
)
def test_what_is_no_body_is_refused(mapping: dict[str, Any], problem: str) -> None:
    """Values that JSON does not have are named with their place instead of being changed silently."""
    with pytest.raises(ValueError) as caught:
        request_body(mapping)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    'text', ['{"a": 1, "a": 2}', '[NaN]', '[Infinity]', '[1e999]', '["\\ud800"]', '{', '[' * 100_000]
)
def test_json_that_a_file_cannot_hold_exactly_is_no_json(text: str) -> None:
    """Repeated names, numbers outside JSON, lone surrogates and absurd nesting stay text."""
    with pytest.raises(ValueError):
        parse_json(text)


def test_json_keeps_its_order_and_its_numbers() -> None:
    """Order of names, large integers and floats survive."""
    assert list(parse_json('{"b": 1, "a": 12345678901234567890, "c": 1.0}').items()) == [
        ('b', 1),
        ('a', 12345678901234567890),
        ('c', 1.0),
    ]


@pytest.mark.parametrize(
    ('body', 'content_type', 'clean'),
    [
        (f'data: {{"k": "{KEY}"}}\n\n'.encode(), 'text/event-stream; charset=utf-8', b'data: {"k": "scrubbed"}\n\n'),
        (b'password=x&a=b', 'application/x-www-form-urlencoded', b'password=scrubbed&a=b'),
        (f'key {KEY}'.encode(), 'text/plain', b'key scrubbed'),
        (b'{"password":"x"}', 'application/problem+json', b'{"password": "scrubbed"}'),
        (b'\xff\xfe ' + KEY.encode() + b'\x00', 'image/png', b'\xff\xfe scrubbed\x00'),
        (b'\xff\xfe\x00', 'image/png', b'\xff\xfe\x00'),
        ('\r\n é '.encode(), 'text/plain', '\r\n é '.encode()),
    ],
)
def test_other_bodies_are_scrubbed_by_their_kind(body: bytes, content_type: str, clean: bytes) -> None:
    """Events, forms, text and bytes lose their secrets; everything else stays byte for byte."""
    assert scrub_body(body, content_type, Scrubber()) == clean
