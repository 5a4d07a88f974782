from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.project import CASES, WRONG_CASE, invoke, write_project


def runs() -> list[str]:
    return sorted(path.name for path in Path('runs').iterdir())


def test_merged_shards_print_what_one_run_prints(folder: Path) -> None:
    """Exit code, report and `verdict.json` of merged shards are those of a run that nobody divided, save for its id."""
    write_project(folder, cases=CASES + WRONG_CASE)
    codes = [invoke('run', '--quiet', '--shard', f'{n}/2').exit_code for n in (1, 2)]
    assert codes == [1, 0]
    shards = runs()
    for name in shards:
        Path(f'downloaded/{name}').parent.mkdir(exist_ok=True)
        shutil.move(f'runs/{name}', f'downloaded/{name}')
    merged = invoke('merge', *(f'downloaded/{name}' for name in shards))
    (merged_id,) = runs()
    verdict = json.loads(Path('reports/verdict.json').read_text())
    assert (merged.exit_code, verdict['run_id'], merged.stderr) == (1, merged_id, '')
    whole = invoke('run', '--workers', '1')
    printed = whole.stdout.replace('a task may print\n', '').replace(runs()[-1], merged_id)
    assert merged.stdout == printed
    assert {**json.loads(Path('reports/verdict.json').read_text()), 'run_id': merged_id} == verdict


def test_a_missing_shard_is_inconclusive(folder: Path) -> None:
    """One of two shards is no run: exit code 2, with the shard that is missing."""
    write_project(folder)
    invoke('run', '--quiet', '--shard', '2/2')
    result = invoke('merge', *runs())
    assert result.exit_code == 2
    assert '    shards: shard 1 of 2 was not merged\n' in result.stdout


@pytest.mark.parametrize(
    ('args', 'message'),
    [
        (['run', '--shard', '1'], "`--shard` needs which part of how many, such as '1/3'; got '1'"),
        (['run', '--workers', '0'], '`workers` must be at least 1; got 0'),
        (['run', '--timeout', '0'], '`timeout` must be seconds above 0; got 0.0'),
        (
            ['run', 'mirror', '--resume', 'latest', '--arm', 'solo', '--only-failed'],
            '`--resume` finishes a run as it was started: leave out SUITE, --arm, --only-failed',
        ),
        (['run', '--resume', 'latest'], 'there is no run in runs yet: start one with `advisor-harness run`'),
        (['merge', 'nothing'], "there is no run 'nothing' in runs: there is none yet"),
        (
            ['run', '--workers', '2', '--mode', 'live'],
            "`workers` above 1 are for replays: mode 'live' waits for a provider, not for us",
        ),
        (
            ['run', '--workers', '2', '--otlp', 'http://localhost:4318'],
            '`workers` above 1 cannot send spans elsewhere: exporters live in one process',
        ),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(folder: Path, args: list[str], message: str) -> None:
    """What cannot be done is said, and no run is started."""
    write_project(folder)
    result = invoke(*args)
    assert (result.exit_code, result.stdout, result.stderr) == (2, '', f'error: {message}\n')
    assert not Path('runs').exists()


def test_a_run_that_was_cut_off_is_finished(folder: Path) -> None:
    """`run --resume` says what it keeps, runs the rest, and ends as a whole run does."""
    write_project(folder)
    invoke('run', '--quiet')
    (run,) = runs()
    records = Path(f'runs/{run}/cases.jsonl')
    first = records.read_bytes().splitlines(keepends=True)[0]
    records.write_bytes(first + b'{"schema": 1, "sui')
    assert invoke('gate', run).exit_code == 2
    result = invoke('run', '--resume', run)
    assert (result.exit_code, runs()) == (0, [run])
    assert result.stdout.count('a task may print\n') == 1
    assert result.stderr == (
        '1 of 2 cases already ended and are kept, 1 to run\n100 %  2 of 2 cases: 2 ok; cost unknown\n'
    )
