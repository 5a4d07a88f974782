"""The run store: a folder that only grows, readable while a run is going on and after it was cut off.

    runs/<run-id>/run.json                    what the run owes, written first and in one step
    runs/<run-id>/cases.jsonl                 one record per line, appended when a case ends
    runs/<run-id>/spans/<suite>.jsonl         the spans of a case in one line (`attachments.py`)
    runs/<run-id>/messages/<suite>.jsonl      the messages of the case's first agent run
    runs/<run-id>/tracebacks/<suite>.jsonl    where an error came from

A line is written with one system call, and taken back where there is no room for all of it. A last line without line
break is what a killed process leaves: it is ignored when reading and removed before the next record is appended.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from pydantic_ai.messages import ModelMessage

from advisor_harness.evals.attachments import Attachments, Kind, append_line, encoded_json, encoded_messages
from advisor_harness.evals.errors import HarnessError, RunNotFoundError, StoreError
from advisor_harness.evals.meta import RunMeta
from advisor_harness.evals.naming import shown
from advisor_harness.evals.records import CaseKey, CaseRecord
from advisor_harness.evals.spans import span_from_json

__all__ = ['RunStore', 'new_run_id', 'newest_run_of', 'open_run', 'write_json', 'writing']

# Bytes that are read at once when looking for the end of the last whole line.
_BLOCK = 1 << 16


class RunStore:
    """One run on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tail_checked = False
        self._attachments = Attachments(folder)

    @classmethod
    def create(cls, runs_dir: Path, meta: RunMeta) -> RunStore:
        """Start the folder of a new run and write its `run.json`."""
        store = cls(runs_dir / meta.id)
        with writing(store.folder):
            store.folder.mkdir(parents=True)
            write_json(store.folder / 'run.json', meta.to_json())
        return store

    def update(self, meta: RunMeta) -> None:
        """Replace `run.json`."""
        with writing(self.folder):
            write_json(self.folder / 'run.json', meta.to_json())
        self.__dict__.pop('meta', None)

    @property
    def id(self) -> str:
        """Id of the run."""
        return self.meta.id

    @cached_property
    def meta(self) -> RunMeta:
        """What the run owes.

        Raises:
            HarnessError: `run.json` is not readable.
        """
        path = self.folder / 'run.json'
        try:
            return RunMeta.from_json(json.loads(path.read_bytes()))
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise HarnessError(f'{shown(path)} does not describe a run: {type(e).__name__}: {e}') from e

    def append(self, record: CaseRecord) -> None:
        """Add the record of a case that ended; it replaces an earlier one of the same key.

        Raises:
            StoreError: there is no room for it, or no permission; the file is then as it was before.
        """
        path = self.folder / 'cases.jsonl'
        line = encoded_json({'schema': 1, **vars(record)}) + b'\n'
        with writing(path):
            if not self._tail_checked:
                _remove_torn_line(path)
                self._tail_checked = True
            append_line(path, line)

    def records(self) -> dict[CaseKey, CaseRecord]:
        """The last record of every key, in the order in which keys first appeared.

        Raises:
            HarnessError: a complete line is not a record.
        """
        return {record.key: record for record in self._lines()}

    def _lines(self) -> Iterator[CaseRecord]:
        path = self.folder / 'cases.jsonl'
        if not path.exists():
            return
        with open(path, 'rb') as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b'\n'):
                    return
                try:
                    yield CaseRecord.from_json(json.loads(line))
                except (ValueError, KeyError, TypeError) as e:
                    raise HarnessError(f'{shown(path)}, line {number} is not a record of a case: {e}') from e

    def write_spans(self, key: CaseKey, spans: Sequence[Mapping[str, Any]]) -> str:
        """Keep the spans of a case; returns the file's path relative to the run's folder."""
        return self.attach('spans', key, encoded_json(spans))

    def write_messages(self, key: CaseKey, messages: Sequence[ModelMessage]) -> str:
        """Keep the messages of a case; returns the file's path relative to the run's folder."""
        return self.attach('messages', key, encoded_messages(messages))

    def write_traceback(self, key: CaseKey, text: str) -> str:
        """Keep where an error came from; returns the file's path relative to the run's folder."""
        return self.attach('tracebacks', key, encoded_json(text))

    def attach(self, kind: Kind, key: CaseKey, content: bytes) -> str:
        """Keep JSON that belongs to a case; returns the file's path relative to the run's folder.

        Raises:
            StoreError: there is no room for it, or no permission.
        """
        with writing(self.folder / kind):
            return self._attachments.add(kind, key, content)

    def whole(self, record: CaseRecord) -> bool:
        """Whether everything that belongs to a record of this run is there."""
        kept = _attached(record)
        return all(name is None or self._attachments.has(kind, record.key, name) for kind, name in kept)

    def carry(self, record: CaseRecord, source: RunStore) -> None:
        """Add a record of another run, with what belongs to it."""
        for kind, name in _attached(record):
            if name is not None:
                self.attach(kind, record.key, source._attachments.content(kind, record.key, name))
        self.append(record)

    def spans(self, record: CaseRecord) -> list[dict[str, Any]]:
        """The spans of a case, as `spans.py` describes them; empty when the case left none."""
        return self._content('spans', record, record.spans) or []

    def trace(self, record: CaseRecord) -> list[ReadableSpan]:
        """The spans of a case, as `telemetry.tree.render` and `telemetry.read` take them."""
        return [span_from_json(span) for span in self.spans(record)]

    def messages(self, record: CaseRecord) -> list[Any]:
        """The messages of a case's first agent run, as JSON; empty when the case left none."""
        return self._content('messages', record, record.messages) or []

    def traceback(self, record: CaseRecord) -> str | None:
        """Where the error of a case came from; `None` when there was none."""
        return self._content('tracebacks', record, record.traceback)

    def _content(self, kind: Kind, record: CaseRecord, name: str | None) -> Any:
        return None if name is None else json.loads(self._attachments.content(kind, record.key, name))


