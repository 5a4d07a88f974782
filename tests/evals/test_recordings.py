"""Cases under their recordings: hits, misses, leftovers, and recording itself."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml
from pydantic_evals.evaluators import EqualsExpected

from advisor_harness.cassettes import Matching
from advisor_harness.evals import CaseRecord, CassetteUse, Recording, RunStore, SuiteError, judge
from advisor_harness.evals.verdict import Precondition
from tests.evals.support import (
    Scripted,
    case,
    exchange,
    one_record,
    recorded_mirror,
    run,
    suite,
    write_cassette,
)

pytestmark = pytest.mark.anyio

FILE = Path('cassettes/mirror/short.advised.yaml')


def recorded(*cases: Any, **options: Any) -> Any:
    return suite(*cases, **{'task': recorded_mirror, 'cassettes': 'cassettes/mirror', **options})


def recorded_document() -> Any:
    """What the recording holds, `None` when there is none."""
    return yaml.safe_load(FILE.read_text()) if FILE.exists() else None


async def single(*exchanges: dict[str, Any], **options: Any) -> tuple[CaseRecord, RunStore]:
    """Run one case under a recording of `exchanges`."""
    write_cassette(FILE, *exchanges)
    store = await run(recorded(**options))
    (record,) = store.records().values()
    return record, store


async def test_a_replay_that_hits() -> None:
    """Usage, the recording's own latency and who answered stand in the record; the regime is `replay`."""
    record, store = await single(exchange('ab'))
    assert (record.state, record.usage) == ('ok', {'requests': 1, 'input_tokens': 3, 'output_tokens': 2})
    assert record.cassette == CassetteUse(
        file='cassettes/mirror/short.advised.yaml', hits=1, misses=0, unused=0, recorded_with='emulator'
    )
    assert (record.recorded_latency_s, record.trace_complete) == (0.25, True)
    verdict = judge(store).suites[0]
    assert (verdict.regime, str(verdict.verdict)) == ('replay', 'pass')
    assert [(each.name, each.n_met, each.n_expected) for each in verdict.preconditions] == [
        ('cassettes', 1, 1),
        ('traces', 1, 1),
        ('scored', 1, 1),
    ]


async def test_a_missing_file_is_inconclusive() -> None:
    """A case without its recording is an error in the `cassette` that names the file and how to record it."""
    store = await run(recorded())
    (record,) = store.records().values()
    assert (record.state, record.cassette) == ('error', None)
    assert record.error is not None
    assert (record.error.type, record.error.where) == ('CassetteError', 'cassette')
    assert record.error.message.startswith('no cassette file cassettes/mirror/short.advised.yaml')
    assert 'advisor-harness record mirror --case short' in record.error.message
    verdict = judge(store).suites[0]
    assert (str(verdict.verdict), verdict.preconditions[0].ok) == ('inconclusive', False)


async def test_a_miss_shows_the_first_differing_path() -> None:
    """A request that is not in the recording is an error in the `cassette`, with the path where it differs."""
    record, store = await single(exchange('xy'))
    assert record.error is not None
    assert (record.state, record.error.type, record.error.where) == ('error', 'UnmatchedRequest', 'cassette')
    assert '$.messages[0].content' in record.error.message
    assert record.cassette is not None
    assert (record.cassette.hits, record.cassette.misses, record.cassette.unused) == (0, 1, 1)
    verdict = judge(store).suites[0]
    assert str(verdict.verdict) == 'inconclusive'
    assert verdict.preconditions[0].detail == f'short [advised]: {record.error.message}'


async def test_a_swallowed_miss_is_noticed() -> None:
    """A task that catches the error and returns the right answer does not pass."""

    async def task(inputs: str, arm: str) -> str:
        with suppress(Exception):
            await recorded_mirror('another question', arm)
        return await recorded_mirror(inputs, arm)

    record, store = await single(exchange('ab'), task=task)
    assert record.error is not None
    assert (record.state, record.error.where, record.output) == ('error', 'cassette', 'ba')
    assert str(judge(store).verdict) == 'inconclusive'


async def test_a_miss_of_a_judge_is_a_miss() -> None:
    """Scorers run under the case's recording: what a judge asks and is not recorded is no score."""

    async def ask(ctx: Any) -> bool:
        return await recorded_mirror('is it right?', 'judge') == '?thgir ti si'

    record, store = await single(exchange('ab'), scorers=(EqualsExpected(), Scripted(ask)))
    assert record.error is not None
    assert (record.error.type, record.error.where) == ('UnmatchedRequest', 'cassette')
    assert str(judge(store).verdict) == 'inconclusive'


