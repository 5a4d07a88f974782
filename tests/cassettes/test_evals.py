"""Cassettes under pydantic-evals: a file for every case, whatever runs at the same time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.test import TestModel
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext
from pydantic_evals.lifecycle import CaseLifecycle

from advisor_harness.cassettes import Cassette, CassetteError, CassetteModels, cassette_client, use_cassette
from advisor_harness.cassettes.active import active_cassette
from advisor_harness.evals import Recording, judge
from tests.evals import support as evals

from .support import ScriptedServer, ServerRequest, entry, json_reply, openai_chat, read_yaml, write_cassette

MODEL = 'openai-chat:gpt-test'
OPENAI = 'https://api.openai.com/v1/chat/completions'


def asked(question: str, answer: str) -> dict[str, Any]:
    """One recorded question to the model with its answer."""
    messages = [{'role': 'user', 'content': question}]
    return entry({'messages': messages, 'model': 'gpt-test', 'stream': False}, openai_chat(answer), url=OPENAI)


async def ask(question: str) -> str:
    return (await Agent(MODEL, capabilities=[CassetteModels()]).run(question)).output


@dataclass
class Judge(Evaluator[str, str, Any]):
    """Asks a model whether the answer is right."""

    async def evaluate(self, ctx: EvaluatorContext[str, str, Any]) -> str:
        return await ask(f'Is {ctx.output!r} right?')


def lifecycle(folder: Path, closed: dict[str, Cassette]) -> Callable[[Any], CaseLifecycle[Any, Any, Any]]:
    """Opens the cassette of a case around its task and its scorers, as the documentation of pydantic-evals suggests."""

    class Recorded(CaseLifecycle[Any, Any, Any]):
        async def setup(self) -> None:
            self.block = contextlib.ExitStack()
            self.cassette = self.block.enter_context(use_cassette(folder / f'{self.case.name}.yaml'))

        async def prepare_context(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluatorContext[Any, Any, Any]:
            if self.cassette.misses:
                raise self.cassette.misses[0]
            return ctx

        async def teardown(self, result: Any) -> None:
            self.block.close()
            closed[str(self.case.name)] = self.cassette

    return Recorded


def no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever needs the network fails: the transport to it cannot be made."""

    def make() -> Any:
        raise AssertionError('a request was on its way to the network')

    transport: Any = cassette_client()._transport
    monkeypatch.setattr(transport, '_make_inner', make)


@pytest.mark.anyio
@pytest.mark.parametrize('concurrency', [1, 20, None])
async def test_two_hundred_cases_replay_alike_at_any_concurrency(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, concurrency: int | None
) -> None:
    """C13: half of the cases ask the same, each has a judge, and all get what their own file holds."""
    no_way_out(monkeypatch)
    questions = ['What is 2+2?' if n % 2 else f'What is {n}+{n}?' for n in range(200)]
    for n, question in enumerate(questions):
        verdict = asked(f"Is 'answer {n}' right?", f'verdict {n}')
        write_cassette(tmp_path / f'{n}.yaml', asked(question, f'answer {n}'), verdict)
    cases = [Case(name=str(n), inputs=question) for n, question in enumerate(questions)]
    closed: dict[str, Cassette] = {}

    report = await Dataset(name='many', cases=cases, evaluators=[Judge()]).evaluate(
        ask, max_concurrency=concurrency, lifecycle=lifecycle(tmp_path, closed), progress=False
    )

    assert report.failures == []
    assert {case.name: (case.output, case.labels['Judge'].value) for case in report.cases} == {
        str(n): (f'answer {n}', f'verdict {n}') for n in range(200)
    }
    for cassette in closed.values():
        cassette.check()
    assert sum(cassette.played for cassette in closed.values()) == 400


@pytest.mark.anyio
@pytest.mark.parametrize('first', ['a', 'b'])
async def test_answers_do_not_follow_the_order_of_arrival(tmp_path: Path, first: str) -> None:
    """C14: of two cases with the same request each gets its own answer, whichever asks first."""
    done = asyncio.Event()
    for name in 'ab':
        write_cassette(tmp_path / f'{name}.yaml', asked('Who?', f'answer of {name}'))

    async def task(name: str) -> str:
        if name != first:
            await done.wait()
        answer = await ask('Who?')
        done.set()
        return answer

    dataset = Dataset(name='two', cases=[Case(name=name, inputs=name) for name in 'ab'])
    report = await dataset.evaluate(task, lifecycle=lifecycle(tmp_path, {}), progress=False)

    assert {case.name: case.output for case in report.cases} == {'a': 'answer of a', 'b': 'answer of b'}


