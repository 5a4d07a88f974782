"""What `run` and `gate` share: judge the records of a run, keep the reports, print the result."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from advisor_harness.cli.options import Output
from advisor_harness.cli.stdout import console_for, write
from advisor_harness.evals.baseline import load_all
from advisor_harness.evals.policy import Policy, judge
from advisor_harness.evals.reports import json_lines, terminal, write_all
from advisor_harness.evals.store import RunStore, writing

__all__ = ['REPORTS', 'judge_and_report']

REPORTS = Path('reports')
"""Where the newest reports are."""


def judge_and_report(
    store: RunStore, policies: Mapping[str, Policy], output: Output, out: TextIO, *, baseline: str = 'main'
) -> int:
    """Judge a run, write its reports, print the result to `out` and return the exit code, all from one verdict."""
    baselines = load_all([suite.name for suite in store.meta.suites], baseline)
    verdict = judge(store, policies, baselines=baselines)
    with writing(store.folder):
        summary = write_all(store, verdict, REPORTS)
    if output.json:
        write(out, json_lines.render(verdict) + '\n')
    else:
        console = console_for(out)
        with console.capture() as printed:
            report = terminal.render_summary(summary, verbose=output.verbose, quiet=output.quiet)
            console.print(report, soft_wrap=True)
        write(out, printed.get())
    return verdict.verdict.exit_code
