"""What each function of `emit` writes into a span, and what it leaves alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import INVALID_SPAN, SpanKind, StatusCode, get_current_span, use_span
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import CapabilityOrdering, Hooks, Instrumentation
from pydantic_ai.models.test import TestModel

from advisor_harness.telemetry import ConsultationFacts, emit
from tests.telemetry.tracing import (
    GRANTED,
    REFUSED,
    ROUTE,
    SELECTION,
    START,
    Tracing,
    calling,
    context,
    on_request,
)

COMMON = {'gen_ai.agent.name': 'executor', 'gen_ai.agent.call.id': 'run-1', 'gen_ai.conversation.id': 'conv-1'}
ADVISOR = {**COMMON, 'advisor.request.step': 2, 'advisor.schema.version': 1}
CONSULT = {
    **ADVISOR,
    'advisor.consultation.path': 'local',
    'advisor.call.id': 'call-1',
    'advisor.provider': 'anthropic',
    'advisor.model': 'claude-opus-4-8',
    'advisor.consultation.retry': 0,
    'advisor.consultation.prompt.length': 9,
    'advisor.cost.known': False,
}


def only(tracing: Tracing) -> ReadableSpan:
    [span] = tracing.spans
    return span


def described(span: ReadableSpan) -> tuple[str, SpanKind, StatusCode, str | None, int, dict[str, Any]]:
    return (
        span.name,
        span.kind,
        span.status.status_code,
        span.status.description,
        len(span.events),
        dict(span.attributes or {}),
    )


def unset(name: str, attributes: dict[str, Any]) -> tuple[str, SpanKind, StatusCode, str | None, int, dict[str, Any]]:
    return name, SpanKind.INTERNAL, StatusCode.UNSET, None, 0, attributes


def error(name: str, attributes: dict[str, Any]) -> tuple[str, SpanKind, StatusCode, str | None, int, dict[str, Any]]:
    return name, SpanKind.INTERNAL, StatusCode.ERROR, None, 0, attributes


def test_select(tracing: Tracing) -> None:
    """A selection is a span without duration that carries every fact that is known."""
    emit.select(tracing.context(), replace(SELECTION, max_uses=3, max_tokens=2048, caching='5m'))
    assert described(only(tracing)) == unset(
        'select advisor',
        {
            **ADVISOR,
            'advisor.selection.path': 'local',
            'advisor.selection.reason': 'provider_mismatch',
            'advisor.selection.changed': False,
            'advisor.mode': 'auto',
            'advisor.executor.provider': 'openai',
            'advisor.executor.model': 'gpt-5-mini',
            'advisor.provider': 'anthropic',
            'advisor.model': 'claude-opus-4-8',
            'advisor.native.offered': False,
            'advisor.native.supported': False,
            'advisor.max_uses': 3,
            'advisor.max_tokens': 2048,
            'advisor.caching': '5m',
            'advisor.forward_history': 'none',
            'logfire.msg': 'advisor path: local (provider_mismatch)',
        },
    )


def test_granted_claim(tracing: Tracing) -> None:
    """A granted claim says what is used and what remains."""
    emit.claim(tracing.context(), GRANTED)
    assert described(only(tracing)) == unset(
        'claim advisor quota',
        {
            **ADVISOR,
            'advisor.quota.granted': True,
            'advisor.quota.scope': 'request',
            'advisor.quota.enforcer': 'capability',
            'advisor.call.id': 'call-1',
            'advisor.quota.limit': 2,
            'advisor.quota.used': 1,
            'advisor.quota.remaining': 1,
            'logfire.msg': 'advisor quota granted by capability: request, 1 of 2 used',
        },
    )


def test_refused_claim_is_a_warning(tracing: Tracing) -> None:
    """A refusal is a warning and no error: nothing failed."""
    emit.claim(tracing.context(), replace(REFUSED, scope='run'))
    assert described(only(tracing)) == unset(
        'claim advisor quota',
        {
            **ADVISOR,
            'advisor.quota.granted': False,
            'advisor.quota.scope': 'run',
            'advisor.quota.enforcer': 'capability',
            'advisor.call.id': 'call-2',
            'advisor.quota.limit': 2,
            'advisor.quota.used': 2,
            'advisor.quota.remaining': 0,
            'logfire.msg': 'advisor quota refused by capability: run, 2 of 2 used',
            'logfire.level_num': 13,
        },
    )


def test_claim_refused_by_the_provider_does_not_count(tracing: Tracing) -> None:
    """Where the provider counts, used and remaining are absent, and so is a limit that nobody set."""
    emit.claim(tracing.context(), replace(REFUSED, enforcer='provider', limit=None, used=None, remaining=None))
    assert described(only(tracing)) == unset(
        'claim advisor quota',
        {
            **ADVISOR,
            'advisor.quota.granted': False,
            'advisor.quota.scope': 'request',
            'advisor.quota.enforcer': 'provider',
            'advisor.call.id': 'call-2',
            'logfire.msg': 'advisor quota refused by provider: request',
            'logfire.level_num': 13,
        },
    )


def test_route(tracing: Tracing) -> None:
    """A routing decision carries its own step and version, and lists only where there is something to list."""
    emit.route(tracing.context(), replace(ROUTE, candidates=('cheap', 'strong')))
    assert described(only(tracing)) == unset(
        'route model request',
        {
            **COMMON,
            'model_routing.request.step': 2,
            'model_routing.schema.version': 1,
            'model_routing.route': 'cheap',
            'model_routing.reason': 'default',
            'model_routing.decision': 'initialize',
            'model_routing.provider': 'openai',
            'model_routing.model': 'gpt-5-mini',
            'model_routing.switched': False,
            'model_routing.candidates': ('cheap', 'strong'),
            'model_routing.history.portable': True,
            'model_routing.history.action': 'kept',
            'logfire.msg': 'model route: cheap (initialize, default)',
        },
    )


def test_blocked_route_is_an_error(tracing: Tracing) -> None:
    """A history that cannot be sent makes the decision an error with a stable code."""
    emit.route(tracing.context(), replace(ROUTE, history_portable=False, history_action='blocked', issues=('media',)))
    span = only(tracing)
    attributes = dict(span.attributes or {})
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert (attributes['error.type'], attributes['logfire.level_num']) == ('history_incompatible', 17)
    assert attributes['model_routing.issues'] == ('media',)


def test_route_that_is_missing_is_a_warning(tracing: Tracing) -> None:
    """A default that serves for a missing route is a warning."""
    emit.route(tracing.context(), replace(ROUTE, reason='error'))
    span = only(tracing)
    assert (span.status.status_code, (span.attributes or {})['logfire.level_num']) == (StatusCode.UNSET, 13)


def test_model_given_to_the_run_has_no_route(tracing: Tracing) -> None:
    """Without a route the message names the model that serves."""
    emit.route(tracing.context(), replace(ROUTE, route=None, reason='override'))
    attributes = dict(only(tracing).attributes or {})
    assert 'model_routing.route' not in attributes
    assert attributes['logfire.msg'] == 'model route: gpt-5-mini (initialize, override)'


def test_finished_consultation_has_the_given_times(tracing: Tracing) -> None:
    """A native consultation takes the times of its response, and says that they do not measure it."""
    facts = replace(
        START, path='native', outcome='truncated', prompt_length=None, truncated=True, cost_usd=Decimal('0.0125')
    )
    emit.consultation(tracing.context(), facts, start_time=1_000, end_time=3_000)
    span = only(tracing)
    assert (span.start_time, span.end_time) == (1_000, 3_000)
    expected = {key: value for key, value in CONSULT.items() if key != 'advisor.consultation.prompt.length'}
    assert described(span) == unset(
        'consult advisor',
        {
            **expected,
            'advisor.consultation.path': 'native',
            'advisor.consultation.outcome': 'truncated',
            'advisor.consultation.truncated': True,
            'advisor.consultation.timing': 'unknown',
            'advisor.cost.known': True,
            'advisor.cost.usd': 0.0125,
            'logfire.msg': 'consult advisor anthropic:claude-opus-4-8 (native): truncated',
        },
    )


@pytest.mark.parametrize(
    ('outcome', 'status', 'level'),
    [
        ('advised', StatusCode.UNSET, None),
        ('truncated', StatusCode.UNSET, None),
        ('redacted', StatusCode.UNSET, None),
        ('limit_reached', StatusCode.UNSET, None),
        ('skipped', StatusCode.UNSET, None),
        ('cancelled', StatusCode.UNSET, 13),
        ('empty', StatusCode.ERROR, 17),
        ('invalid_output', StatusCode.ERROR, 17),
        ('refused', StatusCode.ERROR, 17),
        ('usage_limit', StatusCode.ERROR, 17),
        ('error', StatusCode.ERROR, 17),
        ('timeout', StatusCode.ERROR, 17),
    ],
)
def test_outcome_decides_status_and_level(
    tracing: Tracing, outcome: str, status: StatusCode, level: int | None
) -> None:
    """Finished and timed consultations agree: advice is no error, a failure is one with a code, cancelling warns."""
    ctx = tracing.context()
    facts = replace(START, outcome=outcome, error_code='overloaded' if status is StatusCode.ERROR else None)
    emit.consultation(ctx, facts)
    with emit.consulting(ctx, START) as span:
        span.end_with(facts)
    expected = {
        **CONSULT,
        'advisor.consultation.outcome': outcome,
        'logfire.msg': f'consult advisor anthropic:claude-opus-4-8 (local): {outcome}',
        **({'error.type': 'overloaded'} if status is StatusCode.ERROR else {}),
        **({'logfire.level_num': level} if level else {}),
    }
    kind = SpanKind.INTERNAL
    assert [described(each) for each in tracing.spans] == [('consult advisor', kind, status, None, 0, expected)] * 2


def test_failure_without_a_code(tracing: Tracing) -> None:
    """A failure always has an `error.type`: OpenTelemetry's `_OTHER` where there is no code."""
    emit.consultation(tracing.context(), replace(START, outcome='error'))
    assert (only(tracing).attributes or {})['error.type'] == '_OTHER'


