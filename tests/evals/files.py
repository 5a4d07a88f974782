"""Suites in files of their own, as a worker process and a run that goes on later load them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from advisor_harness.evals import Suite, load_suites

# What a case does is its input: `crash`, `kill`, `exit`, `hang`; anything else is answered backwards.
SOURCE = """
import asyncio, os, signal

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected

from advisor_harness.evals import Suite


def reverse(messages, info):
    return ModelResponse(parts=[TextPart(messages[0].parts[0].content[::-1])])


async def answer(inputs, arm):
    if inputs == 'crash':
        raise RuntimeError('no idea')
    if inputs == 'kill':
        os.kill(os.getpid(), signal.SIGKILL)
    if inputs == 'exit':
        os._exit(3)
    if inputs == 'interrupt':
        raise KeyboardInterrupt
    return (await Agent(FunctionModel(reverse, model_name='mirror'), name='executor').run(inputs)).output


def case(name, inputs):
    return Case(name=name, inputs=inputs, expected_output=inputs[::-1], metadata={'tags': ['odd'] * (len(name) % 2)})


cases = [case(name, inputs) for name, inputs in CASES]
suite = Suite(dataset=Dataset(name='NAME', cases=cases), task=answer, scorers=(EqualsExpected(),), arms=ARMS)
"""


def file_suite(
    cases: Iterable[tuple[str, str]], *, name: str = 'mirror', arms: tuple[str, ...] = ('advised',), code: str = ''
) -> Suite:
    """A suite with these names and inputs, written to `evals/` and loaded from there."""
    Path('evals').mkdir(exist_ok=True)
    source = SOURCE.replace('CASES', repr(list(cases))).replace('NAME', name).replace('ARMS', repr(arms))
    Path(f'evals/{name}.py').write_text(source + code)
    (suite,) = load_suites(names=[name])
    return suite
