"""Follows a run that goes on: shows its records as they come in, and knows where they are kept."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO, TypedDict

import typer

from advisor_harness.cli.options import Output
from advisor_harness.cli.progress import Progress
from advisor_harness.cli.stdout import write
from advisor_harness.evals.records import CaseRecord
from advisor_harness.evals.reports import json_lines
from advisor_harness.evals.reports.words import plural
from advisor_harness.evals.run import Run

__all__ = ['Hooks', 'Watch']


class Hooks(TypedDict):
    """What `run_suites` and `resume_run` call."""

    on_start: Callable[[Run], None]
    on_record: Callable[[CaseRecord], None]
    on_kept: Callable[[int], None]


class Watch:
    """Follows one run."""

    def __init__(self, output: Output, out: TextIO, *, resumed: bool = False) -> None:
        self.progress = Progress(sys.stderr, shown=not output.quiet)
        self._quiet = output.quiet
        self._json = out if output.json else None
        self._resumed = resumed
        self._run: Run | None = None
        self._total = 0
        self._kept = 0

    def hooks(self) -> Hooks:
        """What the run has to call."""
        return {'on_start': self._started, 'on_record': self._ended, 'on_kept': self._keeps}

    @property
    def kept(self) -> str | None:
        """Where the finished cases are and how to go on, for people; `None` before there was a run."""
        if self._run is None:
            return None
        return (
            f'{self.progress.ended} of {plural(self._total, "case")} ended and are kept in '
            f'{self._run.folder.as_posix()}\n'
            f'finish the run with:  advisor-harness run --resume {self._run.id}\n'
            f'or judge what ended:  advisor-harness gate {self._run.id}'
        )

    def farewell(self) -> str:
        """What somebody who interrupted the run should know."""
        return 'interrupted before the first case' if self.kept is None else f'interrupted: {self.kept}'

    def _started(self, run: Run) -> None:
        self._run = run
        self._total = sum(1 for suite in run.store.meta.suites for _ in suite.expected())
        self.progress.begin(self._total)

    def _keeps(self, count: int) -> None:
        self._kept = count
        if not self._quiet:
            what = 'already ended and are kept' if self._resumed else 'were ok in the newest run and are carried over'
            typer.echo(f'{count} of {plural(self._total, "case")} {what}, {self._total - count} to run', err=True)

    def _ended(self, record: CaseRecord) -> None:
        if self._json is not None:
            write(self._json, json_lines.line(record.to_json()) + '\n')
        self.progress.add(record, silent=self.progress.ended < self._kept)
