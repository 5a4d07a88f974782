"""Writes the reports of a run into its folder, and copies them to where the newest ones are looked for."""

from __future__ import annotations

import json
import os
from pathlib import Path

from advisor_harness.evals.reports import junit, markdown
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import RunVerdict

__all__ = ['write_all']


def write_all(store: RunStore, verdict: RunVerdict, reports_dir: Path) -> None:
    """Write `verdict.json`, `report.md` and `junit.xml` into the run's folder and into `reports_dir`.

    Each file is replaced in one step, so that a reader never sees half of one.
    """
    files = {
        'verdict.json': json.dumps(verdict.to_json(), indent=2) + '\n',
        'report.md': markdown.render(verdict, store),
        'junit.xml': junit.render(verdict, store),
    }
    for folder in (store.folder, reports_dir):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            _replace(folder / name, text)


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f'.{path.name}.part')
    part.write_text(text, encoding='utf-8')
    os.replace(part, path)
