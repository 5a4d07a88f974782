"""What never reaches a file: headers that are not on the allow-list, secrets in URLs, JSON, forms and text.

Scrubbing is also part of a request's identity (`matching.py`), so a prompt that holds a key still finds its recording.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast
from urllib.parse import quote, quote_plus, unquote_plus

from .paths import Paths

__all__ = ['HEADERS', 'SCRUBBED', 'Credentials', 'Scrubber']

SCRUBBED = 'scrubbed'
"""What stands in a file where a secret stood."""

HEADERS = frozenset(
    {
        'accept',
        'accept-encoding',
        'cache-control',
        'connection',
        'content-encoding',
        'content-length',
        'content-type',
        'host',
        'retry-after',
        'retry-after-ms',
        'transfer-encoding',
        'vary',
        'x-should-retry',
    }
)
"""The only headers that are recorded, request and response alike; lower case."""

_BODY_KEYS = frozenset(
    {
        'access_token',
        'api_key',
        'apikey',
        'assertion',
        'authorization',
        'client_secret',
        'id_token',
        'password',
        'refresh_token',
    }
)
_QUERY_KEYS = _BODY_KEYS | {'key', 'sig', 'signature', 'token'}
_CREDENTIAL_HEADERS = ('authorization', 'proxy-authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'cookie')
_SHORTEST_CREDENTIAL = 8

_PATTERN = (
    r'(?:(?<![A-Za-z0-9])(?:sk-[A-Za-z0-9_\-]{16,}|AIza[A-Za-z0-9_\-]{30,}|gsk_[A-Za-z0-9]{20,})'
    r'|(?<=\bBearer )[A-Za-z0-9._~+/=\-]{16,})'
)
_SECRET = re.compile(_PATTERN)
_KEY_NAMES = '|'.join(sorted(_BODY_KEYS))

# Searching for plain text is many times faster than the pattern, and nearly every text holds none of these.
_MARKS = ('sk-', 'AIza', 'gsk_', 'Bearer ')
_SUSPECT = (*(mark.encode() for mark in _MARKS), b'\\u')
_SUSPECT_NAMES = tuple(name.encode() for name in sorted(_BODY_KEYS))
_EMBEDDED = re.compile(rf'"(?:{_KEY_NAMES})"\s*:', re.IGNORECASE)
_DATA_LINE = re.compile(r'(?m)^(data:[ ]?)(\{.*\}|\[.*\])([ \t]*\r?)$')

Json: TypeAlias = Any


@dataclass(frozen=True)
class Scrubber:
    """Replaces secrets by `scrubbed`; what holds none comes back as it is."""

    keep: Paths = field(default_factory=Paths)
    """JSON paths whose values are left alone."""

    def is_suspect(self, body: bytes) -> bool:
        """Whether a body may hold something to scrub; `False` is certain, so the slow walk can be left out."""
        if any(mark in body for mark in _SUSPECT):
            return True
        lower = body.lower()
        return any(name in lower for name in _SUSPECT_NAMES)

    def headers(self, headers: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
        """The headers that may be recorded, by lower-case name."""
        kept: dict[str, list[str]] = {}
        for name, value in headers:
            if (name := name.lower()) in HEADERS:
                kept.setdefault(name, []).append(self.text(value))
        return {name: kept[name] for name in sorted(kept)}

    def url(self, url: str) -> str:
        """The URL without user information and without secret query values."""
        url = re.sub(r'^([A-Za-z][A-Za-z0-9+.\-]*://)[^/?#@]*@', r'\1', url)
        head, mark, query = url.partition('?')
        return self.text(head) + mark + (self.form(query, _QUERY_KEYS) if query else '')

    def form(self, text: str, keys: frozenset[str] = _QUERY_KEYS) -> str:
        """URL-encoded pairs without secret values; order and spelling of everything else stay."""
        pairs = [pair.partition('=') for pair in text.split('&')]
        return '&'.join(
            f'{name}{equals}{SCRUBBED}'
            if value and unquote_plus(name).lower() in keys
            else f'{name}{equals}{self.text(value)}'
            for name, equals, value in pairs
        )

    def text(self, text: str) -> str:
        """Text without anything that has the shape of a key."""
        return _SECRET.sub(SCRUBBED, text) if any(mark in text for mark in _MARKS) else text

    def events(self, text: str) -> str:
        """Server-sent events: JSON of `data` lines and text; lines without secrets stay byte for byte."""
        return self.text(_DATA_LINE.sub(self._event, text))

    def json(self, value: Json) -> Json:
        """A JSON value without secrets; `value` itself is never changed."""
        return self._json(value, self.keep)

    def _json(self, value: Json, keep: Paths | None) -> Json:
        if keep is not None and keep.ends_here:
            return value
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, dict):
            items = cast('dict[str, Json]', value).items()
            return {self.text(k): self._member(k, v, keep.at(k) if keep else None) for k, v in items}
        if isinstance(value, list):
            members = enumerate(cast('list[Json]', value))
            return [self._json(v, keep.at(str(i)) if keep else None) for i, v in members]
        return value

    def _member(self, key: str, value: Json, keep: Paths | None) -> Json:
        if key.lower() not in _BODY_KEYS or (keep is not None and keep.ends_here):
            return self._json(value, keep)
        return self._secret(value, keep)

    def _secret(self, value: Json, keep: Paths | None) -> Json:
        # A mapping below a secret's name is a schema that describes it, not the secret.
        if isinstance(value, list):
            return [self._secret(v, None) for v in cast('list[Json]', value)]
        if isinstance(value, dict) or value is None or isinstance(value, bool) or value == '':
            return self._json(value, keep)
        return SCRUBBED

    def _string(self, text: str) -> str:
        # Tool arguments travel as JSON inside a string.
        if text[:1] in ('{', '[') and _EMBEDDED.search(text):
            text = self._embedded(text)
        return self.text(text)

    def _embedded(self, text: str) -> str:
        try:
            value = json.loads(text)
        except ValueError:
            return text
        clean = self._json(value, None)
        return text if clean == value else json.dumps(clean, ensure_ascii=False)

    def _event(self, match: re.Match[str]) -> str:
        field_name, data, end = match.groups()
        try:
            value = json.loads(data)
        except ValueError:
            return match.group()
        clean = self.json(value)
        return match.group() if clean == value else f'{field_name}{json.dumps(clean, ensure_ascii=False)}{end}'


@dataclass
class Credentials:
    """Credentials seen while recording, to be looked for in the finished file."""

    ignore: frozenset[str] = frozenset()
    """Values that are no secrets: placeholders."""
    keep: Paths = field(default_factory=Paths)
    """JSON paths whose values are no secrets."""
    _seen: dict[str, str] = field(default_factory=dict[str, str], repr=False)

    def note(self, headers: Mapping[str, str], url: str, content_type: str, body: bytes) -> None:
        """Remember every credential of one request: headers, query, JSON and form."""
        for name in _CREDENTIAL_HEADERS:
            if value := headers.get(name):
                self._note_header(name, value)
        for name, value in _pairs(url.partition('?')[2].partition('#')[0]):
            self._note_named(f'query parameter {name!r}', name, value, _QUERY_KEYS)
        if content_type.startswith('application/x-www-form-urlencoded'):
            for name, value in _pairs(body.decode('utf-8', 'replace')):
                self._note_named(f'form field {name!r}', name, value, _QUERY_KEYS)
        else:
            self._note_json(body, self.keep)

    def find(self, value: Any, where: str = '') -> Iterator[str]:
        """Every place below `value` that holds a credential, as text without the credential."""
        if isinstance(value, str):
            yield from (f'{name} in {where}' for needle, name in self._needles() if needle in value)
        elif isinstance(value, bytes):
            yield from (f'{name} in {where}' for needle, name in self._needles() if needle.encode() in value)
        elif isinstance(value, Mapping):
            for key, member in cast('Mapping[Any, Any]', value).items():
                yield from self.find(key, f'{where} (a key)')
                yield from self.find(member, f'{where}.{key}' if not self._is_seen(key) else where)
        elif isinstance(value, list | tuple):
            for index, member in enumerate(cast('list[Any]', value)):
                yield from self.find(member, f'{where}[{index}]')

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
                    self._note_named(f'JSON key {key!r}', key, str(member), _BODY_KEYS)
                self._walk(member, below)
        elif isinstance(value, list):
            for index, member in enumerate(cast('list[Json]', value)):
                self._walk(member, keep.at(str(index)) if keep else None)
        elif isinstance(value, str) and value[:1] in ('{', '[') and _EMBEDDED.search(value):
            self._note_json(value, None)

    def _add(self, what: str, value: str) -> None:
        if len(value) >= _SHORTEST_CREDENTIAL and value not in self.ignore and value != SCRUBBED:
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