def test_sync_tasks_and_evaluators_in_successive_loops(tmp_path: Path) -> None:
    """C15: a sync task, in a thread with a loop of its own, and a sync evaluator see the cassette of their case."""
    for name in 'ab':
        write_cassette(tmp_path / f'{name}.yaml', asked('Who?', name))

    @dataclass
    class SyncJudge(Evaluator[str, str, Any]):
        def evaluate(self, ctx: EvaluatorContext[str, str, Any]) -> str:
            cassette = active_cassette()
            return cassette.path.stem if cassette else 'none'

    def task(name: str) -> str:
        return asyncio.run(ask('Who?'))

    cases = [Case(name=name, inputs=name) for name in 'ab']
    dataset = Dataset(name='sync', cases=cases, evaluators=[SyncJudge()])
    for _ in range(2):
        report = asyncio.run(dataset.evaluate(task, lifecycle=lifecycle(tmp_path, {}), progress=False))
        assert report.failures == []
        assert {case.name: (case.output, case.labels['SyncJudge'].value) for case in report.cases} == {
            'a': ('a', 'a'),
            'b': ('b', 'b'),
        }


@pytest.mark.anyio
@pytest.mark.parametrize('model', [MODEL, 'anthropic:claude-test'])
async def test_a_miss_fails_its_case_and_no_other(tmp_path: Path, model: str) -> None:
    """C11: an evaluation goes on after a miss, whose whole text is the failure of its case."""
    write_cassette(tmp_path / 'hit.yaml', asked('Who?', 'me'))
    write_cassette(tmp_path / 'miss.yaml', asked('Where?', 'here'))

    async def task(name: str) -> str:
        return await ask('Who?') if name == 'hit' else (await Agent(CassetteModels.model(model)).run('Who?')).output

    dataset = Dataset(name='two', cases=[Case(name=name, inputs=name) for name in ('hit', 'miss')])
    report = await dataset.evaluate(task, lifecycle=lifecycle(tmp_path, {}), progress=False)

    assert [(case.name, case.output) for case in report.cases] == [('hit', 'me')]
    (failure,) = report.failures
    assert failure.name == 'miss'
    assert 'no recorded answer for POST https://api.' in failure.error_message
    assert '~ messages[0].content' in failure.error_message


WITHOUT_ANTHROPIC = """
import asyncio, sys, warnings
sys.modules['anthropic'] = None  # as if it were not installed
from pydantic_ai import Agent
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.test import TestModel
from advisor_harness.cassettes import CassetteModels, UnmatchedRequest, use_cassette
with use_cassette(sys.argv[1]) as cassette:
    for model in (CassetteModels.model('openai-chat:gpt-test'),
                  FallbackModel(CassetteModels.model('openai-chat:gpt-test'), TestModel())):
        try:
            asyncio.run(Agent(model).run('Who?'))
        except UnmatchedRequest as error:
            print(type(error).__mro__[1].__name__, len(cassette.misses))
"""


def test_a_miss_without_the_anthropic_sdk(tmp_path: Path) -> None:
    """C11: nothing depends on an SDK that is not installed."""
    file = write_cassette(tmp_path / 'x.yaml', asked('Where?', 'here'))

    done = subprocess.run([sys.executable, '-c', WITHOUT_ANTHROPIC, str(file)], capture_output=True, text=True)

    assert (done.stdout, done.returncode) == ('CassetteError 1\nCassetteError 2\n', 0), done.stderr


async def swallowing(inputs: str, arm: str) -> str:
    with contextlib.suppress(Exception):
        await ask('not recorded')
    return 'ba'


async def failing(inputs: str, arm: str) -> str:
    await swallowing(inputs, arm)
    raise RuntimeError('something else')


async def falling_back(inputs: str, arm: str) -> str:
    model = FallbackModel(CassetteModels.model(MODEL), TestModel(custom_output_text='ba'), fallback_on=(Exception,))
    return (await Agent(model).run('not recorded')).output


async def judged(ctx: Any) -> bool:
    await swallowing('', '')
    return True


