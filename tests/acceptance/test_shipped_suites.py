"""The suites that ship, as a user runs them: in a copy of the folders, through the command."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The suites and their recordings in a folder of their own."""
    for folder in ('evals', 'cassettes'):
        shutil.copytree(PROJECT / folder, tmp_path / folder, ignore=shutil.ignore_patterns('__pycache__'))
    return tmp_path


def run(folder: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, verdict and report of `advisor-harness run`."""
    command = [sys.executable, '-m', 'advisor_harness', 'run', *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180)
    verdict = json.loads((folder / 'reports' / 'verdict.json').read_text())
    return done.returncode, verdict, done.stdout


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, f'{path.name} does not hold {old!r}'
    path.write_text(text.replace(old, new, 1))


def test_all_suites_pass_by_replay_and_say_what_they_rest_on(copy: Path) -> None:
    """Every suite passes, every case is scored, and the report counts who answered."""
    code, verdict, report = run(copy)
    assert (code, verdict['verdict'], verdict['exit_code']) == (0, 'pass', 0), report
    assert [(suite['suite'], suite['regime']) for suite in verdict['suites']] == [
        ('advice_quality', 'replay'),
        ('failure_modes', 'replay'),
        ('local_advice', 'replay'),
        ('routing', 'replay'),
        ('selection', 'replay'),
    ]
    assert '48 local model, 290 emulator' in report
    assert report.splitlines()[-1].startswith('RESULT')


def test_a_changed_answer_blocks_and_restoring_it_passes(copy: Path) -> None:
    """A recorded answer that makes a check fail ends in `blocked`, exit code 1, and names the case."""
    cassette = copy / 'cassettes' / 'failure_modes' / 'limit-sequential.advised.yaml'
    original = cassette.read_text()
    # The last of the executor's answers stays as it was sent, so only what the executor heard changes.
    edit(cassette, 'text: Go left.', 'text: Go right.')
    edit(cassette, 'content: Go left.', 'content: Go right.')
    code, verdict, report = run(copy, 'failure_modes')
    assert (code, verdict['verdict']) == (1, 'blocked'), report
    assert 'limit-sequential' in report
    cassette.write_text(original)
    code, verdict, report = run(copy, 'failure_modes')
    assert (code, verdict['verdict']) == (0, 'pass'), report


def test_a_missing_interaction_is_inconclusive_and_names_the_first_difference(copy: Path) -> None:
    """A request without a recorded answer ends in `inconclusive`, exit code 2, with the first differing JSON path."""
    cassette = copy / 'cassettes' / 'failure_modes' / 'limit-resets.advised.yaml'
    original = cassette.read_text()
    recorded = yaml.safe_load(original)
    del recorded['interactions'][-1]
    cassette.write_text(yaml.safe_dump(recorded, sort_keys=False))
    code, verdict, report = run(copy, 'failure_modes', '--case', 'limit-resets')
    assert (code, verdict['verdict']) == (2, 'inconclusive'), report
    assert 'differs first at $.messages[4]' in report
    cassette.write_text(original)
    code, verdict, report = run(copy, 'failure_modes', '--case', 'limit-resets')
    assert (code, verdict['verdict']) == (0, 'pass'), report


def test_shipped_cassettes_hold_no_paths_keys_or_foreign_hosts() -> None:
    """No recording carries a path of a machine, a loopback address or a key."""
    for path in (PROJECT / 'cassettes').rglob('*.yaml'):
        text = path.read_text()
        for forbidden in ('127.0.0.1', 'localhost', '/home/', '/tmp/', 'site-packages', 'sk-', 'authorization'):
            assert forbidden not in text, f'{path.name} holds {forbidden!r}'
