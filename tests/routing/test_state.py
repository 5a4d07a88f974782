"""The stores: what every one promises, and what only one does."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from advisor_harness.routing import (
    InMemoryRouteStore,
    RouteConflictError,
    RouteState,
    RouteStore,
    RoutingError,
    SqliteRouteStore,
)

pytestmark = pytest.mark.anyio

NOTHING = RouteState(None)

# Adds 1 to the route, a number, 20 times: read, write what follows if nobody was faster, else once more.
COUNT = """
import asyncio, sys
from advisor_harness.routing import RouteConflictError, RouteState, SqliteRouteStore

async def main():
    store = SqliteRouteStore(sys.argv[1])
    done = 0
    while done < 20:
        found = await store.get('router', 'c1') or RouteState(None)
        try:
            await store.set('router', 'c1', RouteState(str(int(found.route or 0) + 1)), expect=found)
            done += 1
        except RouteConflictError:
            pass

asyncio.run(main())
"""


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.fixture(params=['memory', 'sqlite'])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RouteStore]:
    if request.param == 'memory':
        yield InMemoryRouteStore()
        return
    opened = SqliteRouteStore(tmp_path / 'routes.db')
    yield opened
    opened.close()


async def test_a_state_is_kept_per_key_and_conversation(store: RouteStore) -> None:
    """What is written for one key and id is read back there, whole, and nowhere else."""
    await store.set('router', 'c1', RouteState('smart', 'why: "quotes", ünïcode'))
    await store.set('router', 'c2', NOTHING)
    places = [('router', 'c1'), ('router', 'c2'), ('other', 'c1'), ('router', 'C1')]
    assert [await store.get(*place) for place in places] == [
        RouteState('smart', 'why: "quotes", ünïcode'),
        NOTHING,
        None,
        None,
    ]


async def test_a_second_write_replaces_the_first(store: RouteStore) -> None:
    """The last write counts, its reason included."""
    await store.set('router', 'c1', RouteState('smart', 'hard'))
    await store.set('router', 'c1', RouteState('fast'))
    assert await store.get('router', 'c1') == RouteState('fast')


async def test_a_conversation_is_forgotten(store: RouteStore) -> None:
    """Deleting removes one conversation's state, and is no error when there is none."""
    await store.set('router', 'c1', RouteState('smart'))
    await store.set('router', 'c2', RouteState('smart'))
    await store.delete('router', 'c1')
    await store.delete('router', 'c1')
    assert [await store.get('router', name) for name in ('c1', 'c2')] == [None, RouteState('smart')]


@pytest.mark.parametrize(
    ('stored', 'expect', 'written'),
    [
        (None, NOTHING, True),
        (None, RouteState('fast'), False),
        (NOTHING, NOTHING, True),
        (NOTHING, RouteState('fast'), False),
        (RouteState('fast', 'why'), RouteState('fast', 'another reason'), True),
        (RouteState('fast'), RouteState('smart'), False),
        (RouteState('fast'), NOTHING, False),
        (RouteState('fast'), None, True),
    ],
)
async def test_expect_guards_the_write(
    store: RouteStore, stored: RouteState | None, expect: RouteState | None, written: bool
) -> None:
    """A write goes through when the stored route is the expected one; nothing stored counts as no route."""
    if stored is not None:
        await store.set('router', 'c1', stored)
    conflict: RouteConflictError | None = None
    try:
        await store.set('router', 'c1', RouteState('new'), expect=expect)
    except RouteConflictError as error:
        conflict = error
    assert (conflict is None, await store.get('router', 'c1')) == (written, RouteState('new') if written else stored)
    if conflict is not None:
        facts = (conflict.conversation_id, conflict.expected, conflict.active)
        assert facts == ('c1', expect and expect.route, stored and stored.route)


