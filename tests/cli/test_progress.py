from __future__ import annotations

import io

import pytest

from advisor_harness.cli.progress import Progress
from advisor_harness.evals.records import CaseRecord
from tests.cli.terminal import Terminal


def record(n: int, state: str = 'ok', cost_usd: float | None = None) -> CaseRecord:
    return CaseRecord(suite='s', case=str(n), arm='solo', state=state, cost_usd=cost_usd)  # pyright: ignore[reportArgumentType] - a State


def test_a_log_gets_a_line_for_every_tenth() -> None:
    """Forty cases are ten lines, each with what the cases came to so far."""
    file = io.StringIO()
    with Progress(file) as progress:
        progress.begin(40)
        for n in range(40):
            progress.add(record(n, 'failed' if n == 5 else 'ok'))
    lines = file.getvalue().splitlines()
    assert lines[:2] == [
        ' 10 %  4 of 40 cases: 4 ok; cost unknown',
        ' 20 %  8 of 40 cases: 1 failed, 7 ok; cost unknown',
    ]
    assert (len(lines), lines[-1]) == (10, '100 %  40 of 40 cases: 1 failed, 39 ok; cost unknown')


def test_few_cases_are_a_line_each_with_what_they_cost() -> None:
    """A run of three cases has no more than three lines; a cost that nobody knows is not 0."""
    file = io.StringIO()
    with Progress(file) as progress:
        progress.begin(3)
        for n, cost_usd in enumerate((0.25, None, 0.5)):
            progress.add(record(n, cost_usd=cost_usd))
    assert file.getvalue() == (
        ' 33 %  1 of 3 cases: 1 ok; $0.2500\n'
        ' 66 %  2 of 3 cases: 2 ok; $0.2500 and 1 of unknown cost\n'
        '100 %  3 of 3 cases: 3 ok; $0.7500 and 1 of unknown cost\n'
    )


def test_what_was_there_before_is_counted_in_silence() -> None:
    """Records of an earlier run get no line of their own, and the next line counts them."""
    file = io.StringIO()
    with Progress(file) as progress:
        progress.begin(4)
        for n in range(4):
            progress.add(record(n), silent=n < 3)
    assert file.getvalue() == '100 %  4 of 4 cases: 4 ok; cost unknown\n'


def test_hidden_progress_counts_only() -> None:
    """With `--quiet` nothing is written."""
    file = Terminal()
    with Progress(file, shown=False) as progress:
        progress.begin(1)
        progress.add(record(1))
    assert (file.getvalue(), progress.ended) == ('', 1)


def test_a_terminal_gets_a_bar_that_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who watches sees a bar with the counts, and keeps no trace of it above the report."""
    monkeypatch.setenv('TERM', 'xterm')
    monkeypatch.setenv('COLUMNS', '100')
    file = Terminal()
    with Progress(file) as progress:
        progress.begin(2)
        progress.add(record(1))
    text = file.getvalue()
    assert '1 of 2 cases: 1 ok; cost unknown' in text
    assert text.endswith('\x1b[1A\x1b[2K')
