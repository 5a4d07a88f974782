"""Where the active route of a conversation is kept between runs: the protocol, in memory, and in one SQLite file.

The router also stamps every response, and the stamp travels with the history. A store adds what a history cannot hold:
a route that was set but has not served yet, and a write that refuses to overwrite somebody else's.
"""

from __future__ import annotations

import asyncio
import sqlite3
import weakref
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Protocol

from advisor_harness.routing.errors import RouteConflictError, RoutingError
from advisor_harness.routing.options import check_whole

__all__ = ['InMemoryRouteStore', 'RouteState', 'RouteStore', 'SqliteRouteStore']

_BUSY_TIMEOUT_S = 10.0
_SCHEMA_VERSION = 1


@dataclass(frozen=True)
class RouteState:
    """What was decided for one conversation."""

    route: str | None
    """Name of the active route; `None` after `clear_active_route()`: the default serves, whatever the history says."""
    reason: str | None = None
    """Why, in the words of whoever set it."""


class RouteStore(Protocol):
    """Keeps one `RouteState` per state key and conversation id. Any number of tasks may call it at the same time."""

    async def get(self, state_key: str, conversation_id: str) -> RouteState | None:
        """Return the state, or `None` when there is none."""
        ...

    async def set(
        self, state_key: str, conversation_id: str, state: RouteState, *, expect: RouteState | None = None
    ) -> None:
        """Write the state.

        Args:
            state_key: Key of the router.
            conversation_id: Id of the conversation.
            state: What to write.
            expect: Write only if the stored route is still the one of this state, in one step with the check. No
                stored state counts as `RouteState(None)`. `None` writes whatever is stored.

        Raises:
            RouteConflictError: another route is stored; nothing was written.
        """
        ...

    async def delete(self, state_key: str, conversation_id: str) -> None:
        """Forget the conversation, as when it is over. What is not there is no error."""
        ...


class InMemoryRouteStore:
    """Keeps the state in this process, for a bounded number of conversations.

    Args:
        max_conversations: Most conversations to remember, >= 1. Beyond it the one that was not used for the longest
            time is forgotten: its next request goes by the stamp in its history, or to the default route.
    """

    def __init__(self, max_conversations: int = 10_000) -> None:
        check_whole('InMemoryRouteStore.max_conversations', max_conversations)
        if max_conversations < 1:
            raise ValueError(f'`InMemoryRouteStore.max_conversations` must be at least 1; got {max_conversations!r}.')
        self.max_conversations = max_conversations
        self._states: OrderedDict[tuple[str, str], RouteState] = OrderedDict()
        # Agents may run in several threads, each with its own event loop (`run_sync`).
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._states)

    async def get(self, state_key: str, conversation_id: str) -> RouteState | None:
        """Return the state, or `None` when there is none. The conversation counts as used."""
        key = (state_key, conversation_id)
        with self._lock:
            state = self._states.get(key)
            if state is not None:
                self._states.move_to_end(key)
            return state

    async def set(
        self, state_key: str, conversation_id: str, state: RouteState, *, expect: RouteState | None = None
    ) -> None:
        """Write the state; see `RouteStore.set`."""
        key = (state_key, conversation_id)
        with self._lock:
            stored = self._states.get(key)
            _check(conversation_id, expect, stored.route if stored else None)
            self._states[key] = state
            self._states.move_to_end(key)
            if len(self._states) > self.max_conversations:
                self._states.popitem(last=False)

    async def delete(self, state_key: str, conversation_id: str) -> None:
        """Forget the conversation. What is not there is no error."""
        with self._lock:
            self._states.pop((state_key, conversation_id), None)


