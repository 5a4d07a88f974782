"""What belongs to a record and is too big for it: one line per case in a file per suite.

    {"case": s, "arm": s, "repeat": n, "spans": [...]}      in spans/<suite>.jsonl

The last line of a (case, arm, repeat) wins. Appending to one file is many times cheaper than a new file for every case.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_core import to_json, to_jsonable_python

from advisor_harness.evals.naming import encoded
from advisor_harness.evals.records import CaseKey

__all__ = ['Attachments', 'Kind', 'append_line', 'encoded_json', 'encoded_messages', 'file_of']

Kind: TypeAlias = Literal['spans', 'messages', 'tracebacks']

_Places: TypeAlias = dict[bytes, tuple[int, int]]


class Attachments:
    """The attachments of a run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ready = set[str]()
        self._found: dict[str, tuple[int, _Places]] = {}

    def add(self, kind: Kind, key: CaseKey, content: bytes) -> str:
        """Append content, which must be JSON; returns the file's path relative to the run's folder."""
        name = file_of(kind, key.suite)
        path = self._folder / name
        if name not in self._ready:
            path.parent.mkdir(parents=True, exist_ok=True)
            _end_torn_line(path)
            self._ready.add(name)
        append_line(path, _owner(key) + _separator(kind) + content + b'}\n')
        return name

    def has(self, kind: Kind, key: CaseKey, name: str) -> bool:
        """Whether `content` is there."""
        try:
            return _owner(key) in self._places(kind, name)
        except OSError:
            return False

    def content(self, kind: Kind, key: CaseKey, name: str) -> bytes:
        """The content that was added to file `name` for `key`.

        Raises:
            KeyError: there is none.
        """
        offset, length = self._places(kind, name)[_owner(key)]
        with open(self._folder / name, 'rb') as file:
            file.seek(offset)
            return file.read(length)

    def _places(self, kind: Kind, name: str) -> _Places:
        """Where the content of every key is; only what was appended since the last look is read."""
        end, places = self._found.setdefault(name, (0, {}))
        with open(self._folder / name, 'rb') as file:
            file.seek(end)
            for line in file:
                if not line.endswith(b'\n'):
                    break  # somebody is writing it
                owner, separator, content = line.partition(_separator(kind))
                if content.endswith(b'}\n'):  # what a killed process left of a line belongs to no record
                    places[owner] = (end + len(owner) + len(separator), len(content) - 2)
                end += len(line)
        self._found[name] = (end, places)
        return places


def file_of(kind: Kind, suite: str) -> str:
    """Path of the file that has what belongs to a suite's records, relative to the run's folder."""
    return f'{kind}/{encoded(suite)}.jsonl'


def append_line(path: Path, line: bytes) -> None:
    """Append a line, whole or not at all: where there is no room for it, what was written of it is taken back."""
    with open(path, 'ab', buffering=0) as file:
        end = file.tell()
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[file.write(rest) :]
        except BaseException:
            file.truncate(end)
            raise


def _owner(key: CaseKey) -> bytes:
    return encoded_json({'case': key.case, 'arm': key.arm, 'repeat': key.repeat})[:-1]


def _separator(kind: Kind) -> bytes:
    # Quotation marks inside of names are escaped, so that this stands only where the content begins.
    return f',"{kind}":'.encode()


def _end_torn_line(path: Path) -> None:
    with open(path, 'a+b') as file:
        if file.tell():
            file.seek(-1, 2)
            if file.read() != b'\n':
                file.write(b'\n')


def encoded_json(value: Any) -> bytes:
    """A value of JSON's types, tuples and dataclasses as JSON."""
    try:
        return to_json(value)
    except ValueError:  # half of a surrogate pair, which only escapes can hold
        return json.dumps(to_jsonable_python(value), allow_nan=False).encode()


def encoded_messages(messages: Sequence[ModelMessage]) -> bytes:
    """Messages as `ModelMessagesTypeAdapter` reads them back."""
    try:
        return ModelMessagesTypeAdapter.dump_json(list(messages), fallback=repr)
    except ValueError:
        return json.dumps(ModelMessagesTypeAdapter.dump_python(list(messages), mode='json', fallback=repr)).encode()
