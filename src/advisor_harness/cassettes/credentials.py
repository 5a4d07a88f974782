"""The tripwire: credentials that a recording has seen, looked for in the file before it is written."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

from .deltas import joined_texts
from .multipart import boundary_of, parts
from .paths import Paths
from .scrubbing import BODY_KEYS, EMBEDDED, QUERY_KEYS, SCRUBBED, Json

__all__ = ['Credentials']

_HEADERS = ('authorization', 'proxy-authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'cookie')
_SHORTEST = 8


@dataclass
class Credentials:
    """Credentials seen while recording, to be looked for in the finished file."""

    ignore: frozenset[str] = frozenset()
    """Values that are no secrets: placeholders."""
    keep: Paths = field(default_factory=Paths)
    """JSON paths whose values are no secrets."""
    _seen: dict[str, str] = field(default_factory=dict[str, str], repr=False)

    def note(self, headers: Mapping[str, str], url: str, content_type: str, body: bytes) -> None:
        """Remember every credential of one request: headers, URL, JSON, form and multipart fields."""
        for name in _HEADERS:
            if value := headers.get(name):
                self._note_header(name, value)
        address = urlsplit(url)
        self._add('the URL', unquote(address.password or ''))
        for name, value in _pairs(address.query):
            self._note_named(f'query parameter {name!r}', name, value, QUERY_KEYS)
        if content_type.lower().startswith('application/x-www-form-urlencoded'):
            for name, value in _pairs(body.decode('utf-8', 'replace')):
                self._note_named(f'form field {name!r}', name, value, QUERY_KEYS)
        elif boundary := boundary_of(content_type):
            for part in parts(body.decode('utf-8', 'replace'), boundary):
                self._note_named(f'form field {part.name!r}', part.name, part.content, QUERY_KEYS)
                self._note_json(part.content, None)
        else:
            self._note_json(body, self.keep)

    def find(self, value: Any, where: str = '') -> Iterator[str]:
        """Every place below `value` that holds a credential, as text without the credential."""
        if isinstance(value, str):
            yield from (f'{name} in {where}' for needle, name in self._needles() if needle in value)
            if 'data:' in value and self._seen:
                yield from self._find_in_pieces(value, where)
        elif isinstance(value, bytes):
            yield from (f'{name} in {where}' for needle, name in self._needles() if needle.encode() in value)
            if b'data:' in value and self._seen:
                yield from self._find_in_pieces(value.decode('utf-8', 'replace'), where)
        elif isinstance(value, Mapping):
            for key, member in cast('Mapping[Any, Any]', value).items():
                yield from self.find(key, f'{where} (a key)')
                yield from self.find(member, f'{where}.{key}' if not self._is_seen(key) else where)
        elif isinstance(value, list | tuple):
            for index, member in enumerate(cast('list[Any]', value)):
                yield from self.find(member, f'{where}[{index}]')

    def _find_in_pieces(self, events: str, where: str) -> Iterator[str]:
        # Each event is looked at with the rest of the file.
        for place, text in joined_texts(events):
            yield from (
                f'{name} in {where}, in pieces at {place}' for needle, name in self._needles() if needle in text
            )

    def _note_header(self, name: str, value: str) -> None:
        if name == 'cookie':
            for _, cookie in _pairs(value.replace('; ', '&').replace(';', '&')):
                self._add(f'header {name!r}', cookie)
            return
        scheme, _, token = value.partition(' ')
        self._add(f'header {name!r}', token or scheme)
        if scheme.lower() == 'basic':
            self._note_basic(name, token)

    def _note_basic(self, name: str, token: str) -> None:
        try:
            user_and_password = base64.b64decode(token, validate=True).decode()
        except ValueError:
            return
        self._add(f'header {name!r}', user_and_password.partition(':')[2])

    def _note_named(self, what: str, name: str, value: str, keys: frozenset[str]) -> None:
        if name.lower() in keys:
            self._add(what, value)

    def _note_json(self, text: bytes | str, keep: Paths | None) -> None:
        try:
            self._walk(json.loads(text), keep)
        except (ValueError, RecursionError):
            return

    def _walk(self, value: Json, keep: Paths | None) -> None:
        if keep is not None and keep.ends_here:
            return
        if isinstance(value, dict):
            for key, member in cast('dict[str, Json]', value).items():
                below = keep.at(key) if keep else None
                if isinstance(member, str | int) and not (below is not None and below.ends_here):
                    self._note_named(f'JSON key {key!r}', key, str(member), BODY_KEYS)
                self._walk(member, below)
        elif isinstance(value, list):
            for index, member in enumerate(cast('list[Json]', value)):
                self._walk(member, keep.at(str(index)) if keep else None)
        elif isinstance(value, str) and value[:1] in ('{', '[') and EMBEDDED.search(value):
            self._note_json(value, None)

    def _add(self, what: str, value: str) -> None:
        if len(value) >= _SHORTEST and value not in self.ignore and value != SCRUBBED:
            self._seen.setdefault(value, what)

    def _is_seen(self, text: object) -> bool:
        return any(needle in str(text) for needle in self._seen)

    def _needles(self) -> Iterator[tuple[str, str]]:
        for value, what in self._seen.items():
            spellings = {value, quote(value, safe=''), quote_plus(value), json.dumps(value)[1:-1]}
            yield from ((spelling, f'the credential of {what}') for spelling in sorted(spellings))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for pair in text.split('&'):
        name, _, value = pair.partition('=')
        if value:
            yield unquote_plus(name), unquote_plus(value)
