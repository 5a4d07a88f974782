from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.project import invoke
from tests.cli.runs import RUN_ID, finished_run, record


def result_line(stdout: str) -> str:
    return stdout.splitlines()[-1]


@pytest.mark.parametrize('ref', ['latest', RUN_ID, f'runs/{RUN_ID}'])
def test_a_run_is_found_by_id_path_or_latest(ref: str) -> None:
    """All three ways of naming a run judge it, print the result and write the reports in both places."""
    finished_run(record('short'), record('long'))
    result = invoke('gate', ref)
    assert (result.exit_code, result.stderr) == (0, '')
    assert result_line(result.stdout) == f'RESULT        PASS   exit 0   run {RUN_ID}'
    for folder in (Path('runs', RUN_ID), Path('reports')):
        assert json.loads((folder / 'verdict.json').read_text())['exit_code'] == 0
        assert {'report.md', 'junit.xml'} <= {path.name for path in folder.iterdir()}


def test_a_failed_gate_is_exit_code_1() -> None:
    """A case that fails blocks a suite without a policy of its own, and the report says why."""
    finished_run(record('short', right=False), record('long'))
    result = invoke('gate', 'latest')
    assert result.exit_code == 1
    assert '    ✗ failed   short [advised]\n        right: not the same\n' in result.stdout
    assert result_line(result.stdout) == (
        f'RESULT        BLOCKED   exit 1   run {RUN_ID}   mirror: cases 0.500 (limit >= 1)'
    )


def test_a_run_that_measured_nothing_is_exit_code_2() -> None:
    """A run that was cut off before its first case is inconclusive, and its cases are named."""
    finished_run()
    result = invoke('gate', 'latest')
    assert result.exit_code == 2
    assert '    ✗ cancelled   short [advised]\n        the run ended before this case did\n' in result.stdout


def test_another_policy_judges_the_same_records() -> None:
    """`--policy` changes the verdict without a run, and the verdict says under which file it was reached."""
    finished_run(record('short', right=False), record('long'))
    Path('lenient.yaml').write_text('metrics: {right: {min: 0.5}}\n')
    result = invoke('gate', 'latest', '--policy', 'lenient.yaml', '--quiet')
    assert (result.exit_code, result.stdout) == (0, f'RESULT        PASS   exit 0   run {RUN_ID}\n')
    judged = json.loads(Path('reports/verdict.json').read_text())
    assert len(judged['policy_sha256']['mirror']) == 64


def test_json_is_the_verdict_on_one_line() -> None:
    """`--json` prints what verdict.json holds and nothing else."""
    finished_run(record('short', right=False))
    result = invoke('gate', 'latest', '--json')
    (line,) = result.stdout.splitlines()
    assert json.loads(line) == json.loads(Path('reports/verdict.json').read_text())
    assert (result.exit_code, json.loads(line)['verdict']) == (1, 'blocked')


def test_verbose_prints_the_cases_that_are_fine() -> None:
    """`-v` shows every case."""
    finished_run(record('short'))
    assert '    ✓ ok   short [advised]\n' in invoke('gate', 'latest', '-v').stdout


@pytest.mark.parametrize(
    ('args', 'message'),
    [
        (['latest', '--quiet', '-v'], '`--quiet` and `--verbose` exclude each other: give one of them'),
        (['other'], f"there is no run 'other' in runs: the newest are {RUN_ID}"),
        (['latest', '--policy', 'none.yaml'], 'policy none.yaml cannot be read: No such file or directory'),
        (['latest', '--policy', 'typo.yaml'], 'policy typo.yaml: unknown key `metric`: did you mean `metrics`?'),
        (
            ['latest', '--policy', 'strange.yaml'],
            "policy strange.yaml of suite 'mirror': gate 'wrong' reads metric 'wrong', which the suite does not have: "
            'it has right',
        ),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(args: list[str], message: str) -> None:
    """What does not exist or cannot be read is named, without a traceback, and nothing is judged."""
    finished_run(record('short'))
    Path('typo.yaml').write_text('metric: {}\n')
    Path('strange.yaml').write_text('metrics: {wrong: {min: 1}}\n')
    result = invoke('gate', *args)
    assert (result.exit_code, result.stdout, result.stderr) == (2, '', f'error: {message}\n')
    assert not Path('reports').exists()
