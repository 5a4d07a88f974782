"""The table of injected faults: what `advisor-harness run` ends with, and that everything finished is kept.

One test per row. What each fault does to a record in detail is in `test_faults.py`.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from advisor_harness.evals import RunStore, attachments
from advisor_harness.evals.contain import GRACE_S
from tests.cli.project import invoke
from tests.evals.files import file_suite
from tests.evals.support import exchange, write_cassette

FINE = [('first', 'ab'), ('second', 'cd')]


def newest() -> RunStore:
    return RunStore(max(Path('runs').iterdir()))


def states() -> Mapping[str, str]:
    return {key.case: record.state for key, record in sorted(newest().records().items())}


def ended(*args: str) -> tuple[int, str]:
    """Exit code of `run` and the verdict, which `verdict.json`, stdout and the exit code must agree on."""
    result = invoke('run', '--quiet', *args)
    verdict = json.loads((newest().folder / 'verdict.json').read_text())
    assert verdict['exit_code'] == result.exit_code
    assert f'{verdict["verdict"].upper()}   exit {result.exit_code}' in result.stdout
    return result.exit_code, verdict['verdict']


def scored_by(body: str) -> str:
    """Code that gives the suite one more scorer."""
    return f"""
import math
from dataclasses import dataclass
from pydantic_evals.evaluators import Evaluator

@dataclass
class Extra(Evaluator):
    def evaluate(self, ctx):
        if ctx.name == 'faulty':
            {body}
        return 1.0

suite = Suite(dataset=suite.dataset, task=answer, scorers=(*suite.scorers, Extra()))
"""


def test_crashing_task() -> None:
    """A task that raises is a failed case: blocked."""
    file_suite([*FINE, ('faulty', 'crash')])
    assert ended() == (1, 'blocked')
    assert states() == {'faulty': 'error', 'first': 'ok', 'second': 'ok'}


def test_system_exit() -> None:
    """`sys.exit()` in a task is a crash like any other: blocked."""
    leaving = "\nasync def leave(inputs, arm):\n    if inputs == 'x':\n        raise SystemExit(0)\n"
    leaving += '    return await answer(inputs, arm)\n\nsuite = Suite(dataset=suite.dataset, task=leave)\n'
    file_suite([*FINE, ('faulty', 'x')], code=leaving.replace('task=leave', 'task=leave, scorers=suite.scorers'))
    assert ended() == (1, 'blocked')
    assert states() == {'faulty': 'error', 'first': 'ok', 'second': 'ok'}


def test_cancelled_task() -> None:
    """A task that was cut off says nothing about the agent: inconclusive."""
    cancelled = "\nasync def cut(inputs, arm):\n    if inputs == 'x':\n        raise asyncio.CancelledError\n"
    cancelled += '    return await answer(inputs, arm)\n\n'
    cancelled += 'suite = Suite(dataset=suite.dataset, task=cut, scorers=suite.scorers)\n'
    file_suite([*FINE, ('faulty', 'x')], code=cancelled)
    assert ended() == (2, 'inconclusive')
    assert states() == {'faulty': 'cancelled', 'first': 'ok', 'second': 'ok'}


def hanging(clean_up: str) -> str:
    return f"""
async def hang(inputs, arm):
    while inputs == 'x':
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            {clean_up}
    return await answer(inputs, arm)

suite = Suite(dataset=suite.dataset, task=hang, scorers=suite.scorers, timeout=TIMEOUT)
"""


@pytest.mark.parametrize('clean_up', ['raise', 'pass'])
def test_hanging_task(monkeypatch: pytest.MonkeyPatch, clean_up: str) -> None:
    """A task over its time is a failed case, also when it does not heed its cancellation: blocked."""
    assert GRACE_S == 2.0
    monkeypatch.setattr('advisor_harness.evals.contain.GRACE_S', 0.01)
    file_suite([('faulty', 'x'), *FINE], code=hanging(clean_up).replace('TIMEOUT', '0.2'))
    assert ended('--case', 'faulty') == (1, 'blocked')
    (record,) = newest().records().values()
    assert record.error is not None
    assert (record.error.type, record.error.where) == ('TimeoutError', 'task')
    assert record.error.message == 'the task took longer than 0.2 s'


def test_hanging_plain_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that hangs in its thread is left behind, and `--timeout` goes before the suite's own limit."""
    monkeypatch.setattr('advisor_harness.evals.contain.GRACE_S', 0.01)
    waiting = '\nimport threading\n\ndef wait(inputs, arm):\n    threading.Event().wait()\n'
    file_suite(FINE, code=f'{waiting}\nsuite = Suite(dataset=suite.dataset, task=wait, timeout=600)\n')
    assert ended('--timeout', '0.1') == (1, 'blocked')
    assert states() == {'first': 'error', 'second': 'error'}


def test_crashing_scorer() -> None:
    """A scorer that raises is the harness's fault: inconclusive."""
    file_suite([*FINE, ('faulty', 'ef')], code=scored_by("raise LookupError('no reference')"))
    assert ended() == (2, 'inconclusive')
    assert states() == {'faulty': 'error', 'first': 'ok', 'second': 'ok'}


def test_nan_score() -> None:
    """NaN never enters a mean: inconclusive."""
    file_suite([*FINE, ('faulty', 'ef')], code=scored_by('return math.nan'))
    assert ended() == (2, 'inconclusive')
    assert states() == {'faulty': 'error', 'first': 'ok', 'second': 'ok'}


def in_a_process(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, '-m', 'advisor_harness', *args],
        capture_output=True,
        text=True,
        env={**os.environ, 'PYTHONWARNINGS': '', **environ},
    )


