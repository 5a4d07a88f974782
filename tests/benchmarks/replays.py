"""A thousand recorded cases, and what replays them: the harness, and pydantic-evals with the SDK alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected

from advisor_harness.cassettes import CassetteModels, use_cassette
from advisor_harness.evals import RunOptions, RunStore, Suite, run_suites
from tests.evals.support import RECORDED_MODEL, exchange, write_cassette

Questions = Dataset[Any, Any, Any]


def questions(count: int) -> Questions:
    """Cases with one question each."""
    cases = [Case(name=f'case-{n:04}', inputs=f'q{n:04}', expected_output=f'q{n:04}'[::-1]) for n in range(count)]
    return Questions(name='bench', cases=cases)


def record(dataset: Questions) -> None:
    """Write the recordings of all cases below the current directory."""
    for case in dataset.cases:
        write_cassette(Path(f'cassettes/{case.name}.advised.yaml'), exchange(case.inputs))


async def ask(inputs: str, arm: str) -> str:
    """One request to a recorded model."""
    return (await Agent(RECORDED_MODEL, name='executor', capabilities=[CassetteModels()]).run(inputs)).output


async def by_harness(dataset: Questions, **options: Any) -> RunStore:
    """Replay with everything that a run does: records, spans and messages kept, traces checked."""
    suite = Suite(name='bench', dataset=dataset, task=ask, scorers=(EqualsExpected(),), cassettes='cassettes')
    return (await run_suites([suite], RunOptions(**options))).store


async def by_pydantic_evals(dataset: Questions) -> None:
    """Replay the same recordings with `Dataset.evaluate`; spans are made, and nothing is kept."""

    async def task(inputs: str) -> str:
        with use_cassette(Path(f'cassettes/case-{inputs[1:]}.advised.yaml')):
            return await ask(inputs, 'advised')

    scored = Questions(name='bench', cases=dataset.cases, evaluators=[EqualsExpected()])
    report = await scored.evaluate(task, progress=False, max_concurrency=8)
    assert len(report.cases) == len(dataset.cases)


@contextmanager
def traced_by_the_sdk() -> Iterator[None]:
    """Every agent makes spans with a provider of the SDK, which nobody exports."""
    Agent.instrument_all(InstrumentationSettings(tracer_provider=TracerProvider()))
    try:
        yield
    finally:
        Agent.instrument_all(False)