def test_unresolved_model(tracing: Tracing) -> None:
    """An advisor that could not be resolved has neither provider nor model."""
    emit.consultation(tracing.context(), replace(START, outcome='error', provider=None, model=None))
    attributes = dict(only(tracing).attributes or {})
    assert {'advisor.provider', 'advisor.model'} & {*attributes} == set()
    assert attributes['logfire.msg'] == 'consult advisor unknown model (local): error'


def test_consulting_is_current_and_says_nothing_before_the_end(tracing: Tracing) -> None:
    """Spans of the advisor hang under the consultation; its outcome is not there before it is known."""
    with emit.consulting(tracing.context(), START) as span:
        current = get_current_span()
        assert isinstance(current, Span)
        at_start = dict(current.attributes or {})
        span.end_with(replace(START, outcome='advised', input_tokens=51, output_tokens=17, requests=1))
    assert at_start == {
        **{key: value for key, value in CONSULT.items() if key != 'advisor.cost.known'},
        'logfire.msg': 'consult advisor anthropic:claude-opus-4-8 (local)',
    }
    assert get_current_span() is INVALID_SPAN
    assert described(only(tracing)) == unset(
        'consult advisor',
        {
            **CONSULT,
            'advisor.consultation.outcome': 'advised',
            'advisor.usage.input_tokens': 51,
            'advisor.usage.output_tokens': 17,
            'advisor.usage.requests': 1,
            'logfire.msg': 'consult advisor anthropic:claude-opus-4-8 (local): advised',
        },
    )


