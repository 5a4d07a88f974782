"""What only shows in a process of its own: signals, and settings of OpenTelemetry that last as long as the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.project import SUITE, invoke, write_project

WAITING_SUITE = """
import asyncio

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from pydantic_evals.evaluators import EqualsExpected

from advisor_harness.evals import Suite


async def answer(question: str, arm: str) -> str:
    if question == 'slow':
        await asyncio.Event().wait()
    return (await Agent(TestModel(custom_output_text=question)).run(question)).output


suite = Suite(dataset='mirror.yaml', task=answer, scorers=(EqualsExpected(),))
"""
CASES = '{name: waiting, cases: [{name: fast, inputs: fast, expected_output: fast}, {name: slow, inputs: slow}]}'


def started(*args: str) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, '-m', 'advisor_harness', *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, 'PYTHONWARNINGS': ''},
        preexec_fn=_heed_interrupts,
    )


def _heed_interrupts() -> None:
    # Tests that run in the background of a shell inherit that SIGINT is ignored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(sys.platform == 'win32', reason='POSIX signals')
def test_an_interrupted_run_keeps_what_ended(folder: Path) -> None:
    """SIGINT ends with 130 and says where the finished cases are; judged, the run is inconclusive."""
    write_project(folder, suite=WAITING_SUITE, cases=CASES)
    with started('run') as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        stdout, rest = process.communicate(timeout=60)
    (run,) = Path('runs').iterdir()
    assert (first, stdout, rest, process.returncode) == (
        ' 50 %  1 of 2 cases: 1 ok; cost unknown\n',
        '',
        f'interrupted: 1 of 2 cases ended and are kept in runs/{run.name}\n'
        f'finish the run with:  advisor-harness run --resume {run.name}\n'
        f'or judge what ended:  advisor-harness gate {run.name}\n',
        130,
    )
    result = invoke('gate', run.name)
    assert result.exit_code == 2
    assert '    ✗ cancelled   slow [advised]\n        the run ended before this case did\n' in result.stdout


@pytest.mark.parametrize('args', [['--quiet'], ['-v'], ['--json']])
def test_a_reader_who_leaves_changes_no_exit_code(folder: Path, args: list[str]) -> None:
    """`advisor-harness run | head` ends with the verdict's code, and complains about nothing."""
    write_project(folder, suite=SUITE.replace("    print('a task may print')\n", ''))
    with started('run', *args) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        stderr = process.stderr.read()
    assert process.returncode == 0
    assert 'Error' not in stderr
    assert Path('reports/verdict.json').exists()


def test_a_suite_may_use_logfire_without_a_token(folder: Path) -> None:
    """A suite that configures Logfire for itself is traced and judged as any other, and sends nothing."""
    pytest.importorskip('logfire')
    configured = "import logfire\nlogfire.configure(send_to_logfire='if-token-present', console=False)\n"
    write_project(folder, suite=f'{configured}logfire.instrument_pydantic_ai()\n{SUITE}')
    with started('run') as process:
        stdout, stderr = process.communicate()
    assert (process.returncode, stderr) == (
        0,
        ' 50 %  1 of 2 cases: 1 ok; cost unknown\n100 %  2 of 2 cases: 2 ok; cost unknown\n',
    )
    assert '  preconditions   cassettes none ✓   traces 2/2 ✓   scored 2/2 ✓\n' in stdout
