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

from advisor_harness import Advisor, Router
from advisor_harness.evals import Suite


def execute(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    question = messages[0].parts[0].content
    if not any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
        return ModelResponse(parts=[ToolCallPart('advisor', {'prompt': 'How?'}, tool_call_id='call-1')])
    return ModelResponse(parts=[TextPart(question[::-1])])


def advise(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart('Read it backwards.')])


async def reverse(question: str, arm: str) -> str:
    print('a task may print')
    models = Router({'main': FunctionModel(execute, model_name='doer')}, default_route='main')
    advisor = Advisor(FunctionModel(advise, model_name='sage'), max_uses=1)
    result = await Agent(capabilities=[models, advisor], name='executor').run(question)
    if question == 'crash':
        raise RuntimeError('nobody can read that')
    return result.output


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


# The same question to a model behind HTTP, with a stand-in for it that answers while the suite is recorded.
RECORDED_SUITE = """
import json
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from pydantic_ai import Agent
from pydantic_evals.evaluators import EqualsExpected

from advisor_harness.cassettes import CassetteModels
from advisor_harness.evals import Recording, Suite


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        message = {'role': 'assistant', 'content': request['messages'][-1]['content'][::-1]}
        choice = {'index': 0, 'finish_reason': 'stop', 'message': message}
        answer = {'id': 'c', 'object': 'chat.completion', 'created': 1, 'model': 'mirror-1', 'choices': [choice]}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        pass


@asynccontextmanager
async def emulator():
    server = ThreadingHTTPServer(('127.0.0.1', 0), Model)
    thread = Thread(target=server.serve_forever, kwargs={'poll_interval': 0.01})
    thread.start()
    upstream = {'https://api.openai.com': f'http://127.0.0.1:{server.server_port}'}
    try:
        yield Recording(upstream=upstream, recorded_with={'by': 'emulator', 'model': 'mirror-1'})
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def reverse(question: str, arm: str) -> str:
    return (await Agent('openai-chat:mirror-1', capabilities=[CassetteModels()]).run(question)).output


suite = Suite(
    dataset='mirror.yaml',
    task=reverse,
    scorers=(EqualsExpected(),),
    policy='mirror.policy.yaml',
    cassettes='../cassettes/mirror',
    recording=emulator,
)
"""


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
