from __future__ import annotations

import json
from pathlib import Path

from advisor_harness.evals.reports import html, junit, markdown, write_all
from advisor_harness.evals.verdict import RunVerdict
from tests.evals.reports.sample import RUN_ID, mixed


def test_the_reports_stand_in_the_run_and_where_the_newest_are(tmp_path: Path) -> None:
    """Both folders get the same four files and no others, and what was there before is replaced."""
    verdict, store = mixed(tmp_path / 'runs')
    newest = tmp_path / 'reports'
    write_all(store, RunVerdict(run_id=RUN_ID, suites=()), newest)
    write_all(store, verdict, newest)
    files = {
        'verdict.json': json.dumps(verdict.to_json(), indent=2) + '\n',
        'report.md': markdown.render(verdict, store),
        'junit.xml': junit.render(verdict, store),
        'report.html': html.render(verdict, store),
    }
    assert _texts(newest) == files
    of_the_run = _texts(store.folder)
    assert {name: of_the_run.pop(name) for name in files} == files
    assert sorted(of_the_run) == ['cases.jsonl', 'run.json']


def _texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding='utf-8') for path in folder.iterdir()}
