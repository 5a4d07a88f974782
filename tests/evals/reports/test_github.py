from __future__ import annotations

from pathlib import Path

import pytest

from advisor_harness.evals.reports import github, markdown, write_all
from advisor_harness.evals.verdict import RunVerdict
from tests.evals.reports.sample import mixed


def test_a_job_gets_the_report_and_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report is appended to the summary, and outputs say the verdict where exit codes are flattened."""
    summary, output = tmp_path / 'summary.md', tmp_path / 'output'
    summary.write_text('before\n')
    monkeypatch.setenv('GITHUB_STEP_SUMMARY', str(summary))
    monkeypatch.setenv('GITHUB_OUTPUT', str(output))
    verdict, store = mixed(tmp_path / 'runs')
    write_all(store, verdict, tmp_path / 'reports')
    assert summary.read_text() == 'before\n' + markdown.render(verdict, store)
    assert output.read_text() == 'verdict=inconclusive\nexit_code=2\nrun_id=20270101-120000\n'


def test_nothing_is_written_where_no_job_asks(tmp_path: Path) -> None:
    """Outside of a job, and where a name is empty, there is nothing to write to."""
    github.announce(RunVerdict(run_id='r', suites=()), 'text', {'GITHUB_OUTPUT': ''})
    assert list(tmp_path.iterdir()) == []


def test_a_summary_that_cannot_be_written_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict does not depend on it."""
    github.announce(RunVerdict(run_id='r', suites=()), 'text', {'GITHUB_STEP_SUMMARY': str(tmp_path)})
    assert capsys.readouterr().err == (
        f"warning: GITHUB_STEP_SUMMARY names '{tmp_path}', which cannot be written: Is a directory\n"
    )