async def test_one_of_many_tasks_wins(store: RouteStore) -> None:
    """Of tasks that all expect the same state, exactly one writes."""

    async def attempt(name: str) -> bool:
        try:
            await store.set('router', 'c1', RouteState(name), expect=NOTHING)
        except RouteConflictError:
            return False
        return True

    won = await asyncio.gather(*(attempt(f'route {number}') for number in range(20)))
    assert won.count(True) == 1
    assert await store.get('router', 'c1') == RouteState(f'route {won.index(True)}')


async def test_memory_forgets_what_was_not_used_for_the_longest_time() -> None:
    """Beyond the bound the least recently read or written conversation goes first."""
    store = InMemoryRouteStore(max_conversations=2)
    for name in ('c1', 'c2'):
        await store.set('router', name, RouteState('smart'))
    await store.get('router', 'c1')
    await store.set('router', 'c3', RouteState('smart'))
    found = [await store.get('router', name) for name in ('c1', 'c2', 'c3')]
    assert (found, len(store)) == ([RouteState('smart'), None, RouteState('smart')], 2)


async def test_memory_does_not_grow_beyond_its_bound() -> None:
    """A thousand conversations leave no more than the bound behind."""
    store = InMemoryRouteStore(max_conversations=10)
    for number in range(1000):
        await store.set('router', f'c{number}', RouteState('smart'))
    assert len(store) == 10


def test_memory_needs_room_for_one() -> None:
    """A bound below one conversation is refused; by default there is room for ten thousand."""
    with pytest.raises(ValueError) as error:
        InMemoryRouteStore(max_conversations=0)
    assert str(error.value) == '`InMemoryRouteStore.max_conversations` must be at least 1; got 0.'
    with pytest.raises(TypeError) as wrong_type:
        InMemoryRouteStore(max_conversations=2.5)  # pyright: ignore[reportArgumentType] - what is refused
    assert str(wrong_type.value) == '`InMemoryRouteStore.max_conversations` must be a whole number; got 2.5.'
    assert InMemoryRouteStore().max_conversations == 10_000


async def test_sqlite_leaves_one_file_that_is_read_later(tmp_path: Path) -> None:
    """Nothing is created before the first use; closed, the store is one file, and what it held is there again."""
    path = tmp_path / 'routes.db'
    store = SqliteRouteStore(path)
    assert files(tmp_path) == []
    await store.set('router', 'c1', RouteState('smart', 'hard'))
    store.close()
    store.close()
    assert files(tmp_path) == ['routes.db']
    assert await store.get('router', 'c1') == RouteState('smart', 'hard')
    store.close()


async def test_sqlite_writes_ahead(tmp_path: Path) -> None:
    """The file is in WAL mode, so readers and a writer do not wait for each other."""
    store = SqliteRouteStore(tmp_path / 'routes.db')
    await store.set('router', 'c1', RouteState('smart'))
    connection = sqlite3.connect(tmp_path / 'routes.db')
    mode = connection.execute('PRAGMA journal_mode').fetchone()
    connection.close()
    store.close()
    assert mode == ('wal',)


