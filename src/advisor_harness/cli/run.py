"""`advisor-harness run`: run suites and judge them."""

from __future__ import annotations

from typing import Annotated

import typer

from advisor_harness.cli.options import Arm, Baseline, Cases, Json, Mode, Output, PolicyFile, Quiet, Verbose

__all__ = ['run']


def run(
    suites: Annotated[
        list[str] | None, typer.Argument(metavar='[SUITE]...', help='Suites; all when none is named.')
    ] = None,
    arm: Arm = None,
    case: Cases = None,
    tag: Annotated[
        list[str] | None, typer.Option('--tag', metavar='TAG', help='Only cases with this tag; may be repeated.')
    ] = None,
    only_failed: Annotated[
        bool, typer.Option('--only-failed', help="Only cases that were not ok in the suite's newest run.")
    ] = False,
    policy: PolicyFile = None,
    baseline: Baseline = 'main',
    mode: Annotated[Mode, typer.Option('--mode', help='Where answers come from.')] = Mode.REPLAY,
    logfire: Annotated[bool, typer.Option('--logfire', help='Send the spans to Logfire too.')] = False,
    otlp: Annotated[
        str | None, typer.Option('--otlp', metavar='URL', help='Send the spans to this OTLP/HTTP endpoint too.')
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Run suites, by replay unless told otherwise, and judge them."""
    output = Output(json=json, quiet=quiet, verbose=verbose)
    from advisor_harness.cli.execution import Request, execute
    from advisor_harness.evals.run import RunOptions

    options = RunOptions(
        arm=arm, cases=tuple(case or ()), tags=tuple(tag or ()), only_failed=only_failed, mode=mode.value
    )
    return execute(
        Request(
            suites=suites or (),
            options=options,
            policy=policy,
            baseline=baseline,
            otlp=otlp,
            logfire=logfire,
            output=output,
        )
    )
