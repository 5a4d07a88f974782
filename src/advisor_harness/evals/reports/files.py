"""Writes the reports of a run into its folder, and copies them to where the newest ones are looked for."""

from __future__ import annotations

import json
import os
from pathlib import Path

from advisor_harness.evals.reports import github, html, json_lines, junit, markdown
from advisor_harness.evals.reports.summary import Summary, summarise
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import RunVerdict

__all__ = ['write_all']


def write_all(store: RunStore, verdict: RunVerdict, reports_dir: Path) -> Summary:
    """Write `verdict.json`, `report.md`, `junit.xml` and `report.html` into the run's folder and into `reports_dir`.

    Each file is replaced in one step, so that a reader never sees half of one. In a job of GitHub Actions the Markdown
    is added to the summary of the job too, and `verdict` and `exit_code` to the outputs of the step.

    Returns:
        What all of them show, for one more report.
    """
    summary = summarise(verdict, store)
    text = markdown.render_summary(summary)
    files = {
        'verdict.json': json.dumps(json_lines.finite(verdict.to_json()), indent=2, allow_nan=False) + '\n',
        'report.md': text,
        'junit.xml': junit.render_summary(summary),
        'report.html': html.render_summary(summary, store),
    }
    for folder in (store.folder, reports_dir):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            _replace(folder / name, content)
    github.announce(verdict, text)
    return summary


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f'.{path.name}.part')
    part.write_text(text, encoding='utf-8')
    os.replace(part, path)
