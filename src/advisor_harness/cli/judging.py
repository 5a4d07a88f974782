"""What `run` and `gate` share: judge the records of a run, keep the reports, print the result."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from advisor_harness.cli.options import Output
from advisor_harness.cli.stdout import console_for
from advisor_harness.evals.policy import Policy, judge
from advisor_harness.evals.reports import json_lines, terminal, write_all
from advisor_harness.evals.store import RunStore

__all__ = ['REPORTS', 'judge_and_report']

REPORTS = Path('reports')
"""Where the newest reports are."""


def judge_and_report(store: RunStore, policies: Mapping[str, Policy], output: Output, out: TextIO) -> int:
    """Judge a run, write its reports, print the result to `out` and return the exit code, all from one verdict."""
    verdict = judge(store, policies)
    write_all(store, verdict, REPORTS)
    if output.json:
        out.write(json_lines.render(verdict) + '\n')
        out.flush()
    else:
        report = terminal.render(verdict, store, verbose=output.verbose, quiet=output.quiet)
        console_for(out).print(report, soft_wrap=True)
    return verdict.verdict.exit_code
