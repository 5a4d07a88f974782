"""Recorded requests brought up to date, where they differ from today's only in ways that somebody has named.

Only `request` is rewritten. An answer that belongs to another request would be a lie, so whatever was not named stops
the whole file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

from . import yamlfile
from .bodies import json_length
from .diff import Change, request_changes, split_query
from .drift import FileCheck, sent_identity
from .drift_replay import streams_agree
from .drift_sending import Sent
from .interaction import Interaction
from .matching import Matcher, Matching, matcher_for
from .paths import Paths

__all__ = ['Named', 'Rebased', 'rebase']

_ABSENT: Any = object()


@dataclass(frozen=True)
class Named:
    """A difference that may be taken over."""

    place: str
    """As `Change.place`: a dotted path with `*`, `?name` or `url`."""
    value: Any = _ABSENT
    """Only this value; any if not given."""

    @classmethod
    def exactly(cls, text: str) -> Named:
        """Read `PLACE=VALUE`, the value as JSON, or as text where it is none.

        Raises:
            ValueError: there is no `=`, or nothing before it.
        """
        place, equals, value = text.partition('=')
        if not place or not equals:
            raise ValueError(f'{text!r} is not PLACE=VALUE, such as max_tokens=128000')
        try:
            return cls(place, json.loads(value))
        except ValueError:
            return cls(place, value)

    def allows(self, value: Any) -> bool:
        """Whether a value of today may be taken over."""
        return self.value is _ABSENT or (type(value) is type(self.value) and value == self.value)


@dataclass(frozen=True)
class Rebased:
    """What a rebase would make of one recording."""

    path: Path
    applied: list[Change]
    """What is taken over."""
    refused: list[str]
    """Why the file is left as it is; empty when it is not."""
    text: str | None = None
    """The new text of the file; `None` when nothing is taken over."""

    def write(self) -> None:
        """Replace the file in one step, if anything changes."""
        if self.text is not None:
            yamlfile.write(self.path, self.text)


def rebase(check: FileCheck, named: Sequence[Named], matching: Matching | None = None) -> Rebased:
    """Take over named differences in every interaction of a recording that was checked.

    Args:
        check: The recording with what would be sent today.
        named: What may be taken over.
        matching: What makes two requests the same; differences that it ignores need no rebase.

    Raises:
        CassetteFormatError: the file is not a cassette of HTTP traffic.
    """
    document = yamlfile.read(check.path)
    matcher = matcher_for(matching or Matching())
    refused = [f'interaction {number} was not checked: {why}' for number, why in check.not_checked.items()]
    # What stands beside the requests has no place in them to take it over.
    refused += [f'{change} is another difference' for change in check.changes if change.place == 'request']
    applied: list[Change] = []
    interactions = list(document['interactions'] or [])
    for number, sent in sorted(check.sent.items()):
        recorded = Interaction.from_mapping(interactions[number - 1])
        changed = _rewritten(recorded, sent, named, matcher)
        refused += [f'interaction {number}: {why}' for why in _objections(recorded, changed, sent, matcher)]
        applied += request_changes(_identity(recorded, matcher), _identity(changed, matcher))
        interactions[number - 1] = dict(changed.mapping)
    if refused or not applied:
        return Rebased(check.path, [] if refused else applied, refused)
    text = yamlfile.dump({**document, 'interactions': interactions})
    return Rebased(check.path, applied, [], text)


def _objections(recorded: Interaction, changed: Interaction, sent: Sent, matcher: Matcher) -> list[str]:
    left = request_changes(_identity(changed, matcher), sent_identity(sent, matcher))
    if left:
        return [f'{change} is another difference' for change in left]
    body = json.loads(changed.request.body) if sent.body[:1] == b'{' else None
    if streams_agree(recorded.request, changed.request.url, body, recorded.response):
        return []
    return ['the recorded answer is not what the request would ask for, a stream or none: record it again']


def _identity(interaction: Interaction, matcher: Matcher) -> Any:
    request = interaction.request
    return matcher.identify(request.method, request.url, request.content_type, request.body)


def _rewritten(recorded: Interaction, sent: Sent, named: Sequence[Named], matcher: Matcher) -> Interaction:
    request = dict(recorded.mapping['request'])
    request['uri'] = _url(request['uri'], matcher.scrubber.url(sent.url), named)
    body, now = _json(recorded.request.body), _json(sent.body)
    if isinstance(body, dict) and isinstance(now, dict):
        clean, value = matcher.scrubber.json(cast('Any', now)), cast('Any', body)
        for name in named:
            value = _taken_over(value, clean, Paths.parse([name.place]), name)
        if value != body:
            _set_body(request, value)
    return Interaction.from_mapping({**recorded.mapping, 'request': request})


def _url(was: str, now: str, named: Sequence[Named]) -> str:
    (base, query), (new_base, new_query) = split_query(was), split_query(now)
    result = dict(query)
    for name in named:
        if name.place == 'url' and name.allows(new_base):
            base = new_base
        if (parameter := name.place.removeprefix('?')) == name.place:
            continue
        if parameter not in new_query:
            result.pop(parameter, None)
        elif name.allows(new_query[parameter]):
            result[parameter] = new_query[parameter]
    if (base, result) == split_query(was):
        return was  # not even the order changes
    return f'{base}?{urlencode(result, doseq=True)}' if result else base


def _taken_over(was: Any, now: Any, places: Paths, named: Named) -> Any:
    """`was`, with the values of `now` at the places."""
    if isinstance(was, dict) and isinstance(now, dict):
        return _members(cast('dict[str, Any]', was), cast('dict[str, Any]', now), places, named)
    if isinstance(was, list) and isinstance(now, list):
        mine, theirs = dict(enumerate(cast('list[Any]', was))), dict(enumerate(cast('list[Any]', now)))
        merged = _members(mine, theirs, places, named)
        return [merged[index] for index in sorted(merged)]
    return cast('Any', was)


def _members(was: Mapping[Any, Any], now: Mapping[Any, Any], places: Paths, named: Named) -> dict[Any, Any]:
    merged = dict(was)
    for key in [*was, *(key for key in now if key not in was)]:
        at = places.at(str(key))
        if at is None:
            continue
        value = now.get(key, _ABSENT)
        if at.ends_here and named.allows(value):
            merged[key] = value
        elif key in was and key in now:
            merged[key] = _taken_over(was[key], value, at, named)
    return {key: value for key, value in merged.items() if value is not _ABSENT}


def _set_body(request: dict[str, Any], value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    length = len(text.encode())
    if request.get('parsed_body') is not None:
        request['parsed_body'], length = value, json_length(value)
    else:
        request['body'] = value if isinstance(request.get('body'), dict) else text
    headers = dict(request.get('headers') or {})
    for name, values in headers.items():
        if str(name).lower() == 'content-length':
            headers[name] = [str(length)] if isinstance(values, list) else str(length)
    if headers:
        request['headers'] = headers


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