def test_sampler_off() -> None:
    """`OTEL_TRACES_SAMPLER=always_off` empties no trace, as the harness records by itself: pass."""
    file_suite(FINE)
    assert in_a_process('run', OTEL_TRACES_SAMPLER='always_off').returncode == 0
    assert [record.trace_complete for record in newest().records().values()] == [True, True]


def test_sdk_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    """`OTEL_SDK_DISABLED` cannot be overruled: nothing runs, exit code 2."""
    monkeypatch.setenv('OTEL_SDK_DISABLED', 'true')
    file_suite(FINE)
    result = invoke('run')
    assert (result.exit_code, result.stdout) == (2, '')
    assert (
        'error: OTEL_SDK_DISABLED is set to true, but without spans no case can be judged: unset it.' in result.stderr
    )


REPLAYED = """
from advisor_harness.cassettes import CassetteModels

async def ask(inputs, arm):
    return (await Agent('openai-chat:mirror-1', capabilities=[CassetteModels()]).run(inputs)).output

suite = Suite(dataset=suite.dataset, task=ask, scorers=suite.scorers, cassettes='../cassettes')
"""


def test_missing_cassette() -> None:
    """A case without its recording was not measured: inconclusive."""
    write_cassette(Path('cassettes/first.advised.yaml'), exchange('ab'))
    file_suite(FINE, code=REPLAYED)
    assert ended() == (2, 'inconclusive')
    assert states() == {'first': 'ok', 'second': 'error'}


def test_edited_policy() -> None:
    """A run is judged again under an edited policy, and the verdict says under which one."""
    Path('evals').mkdir()
    policy = Path('evals/mirror.policy.yaml')
    policy.write_text('metrics: {EqualsExpected: {min: 0.5}}\n')
    held = "\nsuite = Suite(dataset=suite.dataset, task=answer, scorers=suite.scorers, policy='mirror.policy.yaml')\n"
    wrong = "cases[0].expected_output = 'another'\n"
    file_suite(FINE, code=wrong + held)
    assert ended() == (0, 'pass')
    before = json.loads(Path('reports/verdict.json').read_text())
    policy.write_text('metrics: {EqualsExpected: {min: 0.9}}\n')
    assert invoke('gate', 'latest').exit_code == 1
    after = json.loads(Path('reports/verdict.json').read_text())
    assert (after['verdict'], after['exit_code'], after['run_id']) == ('blocked', 1, before['run_id'])
    assert after['policy_sha256']['mirror'] not in (None, before['policy_sha256']['mirror'])


def refused(code: str) -> str:
    """What a project whose suite cannot be run gets to read."""
    file_suite(FINE, code=code)
    result = invoke('run')
    assert (result.exit_code, result.stdout, Path('runs').exists()) == (2, '', False)
    return result.stderr


def test_duplicate_case_names() -> None:
    """Two cases of one name would overwrite each other: nothing runs, exit code 2."""
    assert refused("cases[1].name = 'first'\n") == (
        "error: the dataset of suite 'mirror' has two cases named 'first': every name must be used once\n"
    )


def test_empty_dataset() -> None:
    """A suite without cases is no pass: nothing runs, exit code 2."""
    assert refused('suite.dataset.cases.clear()\n') == (
        "error: the dataset of suite 'mirror' is empty: a suite needs at least one case\n"
    )


def test_disk_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no room for a record, what ended is kept whole, and the run can be finished later."""
    file_suite([*FINE, ('third', 'ef')])
    real = attachments.append_line
    written: list[Path] = []

    def full(path: Path, line: bytes) -> None:
        written.append(path)
        if written.count(path) > 2 and path.name == 'cases.jsonl':
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, line)

    with monkeypatch.context() as patch:
        patch.setattr('advisor_harness.evals.store.append_line', full)
        result = invoke('run', '--quiet')
    run = newest().id
    assert (result.exit_code, result.stdout, result.stderr) == (
        2,
        '',
        f'error: runs/{run}/cases.jsonl cannot be written: No space left on device\n'
        f'2 of 3 cases ended and are kept in runs/{run}\n'
        f'finish the run with:  advisor-harness run --resume {run}\n'
        f'or judge what ended:  advisor-harness gate {run}\n',
    )
    assert len(states()) == 2
    assert invoke('gate', run).exit_code == 2
    assert ended('--resume', run) == (0, 'pass')


@pytest.mark.skipif(sys.platform == 'win32', reason='RLIMIT_FSIZE')
@pytest.mark.parametrize('workers', ['1', '2'])
def test_disk_full_of_a_real_system(workers: str) -> None:
    """A file that may not grow further ends with whole lines; with more room the run is finished."""
    file_suite([(f'case-{n:02}', f'{n:0500}') for n in range(12)])
    limited = 'import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000)); '
    command = f"import sys; sys.argv = ['advisor-harness', 'run', '--workers', '{workers}']; "
    # `python -c` has no file that a worker could take for the program.
    ran: Any = subprocess.run(
        [sys.executable, '-c', f'{limited}{command}from advisor_harness.cli import main; main()'],
        capture_output=True,
        text=True,
        env={**os.environ, 'PYTHONWARNINGS': '', 'PYTHONDONTWRITEBYTECODE': '1'},
    )
    run = newest()
    assert (ran.returncode, ran.stdout) == (2, '')
    assert 'cannot be written: File too large\n' in ran.stderr
    assert f'finish the run with:  advisor-harness run --resume {run.id}\n' in ran.stderr
    kept = run.records()
    assert 0 < len(kept) < 12
    assert all(run.whole(record) for record in kept.values())
    for path in run.folder.rglob('*.jsonl'):
        assert path.read_bytes().endswith(b'}\n')
    assert ended('--resume', run.id) == (0, 'pass')