class SqliteRouteStore:
    """Keeps the state in one SQLite file, which any number of processes of one machine may share.

    The file is created on first use; while it is open, SQLite keeps `-wal` and `-shm` files beside it. The number of
    conversations is not bounded: `delete()` those that are over. In a server that forks its workers, use the store
    only after the fork.

    Args:
        path: The file. Its folder must exist.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path).absolute()
        if str(path) == ':memory:' or not self.path.parent.is_dir():
            raise RoutingError(
                f'`SqliteRouteStore.path` must be a file in an existing folder; got {str(path)!r}. '
                'Create the folder first, or use `InMemoryRouteStore()` for a store without a file.'
            )
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._closer: weakref.finalize[[], SqliteRouteStore] | None = None

    async def get(self, state_key: str, conversation_id: str) -> RouteState | None:
        """Return the state, or `None` when there is none."""
        return await asyncio.to_thread(self._get, state_key, conversation_id)

    async def set(
        self, state_key: str, conversation_id: str, state: RouteState, *, expect: RouteState | None = None
    ) -> None:
        """Write the state; see `RouteStore.set`."""
        await asyncio.to_thread(self._set, state_key, conversation_id, state, expect)

    async def delete(self, state_key: str, conversation_id: str) -> None:
        """Forget the conversation. What is not there is no error."""
        await asyncio.to_thread(self._delete, state_key, conversation_id)

    def close(self) -> None:
        """Close the file. The next use opens it again."""
        with self._lock:
            if self._closer is not None:
                self._closer()
            self._connection = self._closer = None

    def _get(self, state_key: str, conversation_id: str) -> RouteState | None:
        with _usable(self.path), self._opened() as connection:
            return _select(connection, state_key, conversation_id)

    def _set(self, state_key: str, conversation_id: str, state: RouteState, expect: RouteState | None) -> None:
        with _usable(self.path), self._opened() as connection, _write(connection):
            stored = _select(connection, state_key, conversation_id)
            _check(conversation_id, expect, stored.route if stored else None)
            connection.execute(
                'INSERT INTO route_state VALUES (?, ?, ?, ?) ON CONFLICT (state_key, conversation_id) '
                'DO UPDATE SET route = excluded.route, reason = excluded.reason',
                (state_key, conversation_id, state.route, state.reason),
            )

    def _delete(self, state_key: str, conversation_id: str) -> None:
        with _usable(self.path), self._opened() as connection, _write(connection):
            connection.execute(
                'DELETE FROM route_state WHERE state_key = ? AND conversation_id = ?', (state_key, conversation_id)
            )

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        with self._lock:
            if self._connection is None:
                self._connection = _open(self.path)
                self._closer = weakref.finalize(self, self._connection.close)
            yield self._connection


def _check(conversation_id: str, expect: RouteState | None, stored: str | None) -> None:
    if expect is not None and expect.route != stored:
        raise RouteConflictError(conversation_id, expected=expect.route, active=stored)


@contextmanager
def _usable(path: Path) -> Generator[None]:
    try:
        yield
    except sqlite3.DatabaseError as exc:
        raise RoutingError(
            f'{str(path)!r} cannot be used as a route store: {exc}. '
            'Nothing was changed. Look after the file and who else uses it, or give the store another path.'
        ) from exc


def _open(path: Path) -> sqlite3.Connection:
    # Calls come from worker threads, one at a time: the store holds its lock around each.
    connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute('PRAGMA journal_mode = WAL')
        with _write(connection):
            _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute('PRAGMA user_version').fetchone()
    if version not in (0, _SCHEMA_VERSION):
        raise RoutingError(
            f'{str(path)!r} holds version {version} of the route store; this package reads version {_SCHEMA_VERSION}. '
            'Use the package that wrote it, or another file.'
        )
    connection.execute(
        'CREATE TABLE IF NOT EXISTS route_state (state_key TEXT NOT NULL, conversation_id TEXT NOT NULL, route TEXT, '
        'reason TEXT, PRIMARY KEY (state_key, conversation_id)) WITHOUT ROWID'
    )
    connection.execute(f'PRAGMA user_version = {_SCHEMA_VERSION}')


def _select(connection: sqlite3.Connection, state_key: str, conversation_id: str) -> RouteState | None:
    row = connection.execute(
        'SELECT route, reason FROM route_state WHERE state_key = ? AND conversation_id = ?',
        (state_key, conversation_id),
    ).fetchone()
    return RouteState(*row) if row is not None else None


@contextmanager
def _write(connection: sqlite3.Connection) -> Generator[None]:
    """One transaction that holds the write lock from its start, so that a check and its write are one step."""
    connection.execute('BEGIN IMMEDIATE')
    try:
        yield
        connection.execute('COMMIT')
    except BaseException:
        # After some failures, as of a full disk, SQLite has rolled back by itself.
        if connection.in_transaction:
            connection.execute('ROLLBACK')
        raise
