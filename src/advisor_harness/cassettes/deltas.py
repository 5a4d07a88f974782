"""Texts that server-sent events carry in pieces.

What a provider sends word by word is one text to its reader, and may hold a secret that no single event shows. Pieces
of one text stand at the same place of their events: the same members, and the same `index` where an event names one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

__all__ = ['DATA_LINE', 'joined_texts', 'rewrite']

DATA_LINE = re.compile(r'(?m)^(data:[ ]?)(\{.*\}|\[.*\])([ \t]*\r?)$')
"""One line of JSON in an event: its field name, the JSON, and what ends it."""

# Told anew in every event, so their repetitions are no text.
_LABELS = frozenset({'id', 'item_id', 'model', 'object', 'role', 'type'})


@dataclass
class _Piece:
    event: int
    holder: Any
    """The mapping or list that holds it."""
    key: Any
    text: str


def joined_texts(body: str) -> Iterator[tuple[str, str]]:
    """Every text that comes in several pieces, as its place and the text."""
    for place, pieces in _texts(_events(body)[1]):
        yield place, ''.join(piece.text for piece in pieces)


def rewrite(body: str, clean: Callable[[str], str]) -> str:
    """Clean every text that comes in several pieces.

    A text that changes moves into its first piece and leaves the others empty; all other events stay byte for byte.
    """
    lines, events = _events(body)
    changed: set[int] = set()
    for _, pieces in _texts(events):
        text = ''.join(piece.text for piece in pieces)
        if (cleaned := clean(text)) == text:
            continue
        for piece, new in zip(pieces, [cleaned, *[''] * (len(pieces) - 1)], strict=True):
            piece.holder[piece.key] = new
            changed.add(piece.event)
    for number in sorted(changed, reverse=True):
        start, end = lines[number].span(2)
        body = body[:start] + json.dumps(events[number], ensure_ascii=False) + body[end:]
    return body


def _events(body: str) -> tuple[list[re.Match[str]], list[Any]]:
    lines: list[re.Match[str]] = []
    events: list[Any] = []
    for line in DATA_LINE.finditer(body):
        try:
            events.append(json.loads(line.group(2)))
        except (ValueError, RecursionError):
            continue
        lines.append(line)
    return lines, events


def _texts(events: list[Any]) -> list[tuple[str, list[_Piece]]]:
    found: dict[str, list[_Piece]] = {}
    for number, event in enumerate(events):
        for place, piece in _pieces(event, number, ''):
            found.setdefault(place, []).append(piece)
    return [(place, pieces) for place, pieces in found.items() if len({piece.text for piece in pieces}) > 1]


def _pieces(value: Any, event: int, place: str) -> Iterator[tuple[str, _Piece]]:
    if isinstance(value, dict):
        members = cast('dict[str, Any]', value)
        numbers = [f'{k}={v}' for k, v in members.items() if k.endswith('index') and isinstance(v, int)]
        place += f'({", ".join(numbers)})' if numbers else ''
        steps = [(key, f'{place}.{key}') for key in members if key not in _LABELS]
    elif isinstance(value, list):
        steps = [(index, f'{place}[{index}]') for index in range(len(cast('list[Any]', value)))]
    else:
        return
    for key, below in steps:
        member = cast('Any', value)[key]
        if isinstance(member, str):
            yield below, _Piece(event, value, key, member)
        else:
            yield from _pieces(member, event, below)
