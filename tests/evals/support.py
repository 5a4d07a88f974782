"""Small suites whose agents need no provider, and recordings of one that answers a question with itself, reversed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected, Evaluator, EvaluatorContext

from advisor_harness.cassettes import CassetteModels
from advisor_harness.evals import CaseRecord, Run, RunOptions, RunStore, Suite, run_suites
from advisor_harness.evals.datasets import AnyCase

RECORDED_MODEL = 'openai-chat:mirror-1'


def reverse(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A model that reads backwards."""
    return ModelResponse(parts=[TextPart(str(messages[0].parts[0].content)[::-1])])  # pyright: ignore[reportAttributeAccessIssue] - the first part is the prompt


async def mirror(inputs: str, arm: str) -> str:
    """A task with one agent and one request."""
    return (await Agent(FunctionModel(reverse, model_name='mirror'), name='executor').run(inputs)).output


async def recorded_mirror(inputs: str, arm: str) -> str:
    """The same task with a model behind HTTP."""
    return (await Agent(RECORDED_MODEL, name='executor', capabilities=[CassetteModels()]).run(inputs)).output


def case(name: str, inputs: Any = 'ab', expected: Any = 'ba', *tags: str) -> AnyCase:
    return Case(name=name, inputs=inputs, expected_output=expected, metadata={'tags': list(tags)})


def suite(
    *cases: AnyCase,
    task: Callable[[Any, str], Any] = mirror,
    scorers: Sequence[Evaluator[Any, Any, Any]] = (EqualsExpected(),),
    name: str = 'mirror',
    **options: Any,
) -> Suite:
    dataset = Dataset[Any, Any, Any](name=name, cases=cases or [case('short')])
    return Suite(name=name, dataset=dataset, task=task, scorers=scorers, **options)


async def run(*suites: Suite, **options: Any) -> RunStore:
    return (await started(*suites, **options)).store


async def started(*suites: Suite, **options: Any) -> Run:
    return await run_suites(suites, RunOptions(**options))


async def one_record(*suites: Suite, **options: Any) -> CaseRecord:
    """Run, and return the only record."""
    (record,) = (await run(*suites, **options)).records().values()
    return record


def only_run() -> RunStore:
    """The only run below the current directory."""
    (folder,) = Path('runs').iterdir()
    return RunStore(folder)


def nothing_in(folder: Path) -> bool:
    return not list(folder.iterdir())


def exchange(question: str, *, status: int = 200, answer: dict[str, Any] | None = None) -> dict[str, Any]:
    """One interaction of a cassette, as the mirror model answers it."""
    message = {'role': 'assistant', 'content': question[::-1]}
    usage = {'prompt_tokens': 3, 'completion_tokens': 2, 'total_tokens': 5}
    choice = {'index': 0, 'finish_reason': 'stop', 'message': message}
    body = {'id': 'c', 'object': 'chat.completion', 'created': 1, 'model': 'm', 'choices': [choice], 'usage': usage}
    return {
        'recorded': {'latency_s': 0.25},
        'request': {
            'method': 'POST',
            'uri': 'https://api.openai.com/v1/chat/completions',
            'headers': {'content-type': ['application/json']},
            'parsed_body': {
                'model': 'mirror-1',
                'stream': False,
                'messages': [{'role': 'user', 'content': question}],
            },
        },
        'response': {
            'headers': {'content-type': ['application/json']},
            'parsed_body': body if answer is None else answer,
            'status': {'code': status, 'message': 'OK' if status == 200 else 'Error'},
        },
    }


def write_cassette(path: Path, *exchanges: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {'recorded_with': {'by': 'emulator'}, 'interactions': list(exchanges), 'version': 1}
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding='utf-8')
    return path


@dataclass
class Scripted(Evaluator[Any, Any, Any]):
    """A scorer that does what it is told."""

    act: Callable[[EvaluatorContext[Any, Any, Any]], Any]
    name: str = 'scripted'

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> Any:
        return self.act(ctx)

    def get_default_evaluation_name(self) -> str:
        return self.name

    def build_serialization_arguments(self) -> dict[str, Any]:
        return {}
