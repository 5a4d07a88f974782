"""`advisor-harness record`: record suites again, the way they say themselves."""

from __future__ import annotations

from typing import Annotated

import typer

from advisor_harness.cli.options import Arm, Cases, Output, Quiet, Verbose

__all__ = ['record']


def record(
    suites: Annotated[list[str], typer.Argument(metavar='SUITE...', help='Names of suites.')],
    arm: Arm = None,
    case: Cases = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Record suites again from the provider, model or emulator that each names, and judge what came back."""
    output = Output(quiet=quiet, verbose=verbose)
    from advisor_harness.cli.execution import Request, execute
    from advisor_harness.evals.run import RunOptions

    options = RunOptions(arm=arm, cases=tuple(case or ()), mode='record')
    return execute(Request(suites=suites, options=options, output=output))