@contextmanager
def writing(path: Path) -> Generator[None]:
    """Say of a failure to write that the store is at fault, not the case that was to be kept.

    Raises:
        StoreError: an `OSError` came out of the block.
    """
    try:
        yield
    except OSError as e:
        raise StoreError(f'{shown(path)} cannot be written: {e.strerror or e}') from e


def _attached(record: CaseRecord) -> tuple[tuple[Kind, str | None], ...]:
    return ('spans', record.spans), ('messages', record.messages), ('tracebacks', record.traceback)


def new_run_id(now: datetime | None = None) -> str:
    """An id that sorts by start time: UTC to the millisecond, and four random characters against twins."""
    now = now or datetime.now(UTC)
    return f'{now:%Y%m%dT%H%M%S}{now.microsecond // 1000:03d}Z-{secrets.token_hex(2)}'


def open_run(ref: str | os.PathLike[str], runs_dir: Path = Path('runs')) -> RunStore:
    """The run that `ref` names: a run id, a path to a run's folder, or `latest`.

    Raises:
        RunNotFoundError: there is no such run.
    """
    text = os.fspath(ref)
    known = _run_names(runs_dir)
    if text == 'latest':
        if not known:
            raise RunNotFoundError(f'there is no run in {shown(runs_dir)} yet: start one with `advisor-harness run`')
        return RunStore(runs_dir / known[-1])
    for folder in (runs_dir / text, Path(text)):
        if (folder / 'run.json').is_file():
            return RunStore(folder)
    newest = f'the newest are {", ".join(known[:-4:-1])}' if known else 'there is none yet'
    raise RunNotFoundError(f'there is no run {text!r} in {shown(runs_dir)}: {newest}')


def newest_run_of(suite: str, runs_dir: Path, *, before: str | None = None) -> RunStore | None:
    """The newest run that ran `suite`, of those with an id before `before`; `None` if none did."""
    for name in reversed(_run_names(runs_dir)):
        if before is not None and name >= before:
            continue
        store = RunStore(runs_dir / name)
        if store.meta.suite(suite) is not None:
            return store
    return None


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file in one step: a reader sees the old content or the new one, never half of it."""
    part = path.with_name(f'.{path.name}.part')
    part.write_text(json.dumps(data, indent=2) + '\n', encoding='utf-8')
    os.replace(part, path)


def _run_names(runs_dir: Path) -> list[str]:
    if not runs_dir.is_dir():
        return []
    return sorted(entry.name for entry in runs_dir.iterdir() if (entry / 'run.json').is_file())


def _remove_torn_line(path: Path) -> None:
    if not path.exists():
        return
    with open(path, 'r+b') as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - _BLOCK)
            file.seek(start)
            if (last := file.read(end - start).rfind(b'\n')) >= 0:
                end = start + last + 1
                break
            end = start
        file.truncate(end)
