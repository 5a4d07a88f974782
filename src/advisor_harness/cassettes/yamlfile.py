"""Cassettes as files: VCR YAML, version 1, written in the style of the recordings that Pydantic AI keeps.

    recorded_with: {by: ..., model: ..., tool: ..., version: ..., date: ...}     optional
    interactions: [{request: ..., response: ..., recorded: {latency_s: ...}}, ...]
    version: 1

libyaml does the work; text that holds a line break is a literal block, so a stored stream reads like one.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from . import yamlcache
from .errors import CassetteFormatError
from .yamlreading import LOADER, UnreadableYaml, line_of, load, yaml

__all__ = ['dump', 'format_error', 'read', 'read_named', 'survives', 'write']

_Dumper: Any = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)

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

    A large file is parsed once; later loads are many times faster (`yamlcache.py`).

    Raises:
        CassetteFormatError: not YAML, or not a list of HTTP interactions.
        FileNotFoundError: no such file.
    """
    return read_named(path)[0]


def read_named(path: Path) -> tuple[dict[str, Any], str | None]:
    """As `read`, with the name under which `yamlcache` keeps what belongs to the file; `None` for small files."""
    data = path.read_bytes()
    name = yamlcache.name_of(data)
    if name is not None and (copy := yamlcache.load(name)) is not None:
        return copy, name
    document = _parsed(path, data)
    if name is not None:
        yamlcache.store(name, document)
    return document, name


def _parsed(path: Path, data: bytes) -> dict[str, Any]:
    try:
        loaded = load(data)
    except UnreadableYaml as e:
        raise CassetteFormatError(path, f'it is not readable YAML: {e}', line=e.line) from e
    return _checked(path, data, loaded)


def format_error(path: Path, number: int, problem: str) -> CassetteFormatError:
    """The error for an interaction, counted from 1, that is no HTTP exchange; it tells the line of the problem."""
    # Messages begin with the place, such as `request.headers.host`.
    place = re.match(r'[\w-]+(?:\.[\w-]+|\[\d+\])*', problem)
    steps = re.findall(r'[\w-]+', place.group()) if place else []
    line = line_of(path.read_bytes(), ['interactions', str(number - 1), *steps])
    return CassetteFormatError(path, f'interaction {number}: {problem}', line=line)


def dump(document: Mapping[str, Any]) -> str:
    """The text of a cassette's top-level mapping; what was loaded from a file in this style comes out byte for byte."""
    return yaml.dump(document, Dumper=_CassetteDumper, allow_unicode=True, width=120, sort_keys=False)


def survives(interaction: Mapping[str, Any]) -> bool:
    """Whether an interaction reads back from a file exactly as it was written."""
    document = {'interactions': [interaction]}
    try:
        # `repr` also tells `1` from `1.0` and sees the order of keys.
        return repr(yaml.load(dump(document), Loader=LOADER)) == repr(document)
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


def _checked(path: Path, data: bytes, loaded: Any) -> dict[str, Any]:
    def refused(problem: str, *steps: str) -> CassetteFormatError:
        return CassetteFormatError(path, problem, line=line_of(data, list(steps)))

    if loaded is None:
        raise CassetteFormatError(path, 'it is empty')
    if not isinstance(loaded, dict):
        raise refused(f'the top level is {type(loaded).__name__}; it must be a mapping')
    document = cast('dict[str, Any]', loaded)
    version = document.get('version', 1)
    if isinstance(version, bool) or version != 1:
        raise refused(f'version is {version!r}; only 1 is known', 'version')
    if 'interactions' not in document:
        raise refused(f'it has no `interactions`, only {", ".join(map(repr, document)) or "nothing"}')
    interactions = document['interactions']
    if interactions is not None and not isinstance(interactions, list):
        raise refused(f'`interactions` is {type(interactions).__name__}; it must be a list', 'interactions')
    provenance = document.get('recorded_with')
    if provenance is not None and not isinstance(provenance, dict):
        raise refused(f'`recorded_with` is {type(provenance).__name__}; it must be a mapping', 'recorded_with')
    return document
