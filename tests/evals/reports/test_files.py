from __future__ import annotations

import json
from pathlib import Path

from advisor_harness.evals.reports import junit, markdown, write_all
from tests.evals.reports.sample import mixed, passing


def test_the_reports_stand_in_the_run_and_where_the_newest_are(tmp_path: Path) -> None:
    """Both folders get the same three files and nothing else, and a second run replaces the first one's."""
    verdict, store = passing()
    store.folder, newest = tmp_path / 'runs' / 'r', tmp_path / 'reports'
    write_all(store, verdict, newest)
    verdict, more = mixed()
    store.kept = more.kept
    write_all(store, verdict, newest)
    for folder in (store.folder, newest):
        texts = {path.name: path.read_text(encoding='utf-8') for path in folder.iterdir()}
        assert texts == {
            'verdict.json': json.dumps(verdict.to_json(), indent=2) + '\n',
            'report.md': markdown.render(verdict, store),
            'junit.xml': junit.render(verdict, store),
        }