@pytest.mark.anyio
@pytest.mark.parametrize(
    ('task', 'scorers'),
    [
        (swallowing, ()),
        (failing, ()),
        (falling_back, ()),
        (evals.mirror, (evals.Scripted(judged),)),
    ],
    ids=['in the task', 'in a failing task', 'by a broad fallback', 'in a judge'],
)
async def test_a_swallowed_miss_shows_in_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: Any, scorers: Any
) -> None:
    """C12: whoever catches a miss, the case has failed and the suite says nothing."""
    monkeypatch.chdir(tmp_path)
    write_cassette(Path('cassettes/mirror/short.advised.yaml'))

    store = await evals.run(evals.suite(task=task, scorers=scorers, cassettes='cassettes/mirror'))

    (record,) = store.records().values()
    assert record.error is not None
    assert (record.state, record.error.where, record.error.type) == ('error', 'cassette', 'UnmatchedRequest')
    assert str(judge(store).verdict) == 'inconclusive'


@pytest.mark.anyio
@pytest.mark.parametrize('concurrency', [1, 2, 100])
async def test_every_repeat_has_its_own_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, concurrency: int
) -> None:
    """C16: three repeats are three files; repeat i is answered by file i, and a missing one is an error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('OPENAI_API_KEY', 'not-a-key')
    names = ['plain', '../up', 'a/b', 'a%2Fb', '.', 'A/b']
    answers = iter(range(100))

    async def handler(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(json_reply(openai_chat(f'{next(answers)}')))

    @contextlib.asynccontextmanager
    async def recording() -> Any:
        async with ScriptedServer.run(handler) as server:
            yield Recording(recorded_with={'by': 'emulator'}, upstream={'https://api.openai.com': server.origin})

    async def task(inputs: str, arm: str) -> str:
        return await ask(inputs)

    suite = evals.suite(
        *(evals.case(name, 'Who?') for name in names),
        task=task,
        scorers=(evals.Scripted(lambda ctx: True),),
        cassettes='cassettes/mirror',
        recording=recording,
        repeat=3,
    )
    recorded = await evals.run(suite, mode='record', concurrency=concurrency)
    replayed = await evals.run(suite, concurrency=concurrency)
    files = sorted((tmp_path / 'cassettes' / 'mirror').iterdir())
    next(file for file in files if file.name == 'plain.advised.2.yaml').unlink()
    incomplete = await evals.run(suite, concurrency=concurrency)

    outputs = {key: record.output for key, record in recorded.records().items()}
    assert len(files) == len(set(outputs.values())) == 18
    assert {key: record.output for key, record in replayed.records().items()} == outputs
    assert [
        (key.case, key.repeat, record.error and record.error.message.partition('.')[0])
        for key, record in incomplete.records().items()
        if record.state != 'ok'
    ] == [('plain', 2, 'no cassette file cassettes/mirror/plain')]


@pytest.mark.anyio
async def test_requests_outside_of_a_case_fail_loudly(tmp_path: Path) -> None:
    """C15: a worker that is older than the case's cassette is outside of it."""
    queue: asyncio.Queue[str] = asyncio.Queue()

    async def work() -> str:
        return await ask(await queue.get())

    worker = asyncio.create_task(work())
    write_cassette(tmp_path / 'one.yaml', asked('Who?', 'me'))

    async def task(question: str) -> str:
        await queue.put(question)
        return await worker

    dataset = Dataset(name='one', cases=[Case(name='one', inputs='Who?')])
    closed: dict[str, Cassette] = {}
    report = await dataset.evaluate(task, lifecycle=lifecycle(tmp_path, closed), progress=False)

    (failure,) = report.failures
    assert failure.error_message.startswith(f'CassetteError: POST {OPENAI} was sent outside of any cassette')
    with pytest.raises(CassetteError, match='1 of 1 recorded interactions were not played'):
        closed['one'].check()


def test_recorded_bodies_are_what_the_sdk_sends(tmp_path: Path) -> None:
    """The files above hold the request that the SDK really makes; nothing of it is ignored."""
    file = write_cassette(tmp_path / 'x.yaml', asked('Who?', 'me'))

    with use_cassette(file) as cassette:
        assert asyncio.run(ask('Who?')) == 'me'
        cassette.check()
    assert (
        json.dumps(read_yaml(file)['interactions'][0]['request']['parsed_body']['messages'][0]['content']) == '"Who?"'
    )
