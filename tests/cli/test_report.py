from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.project import invoke
from tests.cli.runs import finished_run, record


@pytest.fixture(autouse=True)
def _judged_run() -> None:
    finished_run(record('naïve', right=False))
    invoke('gate', 'latest')


@pytest.mark.parametrize(
    ('option', 'name'), [('--html', 'report.html'), ('--markdown', 'report.md'), ('--junit', 'junit.xml')]
)
def test_a_report_is_printed_as_it_was_written(option: str, name: str) -> None:
    """What is printed is what the run's folder holds, in UTF-8, and printing it is no verdict."""
    result = invoke('report', 'latest', option)
    assert (result.exit_code, result.stderr) == (0, '')
    assert result.stdout_bytes == Path('reports', name).read_bytes()
    assert 'naïve' in result.stdout


def test_the_verdict_is_printed_on_one_line() -> None:
    """`--json` prints the verdict as programs read it."""
    (line,) = invoke('report', 'latest', '--json').stdout.splitlines()
    assert json.loads(line) == json.loads(Path('reports/verdict.json').read_text())


def test_a_report_shows_the_last_judgement() -> None:
    """After `gate --policy`, the reports are those of that judgement."""
    Path('lenient.yaml').write_text('metrics: {right: {min: 0}}\n')
    invoke('gate', 'latest', '--policy', 'lenient.yaml')
    assert json.loads(invoke('report', 'latest', '--json').stdout)['verdict'] == 'pass'


def test_a_report_goes_into_a_file() -> None:
    """`-o` writes instead of printing."""
    result = invoke('report', 'latest', '--markdown', '-o', 'summary.md')
    assert (result.exit_code, result.stdout) == (0, '')
    assert Path('summary.md').read_text() == Path('reports/report.md').read_text()


@pytest.mark.parametrize(
    ('args', 'message'),
    [
        ([], 'say which report you want: one of `--html`, `--markdown`, `--junit` and `--json`'),
        (['--json', '--junit'], 'say which report you want: one of `--html`, `--markdown`, `--junit` and `--json`'),
        (['--json', '-o', 'no/folder'], "'no/folder' cannot be written: No such file or directory"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(args: list[str], message: str) -> None:
    """What was asked for and cannot be done is named."""
    result = invoke('report', 'latest', *args)
    assert (result.exit_code, result.stdout, result.stderr) == (2, '', f'error: {message}\n')


def test_a_run_that_was_not_judged_has_no_report() -> None:
    """A run that was cut off says how to judge it."""
    Path('runs/20270101T120000000Z-beef/junit.xml').unlink()
    result = invoke('report', 'latest', '--junit')
    assert (result.exit_code, result.stderr) == (
        2,
        "error: run 'latest' was not judged yet: advisor-harness gate latest\n",
    )
