"""Why nothing in a cassette answers a request: the nearest recorded one, and where the two differ."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from .matching import Identity

__all__ = ['Candidate', 'Difference', 'Nearest', 'differences', 'nearest']

_MOST_LINES = 25
_CLIP = 30
"""Characters shown on either side of the first difference of a long text."""


@dataclass(frozen=True)
class Candidate:
    """A recorded request that might be the one that was meant."""

    number: int
    """Its place in the file, from 1."""
    identity: Identity
    played: bool


@dataclass(frozen=True)
class Difference:
    """One place where two requests differ."""

    path: str
    """Where, such as `$.messages[0].content`, `url` or `method`."""
    line: str
    """The difference for a reader, clipped."""


@dataclass(frozen=True)
class Nearest:
    """The recorded request that has most in common with the one that was sent."""

    number: int
    played: bool
    similarity: float
    """Share of common values, 0 to 1."""
    differences: list[Difference]

    @property
    def path(self) -> str | None:
        """Where the two differ first: a JSON path of the body, or else `method` or `url`."""
        paths = [difference.path for difference in self.differences]
        return next((path for path in paths if path.startswith('$')), paths[0] if paths else None)

    def describe(self) -> str:
        """The block of lines that goes into an error."""
        played = 'already played' if self.played else 'not played yet'
        head = f'interaction {self.number} ({math.floor(100 * self.similarity)}% the same, {played})'
        if not self.differences:
            return f'{head} differs only in the order of volatile ids'
        shown = self.differences[:_MOST_LINES]
        more = len(self.differences) - len(shown)
        lines = [f'{head} differs first at {self.path}', *(f'  {d.line}' for d in shown)]
        return '\n'.join([*lines, f'  and {more} more differences'] if more else lines)


def nearest(sent: Identity, candidates: list[Candidate]) -> Nearest | None:
    """The candidate that has most in common with what was sent, the first of equals; `None` without candidates."""
    mine = _facts(sent)
    best: tuple[float, Candidate] | None = None
    for candidate in candidates:
        score = _similarity(mine, _facts(candidate.identity))
        if best is None or score > best[0]:
            best = score, candidate
    if best is None:
        return None
    score, candidate = best
    return Nearest(candidate.number, candidate.played, score, differences(candidate.identity, sent))


def differences(recorded: Identity, sent: Identity) -> list[Difference]:
    """Every place where two requests differ, in the order of a request: method, URL, body."""
    found: list[Difference] = []
    for name in ('method', 'url'):
        was, now = getattr(recorded, name), getattr(sent, name)
        if was != now:
            found.append(Difference(name, f'~ {name}: {was} -> {now}'))
    return found + list(_body_differences(recorded.body, sent.body, '$'))


def _body_differences(was: Any, now: Any, path: str) -> Iterator[Difference]:
    if isinstance(was, dict) and isinstance(now, dict):
        yield from _member_differences(cast('dict[str, Any]', was), cast('dict[str, Any]', now), path)
    elif isinstance(was, list) and isinstance(now, list):
        yield from _element_differences(cast('list[Any]', was), cast('list[Any]', now), path)
    elif (change := _change(was, now)) is not None:
        yield Difference(path, f'~ {_shown(path)}: {change}')


def _member_differences(was: dict[str, Any], now: dict[str, Any], path: str) -> Iterator[Difference]:
    for key in sorted(was.keys() | now.keys()):
        yield from _one_side_or_both(was, now, key, f'{path}.{key}' if key.isidentifier() else f'{path}[{key!r}]')


def _element_differences(was: list[Any], now: list[Any], path: str) -> Iterator[Difference]:
    for index in range(max(len(was), len(now))):
        mine = {index: was[index]} if index < len(was) else {}
        theirs = {index: now[index]} if index < len(now) else {}
        yield from _one_side_or_both(mine, theirs, index, f'{path}[{index}]')


def _one_side_or_both(was: dict[Any, Any], now: dict[Any, Any], key: Any, path: str) -> Iterator[Difference]:
    if key not in was:
        yield Difference(path, f'+ {_shown(path)}: {_short(now[key])}')
    elif key not in now:
        yield Difference(path, f'- {_shown(path)}: {_short(was[key])}')
    else:
        yield from _body_differences(was[key], now[key], path)


def _shown(path: str) -> str:
    return path.removeprefix('$').removeprefix('.') or 'body'


def _change(was: Any, now: Any) -> str | None:
    if type(was) is type(now) and was == now:
        return None
    if isinstance(was, str) and isinstance(now, str) and max(len(was), len(now)) > 2 * _CLIP:
        at = next((i for i, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), min(len(was), len(now)))
        return f'{_around(was, at)} -> {_around(now, at)} (character {at + 1})'
    return f'{_short(was)} -> {_short(now)}'


def _around(text: str, at: int) -> str:
    start, end = max(0, at - _CLIP), at + _CLIP
    return f'{"…" if start else ""}{json.dumps(text[start:end], ensure_ascii=False)}{"…" if end < len(text) else ""}'


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 3 * _CLIP else f'{text[: 3 * _CLIP]}…'


def _similarity(mine: set[Any], theirs: set[Any]) -> float:
    return len(mine & theirs) / (len(mine | theirs) or 1)


def _facts(identity: Identity) -> set[Any]:
    leaves = islice(_leaves(identity.body, ''), 5_000)
    return {('method', identity.method), ('url', identity.url), *leaves}


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, member in cast('dict[str, Any]', value).items():
            yield from _leaves(member, f'{path}.{key}')
    elif isinstance(value, list) and value:
        for index, member in enumerate(cast('list[Any]', value)):
            yield from _leaves(member, f'{path}[{index}]')
    else:
        yield path, json.dumps(value)
