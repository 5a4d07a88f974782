from __future__ import annotations

import gzip
import json
from typing import Any

import httpx2
import pytest

from advisor_harness.cassettes import Interaction
from advisor_harness.cassettes.interaction import RecordedRequest, RecordedResponse
from advisor_harness.cassettes.scrubbing import Scrubber

from .support import URL, entry


def test_a_mapping_becomes_typed_facts() -> None:
    """Names are lower case, header values are lists of text, bodies are bytes; the mapping itself is kept."""
    mapping = {
        **entry({'a': 1}, {'b': 2}, headers={'Content-Type': ['application/json']}),
        'recorded': {'latency_s': 1.5},
        'unknown': {},
    }
    mapping['request']['method'] = 'post'

    interaction = Interaction.from_mapping(mapping)

    headers = {'content-type': ['application/json']}
    assert interaction.request == RecordedRequest('POST', URL, headers, b'{"a": 1}')
    assert interaction.response == RecordedResponse(200, '', headers, b'{"b": 2}')
    assert interaction.latency_s == 1.5
    assert interaction.mapping is mapping


def test_header_values_take_all_forms() -> None:
    """C5: binary values, numbers, single values and `null` headers of other recorders load."""
    mapping = entry()
    mapping['request']['headers'] = {'X-Bin': [b'\xe9'], 'Content-Length': [3], 'Accept': 'a'}
    mapping['response']['headers'] = None

    interaction = Interaction.from_mapping(mapping)

    assert interaction.request.headers == {'x-bin': ['é'], 'content-length': ['3'], 'accept': ['a']}
    assert interaction.response.headers == {}


@pytest.mark.parametrize('message', ['', None])
def test_empty_reasons_load(message: str | None) -> None:
    """C5: HTTP/2 has no reason phrase."""
    assert Interaction.from_mapping(entry() | {'response': {'status': {'code': 204, 'message': message}}}).response == (
        RecordedResponse(204, '', {}, b'')
    )


def test_stored_encodings_are_undone() -> None:
    """Recorders that keep compressed bytes load readable; text that still names an encoding was decoded before."""
    encoded = entry(headers={'content-encoding': ['gzip']}, body={'string': gzip.compress(b'hello')})
    decoded = entry(headers={'content-encoding': ['gzip']}, body={'string': 'hello'})
    unknown = entry(headers={'content-encoding': ['exi']}, body={'string': b'\xff'})

    assert Interaction.from_mapping(encoded).response == RecordedResponse(200, '', {}, b'hello')
    assert Interaction.from_mapping(decoded).response == RecordedResponse(200, '', {}, b'hello')
    assert Interaction.from_mapping(unknown).response == (
        RecordedResponse(200, '', {'content-encoding': ['exi']}, b'\xff')
    )


@pytest.mark.parametrize('recorded', [None, {}, {'latency_s': None}, 3])
def test_latency_is_unknown_unless_it_is_told(recorded: Any) -> None:
    """What the recording does not say stays unknown."""
    assert Interaction.from_mapping({**entry(), 'recorded': recorded}).latency_s is None


def changed(side: str, **values: Any) -> dict[str, Any]:
    mapping = entry()
    mapping[side] = {**mapping[side], **values}
    return mapping


@pytest.mark.parametrize(
    ('mapping', 'problem'),
    [
        ([], 'the interaction is list; it must be a mapping'),
        ({}, 'request is missing; it must be a mapping'),
        ({'request': {}}, 'response is missing; it must be a mapping'),
        (changed('request', method=None), 'request.method is None; it must be text'),
        (changed('request', uri=''), "request.uri is ''; it must be text"),
        (changed('request', headers=[]), 'request.headers is list; it must be a mapping'),
        (changed('request', headers={'a': [True]}), 'request.headers.a is True; a header value must be text'),
        (changed('request', body=1), 'request.body is an int; it must be text, !!binary, null or JSON as YAML'),
        (changed('response', status={'code': '200'}), "response.status.code is '200'; it must be a number"),
        (changed('response', status={}), 'response.status.code is None; it must be a number'),
        (changed('response', status=[]), 'response.status is list; it must be a mapping'),
        (
            changed('response', network_error='Boom'),
            "response.network_error is 'Boom'; it must name a transport error of httpx2",
        ),
        (
            changed('response', parsed_body={'a': {1}}),
            'response.parsed_body.a is a set, which JSON does not have: quote it',
        ),
    ],
)
def test_what_is_no_exchange_is_refused(mapping: Any, problem: str) -> None:
    """C5: every missing or odd part is named."""
    with pytest.raises(ValueError) as caught:
        Interaction.from_mapping(mapping)
    assert str(caught.value) == problem


