from __future__ import annotations

import io

import pytest

from advisor_harness.cli.progress import Progress
from advisor_harness.evals.records import CaseRecord
from tests.cli.terminal import Terminal


def record(n: int, state: str = 'ok') -> CaseRecord:
    return CaseRecord(suite='s', case=str(n), arm='solo', state=state)  # pyright: ignore[reportArgumentType] - a State


def test_a_log_gets_a_line_for_every_tenth() -> None:
    """Forty cases are ten lines, each with what the cases came to so far."""
    file = io.StringIO()
    with Progress(file) as progress:
        for n in range(40):
            progress.add(record(n, 'failed' if n == 5 else 'ok'), 40)
    lines = file.getvalue().splitlines()
    assert lines[:2] == [' 10 %  4 of 40 cases: 4 ok', ' 20 %  8 of 40 cases: 1 failed, 7 ok']
    assert (len(lines), lines[-1]) == (10, '100 %  40 of 40 cases: 1 failed, 39 ok')


def test_few_cases_are_a_line_each() -> None:
    """A run of three cases has no more than three lines."""
    file = io.StringIO()
    with Progress(file) as progress:
        for n in range(3):
            progress.add(record(n), 3)
    assert file.getvalue() == ' 33 %  1 of 3 cases: 1 ok\n 66 %  2 of 3 cases: 2 ok\n100 %  3 of 3 cases: 3 ok\n'


def test_hidden_progress_counts_only() -> None:
    """With `--quiet` nothing is written."""
    file = Terminal()
    with Progress(file, shown=False) as progress:
        progress.add(record(1), 1)
    assert (file.getvalue(), progress.ended) == ('', 1)


def test_a_terminal_gets_a_bar_that_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who watches sees a bar with the counts, and keeps no trace of it above the report."""
    monkeypatch.setenv('TERM', 'xterm')
    monkeypatch.setenv('COLUMNS', '100')
    file = Terminal()
    with Progress(file) as progress:
        progress.add(record(1), 2)
    text = file.getvalue()
    assert '1 of 2 cases: 1 ok' in text
    assert text.endswith('\x1b[1A\x1b[2K')
