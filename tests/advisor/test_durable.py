"""Consultations under durable execution engines: asked once, charged once, recorded the same."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelResponse, ToolOutput
from pydantic_ai.capabilities import WrapperCapability
from pydantic_ai.exceptions import ModelAPIError, ModelConnectionError, UsageLimitExceeded
from pydantic_ai.usage import RunUsage, UsageLimits

from advisor_harness import Advisor, Consultation, Outcome
from advisor_harness.advisor.asking import Reply
from advisor_harness.advisor.durable import most_requests

from .durable.journal import Journal, JournalDurability
from .durable.program import Program
from .scripts import Script, answers, asks, gives, outcomes, says, timeless

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
    if engine == 'dbos' and sys.version_info >= (3, 12) and sqlite3.sqlite_version_info < (3, 42):
        pytest.skip(f'DBOS on Python 3.12 and later needs SQLite 3.42; this one has {sqlite3.sqlite_version}')
    code, output, errors = run(f'on_{engine}.py', tmp_path, 'start', 2)
    assert (code, output) == (-signal.SIGKILL, ''), errors
    asked = (tmp_path / 'journal.txt').read_text().split()
    # Two asked side by side: an engine looks both up in its journal first, and either may reach the advisor first.
    assert [*sorted(asked[:2]), *asked[2:]] == ASKED[:3]

    code, output, errors = run(f'on_{engine}.py', tmp_path, 'resume', 'never')
    assert code == 0, errors
    assert (tmp_path / 'journal.txt').read_text().split() == [*asked, *ASKED[3:]]
    plain = await Program(tmp_path / 'plain.txt').work()
    assert json.loads(output) == json.loads(json.dumps(plain))
    assert plain['usage'] == [7, 1404, 18]


class Verdict(BaseModel):
    sound: bool


class Workflow:
    """A run that is made several times over one journal, as when its process died and was recovered."""

    def __init__(self, advisor: Script, *steps: Any, engine: Any = None, **options: Any) -> None:
        self.advisor, self.steps, self.options = advisor, steps, options
        self.journal = Journal()
        self.engine = engine or JournalDurability(self.journal)
        self.records: list[Consultation] = []
        self.reservations: list[Any] = []

    async def run(self, *, reverse: bool = False, **run: Any) -> Any:
        self.journal.rewind(reverse=reverse)
        self.records.clear()

        class Kept(Advisor[object]):
            async def for_run(kept, ctx: Any) -> Any:
                fresh = await super().for_run(ctx)
                self.reservations.append(fresh._reservations)
                return fresh

        ours = Kept(self.advisor.model('advisor'), on_consultation=self.records.append, **self.options)
        agent = Agent(Script(self.execute).model(), name='executor', capabilities=[ours, self.engine])
        try:
            return await agent.run('Go.', **run)
        finally:
            assert self.reservations[-1].reserved == RunUsage()

    def execute(self, messages: list[Any], info: Any) -> Any:
        # By what was answered before, not by the count of calls: a recovered run goes on where it was.
        taken = sum(isinstance(message, ModelResponse) for message in messages)
        return [*self.steps, says('done')][taken]


async def test_a_replayed_run_asks_nothing_and_charges_once() -> None:
    """Whatever order replayed units end in: same answers, same records, same usage, same messages, no request."""
    flow = Workflow(Script(says('First.'), says('Second.')), asks('One?', 'Two?', 'Three?'), asks('Four?'), max_uses=2)
    seen: list[Any] = []
    for reverse in (False, False, True):
        result = await flow.run(reverse=reverse)
        notes = [message.metadata for message in result.all_messages() if isinstance(message, ModelResponse)]
        local = [
            {**note, 'run_id': ''}
            for each in notes
            for note in (each or {}).get('advisor_harness.advisor', {}).get('local', [])
        ]
        records = sorted(flow.records, key=lambda record: record.call_id)
        seen.append((answers(result.all_messages()), records, result.usage, local))
    assert seen[1:] == seen[:1] * 2
    given, records, usage, _ = seen[0]
    assert given[:2] == ['First.', 'Second.']
    assert outcomes(records) == ['advised', 'advised', 'advised', 'limit_reached']
    assert (len(flow.advisor.requests), usage.requests, usage.input_tokens) == (3, 6, 42)


async def test_it_ends_as_a_run_without_an_engine() -> None:
    """The same answers, records and usage with an engine, with one that runs no workflow, and without."""
    steps = (asks('One?', 'Two?'), asks('Down?'))
    advice = (says('First.'), says('Second.'), ModelConnectionError('advisor', 'down'))
    seen: list[Any] = []
    for active in (True, False):
        flow = Workflow(Script(*advice), *steps, on_error='continue')
        flow.engine.active = active
        result = await flow.run()
        seen.append((answers(result.all_messages()), list(map(timeless, flow.records)), result.usage))
        assert [name for name in flow.journal.names if 'advisor' in name] == (
            ['executor__capability__advisor.consult'] * 3 if active else []
        )
    records: list[Consultation] = []
    ours = Advisor[object](Script(*advice).model('advisor'), on_error='continue', on_consultation=records.append)
    result = await Agent(Script(*steps, says('done')).model(), capabilities=[ours]).run('Go.')
    assert seen == [(answers(result.all_messages()), list(map(timeless, records)), result.usage)] * 2


async def test_an_engine_is_found_inside_a_wrapper() -> None:
    """A capability around the engine's does not hide it."""
    journal = Journal()
    flow = Workflow(Script(says('First.')), asks('How?'), engine=WrapperCapability(JournalDurability(journal)))
    await flow.run()
    assert journal.names.count('executor__capability__advisor.consult') == 1


