"""`advisor-harness run`: run suites and judge them."""

from __future__ import annotations

from collections.abc import Mapping
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
    resume: Annotated[
        str | None, typer.Option('--resume', metavar='RUN', help='Finish this run, which was cut off.')
    ] = None,
    shard: Annotated[
        str | None, typer.Option('--shard', metavar='i/n', help='Only part i of n; `merge` puts them together.')
    ] = None,
    workers: Annotated[
        int, typer.Option('--workers', metavar='n', help='Processes that replay cases at the same time.')
    ] = 1,
    timeout: Annotated[
        float | None, typer.Option('--timeout', metavar='SECONDS', help='Longest that a task may take.')
    ] = None,
    policy: PolicyFile = None,
    baseline: Baseline = None,
    mode: Annotated[Mode | None, typer.Option('--mode', help='Where answers come from.  [default: replay]')] = None,
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
    if resume is not None:
        _check_alone(
            {
                'SUITE': suites,
                '--arm': arm,
                '--case': case,
                '--tag': tag,
                '--only-failed': only_failed,
                '--shard': shard,
                '--timeout': timeout,
                '--mode': mode,
            }
        )
    from advisor_harness.cli.execution import Request, execute
    from advisor_harness.evals.run import RunOptions
    from advisor_harness.evals.shards import shard_from

    options = RunOptions(
        arm=arm,
        cases=tuple(case or ()),
        tags=tuple(tag or ()),
        only_failed=only_failed,
        shard=None if shard is None else shard_from(shard),
        workers=workers,
        timeout=timeout,
        baseline=baseline,
        mode=(mode or Mode.REPLAY).value,
    )
    return execute(
        Request(
            suites=suites or (),
            resume=resume,
            options=options,
            policy=policy,
            otlp=otlp,
            logfire=logfire,
            output=output,
        )
    )


def _check_alone(others: Mapping[str, object]) -> None:
    from advisor_harness.evals.errors import HarnessError

    if given := [name for name, value in others.items() if value]:
        raise HarnessError(f'`--resume` finishes a run as it was started: leave out {", ".join(given)}')
