"""Runs one case under its recording and its trace, and writes down what happened.

What decides the state, the first that applies:

1. a request without recorded answer, or a recording that is not usable: `error` in the `cassette`, whatever the task
   made of it, also when a scorer's judge sent it;
2. a task that was cancelled: `cancelled`;
3. a task that raised, `SystemExit` included: `error` in the `task`;
4. a scorer that raised, or returned no number, NaN for example: `error` in the `scorer`;
5. a replay that left recorded answers unasked: `error` in the `cassette`;
6. no score at all: `unscored`;
7. an assertion that is false: `failed`; otherwise `ok`.
"""

from __future__ import annotations

import hashlib
import json
import time
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, cast

from opentelemetry.sdk.trace import SpanProcessor
from pydantic_core import to_jsonable_python

from advisor_harness.cassettes import Cassette, CassetteError, use_cassette
from advisor_harness.evals.attachments import Kind, encoded_json, encoded_messages
from advisor_harness.evals.capture import Capture
from advisor_harness.evals.completeness import model_answers, trace_problem
from advisor_harness.evals.contain import description, raised_at
from advisor_harness.evals.datasets import tags_of
from advisor_harness.evals.meta import Mode
from advisor_harness.evals.naming import shown
from advisor_harness.evals.plan import Job
from advisor_harness.evals.records import CaseError, CaseKey, CaseRecord, CassetteUse, State
from advisor_harness.evals.scoring import Evaluation, evaluate
from advisor_harness.evals.suite import Recording
from advisor_harness.evals.usage import Usage, usage_of

__all__ = ['Conditions', 'Sink', 'run_job']


