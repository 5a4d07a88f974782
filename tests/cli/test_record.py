from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.project import RECORDED_SUITE, invoke, write_project

RECORDINGS = Path('cassettes/mirror')


@pytest.fixture(autouse=True)
def _recorded(folder: Path) -> None:
    write_project(folder, suite=RECORDED_SUITE)
    result = invoke('record', 'mirror', '--quiet')
    assert result.exit_code == 0, result.output


def edit(name: str, old: str, new: str) -> None:
    path = RECORDINGS / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_suite_is_recorded_its_own_way_and_replays() -> None:
    """What the suite's emulator answered is replayed without it, and the report counts who answered."""
    assert sorted(path.name for path in RECORDINGS.iterdir()) == ['long.advised.yaml', 'short.advised.yaml']
    result = invoke('run')
    assert result.exit_code == 0
    assert '✓ mirror   replay (deterministic)   2 cases: 2 ok\n' in result.stdout
    assert '  preconditions   cassettes 2/2 ✓   traces 2/2 ✓   scored 2/2 ✓\n' in result.stdout
    assert 'rests on      2 recordings: 0 provider, 0 local model, 2 emulator, 0 unknown\n' in result.stdout


def test_one_case_is_recorded_again() -> None:
    """`record SUITE --case C` leaves the other recordings as they are."""
    edit('short.advised.yaml', 'ba', 'xx')
    before = (RECORDINGS / 'short.advised.yaml').read_text()
    assert invoke('record', 'mirror', '--case', 'long', '--quiet').exit_code == 0
    assert (RECORDINGS / 'short.advised.yaml').read_text() == before


def test_another_answer_blocks() -> None:
    """A recorded answer that is wrong is a case that failed: exit code 1."""
    edit('short.advised.yaml', 'ba', 'xx')
    result = invoke('run')
    assert result.exit_code == 1
    assert '    ✗ failed   short [advised]\n' in result.stdout


def test_a_request_that_was_not_recorded_is_inconclusive() -> None:
    """A miss is no verdict about the agent: exit code 2, with the first place where the request differs."""
    edit('short.advised.yaml', '"ab"', '"aX"') if '"ab"' in (RECORDINGS / 'short.advised.yaml').read_text() else edit(
        'short.advised.yaml', 'content: ab', 'content: aX'
    )
    result = invoke('run')
    assert result.exit_code == 2
    assert '    ✗ error   short [advised]\n' in result.stdout
    assert '$.messages[0].content' in result.stdout
    assert re.search(r'^RESULT        INCONCLUSIVE   exit 2 .*: preconditions cassettes 1/2', result.stdout, re.M)
    assert '$.messages[0].content' in Path('reports/report.md').read_text()
    assert '$.messages[0].content' in Path('reports/junit.xml').read_text()


def test_a_suite_that_does_not_exist_is_named() -> None:
    """`record` ends with 2 for a suite that is not there."""
    result = invoke('record', 'miror')
    assert (result.exit_code, result.stderr) == (2, "error: there is no suite 'miror' in 'evals': it has mirror\n")
