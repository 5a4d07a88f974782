"""Where two requests, or two recordings, differ in meaning: members and texts, not bytes, spacing or event borders."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from os import PathLike
from typing import Any
from urllib.parse import parse_qs

from .cassette import Cassette
from .explain import differences
from .folding import fold
from .interaction import Interaction, RecordedResponse
from .matching import Identity, Matching, matcher_for

__all__ = ['Change', 'compare', 'request_changes', 'split_query', 'view']

_STEP = re.compile(r"\[(?:\d+|'(?P<key>[^']*)')\]")

_HEADERS = ('content-type', 'retry-after', 'retry-after-ms', 'x-should-retry')
"""Response headers that decide what a client does."""

# Everything counts that a recording holds, except what is new in every run.
_EVERYTHING = Matching(ignore=frozenset())


@dataclass(frozen=True)
class Change:
    """One place where a request, or a recording, is not what it was."""

    place: str
    """Where: a dotted path as in `Matching.ignore` (`messages.*.content`), `?name` for a parameter of the query, `url`
    or `method`."""
    sign: str
    """`~` changed, `+` added, `-` gone."""
    text: str
    """The values for a reader, clipped."""

    def __str__(self) -> str:
        return f'{self.sign} {self.place}: {self.text}'


def view(identity: Identity) -> dict[str, Any]:
    """A request as one JSON value, its query taken apart."""
    url, query = split_query(identity.url)
    return {'method': identity.method, 'url': url, 'query': query, 'body': identity.body}


def split_query(url: str) -> tuple[str, dict[str, str | list[str]]]:
    """A URL without its query, and the query by name."""
    base, _, query = url.partition('?')
    values = parse_qs(query, keep_blank_values=True)
    return base, {name: found[0] if len(found) == 1 else found for name, found in values.items()}


def request_changes(recorded: Identity, sent: Identity) -> list[Change]:
    """What is different about a request; empty for requests that are the same."""
    if recorded.digest == sent.digest:
        return []
    changes = [_request_change(change) for change in _changes(view(recorded), view(sent))]
    return changes or [Change('body', '~', 'only the order of volatile ids')]


def compare(first: str | PathLike[str], second: str | PathLike[str]) -> list[str]:
    """What is different about two recordings, in lines for a reader; empty when they mean the same.

    Compared are who answered, the order of interactions, requests, and answers with their status, the headers that
    matter to a client, and their body: JSON member by member, streams folded. Not compared: the values of ids that are
    new in every run, other headers, and how long answers took.

    Raises:
        CassetteError: a file does not exist.
        CassetteFormatError: a file is not a cassette of HTTP traffic.
    """
    mine, theirs = Cassette.open(first), Cassette.open(second)
    lines = [str(change) for change in _changes(dict(mine.recorded_with), dict(theirs.recorded_with), 'recorded_with')]
    keys = [[_key(interaction) for interaction in cassette.interactions] for cassette in (mine, theirs)]
    matcher = SequenceMatcher(None, *keys, autojunk=False)
    for _, start, end, from_, to in matcher.get_opcodes():
        lines += _block(mine.interactions[start:end], theirs.interactions[from_:to], start, from_)
    return lines


def _block(mine: list[Interaction], theirs: list[Interaction], start: int, other_start: int) -> Iterator[str]:
    """Interactions that stand at the same place, and those that only one side has."""
    both = min(len(mine), len(theirs))
    for offset in range(both):
        number = start + offset + 1
        if changes := list(_changes(_interaction(mine[offset]), _interaction(theirs[offset]))):
            other = other_start + offset + 1
            yield f'interaction {number}' + (f' (there {other})' if other != number else '')
            yield from (f'  {change}' for change in changes)
    for sign, there, interactions, at in (('-', 'first', mine, start), ('+', 'second', theirs, other_start)):
        for offset, interaction in enumerate(interactions[both:], start=both):
            request = interaction.request
            yield f'{sign} interaction {at + offset + 1}: only the {there} has {request.method} {request.url}'


def _identity(interaction: Interaction) -> Identity:
    request = interaction.request
    return matcher_for(_EVERYTHING).identify(request.method, request.url, request.content_type, request.body)


def _key(interaction: Interaction) -> bytes:
    return _identity(interaction).digest


def _interaction(interaction: Interaction) -> dict[str, Any]:
    return {'request': view(_identity(interaction)), 'response': _response(interaction.response)}


def _response(response: RecordedResponse) -> dict[str, Any]:
    said = {name: ', '.join(response.headers[name]) for name in _HEADERS if name in response.headers}
    ended = {'truncated': response.truncated, 'abandoned': response.abandoned}
    facts = {'status': response.status, 'headers': said, 'network_error': response.network_error, **ended}
    return {**facts, 'body': matcher_for(_EVERYTHING).scrubber.json(_response_body(response))}


def _response_body(response: RecordedResponse) -> Any:
    if response.content_type.lower().startswith('text/event-stream'):
        return fold(response.body)
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError):
        return response.body.decode('utf-8', 'backslashreplace')


def _changes(was: Mapping[str, Any], now: Mapping[str, Any], name: str | None = None) -> Iterator[Change]:
    def identity(value: Mapping[str, Any]) -> Identity:
        return Identity('', '', dict(value) if name is None else {name: dict(value)}, b'')

    for difference in differences(identity(was), identity(now)):
        shown = difference.path.removeprefix('$.')
        yield Change(shown, difference.line[0], difference.line[2:].removeprefix(f'{shown}: '))


def _request_change(change: Change) -> Change:
    path = _STEP.sub(lambda step: '.*' if step['key'] is None else f'.{step["key"]}', change.place)
    root, _, rest = path.partition('.')
    place = f'?{rest}' if root == 'query' else rest if root == 'body' and rest else root
    return Change(place, change.sign, change.text)