def test_sqlite_is_shared_by_processes(tmp_path: Path) -> None:
    """Three processes count with `expect` on one file, and no step of any of them is lost."""
    path = tmp_path / 'routes.db'
    processes = [subprocess.Popen([sys.executable, '-W', 'error', '-c', COUNT, str(path)]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    store = SqliteRouteStore(path)
    assert asyncio.run(store.get('router', 'c1')) == RouteState('60')
    store.close()


@pytest.mark.parametrize('path', [':memory:', 'no/such/folder/routes.db'])
def test_sqlite_needs_a_place_for_its_file(path: str) -> None:
    """A path without a folder, or SQLite's name for no file, is refused before anything is stored."""
    with pytest.raises(RoutingError) as error:
        SqliteRouteStore(path)
    assert str(error.value) == (
        f'`SqliteRouteStore.path` must be a file in an existing folder; got {path!r}. '
        'Create the folder first, or use `InMemoryRouteStore()` for a store without a file.'
    )


async def test_sqlite_says_which_file_is_no_database(tmp_path: Path) -> None:
    """A file of another kind is named, and left as it is."""
    path = tmp_path / 'routes.db'
    path.write_text('this is not a database, but it is long enough to look at')
    with pytest.raises(RoutingError) as error:
        await SqliteRouteStore(path).get('router', 'c1')
    assert str(error.value) == (
        f'{str(path)!r} cannot be used as a route store: file is not a database. '
        'Nothing was changed. Look after the file and who else uses it, or give the store another path.'
    )
    assert path.read_text() == 'this is not a database, but it is long enough to look at'


async def test_sqlite_says_what_is_wrong_with_a_foreign_table(tmp_path: Path) -> None:
    """Whatever SQLite says about the file, at any call, is an error of routing that names it."""
    path = tmp_path / 'routes.db'
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('CREATE TABLE route_state (other TEXT)')
    store = SqliteRouteStore(path)
    for call in (
        store.get('router', 'c1'),
        store.set('router', 'c1', RouteState('smart')),
        store.delete('router', 'c1'),
    ):
        with pytest.raises(RoutingError) as error:
            await call
        assert str(error.value).startswith(f'{str(path)!r} cannot be used as a route store: no such column: ')
    store.close()


async def test_sqlite_writes_again_after_a_commit_that_failed(tmp_path: Path) -> None:
    """A write whose commit is refused changes nothing, and does not keep the store from the next one."""
    path = tmp_path / 'routes.db'
    store = SqliteRouteStore(path)
    await store.set('router', 'c1', RouteState('smart'))
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            'CREATE TABLE a (x PRIMARY KEY); CREATE TABLE b (x REFERENCES a DEFERRABLE INITIALLY DEFERRED);'
            "CREATE TRIGGER t AFTER UPDATE ON route_state WHEN new.route = 'bad' BEGIN INSERT INTO b VALUES (1); END;"
        )
    store._connection.execute('PRAGMA foreign_keys = ON')  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess] - nothing else makes a commit fail
    with pytest.raises(RoutingError) as error:
        await store.set('router', 'c1', RouteState('bad'))
    assert str(error.value).startswith(f'{str(path)!r} cannot be used as a route store: FOREIGN KEY constraint failed.')
    assert await store.get('router', 'c1') == RouteState('smart')
    await store.set('router', 'c1', RouteState('fast'))
    assert await store.get('router', 'c1') == RouteState('fast')
    store.close()


async def test_sqlite_path_must_lead_to_a_file(tmp_path: Path) -> None:
    """A folder is refused in words."""
    with pytest.raises(RoutingError) as error:
        await SqliteRouteStore(tmp_path).get('router', 'c1')
    assert str(error.value) == (
        f'{str(tmp_path)!r} cannot be used as a route store: unable to open database file. '
        'Nothing was changed. Look after the file and who else uses it, or give the store another path.'
    )


async def test_sqlite_does_not_touch_a_later_version(tmp_path: Path) -> None:
    """A file that a later package wrote is refused."""
    path = tmp_path / 'routes.db'
    connection = sqlite3.connect(path)
    connection.execute('PRAGMA user_version = 2')
    connection.close()
    with pytest.raises(RoutingError) as error:
        await SqliteRouteStore(path).get('router', 'c1')
    assert str(error.value) == (
        f'{str(path)!r} holds version 2 of the route store; this package reads version 1. '
        'Use the package that wrote it, or another file.'
    )


def test_sqlite_is_closed_with_its_store(tmp_path: Path) -> None:
    """A store that is let go of closes its file: no side file stays."""
    store = SqliteRouteStore(tmp_path / 'routes.db')
    asyncio.run(store.set('router', 'c1', RouteState('smart')))
    del store
    gc.collect()
    assert files(tmp_path) == ['routes.db']