async def test_structured_advice_of_a_type_stays_what_it_was() -> None:
    """An engine that journals JSON gives the validated object back, live and replayed."""
    flow = Workflow(Script(gives(sound=True)), asks('Sound?'), output_type=Verdict)
    for _ in range(2):
        await flow.run()
        assert [record.advice for record in flow.records] == [Verdict(sound=True)]
    assert len(flow.advisor.requests) == 1


async def test_structured_advice_of_another_specification_is_its_json() -> None:
    """Where the specification is no type, the executor gets the data of the object, as core does with tool results."""
    flow = Workflow(Script(gives(sound=True)), asks('Sound?'), output_type=ToolOutput(Verdict))
    await flow.run()
    assert [record.advice for record in flow.records] == [{'sound': True}]


async def test_forwarded_messages_reach_the_unit() -> None:
    """The history crosses with the question: in the unit there is no other."""
    flow = Workflow(Script(says('First.')), asks('How?'), forward_history=True)
    await flow.run()
    prompts = [part.content for message in flow.advisor.requests[0] for part in message.parts]
    assert prompts == ['Go.', 'How?']


async def test_what_ends_the_run_is_raised_and_asked_again() -> None:
    """With `raise` a provider error is the engine's to retry: its type is kept, its facts are recorded."""
    flow = Workflow(Script(ModelConnectionError('advisor', 'down'), says('Up.')), asks('How?'))
    with pytest.raises(ModelConnectionError):
        await flow.run()
    assert [(r.outcome.value, r.error_code, r.requests) for r in flow.records] == [('error', 'unavailable', 1)]
    assert answers((await flow.run()).all_messages()) == ['Up.']


async def test_a_limit_that_an_answer_crossed_is_not_asked_again() -> None:
    """A retry would be billed and cross it again: the recovered run ends by the limit at once."""
    flow = Workflow(Script(says('First.')), asks('How?'))
    for _ in range(2):
        with pytest.raises(UsageLimitExceeded, match=r'Exceeded the output_tokens_limit of 5 \(output_tokens=6\)'):
            await flow.run(usage_limits=UsageLimits(output_tokens_limit=5))
        assert [(r.outcome.value, r.requests, r.output_tokens) for r in flow.records] == [('usage_limit', 1, 3)]
    assert len(flow.advisor.requests) == 1


async def test_an_unusable_answer_is_a_retry_of_the_tool_again() -> None:
    """The retry text and its record are replayed with the reply."""
    flow = Workflow(Script(says(' ')), asks('How?'))
    for _ in range(2):
        result = await flow.run()
        assert outcomes(flow.records) == ['empty']
        assert 'no usable answer (empty)' in str(result.all_messages()[2].parts[0].content)
    assert len(flow.advisor.requests) == 1


class Hanging:
    """An advisor that never answers, and tells when it was asked `count` times."""

    def __init__(self, count: int) -> None:
        self.count, self.asked = count, asyncio.Event()

    async def __call__(self, messages: Any, info: Any) -> Any:
        self.count -= 1
        if not self.count:
            self.asked.set()
        return await asyncio.Future()


