"""What a job of GitHub Actions is told: the report as its summary, the verdict as outputs that later steps can read.

Runners such as nox flatten exit codes: there, the outputs are how a step tells 1 from 2.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from advisor_harness.evals.verdict import RunVerdict

__all__ = ['announce']


def announce(verdict: RunVerdict, report: str, environ: Mapping[str, str] = os.environ) -> None:
    """Append to the files that `$GITHUB_STEP_SUMMARY` and `$GITHUB_OUTPUT` name; nothing where they are not set.

    A file that cannot be written is said on standard error: it changes nothing for the verdict.

    Args:
        verdict: What was judged.
        report: The report as Markdown.
        environ: Where the names of the files stand.
    """
    outputs = f'verdict={verdict.verdict}\nexit_code={verdict.verdict.exit_code}\nrun_id={verdict.run_id}\n'
    for name, text in (('GITHUB_STEP_SUMMARY', report), ('GITHUB_OUTPUT', outputs)):
        if path := environ.get(name):
            try:
                with open(path, 'a', encoding='utf-8') as file:
                    file.write(text)
            except OSError as e:
                print(f'warning: {name} names {path!r}, which cannot be written: {e.strerror}', file=sys.stderr)  # noqa: T201 - the job's log
