"""The command `advisor-harness`: argument parsing and exit codes, nothing else.

Everything heavy is imported inside the commands, so that `--help` and a mistyped option answer at once.
"""

from __future__ import annotations

import sys
from typing import NoReturn

__all__ = ['main']


def main() -> NoReturn:
    """Run the command with the arguments of this process and end the process with its exit code."""
    try:
        from advisor_harness.cli.app import app
    except ModuleNotFoundError as e:
        if e.name != 'typer':  # installed but broken: its own error says more than ours
            raise
        sys.stderr.write("error: the command needs its extras: python -m pip install 'advisor-harness[evals,cli]'\n")
        sys.exit(2)
    app(prog_name='advisor-harness')
    raise AssertionError('the command line always ends the process')
