"""What was worked out about large cassettes, kept so that the next load takes a fraction of the time.

Of a file of a megabyte and more two things are kept: its content as JSON, which loads many times faster than YAML, and
the digests of its requests. Both are named after a digest of the file's bytes and of the source of this room, so they
cannot be stale; those of the requests also after the rules they were made by. They lie in the user's cache folder,
`$XDG_CACHE_HOME/advisor-harness/cassettes` (`~/.cache` without that variable), readable by nobody else. A cassette that
JSON cannot hold exactly, because of bytes for example, is parsed every time. Where the folder cannot be written,
nothing is kept.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import secrets
import time
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from .collecting import uncollected

__all__ = ['SMALLEST', 'folder', 'load', 'load_digests', 'name_of', 'store', 'store_digests']

SMALLEST = 1_000_000
"""Bytes from which a file is worth it: YAML of this size takes about 0.2 s to load."""

_DAYS = 30
_DIGEST = 16


def folder() -> Path:
    """Where it is kept."""
    base = os.environ.get('XDG_CACHE_HOME') or os.environ.get('LOCALAPPDATA')
    # The convention has relative values ignored.
    root = Path(base) if base and Path(base).is_absolute() else Path('~/.cache').expanduser()
    return root / 'advisor-harness' / 'cassettes'


def name_of(data: bytes) -> str | None:
    """What a file with these bytes is called here; `None` if it is too small to be kept."""
    return _hex(data, _sources()) if len(data) >= SMALLEST else None


def load(name: str) -> dict[str, Any] | None:
    """The document of a cassette, if it was kept."""
    if (content := _read(f'{name}.json')) is None:
        return None
    with uncollected(len(content)), contextlib.suppress(ValueError):
        document: Any = json.loads(content)
        return cast('dict[str, Any]', document) if isinstance(document, dict) else None
    return None


def store(name: str, document: dict[str, Any]) -> None:
    """Keep the document of a cassette, and remove what nobody has used for 30 days."""
    if (text := _exact_json(document)) is not None:
        _write(f'{name}.json', text)


def load_digests(name: str, rules: str, count: int) -> list[bytes] | None:
    """The digests of a cassette's requests under the same rules, if they were kept."""
    content = _read(f'{name}-{_hex(rules.encode())}.bin')
    if content is None or len(content) != count * _DIGEST:
        return None
    return [content[start : start + _DIGEST] for start in range(0, len(content), _DIGEST)]


def store_digests(name: str, rules: str, digests: list[bytes]) -> None:
    """Keep the digests of a cassette's requests."""
    _write(f'{name}-{_hex(rules.encode())}.bin', b''.join(digests))


@functools.cache
def _sources() -> bytes:
    # Under other code the same bytes may mean something else.
    files = sorted(Path(__file__).parent.glob('*.py'))
    return blake2b(b''.join(file.read_bytes() for file in files)).digest()


def _hex(data: bytes, salt: bytes = b'') -> str:
    return blake2b(data, digest_size=20, key=salt).hexdigest()


def _exact_json(document: dict[str, Any]) -> bytes | None:
    with uncollected(SMALLEST):
        try:
            text = json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
            # Names that are no text come back as text, and then the two differ.
            return text if json.loads(text) == document else None
        except (TypeError, ValueError, RecursionError):
            return None


def _read(file: str) -> bytes | None:
    try:
        path = folder() / file
        content = path.read_bytes()
        path.touch()  # what is used does not grow old
    except (OSError, RuntimeError):
        return None
    return content


def _write(file: str, content: bytes) -> None:
    with contextlib.suppress(OSError, RuntimeError):
        directory = folder()
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = directory / f'{file}.{secrets.token_hex(4)}.tmp'
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, 'wb') as opened:
                opened.write(content)
            temporary.replace(directory / file)
        finally:
            temporary.unlink(missing_ok=True)
        _remove_old(directory)


def _remove_old(directory: Path) -> None:
    oldest = time.time() - _DAYS * 86_400
    for file in directory.iterdir():
        if file.stat().st_mtime < oldest:
            file.unlink(missing_ok=True)
