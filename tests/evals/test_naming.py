"""Names of files that belong to a case."""

from __future__ import annotations

from pathlib import Path

import pytest

from advisor_harness.evals.naming import case_stem, encoded, ignores_case, shown


@pytest.mark.parametrize(
    ('name', 'text'),
    [
        ('plain-Name_1.0', 'plain-Name_1.0'),
        ('a/b', 'a%2Fb'),
        ('50 %', '50%20%25'),
        ('~', '%7E'),
        ('ü', '%C3%BC'),
        ('\ud800', '%ED%A0%80'),
        ('..', '%2E%2E'),
        ('.', '%2E'),
    ],
)
def test_everything_outside_the_safe_characters_is_encoded(name: str, text: str) -> None:
    """Letters, digits, dot, underscore and hyphen stay; the rest is percent-encoded, and no name leaves its folder."""
    assert encoded(name) == text


def test_very_long_names_stay_apart() -> None:
    """Names that differ only behind what a file system holds get different files of a length that it does hold."""
    first, second = encoded('x' * 300 + 'a'), encoded('x' * 300 + 'b')
    assert first != second
    assert (len(first), first[:183]) == (200, 'x' * 183)


def test_the_first_repeat_has_no_number() -> None:
    """`<case>.<arm>`, from the second repeat on `<case>.<arm>.<n>`."""
    assert (case_stem('a b', 'solo'), case_stem('a b', 'solo', 2)) == ('a%20b.solo', 'a%20b.solo.2')


def test_paths_are_shown_relative_to_the_current_directory(folder: Path) -> None:
    """Paths below the current directory are relative, detours removed; others stay absolute."""
    assert shown(folder / 'evals' / '..' / 'cassettes' / 'x.yaml') == 'cassettes/x.yaml'
    assert shown(Path('evals/../cassettes')) == 'cassettes'
    assert shown(folder.parent / 'elsewhere') == (folder.parent / 'elsewhere').resolve().as_posix()


def test_whether_case_counts_is_asked_of_the_file_system(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder ignores case where its name in the other case is the same folder; one to be made is as its parent."""
    mixed = folder / 'Mixed'
    mixed.mkdir()
    assert ignores_case(mixed) == (folder / 'mIXED').exists()
    real = Path.exists
    monkeypatch.setattr(Path, 'exists', lambda path: real(path) or path.name == 'mIXED')
    monkeypatch.setattr(Path, 'samefile', lambda path, other: (path.name, other.name) == ('mIXED', 'Mixed'))
    assert ignores_case(mixed)
    assert ignores_case(mixed / '12' / 'to be made')
