"""Bodies: bytes on the wire, and what stands for them in a cassette.

A JSON body is kept as YAML under `parsed_body`; anything else under `body` (request) or `body.string` (response), as
text where it is UTF-8 and as `!!binary` otherwise. JSON that YAML cannot carry exactly stays text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, cast

from .multipart import boundary_of
from .scrubbing import Json, Scrubber

__all__ = ['encode_json', 'is_json', 'json_length', 'parse_json', 'request_body', 'response_body', 'scrub_body']


_ENCODER = json.JSONEncoder(ensure_ascii=False)
_DEEPEST = 200
"""Levels of JSON that a file may hold as YAML."""


def is_json(content_type: str) -> bool:
    """Whether a body of this type is kept as JSON."""
    return content_type.lower().startswith('application/json')


def parse_json(body: bytes | str) -> Json:
    """Parse JSON as a provider's SDK would, but accept only what a file can hold exactly.

    Raises:
        ValueError: not JSON, or JSON with repeated names, `NaN`, infinite numbers or lone surrogates.
    """
    try:
        value = json.loads(body, object_pairs_hook=_distinct, parse_constant=_no_constant, parse_float=_finite)
        encode_json(value)
    except RecursionError as e:
        raise ValueError('nested too deeply') from e
    return value


def encode_json(value: Json) -> bytes:
    """JSON as bytes.

    Raises:
        UnicodeEncodeError: a lone surrogate, which is no text.
    """
    return _ENCODER.encode(value).encode()


def json_length(value: Json) -> int:
    """Bytes of the JSON that other loaders rebuild from `parsed_body`, which some clients compare with the header."""
    return len(json.dumps(value))


def scrub_body(body: bytes, content_type: str, scrubber: Scrubber) -> bytes:
    """A body that is not JSON, without secrets; one without any comes back byte for byte."""
    try:
        text, encoding = body.decode(), 'utf-8'
    except UnicodeDecodeError:
        # One byte is one character, so what is not a secret survives.
        text, encoding = body.decode('latin-1'), 'latin-1'
    kind = content_type.lower().partition(';')[0].strip()
    if kind == 'text/event-stream':
        return scrubber.events(text).encode(encoding)
    if kind == 'application/x-www-form-urlencoded':
        return scrubber.form(text).encode(encoding)
    if boundary := boundary_of(content_type):
        return scrubber.multipart(text, boundary).encode(encoding)
    return cast('str', scrubber.json(text)).encode(encoding)


def request_body(mapping: Mapping[str, Any]) -> bytes:
    """The body of a recorded request; `''`, `null` and none at all are the same.

    Raises:
        ValueError: the mapping does not describe a body.
    """
    if mapping.get('parsed_body') is not None:
        return _checked_json(mapping['parsed_body'], 'parsed_body')
    return _plain(mapping.get('body'), 'body')


def response_body(mapping: Mapping[str, Any]) -> bytes:
    """The body of a recorded response.

    Raises:
        ValueError: the mapping does not describe a body.
    """
    if mapping.get('parsed_body') is not None:
        return _checked_json(mapping['parsed_body'], 'parsed_body')
    body = mapping.get('body')
    if isinstance(body, Mapping):
        return _plain(cast('Mapping[str, Any]', body).get('string'), 'body.string')
    return _plain(body, 'body')


def _plain(body: Any, where: str) -> bytes:
    if body is None:
        return b''
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return _utf8(body, where)
    if isinstance(body, dict | list):
        return _checked_json(body, where)
    raise ValueError(f'{where} is {_name(body)}; it must be text, !!binary, null or JSON as YAML')


def _utf8(text: str, where: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as e:
        raise ValueError(f'{where} holds a lone surrogate, which is not text') from e


def _checked_json(value: Json, where: str) -> bytes:
    if not _is_json(value, _DEEPEST):
        _check(value, where, _DEEPEST)
    try:
        return encode_json(value)
    except UnicodeEncodeError as e:
        raise ValueError(f'{where} holds a lone surrogate, which is not text') from e


def _is_json(value: Any, levels: int) -> bool:
    # The quick way: it says nothing about the place.
    kind = cast('object', type(value))
    if kind is dict:
        return levels > 0 and all(type(k) is str and _is_json(v, levels - 1) for k, v in value.items())
    if kind is list:
        return levels > 0 and all(_is_json(v, levels - 1) for v in value)
    return kind is str or kind is int or kind is bool or value is None or (kind is float and math.isfinite(value))


def _check(value: Any, where: str, levels: int) -> None:
    if levels <= 0 and isinstance(value, dict | list):
        raise ValueError(f'{where[:60]}... is nested deeper than {_DEEPEST} levels')
    if isinstance(value, dict):
        for key, member in cast('dict[Any, Any]', value).items():
            if not isinstance(key, str):
                raise ValueError(f'{where} has the key {key!r}, {_name(key)}; JSON keys are text: quote it')
            _check(member, f'{where}.{key}', levels - 1)
    elif isinstance(value, list):
        for index, member in enumerate(cast('list[Any]', value)):
            _check(member, f'{where}[{index}]', levels - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f'{where} is {value}, which JSON does not have')
    elif not (value is None or isinstance(value, str | int | float)):
        raise ValueError(f'{where} is {_name(value)}, which JSON does not have: quote it')


def _name(value: object) -> str:
    kind = type(value).__name__
    return f'an {kind}' if kind[0] in 'aeiou' else f'a {kind}'


def _distinct(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError('a name is repeated')
    return members


def _no_constant(name: str) -> Json:
    raise ValueError(f'{name} is not JSON')


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f'{number} is too large')
    return value
