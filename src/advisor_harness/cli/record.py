"""`advisor-harness record`: record a suite again, the way it says itself."""

from __future__ import annotations

from typing import Annotated

import typer

from advisor_harness.cli.options import Arm, Cases, Output, Quiet, Verbose

__all__ = ['record']


def record(
    suite: Annotated[str, typer.Argument(metavar='SUITE', help='Name of the suite.')],
    arm: Arm = None,
    case: Cases = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Record a suite again from the provider, model or emulator that it names, and judge what came back."""
    output = Output(quiet=quiet, verbose=verbose)
    from advisor_harness.cli.execution import Request, execute
    from advisor_harness.evals.run import RunOptions

    options = RunOptions(arm=arm, cases=tuple(case or ()), mode='record')
    return execute(Request(suites=(suite,), options=options, output=output))
