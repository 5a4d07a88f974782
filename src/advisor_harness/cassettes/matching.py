"""The identity of a request: what counts, what does not, and a digest of it.

Two requests are the same when method, URL (order of the query aside) and body agree after `Matching` has been applied
to both. Headers are not compared. The digest is computed once per request, so finding an answer is one look-up.
"""

from __future__ import annotations

import functools
import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from .bodies import scrub_body
from .multipart import boundary_of
from .paths import Paths, without
from .scrubbing import Json, Scrubber

__all__ = ['Identity', 'Matcher', 'Matching', 'matcher_for']

_TYPOGRAPHY = str.maketrans({'‘': "'", '’': "'", '“': '"', '”': '"', '–': '-', '—': '--', '…': '...'})
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(',', ':'), ensure_ascii=False)
_DEFAULT_PORTS = {'http': 80, 'https': 443}


@dataclass(frozen=True)
class Matching:
    """What makes two requests the same. Applied to recorded and sent requests alike; the file is not changed by it.

    Never ignore what affects the answer, such as the model, the messages or the temperature: a recording would then
    answer a request that it does not belong to.
    """

    ignore: frozenset[str] = frozenset({'user', 'metadata', 'safety_identifier', 'prompt_cache_key'})
    """JSON members that do not count, as dotted paths with `*` for any key or index, such as `messages.*.id`."""

    volatile: tuple[re.Pattern[str], ...] = (re.compile(r'pyd_ai_[0-9a-f]{32}'), re.compile(r'toolu_vrtx_[A-Za-z0-9]+'))
    """Ids that are new in every run. Only their order of first appearance counts, so links between them still do."""

    ignore_query: frozenset[str] = frozenset()
    """Names of query parameters that do not count."""

    rewrite: tuple[tuple[re.Pattern[str], str], ...] = ()
    """Replacements (pattern, text as in `re.sub`) in the URL and in every string of the body, in this order."""

    keep: frozenset[str] = frozenset()
    """Dotted JSON paths whose values are never scrubbed, though they are named like a secret or look like one."""

    def described(self) -> str:
        """The rules as text, equal for equal rules in any process."""
        replaced = [(pattern.pattern, pattern.flags, text) for pattern, text in self.rewrite]
        volatile = [(pattern.pattern, pattern.flags) for pattern in self.volatile]
        return repr([sorted(self.ignore), volatile, sorted(self.ignore_query), replaced, sorted(self.keep)])


@dataclass(frozen=True)
class Identity:
    """One request as it counts for matching."""

    method: str
    url: str
    body: Json
    """JSON, or text that stands for any other body; `''` without one."""
    digest: bytes
    """Equal for requests that are the same."""


class Matcher:
    """A `Matching`, ready to use. Get one from `matcher_for`."""

    def __init__(self, matching: Matching) -> None:
        self.matching = matching
        self.scrubber = Scrubber(Paths.parse(matching.keep))
        self._ignored = Paths.parse(matching.ignore)
        self._shallow = all('.' not in path and path != '*' for path in matching.ignore)
        self._url = functools.lru_cache(maxsize=512)(self._normal_url)

    def digest(self, method: str, url: str, content_type: str, body: bytes) -> bytes:
        """The digest alone, which is all that a hit needs."""
        return _digest(self._text_of(method, url, content_type, body))

    def identify(self, method: str, url: str, content_type: str, body: bytes) -> Identity:
        """Everything that counts about a request, without secrets."""
        text = self._text_of(method, url, content_type, body)
        head, kind, value = text.split('\n', 2)
        verb, _, normal_url = head.partition(' ')
        return Identity(verb, normal_url, _parsed(value) if kind == 'json' else value, _digest(text))

    def _text_of(self, method: str, url: str, content_type: str, body: bytes) -> str:
        kind, value = self._body(content_type, body)
        text = f'{method.upper()} {self._url(url)}\n{kind}\n{value}'
        for number, pattern in enumerate(self.matching.volatile):
            text = pattern.sub(_by_first_appearance(number), text)
        return text

    def _normal_url(self, url: str) -> str:
        parts = urlsplit(self.scrubber.url(url))
        host = (parts.hostname or '').lower()
        port = '' if parts.port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f':{parts.port}'
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        query = urlencode(sorted(pair for pair in pairs if pair[0] not in self.matching.ignore_query))
        return self._rewritten(f'{parts.scheme}://{host}{port}{parts.path or "/"}{"?" if query else ""}{query}')

    def _body(self, content_type: str, body: bytes) -> tuple[Literal['json', 'text'], str]:
        if body and ('json' in content_type or body[:1] in (b'{', b'[')):
            try:
                value = self._json(json.loads(body), body)
            except (ValueError, RecursionError):
                pass  # not JSON after all: compared as text
            else:
                return 'json', _CANONICAL.encode(value)
        return 'text', self._text(content_type, body)

    def _json(self, value: Json, body: bytes) -> Json:
        if isinstance(value, dict) and self._shallow:
            value = {k: v for k, v in cast('dict[str, Json]', value).items() if k not in self.matching.ignore}
        elif self.matching.ignore:
            value = without(value, self._ignored)
        if self.scrubber.is_suspect(body):
            value = self.scrubber.json(value)
        if self.matching.rewrite or not body.isascii() or b'\\u' in body:
            value = _map_strings(value, self._string)
        return cast('Json', value)

    def _text(self, content_type: str, body: bytes) -> str:
        clean = scrub_body(body, content_type, self.scrubber)
        try:
            text = self._string(clean.decode())
        except UnicodeDecodeError:
            # Bytes are not text: what looks alike is not the same.
            text = self._rewritten(clean.decode('latin-1'))
        if boundary := boundary_of(content_type):
            text = text.replace(boundary, 'boundary')
        return text

    def _string(self, text: str) -> str:
        text = self._rewritten(text)
        return text if text.isascii() else unicodedata.normalize('NFKC', text.translate(_TYPOGRAPHY))

    def _rewritten(self, text: str) -> str:
        for pattern, replacement in self.matching.rewrite:
            text = pattern.sub(replacement, text)
        return text


@functools.lru_cache(maxsize=64)
def matcher_for(matching: Matching) -> Matcher:
    """The matcher of a `Matching`, shared by all cassettes that use it."""
    return Matcher(matching)


def _digest(text: str) -> bytes:
    return blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=16).digest()


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return text  # a volatile pattern has replaced more than the inside of a string


def _map_strings(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {k: _map_strings(v, change) for k, v in cast('dict[str, Json]', value).items()}
    if isinstance(value, list):
        return [_map_strings(v, change) for v in cast('list[Json]', value)]
    return value


def _by_first_appearance(number: int) -> Callable[[re.Match[str]], str]:
    seen: dict[str, int] = {}

    def replacement(match: re.Match[str]) -> str:
        return f'«volatile {number}.{seen.setdefault(match.group(), len(seen) + 1)}»'

    return replacement