def recorded(content: bytes, content_type: str, answer: RecordedResponse) -> dict[str, Any]:
    request = httpx2.Request(
        'POST', f'{URL}?key=abc', content=content, headers={'content-type': content_type, 'x-api-key': 'secret'}
    )
    return dict(Interaction.record(request, answer, Scrubber(), {'latency_s': 0.5}).mapping)


def test_json_is_recorded_as_yaml_with_the_length_that_loads() -> None:
    """JSON stands under `parsed_body`, in its own order, and `content-length` is the size of what a loader rebuilds."""
    answer = RecordedResponse(
        201, 'Created', {'content-length': ['99'], 'content-type': ['application/json']}, b'{"z":1,"a":["caf\xc3\xa9"]}'
    )

    mapping = recorded(b'{"b":1,"a":"sk-abcdefghij0123456789"}', 'application/json', answer)

    length = str(len(json.dumps({'b': 1, 'a': 'scrubbed'})))
    assert mapping == {
        'recorded': {'latency_s': 0.5},
        'request': {
            'headers': {'content-length': [length], 'content-type': ['application/json'], 'host': ['api.example.com']},
            'method': 'POST',
            'parsed_body': {'b': 1, 'a': 'scrubbed'},
            'uri': f'{URL}?key=scrubbed',
        },
        'response': {
            'headers': {
                'content-length': [str(len(json.dumps({'z': 1, 'a': ['café']})))],
                'content-type': ['application/json'],
            },
            'parsed_body': {'z': 1, 'a': ['café']},
            'status': {'code': 201, 'message': 'Created'},
        },
    }
    assert list(mapping['response']['parsed_body']) == ['z', 'a']


@pytest.mark.parametrize(
    ('body', 'content_type', 'stored'),
    [
        (b'null', 'application/json', 'null'),
        (b'{"a": NaN}', 'application/json', '{"a": NaN}'),
        (b'{"a": "\\ud800"}', 'application/json', '{"a": "\\ud800"}'),
        (b'{"a":', 'application/json', '{"a":'),
        (b'data: {"a":1}\r\n\r\n', 'text/event-stream', 'data: {"a":1}\r\n\r\n'),
        (b'\xff\x00\x01', 'image/png', b'\xff\x00\x01'),
        (b'', 'application/json', ''),
    ],
)
def test_other_bodies_are_recorded_as_they_came(body: bytes, content_type: str, stored: str | bytes) -> None:
    """JSON that YAML cannot carry, events, text and bytes stand as text or `!!binary`, on both sides."""
    mapping = recorded(body, content_type, RecordedResponse(200, 'OK', {'content-type': [content_type]}, body))

    assert mapping['request']['body'] == stored
    assert mapping['response']['body'] == {'string': stored}
    assert Interaction.from_mapping(mapping).response.body == body


def test_how_an_exchange_ended_is_recorded() -> None:
    """Truncation, abandonment and network errors are keys of the response, and load again."""
    for answer in (
        RecordedResponse(200, 'OK', {}, b'data: a\n\n', truncated=True),
        RecordedResponse(200, 'OK', {}, b'data: a\n\n', network_error='ReadError'),
        RecordedResponse(0, '', {}, b'', network_error='ConnectTimeout'),
        RecordedResponse(0, '', {}, b'', abandoned=True),
    ):
        assert Interaction.from_mapping(recorded(b'', 'text/plain', answer)).response == answer
        assert not answer.is_whole
