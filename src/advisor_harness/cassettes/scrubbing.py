"""What never reaches a file: headers that are not on the allow-list, secrets in URLs, JSON, forms and text.

Scrubbing is also part of a request's identity (`matching.py`), so a prompt that holds a key still finds its recording.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast
from urllib.parse import unquote_plus

from .deltas import DATA_LINE, rewrite
from .multipart import Part, parts
from .paths import Paths

__all__ = ['BODY_KEYS', 'EMBEDDED', 'HEADERS', 'QUERY_KEYS', 'SCRUBBED', 'Scrubber']

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
        'location',
        'retry-after',
        'retry-after-ms',
        'transfer-encoding',
        'vary',
        'x-should-retry',
    }
)
"""The only headers that are recorded, request and response alike; lower case."""

BODY_KEYS = frozenset(
    {
        'access_token',
        'api-key',
        'api_key',
        'apikey',
        'assertion',
        'authorization',
        'client_secret',
        'id_token',
        'password',
        'private_key',
        'refresh_token',
        'secret_access_key',
        'x-api-key',
    }
)
"""Members of JSON whose values are secrets; lower case."""

QUERY_KEYS = BODY_KEYS | {
    'key',
    'sig',
    'signature',
    'subscription-key',
    'token',
    'x-amz-credential',
    'x-amz-security-token',
    'x-amz-signature',
    'x-goog-credential',
    'x-goog-signature',
}
"""Query parameters and form fields whose values are secrets; lower case."""

# What keys begin with, and what they go on with. A provider whose keys have no shape of their own (Mistral, Cohere,
# Azure) is left to the names of members and to the tripwire.
_SHAPES = {
    'sk-': r'[A-Za-z0-9_\-]{16,}',  # OpenAI, Anthropic (sk-ant-), OpenRouter (sk-or-), DeepSeek
    'AIza': r'[A-Za-z0-9_\-]{30,}',  # Google
    'ya29.': r'[A-Za-z0-9_\-]{20,}',
    'gsk_': r'[A-Za-z0-9]{20,}',  # Groq
    'xai-': r'[A-Za-z0-9]{20,}',
    'hf_': r'[A-Za-z0-9]{30,}',  # Hugging Face
    'csk-': r'[A-Za-z0-9]{20,}',  # Cerebras
    'fw_': r'[A-Za-z0-9]{20,}',  # Fireworks
    'pplx-': r'[A-Za-z0-9]{30,}',
    'r8_': r'[A-Za-z0-9]{30,}',  # Replicate
    'AKIA': r'[A-Z0-9]{16}(?![A-Za-z0-9])',  # Amazon
    'ASIA': r'[A-Z0-9]{16}(?![A-Za-z0-9])',
    'ghp_': r'[A-Za-z0-9]{30,}',  # GitHub
    'github_pat_': r'[A-Za-z0-9_]{30,}',
    'pylf_v': r'[A-Za-z0-9_]{20,}',  # Logfire
}
_KEYS = '|'.join(re.escape(start) + rest for start, rest in _SHAPES.items())
_SECRET = re.compile(rf'(?:(?<![A-Za-z0-9])(?:{_KEYS})|(?<=\bBearer )[A-Za-z0-9._~+/=\-]{{16,}})')
_KEY_NAMES = '|'.join(sorted(BODY_KEYS))


def _shortest(texts: Iterable[str]) -> list[str]:
    # Whoever looks for `sk-` need not look for `csk-`.
    distinct = set(texts)
    return sorted(text for text in distinct if not any(other in text for other in distinct - {text}))


# Searching for plain text is many times faster than the pattern, and nearly every text holds none of these.
_MARKS = _shortest([*_SHAPES, 'Bearer '])
_SUSPECT = (*(mark.encode() for mark in _MARKS), b'\\u')
_SUSPECT_NAMES = tuple(name.encode() for name in _shortest(BODY_KEYS))
EMBEDDED = re.compile(rf'"(?:{_KEY_NAMES})"\s*:', re.IGNORECASE)
"""A secret member of JSON that stands inside a text."""

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
                kept.setdefault(name, []).append(self.url(value) if name == 'location' else self.text(value))
        return {name: kept[name] for name in sorted(kept)}

    def url(self, url: str) -> str:
        """The URL without user information and without secret query values."""
        url = re.sub(r'^([A-Za-z][A-Za-z0-9+.\-]*://)[^/?#@]*@', r'\1', url)
        head, mark, query = url.partition('?')
        return self.text(head) + mark + (self.form(query, QUERY_KEYS) if query else '')

    def form(self, text: str, keys: frozenset[str] = QUERY_KEYS) -> str:
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
        """Server-sent events: JSON of `data` lines, text, and text in pieces; the rest stays byte for byte."""
        return rewrite(self.text(DATA_LINE.sub(self._event, text)), self._string)

    def multipart(self, text: str, boundary: str) -> str:
        """A multipart body without secret fields; everything else stays."""
        return f'--{boundary}'.join(self._part(part) for part in parts(text, boundary))

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
        if key.lower() not in BODY_KEYS or (keep is not None and keep.ends_here):
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
        if text[:1] in ('{', '[') and EMBEDDED.search(text):
            text = self._embedded(text)
        return self.text(text)

    def _embedded(self, text: str) -> str:
        try:
            value = json.loads(text)
        except ValueError:
            return text
        clean = self._json(value, None)
        return text if clean == value else json.dumps(clean, ensure_ascii=False)

    def _part(self, part: Part) -> str:
        secret = part.name.lower() in QUERY_KEYS and part.content
        return self.text(part.head) + (SCRUBBED if secret else self._string(part.content)) + part.end

    def _event(self, match: re.Match[str]) -> str:
        field_name, data, end = match.groups()
        try:
            value = json.loads(data)
        except ValueError:
            return match.group()
        clean = self.json(value)
        return match.group() if clean == value else f'{field_name}{json.dumps(clean, ensure_ascii=False)}{end}'
