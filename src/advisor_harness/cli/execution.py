"""What `run` and `record` share: run suites, keep what ended whatever happens, then judge."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from advisor_harness.cli.ending import INTERRUPTED
from advisor_harness.cli.judging import judge_and_report
from advisor_harness.cli.options import Output
from advisor_harness.cli.stdout import reserved
from advisor_harness.cli.watch import Watch
from advisor_harness.evals.baseline import MAIN, load_all
from advisor_harness.evals.contain import settled
from advisor_harness.evals.errors import HarnessError
from advisor_harness.evals.rules import Policy
from advisor_harness.evals.run import Run, RunOptions, resume_run, run_suites
from advisor_harness.evals.store import RunStore, open_run
from advisor_harness.evals.suite import Suite, load_suites

if TYPE_CHECKING:
    from advisor_harness.cli.delivery import Delivery

__all__ = ['Request', 'execute']


@dataclass(frozen=True, kw_only=True)
class Request:
    """What somebody typed, in the words of the evals room."""

    suites: Sequence[str] = ()
    """Names of suites; empty means all."""
    resume: str | None = None
    """Run to finish, instead of starting one."""
    options: RunOptions
    policy: Path | None = None
    """Policy for every suite; `None` leaves each its own."""
    otlp: str | None = None
    """Endpoint that gets the spans too."""
    logfire: bool = False
    """Whether Logfire gets the spans too."""
    output: Output


def execute(request: Request) -> int:
    """Run, judge, report; returns the exit code.

    Raises:
        HarnessError: something that was asked for does not exist or cannot be read; nothing was run then, unless the
            message says so.
    """
    with reserved(request.output.json) as out:
        resumed = None if request.resume is None else open_run(request.resume)
        suites = load_suites(names=request.suites if resumed is None else [each.name for each in resumed.meta.suites])
        # Before the run: a slip in a policy should not cost one.
        policies = {suite.name: _policy(suite, request.policy) for suite in suites}
        request = replace(request, options=replace(request.options, policies=policies))
        load_all([suite.name for suite in suites], request.options.baseline or MAIN)
        run = _run(suites, request, resumed, out)
        if run is None:
            return INTERRUPTED
        try:
            baseline = request.options.baseline or run.store.meta.baseline or 'main'
            return judge_and_report(run.store, policies, request.output, out, baseline=baseline)
        except HarnessError as e:
            raise HarnessError(f'{e.message}\nThe run is kept: advisor-harness gate {run.id}') from e


def _run(suites: Sequence[Suite], request: Request, resumed: RunStore | None, out: TextIO) -> Run | None:
    """Run the suites, or the rest of `resumed`; `None` when somebody interrupted that, who then knows what there is."""
    deliveries = _deliveries(request)
    watch = Watch(request.output, out, resumed=resumed is not None)
    try:
        with watch.progress:
            options = replace(request.options, exporters=deliveries)
            hooks = watch.hooks()
            main = (
                run_suites(suites, options, **hooks)
                if resumed is None
                else resume_run(resumed, suites, options, **hooks)
            )
            return asyncio.run(settled(main))
    except KeyboardInterrupt:
        typer.echo(watch.farewell(), err=True)
        return None
    except HarnessError as e:
        if watch.kept is None:
            raise
        raise HarnessError(f'{e.message}\n{watch.kept}') from e
    finally:
        for delivery in deliveries:
            delivery.shutdown()
            if delivery.warning is not None:
                typer.echo(delivery.warning, err=True)


def _policy(suite: Suite, file: Path | None) -> Policy:
    chosen = file or suite.policy_file
    return Policy() if chosen is None else Policy.from_file(chosen)


def _deliveries(request: Request) -> list[Delivery]:
    """What sends the spans elsewhere too."""
    if request.otlp is None and not request.logfire:
        return []
    from advisor_harness.cli.delivery import to_logfire, to_otlp

    return [*([] if request.otlp is None else [to_otlp(request.otlp)]), *(to_logfire() if request.logfire else [])]