class Sink(Protocol):
    """Where the records of cases go, and what belongs to them."""

    def attach(self, kind: Kind, key: CaseKey, content: bytes, /) -> str:
        """Keep JSON that belongs to a case; returns the file's path relative to the run's folder."""
        ...

    def append(self, record: CaseRecord, /) -> None:
        """Add the record of a case that ended."""


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What all cases of a run share."""

    mode: Mode
    run_id: str
    sink: Sink
    """Gets what cases leave."""
    timeout: float | None = None
    """Seconds a task may take, > 0, whatever its suite says; `None` leaves that to the suites."""
    exporters: Sequence[SpanProcessor] = ()
    allow_hosts: tuple[str, ...] = ()
    recording: Recording = field(default_factory=lambda: Recording(recorded_with={'by': 'provider'}))
    """Who answers and where, in every mode but `replay`."""


@dataclass(frozen=True, kw_only=True)
class _Fault:
    """What decided the state, and the traceback that belongs to it."""

    state: State
    error: CaseError | None = None
    traceback: str | None = None
    raised_at: str | None = None


@dataclass(kw_only=True)
class _Case:
    """What is known of a case when it is over."""

    capture: Capture
    cassette: Cassette | None = None
    evaluation: Evaluation | None = None
    broken: _Fault | None = None
    """What kept the case from being run or its recording from being written."""


async def run_job(job: Job, conditions: Conditions) -> tuple[CaseRecord, bool]:
    """Run a case, keep its spans and messages, and return its record and whether somebody interrupted it.

    An interrupt is a `KeyboardInterrupt` that came out of the task or a scorer: the run should end, but not here.
    """
    if job.borrows and conditions.mode in ('record', 'record-missing'):
        conditions = replace(conditions, mode='replay')
    key, started = job.key, time.perf_counter()
    labels = {'evals.suite': key.suite, 'evals.case': key.case, 'evals.arm': key.arm, 'evals.repeat': key.repeat}
    case = _Case(capture=Capture({'evals.run': conditions.run_id, **labels}, conditions.exporters))
    try:
        with _opened(job, conditions) as case.cassette, case.capture.active():
            limit_s = job.suite.suite.timeout if conditions.timeout is None else conditions.timeout
            case.evaluation = await evaluate(job, case.capture, limit_s=limit_s)
            if conditions.mode == 'record' and case.cassette is not None and case.evaluation.ended.error is not None:
                # A missing key or an outage must not take the place of a good recording. A case that is about an error
                # returns it.
                case.cassette.discard()
    except (CassetteError, OSError) as e:
        # Nothing of the task or the scorers gets here: the recording could not be read, or not be written.
        case.broken = _fault('cassette', e)
    except Exception as e:  # noqa: BLE001 - one case must not cost the others their records
        case.broken = _fault('harness', e)
    record = _record(job, case, conditions, time.perf_counter() - started)
    conditions.sink.append(record)
    return record, case.evaluation is not None and case.evaluation.interrupted


@contextmanager
def _opened(job: Job, conditions: Conditions) -> Generator[Cassette | None]:
    path = job.cassette
    if path is None:
        yield None
        return
    replaying = conditions.mode == 'replay'
    with use_cassette(
        path,
        mode=conditions.mode,
        matching=job.suite.suite.matching,
        recorded_with=None if replaying else conditions.recording.recorded_with,
        upstream=None if replaying else conditions.recording.upstream,
        allow_hosts=conditions.allow_hosts,
    ) as cassette:
        yield cassette


def _record(job: Job, case: _Case, conditions: Conditions, duration_s: float) -> CaseRecord:
    key, sink, cassette, evaluation = job.key, conditions.sink, case.cassette, case.evaluation
    spans = case.capture.to_json()
    messages = evaluation.messages if evaluation is not None else []
    problem = trace_problem(case.capture, 0 if cassette is None else model_answers(cassette))
    used = _used(case.capture)
    fault = _decide(case, conditions.mode)
    return CaseRecord(
        suite=key.suite,
        case=key.case,
        arm=key.arm,
        repeat=key.repeat,
        state=fault.state,
        error=fault.error,
        scores={} if evaluation is None else evaluation.scores,
        output=None if evaluation is None else _json(evaluation.ended.value),
        tags=tags_of(job.case),
        usage={} if used is None else used.counts,
        cost_usd=None if used is None else used.cost_usd,
        cassette=None if cassette is None else _use(cassette),
        trace_complete=problem is None,
        trace_problem=problem,
        duration_s=round(duration_s, 6),
        recorded_latency_s=None if cassette is None else cassette.latency_s,
        spans=sink.attach('spans', key, encoded_json(spans)) if spans else None,
        messages=sink.attach('messages', key, encoded_messages(messages)) if messages else None,
        traceback=None if fault.traceback is None else sink.attach('tracebacks', key, encoded_json(fault.traceback)),
        raised_at=fault.raised_at,
    )


def _decide(case: _Case, mode: Mode) -> _Fault:
    cassette, evaluation = case.cassette, case.evaluation
    if cassette is not None and cassette.misses:
        return _fault('cassette', cassette.misses[0])
    if case.broken is not None:
        return case.broken
    assert evaluation is not None  # what is not broken was evaluated
    if (ended := evaluation.ended).error is not None:
        if ended.cancelled:
            return _fault('task', ended.error, state='cancelled')
        fault = _fault('cassette' if _is_of_cassette(ended.error) else 'task', ended.error)
        return replace(fault, raised_at=raised_at(ended.error))
    if evaluation.failures:
        first = evaluation.failures[0]
        error = CaseError(type=first.type, message=first.message, where='scorer')
        return _Fault(state='error', error=error, traceback=first.traceback)
    if cassette is not None and mode == 'replay' and cassette.unused:
        return _unused(cassette)
    values = [score.value for score in evaluation.scores.values()]
    if not values:
        return _Fault(state='unscored')
    return _Fault(state='failed' if any(value is False for value in values) else 'ok')


def _fault(where: Literal['task', 'cassette', 'harness'], error: BaseException, *, state: State = 'error') -> _Fault:
    kind, message = description(error)
    return _Fault(
        state=state,
        error=CaseError(type=kind, message=message, where=where),
        traceback=''.join(traceback.format_exception(error)),
    )


def _unused(cassette: Cassette) -> _Fault:
    try:
        cassette.check()
    except CassetteError as e:
        return _fault('cassette', e)
    raise AssertionError('a cassette with unused interactions passed its check')


def _is_of_cassette(error: BaseException) -> bool:
    """Whether an error, or what it was raised from, is a request that a replay refused."""
    waiting, seen = [error], set[int]()
    while waiting:
        current = waiting.pop()
        if isinstance(current, CassetteError):
            return True
        if id(current) in seen:  # a member of a group may have that group as its context
            continue
        seen.add(id(current))
        if isinstance(current, BaseExceptionGroup):
            waiting += cast('BaseExceptionGroup[BaseException]', current).exceptions
        elif origin := current.__cause__ or current.__context__:
            waiting.append(origin)
    return False


def _used(capture: Capture) -> Usage | None:
    try:
        return usage_of(capture.task_spans)
    except ValueError:
        return None  # a span that cannot be read makes the trace incomplete, which says what is wrong with it


def _use(cassette: Cassette) -> CassetteUse:
    return CassetteUse(
        file=shown(cassette.path),
        hits=cassette.played,
        misses=len(cassette.misses),
        unused=len(cassette.unused),
        recorded_with=cassette.recorded_with.get('by', 'unknown'),
        sha256=hashlib.sha256(cassette.path.read_bytes()).hexdigest() if cassette.path.is_file() else None,
    )


def _json(value: Any) -> Any:
    """`value` as JSON; what JSON does not have is written as text."""
    try:
        plain = to_jsonable_python(value, fallback=repr)
        return json.loads(json.dumps(plain), parse_constant=str)
    except ValueError:  # it contains itself, or bytes that are no text
        return repr(value)
