"""Cassettes as files: VCR YAML, version 1, written in the style of the recordings that Pydantic AI keeps.

    recorded_with: {by: ..., model: ..., tool: ..., version: ..., date: ...}     optional
    interactions: [{request: ..., response: ..., recorded: {latency_s: ...}}, ...]
    version: 1

libyaml does the work; text that holds a line break is a literal block, so a stored stream reads like one.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import secrets
import shutil
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, cast

from .errors import CassetteFormatError

try:
    import yaml
except ModuleNotFoundError as e:
    if e.name != 'yaml':
        raise
    raise ModuleNotFoundError(
        "Cassettes need PyYAML, which is not installed: `python -m pip install 'advisor-harness[evals]'`.", name='yaml'
    ) from e

__all__ = ['dump', 'read', 'survives', 'write']

_Loader: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_Dumper: Any = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)

_LARGE = 200_000
"""Bytes from which a file is loaded without garbage collection, which would take most of the time."""

# A literal block normalises these, so text that holds one of them is quoted.
_NOT_LITERAL = re.compile('[\r\x85\u2028\u2029]')


class _CassetteDumper(_Dumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: Any, text: str) -> Any:
    literal = '\n' in text and not _NOT_LITERAL.search(text)
    return dumper.represent_scalar('tag:yaml.org,2002:str', text, style='|' if literal else None)


_CassetteDumper.add_representer(str, _represent_text)


def read(path: Path) -> dict[str, Any]:
    """Load a cassette's top-level mapping, with its interactions as they are in the file.

    Raises:
        CassetteFormatError: not YAML, or not a list of HTTP interactions.
        FileNotFoundError: no such file.
    """
    data = path.read_bytes()
    try:
        with _without_collection(len(data)):
            loaded = yaml.load(data, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as e:
        raise CassetteFormatError(path, f'it is not readable YAML: {" ".join(str(e).split())}') from e
    return _checked(path, loaded)


def dump(document: Mapping[str, Any]) -> str:
    """The text of a cassette's top-level mapping; what was loaded from a file in this style comes out byte for byte."""
    return yaml.dump(document, Dumper=_CassetteDumper, allow_unicode=True, width=120, sort_keys=False)


def survives(interaction: Mapping[str, Any]) -> bool:
    """Whether an interaction reads back from a file exactly as it was written."""
    document = {'interactions': [interaction]}
    try:
        # `repr` also tells `1` from `1.0` and sees the order of keys.
        return repr(yaml.load(dump(document), Loader=_Loader)) == repr(document)
    except (yaml.YAMLError, UnicodeEncodeError, RecursionError):
        return False


def write(path: Path, text: str) -> None:
    """Replace a file in one step: a reader, or a crash, sees the old text or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f'.{path.name}.{secrets.token_hex(4)}.tmp')
    try:
        with temporary.open('x', encoding='utf-8', newline='') as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _checked(path: Path, loaded: Any) -> dict[str, Any]:
    if loaded is None:
        raise CassetteFormatError(path, 'it is empty')
    if not isinstance(loaded, dict):
        raise CassetteFormatError(path, f'the top level is {type(loaded).__name__}; it must be a mapping')
    document = cast('dict[str, Any]', loaded)
    if document.get('version', 1) != 1:
        raise CassetteFormatError(path, f'version is {document["version"]!r}; only 1 is known')
    if 'interactions' not in document:
        raise CassetteFormatError(path, f'it has no `interactions`, only {", ".join(map(repr, document)) or "nothing"}')
    interactions = document['interactions']
    if interactions is not None and not isinstance(interactions, list):
        raise CassetteFormatError(path, f'`interactions` is {type(interactions).__name__}; it must be a list')
    provenance = document.get('recorded_with')
    if provenance is not None and not isinstance(provenance, dict):
        raise CassetteFormatError(path, f'`recorded_with` is {type(provenance).__name__}; it must be a mapping')
    return document


@contextlib.contextmanager
def _without_collection(size: int) -> Generator[None]:
    if size < _LARGE or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
