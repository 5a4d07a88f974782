"""What the harness costs: beside pydantic-evals on the same recordings, judging and reporting, and memory."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from advisor_harness.evals import judge
from advisor_harness.evals.reports import write_all
from tests.benchmarks.replays import by_harness, by_pydantic_evals, questions, record, traced_by_the_sdk

LARGE = 'ADVISOR_HARNESS_BENCH_CASES'
"""Number of synthetic cases whose memory is measured; each takes a millisecond or two. Not measured when unset."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs and recordings are nobody else's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))


def test_overhead(benchmark: BenchmarkFixture) -> None:
    """Processor time of a replayed case: here with records, traces and attachments, and in `Dataset.evaluate`.

    The two take turns in one process; what is reported is the median difference of pairs.
    """
    count = 40
    dataset = questions(count)
    record(dataset)

    def seconds(runner: asyncio.Runner, call: Callable[[], Awaitable[object]]) -> float:
        async def body() -> float:
            start = time.process_time()
            await call()
            return (time.process_time() - start) / count

        return runner.run(body())

    def theirs(runner: asyncio.Runner) -> float:
        with traced_by_the_sdk():
            return seconds(runner, lambda: by_pydantic_evals(dataset))

    with asyncio.Runner() as runner:
        ours = lambda: seconds(runner, lambda: by_harness(dataset))  # noqa: E731 - one of a pair
        ours(), theirs(runner)
        pairs = [(ours(), theirs(runner)) for _ in range(15)]
        benchmark.pedantic(lambda: runner.run(by_harness(dataset)), rounds=1)
    benchmark.extra_info['ours'] = statistics.median(here for here, _ in pairs)
    benchmark.extra_info['other'] = statistics.median(there for _, there in pairs)
    benchmark.extra_info['difference'] = statistics.median(here - there for here, there in pairs)


@pytest.mark.parametrize('workers', [1, 2])
def test_thousand_cases(benchmark: BenchmarkFixture, workers: int) -> None:
    """A thousand recorded cases through the command, the start of all processes included."""
    record(questions(1000))
    Path('evals').mkdir()
    root = Path(__file__).parents[2]
    Path('evals/bench.py').write_text(
        f'import sys\nsys.path.insert(0, {str(root)!r})\n'
        'from pydantic_evals.evaluators import EqualsExpected\n'
        'from advisor_harness.evals import Suite\n'
        'from tests.benchmarks.replays import ask, questions\n'
        "suite = Suite(dataset=questions(1000), task=ask, scorers=(EqualsExpected(),), cassettes='../cassettes')\n"
    )
    command = [sys.executable, '-m', 'advisor_harness', 'run', '--quiet', '--workers', str(workers)]
    benchmark.pedantic(lambda: subprocess.run(command, check=True, capture_output=True), rounds=1)


def test_gate_and_reports(benchmark: BenchmarkFixture) -> None:
    """Judging a thousand records and writing every report."""
    dataset = questions(1000)
    record(dataset)
    store = asyncio.run(by_harness(dataset))
    benchmark.pedantic(lambda: write_all(store, judge(store), Path('reports')), rounds=5, warmup_rounds=1)


@pytest.mark.skipif(LARGE not in os.environ, reason=f'{LARGE} is not set')
def test_memory(benchmark: BenchmarkFixture) -> None:
    """Resident memory after a tenth of the cases and after all of them, in a process of its own."""
    count = os.environ[LARGE]
    command = [sys.executable, '-m', 'tests.benchmarks.memory', count]
    root = Path(__file__).parents[2]
    env = {**os.environ, 'PYTHONPATH': str(root)}

    def measure() -> None:
        printed = subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout
        cases, early, late = map(int, printed.split())
        benchmark.extra_info.update(cases=cases, early_kb=early, late_kb=late)

    benchmark.pedantic(measure, rounds=1)
