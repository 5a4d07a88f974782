"""What `run` and `record` share: run suites, keep what ended whatever happens, then judge."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from advisor_harness.cli.ending import INTERRUPTED
from advisor_harness.cli.judging import judge_and_report
from advisor_harness.cli.options import Output
from advisor_harness.cli.progress import Progress
from advisor_harness.cli.stdout import reserved, write
from advisor_harness.evals.errors import HarnessError
from advisor_harness.evals.records import CaseRecord
from advisor_harness.evals.reports import json_lines
from advisor_harness.evals.reports.words import plural
from advisor_harness.evals.rules import Policy
from advisor_harness.evals.run import Run, RunOptions, run_suites
from advisor_harness.evals.suite import Suite, load_suites

if TYPE_CHECKING:
    from advisor_harness.cli.delivery import Delivery

__all__ = ['Request', 'execute']


@dataclass(frozen=True, kw_only=True)
class Request:
    """What somebody typed, in the words of the evals room."""

    suites: Sequence[str] = ()
    """Names of suites; empty means all."""
    options: RunOptions
    policy: Path | None = None
    """Policy for every suite; `None` leaves each its own."""
    baseline: str = 'main'
    """Name of the baseline that suites are compared with."""
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
        suites = load_suites(names=request.suites)
        # Before the run: a slip in a policy should not cost one.
        policies = {suite.name: _policy(suite, request.policy) for suite in suites}
        run = _run(suites, request, out)
        if run is None:
            return INTERRUPTED
        try:
            return judge_and_report(run.store, policies, request.output, out, baseline=request.baseline)
        except HarnessError as e:
            raise HarnessError(f'{e.message}\nThe run is kept: advisor-harness gate {run.id}') from e


def _run(suites: Sequence[Suite], request: Request, out: TextIO) -> Run | None:
    """Run the suites; `None` when somebody interrupted that, who then knows what there is."""
    deliveries = _deliveries(request)
    watch = _Watch(request.output, out)
    try:
        with watch.progress:
            options = replace(request.options, exporters=deliveries)
            return asyncio.run(run_suites(suites, options, on_start=watch.started, on_record=watch.ended))
    except KeyboardInterrupt:
        typer.echo(watch.farewell(), err=True)
        return None
    finally:
        for delivery in deliveries:
            delivery.shutdown()
            if delivery.warning is not None:
                typer.echo(delivery.warning, err=True)


def _policy(suite: Suite, file: Path | None) -> Policy:
    chosen = file or suite.policy_file
    return Policy() if chosen is None else Policy.from_file(chosen)


class _Watch:
    """Follows a run: shows its records as they come in, and knows where they are kept."""

    def __init__(self, output: Output, out: TextIO) -> None:
        self.progress = Progress(sys.stderr, shown=not output.quiet)
        self._json = out if output.json else None
        self._run: Run | None = None
        self._total = 0

    def started(self, run: Run) -> None:
        """Take note of where the records will be and how many the run owes."""
        self._run = run
        self._total = sum(1 for suite in run.store.meta.suites for _ in suite.expected())

    def ended(self, record: CaseRecord) -> None:
        """Show a record that was written."""
        if self._json is not None:
            write(self._json, json_lines.line(record.to_json()) + '\n')
        self.progress.add(record, self._total)

    def farewell(self) -> str:
        """What somebody who interrupted the run should know."""
        if self._run is None:
            return 'interrupted before the first case'
        return (
            f'interrupted: {self.progress.ended} of {plural(self._total, "case")} ended and are kept in '
            f'{self._run.folder.as_posix()}; judge them with: advisor-harness gate {self._run.id}'
        )


def _deliveries(request: Request) -> list[Delivery]:
    """What sends the spans elsewhere too."""
    if request.otlp is None and not request.logfire:
        return []
    from advisor_harness.cli.delivery import to_logfire, to_otlp

    return [*([] if request.otlp is None else [to_otlp(request.otlp)]), *(to_logfire() if request.logfire else [])]