async def test_a_judge_is_replayed_and_its_use_is_not_the_cases() -> None:
    """A recorded judge scores; its spans are kept as the scorer's, and usage counts the task only."""

    async def ask(ctx: Any) -> bool:
        return await recorded_mirror('is it right?', 'judge') == '?thgir ti si'

    record, store = await single(exchange('ab'), exchange('is it right?'), scorers=(Scripted(ask),))
    assert (record.state, record.usage['requests'], record.cassette and record.cassette.hits) == ('ok', 1, 2)
    assert [(span['name'], span['phase']) for span in store.spans(record)] == [
        ('invoke_agent executor', 'task'),
        ('chat mirror-1', 'task'),
        ('invoke_agent executor', 'scorer'),
        ('chat mirror-1', 'scorer'),
    ]
    assert record.trace_complete


async def test_an_unused_answer_is_inconclusive() -> None:
    """A replay that asks for less than was recorded ran another conversation."""
    record, store = await single(exchange('ab'), exchange('cd'))
    assert record.error is not None
    assert (record.state, record.error.type, record.error.where) == ('error', 'UnusedInteractions', 'cassette')
    assert record.cassette is not None
    assert record.cassette.unused == 1
    verdict = judge(store).suites[0]
    assert (str(verdict.verdict), [each.ok for each in verdict.preconditions]) == ('inconclusive', [False, True, False])


async def test_a_crash_explains_what_was_left_unasked() -> None:
    """A task that crashes before it asks is a failed case, not a recording that does not fit."""

    async def task(inputs: str, arm: str) -> str:
        raise RuntimeError('too early')

    record, store = await single(exchange('ab'), task=task)
    assert record.error is not None
    assert (record.error.where, record.cassette and record.cassette.unused) == ('task', 1)
    verdict = judge(store).suites[0]
    assert (str(verdict.verdict), [each.ok for each in verdict.preconditions]) == ('blocked', [True, True, True])


async def test_a_file_that_is_no_cassette_is_inconclusive() -> None:
    """A broken recording is an error in the `cassette`."""
    write_cassette(FILE, 3)  # pyright: ignore[reportArgumentType] - the broken file
    record = await one_record(recorded())
    assert record.error is not None
    assert (record.state, record.error.type, record.error.where) == ('error', 'CassetteFormatError', 'cassette')


async def test_a_replay_reaches_no_network() -> None:
    """A task that opens a connection of its own is refused, and its case says nothing about the agent."""

    async def task(inputs: str, arm: str) -> str:
        with socket.socket() as connection:
            connection.connect(('127.0.0.1', 9))
        return inputs

    record = await one_record(suite(task=task))
    assert record.error is not None
    assert (record.state, record.error.type, record.error.where) == ('error', 'NetworkRefused', 'cassette')


async def test_concurrent_cases_have_a_recording_each() -> None:
    """Twenty cases at once, each under its own file: every one gets its own answer."""
    names = [f'case {n}' for n in range(40)]
    for n, name in enumerate(names):
        write_cassette(Path(f'cassettes/mirror/case%20{n}.advised.yaml'), exchange(name))
    store = await run(recorded(*(case(name, name, name[::-1]) for name in names)), concurrency=20)
    assert {key.case: (record.state, record.output) for key, record in store.records().items()} == {
        name: ('ok', name[::-1]) for name in names
    }


async def test_each_repeat_has_a_recording_of_its_own() -> None:
    """Repeat n reads `<case>.<arm>.<n>.yaml`, from the second on: one recording replayed twice measures nothing."""
    write_cassette(FILE, exchange('ab'))
    write_cassette(
        FILE.with_name('short.advised.2.yaml'), exchange('ab', answer={'error': {'message': 'no'}}, status=400)
    )
    store = await run(recorded(repeat=2))
    assert [(record.repeat, record.state) for record in sorted(store.records().values(), key=lambda r: r.repeat)] == [
        (1, 'ok'),
        (2, 'error'),
    ]


async def test_the_suites_own_matching_is_used() -> None:
    """What a suite ignores may differ from the recording."""
    record, _ = await single(exchange('xy'), matching=Matching(ignore=frozenset({'messages'})))
    assert (record.state, record.output) == ('failed', 'yx')


