"""Small projects with real suites, as somebody who uses the command has them."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from advisor_harness.cli.app import app

# An executor that asks its advisor once and then answers; what it answers is the case's input, reversed.
SUITE = """
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_evals.evaluators import EqualsExpected

from advisor_harness import Advisor
from advisor_harness.evals import Suite


def execute(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    question = messages[0].parts[0].content
    if question == 'crash':
        raise RuntimeError('the model is on fire')
    if not any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
        return ModelResponse(parts=[ToolCallPart('advisor', {'prompt': 'How?'}, tool_call_id='call-1')])
    return ModelResponse(parts=[TextPart(question[::-1])])


def advise(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart('Read it backwards.')])


async def reverse(question: str, arm: str) -> str:
    print('a task may print')
    advisor = Advisor(FunctionModel(advise, model_name='sage'))
    agent = Agent(FunctionModel(execute, model_name='doer'), capabilities=[advisor], name='executor')
    return (await agent.run(question)).output


suite = Suite(dataset='mirror.yaml', task=reverse, scorers=(EqualsExpected(),), policy='mirror.policy.yaml')
"""
CASES = """
name: mirror
cases:
- {name: short, inputs: ab, expected_output: ba, metadata: {tags: [easy]}}
- {name: long, inputs: abcdef, expected_output: fedcba}
"""
WRONG_CASE = '- {name: wrong, inputs: ab, expected_output: ab}\n'
CRASHING_CASE = '- {name: crash, inputs: crash, expected_output: hsarc}\n'
POLICY = 'metrics: {EqualsExpected: {min: 1.0}}\n'


def write_project(folder: Path, *, cases: str = CASES, policy: str = POLICY, suite: str = SUITE) -> None:
    """Write a project with the one suite `mirror`."""
    evals = folder / 'evals'
    evals.mkdir()
    (evals / 'mirror.py').write_text(suite)
    (evals / 'mirror.yaml').write_text(cases)
    (evals / 'mirror.policy.yaml').write_text(policy)


def invoke(*args: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(app, args, catch_exceptions=False, prog_name='advisor-harness')
