from __future__ import annotations

import io
import subprocess
import sys

import pytest

from advisor_harness.cli.stdout import console_for, is_plain, reserved
from tests.cli.terminal import Terminal


@pytest.mark.parametrize(
    ('file', 'environ', 'plain'),
    [
        (Terminal(), {}, False),
        (Terminal(), {'NO_COLOR': '', 'CI': ''}, False),
        (Terminal(), {'NO_COLOR': '1'}, True),
        (Terminal(), {'CI': 'true'}, True),
        (io.StringIO(), {}, True),
    ],
)
def test_when_output_is_plain(file: io.StringIO, environ: dict[str, str], plain: bool) -> None:
    """Only a terminal gets colours, and not where `NO_COLOR` or `CI` is set."""
    assert is_plain(file, environ) is plain


def test_a_plain_console_writes_no_escape_and_breaks_no_line() -> None:
    """A log gets the text alone, in lines as long as they are."""
    file = io.StringIO()
    console_for(file).print('[bold red]' + 'word ' * 100 + '[/]end 1')
    assert file.getvalue() == 'word ' * 100 + 'end 1\n'


def test_a_terminal_gets_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal shows styles."""
    monkeypatch.setenv('TERM', 'xterm')
    file = Terminal()
    console_for(file).print('[red]no[/]')
    assert file.getvalue() == '\x1b[31mno\x1b[0m\n'


def test_stdout_is_not_touched_unless_it_is_reserved(capsys: pytest.CaptureFixture[str]) -> None:
    """Without `--json` a task prints where it always does."""
    with reserved(False) as out:
        print('printed')  # noqa: T201 - as a task does
        out.write('written\n')
    assert capsys.readouterr() == ('printed\nwritten\n', '')


def test_a_replaced_stdout_is_reserved_for_its_owner(capsys: pytest.CaptureFixture[str]) -> None:
    """What others print goes to stderr, and stdout is as before afterwards."""
    with reserved(True) as out:
        print('printed')  # noqa: T201 - as a task does
        out.write('written\n')
    print('after')  # noqa: T201 - as a task does
    assert capsys.readouterr() == ('written\nafter\n', 'printed\n')


def test_child_processes_cannot_write_to_a_reserved_stdout() -> None:
    """Not even what writes to the descriptor reaches the stdout of the process, until it is released."""
    code = (
        'import os, subprocess, sys\n'
        'from advisor_harness.cli.stdout import reserved\n'
        'print("before")\n'
        'with reserved(True) as out:\n'
        '    subprocess.run([sys.executable, "-c", "print(1)"], check=True)\n'
        '    os.write(1, b"raw\\n")\n'
        '    out.write("written\\n")\n'
        'print("after")\n'
    )
    ended = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ('before\nwritten\nafter\n', '1\nraw\n')