class _Answer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        answer = exchange(asked['messages'][-1]['content'])['response']['parsed_body']
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


@asynccontextmanager
async def emulator() -> AsyncGenerator[Recording]:
    server = ThreadingHTTPServer(('127.0.0.1', 0), _Answer)
    thread = Thread(target=server.serve_forever, kwargs={'poll_interval': 0.01})
    thread.start()
    try:
        yield Recording(
            recorded_with={'by': 'emulator', 'model': 'mirror-1'},
            upstream={'https://api.openai.com': f'http://127.0.0.1:{server.server_port}'},
        )
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def test_a_suite_records_with_its_own_emulator_and_replays_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recording writes the provider's address and who answered; the replay gives the same record."""
    monkeypatch.setenv('OPENAI_API_KEY', 'not-a-key')
    store = await run(recorded(recording=emulator), mode='record')
    (first,) = store.records().values()
    assert (first.state, store.meta.suites[0].regime) == ('ok', 'sampled')
    document = recorded_document()
    assert document['recorded_with']['by'] == 'emulator'
    assert [each['request']['uri'] for each in document['interactions']] == [
        'https://api.openai.com/v1/chat/completions'
    ]
    second = await one_record(recorded(recording=emulator))
    assert (second.state, second.output, second.usage, second.recorded_latency_s) == (
        first.state,
        first.output,
        first.usage,
        first.recorded_latency_s,
    )


async def test_record_missing_keeps_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """`record-missing` plays what matches and records the rest."""
    monkeypatch.setenv('OPENAI_API_KEY', 'not-a-key')
    write_cassette(FILE, exchange('ab'))
    store = await run(recorded(case('short'), case('new', 'xyz', 'zyx'), recording=emulator), mode='record-missing')
    assert [record.state for record in store.records().values()] == ['ok', 'ok']
    assert FILE.with_name('new.advised.yaml').is_file()


async def test_a_recording_that_would_hold_a_secret_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A credential in a prompt is not written, and the case says so."""
    monkeypatch.setenv('OPENAI_API_KEY', 'correct horse battery staple')
    secret = recorded(case('short', 'correct horse battery staple', '?'), recording=emulator)
    record = await one_record(secret, mode='record')
    assert record.error is not None
    assert (record.state, record.error.type, record.error.where) == ('error', 'SecretLeak', 'cassette')
    assert recorded_document() is None


async def test_an_emulator_that_does_not_start_is_named() -> None:
    """What a suite is recorded with may be missing on this machine; that is one clear message."""

    @asynccontextmanager
    async def broken() -> AsyncGenerator[Recording]:
        raise RuntimeError('the model is not installed')
        yield Recording(recorded_with={})

    with pytest.raises(SuiteError) as caught:
        await run(recorded(recording=broken), mode='record')
    assert caught.value.message == (
        "what suite 'mirror' is recorded with does not start: RuntimeError: the model is not installed"
    )


async def test_a_task_that_fails_keeps_the_recording_that_was_there() -> None:
    """A missing key or an outage while recording does not replace a good recording."""

    async def fail(question: str, arm: str) -> str:
        raise RuntimeError('no key')

    write_cassette(FILE, exchange('ab'))
    before = recorded_document()
    store = await run(recorded(task=fail), mode='record')
    (record,) = store.records().values()
    assert record.error is not None
    assert (record.state, record.error.where, record.error.message) == ('error', 'task', 'no key')
    assert recorded_document() == before
    verdict = judge(store)
    assert verdict.verdict.exit_code == 2
    assert verdict.suites[0].preconditions[0] == Precondition(
        name='recorded',
        value=0.0,
        expected=1.0,
        ok=False,
        detail='short [advised]: its task failed, so the recording it had is kept: RuntimeError: no key',
        n_met=0,
        n_expected=1,
    )


async def test_an_error_whose_group_is_its_own_context_ends_the_case_only() -> None:
    """Errors that refer to each other in a circle, as task groups make them, are looked at once."""

    async def fail(question: str, arm: str) -> str:
        group = ExceptionGroup('several', [ValueError('one')])
        group.exceptions[0].__context__ = group
        raise group

    store = await run(recorded(task=fail), mode='record')
    (record,) = store.records().values()
    assert record.error is not None
    assert (record.state, record.error.where, record.error.type) == ('error', 'task', 'ValueError')