@pytest.mark.parametrize(
    ('exc', 'outcome', 'code', 'status'),
    [
        (RuntimeError('hunter2 in the text'), 'error', '_OTHER', StatusCode.ERROR),
        (asyncio.CancelledError('hunter2 in the text'), 'cancelled', None, StatusCode.UNSET),
        (KeyboardInterrupt('hunter2 in the text'), 'cancelled', None, StatusCode.UNSET),
    ],
)
def test_consulting_left_by_an_exception(
    tracing: Tracing, exc: BaseException, outcome: str, code: str | None, status: StatusCode
) -> None:
    """The exception decides the outcome and passes through; nothing of its text is kept."""

    def ask() -> None:
        with emit.consulting(tracing.context(), replace(START, outcome='advised')):
            raise exc

    with pytest.raises(type(exc)) as caught:
        ask()
    span = only(tracing)
    attributes = dict(span.attributes or {})
    assert caught.value is exc
    assert (attributes['advisor.consultation.outcome'], attributes.get('error.type')) == (outcome, code)
    assert (span.status.status_code, span.status.description, list(span.events)) == (status, None, [])
    assert 'hunter2' not in span.to_json()


def test_consulting_left_after_its_end(tracing: Tracing) -> None:
    """Facts that were given stand, also when an exception then leaves the block."""

    def ask() -> None:
        with emit.consulting(tracing.context(), START) as span:
            span.end_with(replace(START, outcome='timeout', error_code='execution_time_exceeded'))
            raise TimeoutError

    with pytest.raises(TimeoutError):
        ask()
    attributes = dict(only(tracing).attributes or {})
    assert attributes['advisor.consultation.outcome'] == 'timeout'
    assert attributes['error.type'] == 'execution_time_exceeded'


