from __future__ import annotations

import subprocess
import sys

import pytest

from advisor_harness import __version__
from tests.cli.project import invoke

_HEAVY = ('pydantic_ai', 'pydantic_evals', 'logfire', 'opentelemetry.sdk', 'rich', 'yaml', 'httpx2')


def python(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, check=False)


def test_help_needs_nothing_heavy() -> None:
    """Building the whole command line imports none of the packages that take long."""
    code = f'import sys, advisor_harness.cli.app; print([name for name in {_HEAVY!r} if name in sys.modules])'
    assert python('-c', code).stdout == '[]\n'


def test_the_package_runs_as_a_module() -> None:
    """`python -m advisor_harness` is the command."""
    ended = python('-m', 'advisor_harness', '--version')
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f'{__version__}\n', '')


def test_without_its_extras_the_command_says_what_to_install() -> None:
    """The command exists in a bare install, too; there it is one line and exit code 2."""
    ended = python('-c', "import sys; sys.modules['typer'] = None; from advisor_harness.cli import main; main()")
    assert (ended.returncode, ended.stdout, ended.stderr) == (
        2,
        '',
        "error: the command needs its extras: python -m pip install 'advisor-harness[evals,cli]'\n",
    )


@pytest.mark.parametrize(
    ('args', 'message'),
    [
        (['run', '--nope'], 'No such option: --nope (Possible options: --mode, --otlp)'),
        (['runs'], "No such command 'runs'. Did you mean 'run'?"),
        (
            ['run', '--mode', 'dream'],
            "Invalid value for '--mode': Value error, 'dream' is not one of 'replay', 'record', 'record-missing', "
            "'live'.",
        ),
        (['gate'], "Missing argument 'RUN'."),
        (['report', 'latest', '--pdf'], 'No such option: --pdf'),
    ],
)
def test_what_cannot_be_parsed_ends_with_2(args: list[str], message: str) -> None:
    """A slip on the command line is named on stderr and is never exit code 0 or 1."""
    result = invoke(*args)
    assert (result.exit_code, result.stdout) == (2, '')
    assert result.stderr.splitlines()[-1] == f'Error: {message}'
