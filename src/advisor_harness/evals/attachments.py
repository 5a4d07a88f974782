"""What belongs to a record and is too big for it: one line per case in a file per suite, found by its place.

A place is `spans/<suite>.jsonl#<offset>+<length>`, path relative to the run's folder, numbers in bytes. Appending to
one file is many times cheaper than a new file for every case.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_core import to_json, to_jsonable_python

__all__ = ['Attachments', 'encoded_json', 'encoded_messages']


class Attachments:
    """The attachments of a run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = set[str]()

    def add(self, name: str, line: bytes) -> str:
        """Append a line to file `name` and return its place."""
        path = self._folder / name
        if name not in self._made:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._made.add(name)
        with open(path, 'ab', buffering=0) as file:
            file.write(line + b'\n')
            # Appending moves to the end first, also when another process has written there.
            return f'{name}#{file.tell() - len(line) - 1}+{len(line)}'

    def line(self, place: str) -> bytes:
        """The line at `place`."""
        name, _, numbers = place.rpartition('#')
        offset, _, length = numbers.partition('+')
        with open(self._folder / name, 'rb') as file:
            file.seek(int(offset))
            return file.read(int(length))


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
