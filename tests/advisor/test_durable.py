"""Consultations under durable execution engines: asked once, charged once, recorded the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from .durable.program import Program

pytestmark = pytest.mark.anyio
PROGRAMS = Path(__file__).parent / 'durable'


ASKED = ['One?', 'Two?', 'Down?', 'Sound?']


def run(program: str, folder: Path, *arguments: object) -> tuple[int, str, str]:
    """Exit code, output and errors of a program; what it left running when it was killed ends with it."""
    command = [sys.executable, str(PROGRAMS / program), str(folder), *map(str, arguments)]
    prefect = {
        'PREFECT_HOME': str(folder / 'prefect'),
        'PREFECT_LOGGING_LEVEL': 'CRITICAL',
        'PREFECT_SERVER_ANALYTICS_ENABLED': 'false',
        'PREFECT_SERVER_ALLOW_EPHEMERAL_MODE': 'true',
        'PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS': '100',
        'DO_NOT_TRACK': '1',
    }
    output, errors = folder / 'output.txt', folder / 'errors.txt'
    with output.open('w') as out, errors.open('w') as err:
        process = subprocess.Popen(
            command, stdout=out, stderr=err, env={**os.environ, **prefect}, start_new_session=True
        )
        code = process.wait(timeout=200)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return code, output.read_text(), errors.read_text()


@pytest.mark.parametrize('engine', ['dbos', 'prefect'])
async def test_a_workflow_that_was_killed_does_not_ask_again(engine: str, tmp_path: Path) -> None:
    """After `kill -9` the recovered workflow has every advice, refusal, failure, record and token once.

    It ends as a run that nobody killed and no engine recorded.
    """
    pytest.importorskip(engine)
    code, output, errors = run(f'on_{engine}.py', tmp_path, 'start', 2)
    assert (code, output) == (-signal.SIGKILL, ''), errors
    assert (tmp_path / 'journal.txt').read_text().split() == ASKED[:3]

    code, output, errors = run(f'on_{engine}.py', tmp_path, 'resume', 'never')
    assert code == 0, errors
    assert (tmp_path / 'journal.txt').read_text().split() == ASKED
    plain = await Program(tmp_path / 'plain.txt').work()
    assert json.loads(output) == json.loads(json.dumps(plain))
    assert plain['usage'] == [7, 1404, 18]