def test_consulting_left_without_an_end(tracing: Tracing) -> None:
    """Left without facts and without an exception, a consultation keeps the outcome it started with."""
    with emit.consulting(tracing.context(), replace(START, outcome='empty', error_code='empty')):
        pass
    span = only(tracing)
    assert (span.attributes or {})['advisor.consultation.outcome'] == 'empty'
    assert span.status.status_code is StatusCode.ERROR


def test_common_attributes_of_a_bare_context(tracing: Tracing) -> None:
    """Without an agent, a name, a run id or a conversation, the required ones are there and the rest is absent."""
    emit.select(tracing.context(agent=None, run_id=None, conversation_id=None), SELECTION)
    emit.select(tracing.context(agent=Agent(TestModel())), SELECTION)
    bare, nameless = (dict(span.attributes or {}) for span in tracing.spans)
    assert (bare['gen_ai.agent.name'], bare['gen_ai.agent.call.id']) == ('agent', '')
    assert 'gen_ai.conversation.id' not in bare
    assert nameless['gen_ai.agent.name'] == 'agent'


EMITTERS: list[Callable[[RunContext[Any]], None]] = [
    lambda ctx: emit.select(ctx, SELECTION),
    lambda ctx: emit.claim(ctx, REFUSED),
    lambda ctx: emit.route(ctx, ROUTE),
    lambda ctx: emit.consultation(ctx, replace(START, outcome='error')),
]


class Unreadable:
    """Facts whose every field is out of bounds."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f'{name} was read')


def test_uninstrumented_run_reads_nothing() -> None:
    """Without instrumentation not even a fact is looked at."""
    facts: Any = Unreadable()
    ctx = context()
    emit.select(ctx, facts)
    emit.claim(ctx, facts)
    emit.route(ctx, facts)
    emit.consultation(ctx, facts)
    with emit.consulting(ctx, facts) as span:
        span.end_with(facts)


@pytest.mark.parametrize('emitter', EMITTERS)
def test_uninstrumented_run_leaves_the_applications_span_alone(
    tracing: Tracing, emitter: Callable[[RunContext[Any]], None]
) -> None:
    """Inside a recording span of the application, an uninstrumented run adds neither span nor attribute to it."""
    with tracing.provider.get_tracer('app').start_as_current_span('GET /') as outer:
        emitter(context())
        with emit.consulting(context(), START):
            assert get_current_span() is outer
    span = only(tracing)
    assert (span.name, dict(span.attributes or {}), list(span.events)) == ('GET /', {}, [])


@pytest.mark.anyio
async def test_selection_path_is_on_the_chat_span(tracing: Tracing) -> None:
    """An instrumented run has the path on the span of its request too, so that no join is needed."""
    agent = Agent(TestModel(), capabilities=[tracing.capability, on_request(lambda ctx: emit.select(ctx, SELECTION))])
    await agent.run('hi')
    carriers = [span.name for span in tracing.spans if 'advisor.selection.path' in (span.attributes or {})]
    assert carriers == ['select advisor', 'chat test']


@pytest.mark.anyio
async def test_no_other_span_gets_the_selection_path(tracing: Tracing) -> None:
    """Where another span is current - the application's, or the run's - it gets no attribute."""

    async def before_run(ctx: RunContext[Any]) -> None:
        emit.select(ctx, SELECTION)  # the current span is `invoke_agent`
        with tracing.provider.get_tracer('app').start_as_current_span('lookup'):
            emit.select(ctx, SELECTION)

    ordering = CapabilityOrdering(position='outermost', wrapped_by=[Instrumentation])
    hooks: Hooks[Any] = Hooks(before_run=before_run, ordering=ordering)
    await Agent(TestModel(), capabilities=[tracing.capability, hooks]).run('hi')
    carriers = [span.name for span in tracing.spans if 'advisor.selection.path' in (span.attributes or {})]
    assert carriers == ['select advisor', 'select advisor']


def test_another_runs_chat_span_stays_as_it_is(tracing: Tracing) -> None:
    """A `chat` span of another run is not this run's, even when it is current."""
    tracer = tracing.provider.get_tracer('pydantic-ai')
    chat = tracer.start_span('chat x', attributes={'gen_ai.operation.name': 'chat', 'gen_ai.agent.call.id': 'run-2'})
    with use_span(chat, end_on_exit=True):
        emit.select(tracing.context(), SELECTION)
    [span] = tracing.named('chat x')
    assert dict(span.attributes or {}) == {'gen_ai.operation.name': 'chat', 'gen_ai.agent.call.id': 'run-2'}


