"""`advisor-harness baseline`, and what it means for `run` and `gate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.project import invoke, write_project
from tests.cli.runs import RUN_ID, finished_run, record

FILE = Path('evals/baselines/mirror.json')
ACCEPT = ('baseline', 'accept', 'latest', '--reason', 'it is right', '--by', 'Ada')


def test_accept_and_show() -> None:
    """A run becomes the baseline, and the baseline can be looked at."""
    finished_run(record('short'), record('long'))
    result = invoke(*ACCEPT)
    assert (result.exit_code, result.stderr, result.stdout) == (
        0,
        '',
        f'evals/baselines/mirror.json: mirror main is run {RUN_ID}, 2 cases, accepted by Ada\n',
    )
    shown = invoke('baseline', 'show').stdout.splitlines()
    assert (shown[0], shown[1].endswith(' by Ada: it is right'), shown[2]) == (
        'mirror main',
        True,
        f'  run        {RUN_ID}, replay, pass',
    )


def test_who_accepts_is_whom_git_knows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `--by` it is git's `user.name`, and no address."""
    (folder / 'gitconfig').write_text('[user]\n\tname = Grace\n\temail = grace@example.com\n')
    monkeypatch.setenv('GIT_CONFIG_GLOBAL', str(folder / 'gitconfig'))
    finished_run(record('short'))
    assert invoke(*ACCEPT[:-2]).exit_code == 0
    assert json.loads(FILE.read_text())['baselines']['main']['accepted']['by'] == 'Grace'
    assert '@' not in FILE.read_text()


def test_without_git_it_is_the_login(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where git does not know, or is not there, the login is taken."""
    monkeypatch.setenv('PATH', '')
    monkeypatch.setenv('LOGNAME', 'linus')
    finished_run(record('short'))
    assert invoke(*ACCEPT[:-2]).exit_code == 0
    assert json.loads(FILE.read_text())['baselines']['main']['accepted']['by'] == 'linus'


def test_ci_never_accepts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `CI` set, accepting ends with 2 and writes nothing."""
    monkeypatch.setenv('CI', 'true')
    finished_run(record('short'))
    result = invoke(*ACCEPT)
    assert (result.exit_code, result.stdout, result.stderr) == (
        2,
        '',
        "error: `CI` is set ('true'): a baseline is accepted by a person, on their own machine, and committed\n",
    )
    assert not FILE.exists()


def test_accepting_needs_a_reason() -> None:
    """Without `--reason` nothing is accepted."""
    finished_run(record('short'))
    result = invoke('baseline', 'accept', 'latest')
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (2, "Error: Missing option '--reason'.")
    assert not FILE.exists()


def test_run_and_gate_compare(folder: Path) -> None:
    """A case that passed in the baseline and fails now blocks `run` and `gate` alike; without baseline both warn."""
    write_project(folder, policy='metrics: {EqualsExpected: {max_regression: 0}}\n')
    assert invoke('run', '--quiet').exit_code == 0
    assert json.loads(Path('reports/verdict.json').read_text())['suites'][0]['gates'][0]['detail'] == 'no baseline'
    assert invoke(*ACCEPT).exit_code == 0
    assert invoke('run', '--quiet').exit_code == 0
    suite = folder / 'evals' / 'mirror.py'
    suite.write_text(suite.read_text().replace('return result.output', "return 'ba'"))
    assert (invoke('run', '--quiet').exit_code, invoke('gate', 'latest', '--quiet').exit_code) == (1, 1)
    (verdict,) = json.loads(Path('reports/verdict.json').read_text())['suites']
    assert verdict['flips'] == [
        {'case': 'long', 'arm': 'advised', 'from': 'pass', 'to': 'fail', 'why': 'EqualsExpected is false'}
    ]
    result = invoke('baseline', 'diff')
    assert (result.exit_code, result.stdout.splitlines()[1:]) == (
        1,
        [
            '  long [advised]  pass -> fail: EqualsExpected is false',
            '  EqualsExpected [advised]  1 -> 0.500, 1 of 2 cases',
        ],
    )


def test_a_named_baseline(folder: Path) -> None:
    """`--baseline` names another one; a name that no suite has is found before the run."""
    write_project(folder)
    assert invoke('run', '--quiet').exit_code == 0
    assert invoke(*ACCEPT, '--name', 'release').exit_code == 0
    assert invoke('gate', 'latest', '--baseline', 'release', '--quiet').exit_code == 0
    assert json.loads(Path('reports/verdict.json').read_text())['suites'][0]['baseline']['name'] == 'release'
    runs = len(list(Path('runs').iterdir()))
    result = invoke('run', '--baseline', 'relaese')
    assert (result.exit_code, result.stderr) == (
        2,
        "error: there is no baseline 'relaese' of mirror in evals/baselines: there is release; make one: "
        'advisor-harness baseline accept RUN --reason TEXT --name relaese\n',
    )
    assert len(list(Path('runs').iterdir())) == runs


def test_a_changed_dataset_is_inconclusive(folder: Path) -> None:
    """A case that came and one that went end with 2, and the way out works."""
    write_project(folder)
    assert invoke('run', '--quiet').exit_code == 0
    assert invoke(*ACCEPT).exit_code == 0
    dataset = folder / 'evals' / 'mirror.yaml'
    dataset.write_text(dataset.read_text() + '- {name: new, inputs: xy, expected_output: yx}\n')
    result = invoke('run')
    (run,) = [line for line in result.stdout.splitlines() if 'baseline accept' in line]
    command = run.split('advisor-harness ')[1].replace('TEXT', 'new').split()
    assert (result.exit_code, run.split(' since')[0].strip()) == (2, 'baseline: the dataset changed: 1 added (new)')
    assert invoke('baseline', 'diff').exit_code == 2
    assert invoke(*command).exit_code == 0
    assert invoke('run', '--quiet').exit_code == 0


@pytest.mark.parametrize(
    ('args', 'message'),
    [
        (('show', 'other'), "suite 'other' has no baseline: mirror has"),
        (
            ('diff', 'latest', '--name', 'x'),
            "there is no baseline 'x' of mirror in evals/baselines: there is main; make one: advisor-harness baseline "
            'accept RUN --reason TEXT --name x',
        ),
        (('accept', 'other', '--reason', 'r'), f"there is no run 'other' in runs: the newest are {RUN_ID}"),
        (('accept', 'latest', '--reason', ' ', '--by', 'a'), '`--reason` must not be blank'),
    ],
)
def test_mistakes_are_one_line(args: tuple[str, ...], message: str) -> None:
    """What does not exist is named, with exit code 2."""
    finished_run(record('short'))
    assert invoke(*ACCEPT).exit_code == 0
    result = invoke('baseline', *args)
    assert (result.exit_code, result.stdout, result.stderr) == (2, '', f'error: {message}\n')


def test_nothing_was_accepted_yet() -> None:
    """Without any baseline `show` says how to make one, and `diff` has nothing to compare with."""
    finished_run(record('short'))
    assert invoke('baseline', 'show').stdout == (
        'there is no baseline yet: advisor-harness baseline accept RUN --reason TEXT\n'
    )
    result = invoke('baseline', 'diff')
    assert (result.exit_code, result.stderr) == (
        2,
        f"error: mirror has no baseline 'main': make one: advisor-harness baseline accept {RUN_ID} --reason TEXT\n",
    )
