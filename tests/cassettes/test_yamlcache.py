from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from advisor_harness.cassettes import CassetteFormatError, Matching, yamlcache, yamlfile

from .support import URL, entry, open_cassette, write_cassette

LARGE = 'x' * 10_000


@pytest.fixture(autouse=True)
def ten_kilobytes_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yamlcache, 'SMALLEST', 10_000)


def large(path: Path, *entries: dict[str, Any]) -> Path:
    return write_cassette(path, *entries, entry({'q': LARGE}, ['long']))


def kept() -> list[str]:
    folder = yamlcache.folder()
    return sorted(file.suffix for file in folder.iterdir()) if folder.exists() else []


def answer(path: Path, **options: Any) -> Any:
    cassette = open_cassette(path, **options)
    hit = cassette.take(httpx2.Request('POST', URL, json={'q': 1}))
    return None if hit is None else (hit[0].mapping, [dict(i.mapping) for i in cassette.interactions])


def test_a_large_file_loads_the_same_the_second_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second load reads neither YAML nor bodies for their digests, and gives the same."""
    path = large(tmp_path / 'x.yaml', entry({'q': 1}, {'z': [1, 2.0, None, True, 'é'], 'a': -0.0}))
    first = answer(path)

    def fail(*_: object, **__: object) -> None:
        raise AssertionError('it was worked out again')

    monkeypatch.setattr(yamlfile, 'load', fail)
    monkeypatch.setattr('advisor_harness.cassettes.matching.Matcher._text_of', lambda *_: 'the same for all')
    again = open_cassette(path)

    assert repr([dict(i.mapping) for i in again.interactions]) == repr(first[1])
    assert len(again._queues) == 2  # one digest for all of them would make one queue
    assert kept() == ['.bin', '.json']


def test_small_files_are_not_kept(tmp_path: Path) -> None:
    """Nothing is written for a file that loads fast anyway."""
    assert answer(write_cassette(tmp_path / 'x.yaml', entry({'q': 1}, [1]))) is not None
    assert kept() == []


def test_a_changed_file_is_never_answered_by_the_old_one(tmp_path: Path) -> None:
    """What is kept belongs to the bytes of a file, whatever its name and times say."""
    path = large(tmp_path / 'x.yaml', entry({'q': 1}, ['old']))
    times = path.stat()
    assert answer(path)[0]['response']['parsed_body'] == ['old']
    large(path, entry({'q': 1}, ['new']))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert answer(path)[0]['response']['parsed_body'] == ['new']


def test_other_rules_have_other_digests(tmp_path: Path) -> None:
    """Digests are kept for the rules that made them, and found again for equal rules."""
    path = large(tmp_path / 'x.yaml', entry({'q': 1, 'n': 5}, [1]))

    assert answer(path) is None
    assert answer(path, matching=Matching(ignore=frozenset({'n', 'm'}))) is not None
    assert answer(path, matching=Matching(ignore=frozenset({'m', 'n'}))) is not None
    assert kept() == ['.bin', '.bin', '.json']


def test_what_json_cannot_hold_is_parsed_every_time(tmp_path: Path) -> None:
    """Bytes keep a cassette out of the cache: a copy would not be exact."""
    path = large(tmp_path / 'x.yaml', entry({'q': 1}, body={'string': b'\xff'}))

    assert answer(path) == answer(path)
    assert kept() == ['.bin']


def test_names_that_are_no_text_are_not_kept(tmp_path: Path) -> None:
    """JSON would turn the name 1 into text, so a file that needs refusing is refused every time."""
    path = large(tmp_path / 'x.yaml', entry({'q': 1}, {1: 'one'}))

    for _ in range(2):
        with pytest.raises(CassetteFormatError) as caught:
            open_cassette(path)
        assert caught.value.problem == (
            'interaction 1: response.parsed_body has the key 1, an int; JSON keys are text: quote it'
        )
    assert kept() == []


@pytest.mark.parametrize('damage', ['', 'null', '[1]', '{"interactions": '])
def test_a_damaged_copy_is_made_again(tmp_path: Path, damage: str) -> None:
    """A copy that does not load counts as none."""
    path = large(tmp_path / 'x.yaml', entry({'q': 1}, [1]))
    first = answer(path)
    for file in yamlcache.folder().iterdir():
        file.write_text(damage)

    assert answer(path) == first == answer(path)


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a cache a file loads as it always does."""
    occupied = tmp_path / 'file'
    occupied.touch()
    monkeypatch.setenv('XDG_CACHE_HOME', str(occupied))
    path = large(tmp_path / 'x.yaml', entry({'q': 1}, [1]))

    assert answer(path) == answer(path) is not None


def test_the_folder_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`XDG_CACHE_HOME` is honoured if it is absolute; the default lies in the home folder, never in the project."""
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.delenv('LOCALAPPDATA', raising=False)
    home = tmp_path / '.cache' / 'advisor-harness' / 'cassettes'

    for value, expected in (('', home), ('relative', home), ('/else', Path('/else/advisor-harness/cassettes'))):
        monkeypatch.setenv('XDG_CACHE_HOME', value)
        assert yamlcache.folder() == expected


def test_only_the_user_can_read_it(tmp_path: Path) -> None:
    """Folder and files have no permissions for others, and no temporary file is left."""
    answer(large(tmp_path / 'x.yaml', entry({'q': 1}, [1])))
    folder = yamlcache.folder()

    assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0
    assert [stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()] == [0o600, 0o600]


def test_what_nobody_uses_is_removed(tmp_path: Path) -> None:
    """Thirty days after its last use a file is removed when another one is written."""
    answer(large(tmp_path / 'x.yaml', entry({'q': 1}, [1])))
    old = time.time() - 31 * 86_400
    for file in yamlcache.folder().iterdir():
        os.utime(file, (old, old))
    answer(large(tmp_path / 'y.yaml', entry({'q': 1}, [2])))

    assert kept() == ['.bin', '.json']