def test_sampled_out_run(tracing: Tracing) -> None:
    """A run that is not sampled emits nothing, and what runs inside the consultation is not sampled either."""
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    ctx = context(tracer=provider.get_tracer('pydantic-ai'))
    for emitter in EMITTERS:
        emitter(ctx)
    with emit.consulting(ctx, START) as span:
        assert not get_current_span().is_recording()
        assert get_current_span().get_span_context().is_valid
        span.end_with(START)


class Broken(SpanProcessor):
    """A processor of the application with a bug."""

    def __init__(self, *, at: str) -> None:
        self.at = at

    def on_start(self, span: Span, parent_context: Any = None) -> None:
        if self.at == 'start':
            raise RuntimeError('broken at the start')

    def on_end(self, span: ReadableSpan) -> None:
        if self.at == 'end':
            raise RuntimeError('broken at the end')


@pytest.mark.parametrize('at', ['start', 'end'])
def test_broken_processor_costs_no_result(at: str, caplog: pytest.LogCaptureFixture) -> None:
    """What a tracer does wrong is logged; advice that was paid for still reaches the executor."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Broken(at=at))
    ctx = context(tracer=provider.get_tracer('pydantic-ai'))
    for emitter in EMITTERS:
        emitter(ctx)

    def consult() -> str:
        with emit.consulting(ctx, START) as span:
            span.end_with(replace(START, outcome='advised'))
            return 'advice'

    with caplog.at_level(logging.ERROR, 'advisor_harness.telemetry.emit'):
        caplog.clear()
        assert consult() == 'advice'
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ('ERROR', 'A span was not recorded.')
    ]


def test_span_that_cannot_start_costs_no_parent(tracing: Tracing) -> None:
    """Where the consultation's span cannot start, what runs inside it still hangs under the span above."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Broken(at='start'))
    tracer = tracing.provider.get_tracer('app')
    with (
        tracer.start_as_current_span('above') as above,
        emit.consulting(context(tracer=provider.get_tracer('pydantic-ai')), START) as span,
    ):
        tracer.start_span('inside').end()
        span.end_with(START)
    [inside, outer] = tracing.spans
    assert inside.parent == above.get_span_context()
    assert dict(outer.attributes or {}) == {}


@pytest.mark.anyio
async def test_parallel_consultations_do_not_mix(tracing: Tracing) -> None:
    """Each of three parallel calls has its own consultation under its own `execute_tool`, with its own facts."""
    waiting = asyncio.Barrier(3)
    agent = Agent(calling('call-1', 'call-2', 'call-3'), name='executor', capabilities=[tracing.capability])

    @agent.tool
    async def advisor(ctx: RunContext[Any]) -> str:
        start = replace(START, call_id=str(ctx.tool_call_id))
        with emit.consulting(ctx, start) as span:
            await waiting.wait()  # all three are open before the first one ends
            span.end_with(replace(start, outcome='advised'))
        return 'advice'

    await agent.run('hi')
    tools = {span.context.span_id: span for span in tracing.named('execute_tool advisor') if span.context}
    pairs = [
        (
            (tools[span.parent.span_id].attributes or {})['gen_ai.tool.call.id'],
            (span.attributes or {})['advisor.call.id'],
        )
        for span in tracing.named('consult advisor')
        if span.parent
    ]
    assert sorted(pairs) == [('call-1', 'call-1'), ('call-2', 'call-2'), ('call-3', 'call-3')]


@pytest.mark.anyio
async def test_cancelled_consultation(tracing: Tracing) -> None:
    """Cancelling the run while the advisor is asked ends the span as cancelled, and the cancellation passes."""
    asked = asyncio.Event()
    agent = Agent(calling('call-1'), name='executor', capabilities=[tracing.capability])

    @agent.tool
    async def advisor(ctx: RunContext[Any]) -> str:
        with emit.consulting(ctx, replace(START, outcome='error')):
            asked.set()
            await asyncio.Event().wait()
        raise AssertionError('not cancelled')

    run = asyncio.create_task(agent.run('hi'))
    await asked.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    [span] = tracing.named('consult advisor')
    assert (span.attributes or {})['advisor.consultation.outcome'] == 'cancelled'
    assert (span.status.status_code, list(span.events)) == (StatusCode.UNSET, [])


def test_handle_keeps_the_last_facts() -> None:
    """The last `end_with` counts."""
    first = ConsultationFacts(path='local', outcome='advised', call_id='1', provider=None, model=None)
    handle = emit.ConsultationSpan(START)
    assert (handle.facts, handle.ended) == (START, False)
    handle.end_with(first)
    handle.end_with(REPLACED)
    assert (handle.facts, handle.ended) == (REPLACED, True)


REPLACED = replace(START, outcome='redacted')