@pytest.mark.parametrize(('limit', 'reserved'), [(3, 2), (4, 3), (5, 4), (9, 4)])
async def test_a_unit_holds_room_for_its_retry_too(limit: int, reserved: int) -> None:
    """What a unit does is not known outside, so it starts with all the room that it may need, as far as there is."""
    hanging = Hanging(2)
    flow = Workflow(Script(hanging), asks('One?', 'Two?'))
    run = asyncio.create_task(flow.run(usage_limits=UsageLimits(request_limit=limit)))
    if limit == 3:  # the first holds all that is left: the second is refused, which ends the run
        with pytest.raises(UsageLimitExceeded, match='The next request would exceed the request_limit of 3'):
            await run
        refused = [record for record in flow.records if record.outcome == 'usage_limit']
        assert [(record.error_code, record.requests, record.duration_s) for record in refused] == [
            ('usage_limit', 0, 0.0)
        ]
        return
    await hanging.asked.wait()
    assert flow.reservations[-1].reserved == RunUsage(requests=reserved)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


async def test_a_unit_without_room_for_a_retry_is_refused_when_it_retries() -> None:
    """The unit knows what else is used and reserved, so it stops where the run would."""
    flow = Workflow(Script(gives(sound='?')), asks('Sound?'), output_type=Verdict)
    with pytest.raises(UsageLimitExceeded, match='The next request would exceed the request_limit of 2'):
        await flow.run(usage_limits=UsageLimits(request_limit=2))
    assert [(r.outcome.value, r.requests, r.input_tokens) for r in flow.records] == [('usage_limit', 1, 7)]


async def test_a_cancelled_unit_gives_its_room_back() -> None:
    """Cancellation is recorded as such; what was sent is told where the unit ran in this process."""
    hanging = Hanging(1)
    flow = Workflow(Script(hanging), asks('How?'))
    run = asyncio.create_task(flow.run())
    await hanging.asked.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert [(r.outcome.value, r.error_code, r.requests) for r in flow.records] == [('cancelled', None, 1)]


class Strange(JournalDurability):
    """An engine that raises an error of its own, and does not say how far a unit came."""

    def get_durable_operation_backend(self) -> Any:
        backend = super().get_durable_operation_backend()
        execute = backend.execute

        async def failing(*, name: str, **rest: Any) -> object:
            if 'advisor' in name:
                raise ModelAPIError('engine', 'the worker is gone')
            return await execute(name=name, **rest)

        backend.execute = failing  # type: ignore[method-assign]  # the engine under test
        return backend


async def test_what_a_lost_unit_took_is_unknown() -> None:
    """An engine's own error says nothing about requests: they are `None`, never 0."""
    flow = Workflow(Script(says('First.')), asks('How?'), engine=Strange(Journal()))
    with pytest.raises(ModelAPIError, match='the worker is gone'):
        await flow.run()
    (record,) = flow.records
    assert (record.outcome.value, record.error_code) == ('error', 'unavailable')
    assert (record.requests, record.input_tokens, record.output_tokens, record.cost_usd) == (None,) * 4


@pytest.mark.parametrize(
    ('output_type', 'requests'),
    [
        (str, 2),
        (Verdict, 2),
        (ToolOutput(Verdict), 2),
        (ToolOutput(Verdict, max_retries=0), 1),
        (ToolOutput(Verdict, max_retries=4), 5),
        ([str, ToolOutput(Verdict, max_retries=3), Verdict], 4),
    ],
)
def test_how_many_requests_a_consultation_may_make(output_type: Any, requests: int) -> None:
    """One and its retries, as the output specification says."""
    assert most_requests(output_type) == requests


async def test_temporal_registers_the_consultation_as_an_activity() -> None:
    """The activity has the pinned name, and its arguments and reply survive Temporal's converter.

    The activity runs here as a worker runs it, from what was serialised; no server is needed.
    """
    pytest.importorskip('temporalio')
    from .durable import on_temporal

    result, sent = await on_temporal.consult_as_worker()
    assert sent == ['Go.', 'Sound?']
    assert result.usage_delta == RunUsage()
    reply = replace(result.value, duration_s=None)
    assert reply == Reply(
        outcome=Outcome.ADVISED,
        advice={'sound': True},
        truncated=False,
        provider='function',
        model='advisor',
        requests=1,
        input_tokens=7,
        output_tokens=3,
        cost_usd=None,
        usage=RunUsage(requests=1, input_tokens=7, output_tokens=3),
    )
