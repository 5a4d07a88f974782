"""Runs synthetic cases and prints their number and the resident kB after a tenth and after all of them.

`python -m tests.benchmarks.memory 100000`. The tasks make one span and no request: what grows is the harness's own.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from opentelemetry import trace
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected

from advisor_harness.evals import CaseRecord, RunOptions, Suite, run_suites


def resident_kb() -> int:
    """Memory of this process that is in RAM, as Linux counts it."""
    lines = Path('/proc/self/status').read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith('VmRSS'))


async def task(inputs: int, arm: str) -> int:
    with trace.get_tracer('synthetic').start_as_current_span('work'):
        return inputs


def main(count: int) -> None:
    """Run, and print the figures."""
    cases = [Case(name=f'case-{n}', inputs=n, expected_output=n) for n in range(count)]
    suite = Suite(
        name='synthetic',
        dataset=Dataset[Any, Any, Any](name='synthetic', cases=cases),
        task=task,
        scorers=(EqualsExpected(),),
    )
    ended, early = 0, 0

    def follow(record: CaseRecord) -> None:
        nonlocal ended, early
        ended += 1
        if ended == count // 10:
            early = resident_kb()

    asyncio.run(run_suites([suite], RunOptions(), on_record=follow))
    sys.stdout.write(f'{count} {early} {resident_kb()}\n')


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main(int(sys.argv[1]))
