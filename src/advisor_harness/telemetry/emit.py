"""Spans from facts: the only place of the package that creates spans.

Every span comes from `ctx.tracer`, the tracer of the run, so that an uninstrumented run emits nothing, touches no span
of the application and costs one check. Nothing here carries conversation text or the text of an exception, and nothing
here raises: what a tracer or an exporter does wrong is logged, and the run goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from opentelemetry.context import attach, detach
from opentelemetry.trace import (
    NonRecordingSpan,
    NoOpTracer,
    Span,
    StatusCode,
    Tracer,
    get_current_span,
    set_span_in_context,
)

from advisor_harness.telemetry import conventions as names, fields

if TYPE_CHECKING:
    from opentelemetry.util.types import AttributeValue
    from pydantic_ai import RunContext

    from advisor_harness.telemetry.facts import ClaimFacts, ConsultationFacts, RouteFacts, SelectionFacts

    _Attributes: TypeAlias = dict[str, AttributeValue]

__all__ = ['ConsultationSpan', 'claim', 'consultation', 'consulting', 'route', 'select', 'selected']

FAILED_OUTCOMES: Final = frozenset({'empty', 'invalid_output', 'refused', 'usage_limit', 'error', 'timeout'})
"""Outcomes that make the span an error. Being cancelled is not one: the advisor did nothing wrong."""

_WARN: Final = 13
_ERROR: Final = 17
_BLOCKED: Final = 'history_incompatible'
_logger = logging.getLogger(__name__)


def _carrier(table: Mapping[str, str]) -> Callable[[object], _Attributes]:
    """Reads the facts of a table as attributes. What is `None` or empty is absent."""
    keys, read = tuple(table.values()), attrgetter(*table)
    return lambda facts: {
        key: value for key, value in zip(keys, read(facts), strict=True) if value is not None and value != ()
    }


_selection_facts: Final = _carrier(fields.SELECTION)
_claim_facts: Final = _carrier(fields.CLAIM)
_route_facts: Final = _carrier(fields.ROUTE)
_consultation_facts: Final = _carrier(fields.CONSULTATION)
_consultation_keys: Final = tuple(fields.CONSULTATION.values())
_read_consultation: Final = attrgetter(*fields.CONSULTATION)


def select(ctx: RunContext[Any], facts: SelectionFacts) -> None:
    """Record which way the consultations of this request go: span `select advisor`, and the path on its `chat` span."""
    if isinstance(ctx.tracer, NoOpTracer):
        return
    with _logged:
        attributes = _common(ctx, names.SELECT_ADVISOR) | _selection_facts(facts)
        attributes[names.LOGFIRE_MSG] = f'advisor path: {facts.path} ({facts.reason})'
        _decide(ctx.tracer, names.SELECT_ADVISOR, attributes)
    selected(ctx, facts.path)


def selected(ctx: RunContext[Any], path: str) -> None:
    """Set the path on the request's own `chat` span, if that is the current span and belongs to this run.

    For requests that decide as the one before, which have no `select advisor` of their own.
    """
    if isinstance(ctx.tracer, NoOpTracer):
        return
    with _logged:
        if chat := _chat_span(ctx):
            chat.set_attribute(names.ADVISOR_SELECTION_PATH, path)


def claim(ctx: RunContext[Any], facts: ClaimFacts) -> None:
    """Record a claim on a limit: span `claim advisor quota`, a warning when it was refused."""
    if isinstance(ctx.tracer, NoOpTracer):
        return
    with _logged:
        attributes = _common(ctx, names.CLAIM_ADVISOR_QUOTA) | _claim_facts(facts)
        answer = 'granted' if facts.granted else 'refused'
        used = f', {facts.used} of {facts.limit} used' if facts.used is not None else ''
        attributes[names.LOGFIRE_MSG] = f'advisor quota {answer} by {facts.enforcer}: {facts.scope}{used}'
        if not facts.granted:
            attributes[names.LOGFIRE_LEVEL_NUM] = _WARN
        _decide(ctx.tracer, names.CLAIM_ADVISOR_QUOTA, attributes)


def route(ctx: RunContext[Any], facts: RouteFacts) -> None:
    """Record which model serves this request: span `route model request`, an error when the history cannot be sent."""
    if isinstance(ctx.tracer, NoOpTracer):
        return
    with _logged:
        attributes = _common(ctx, names.ROUTE_MODEL_REQUEST) | _route_facts(facts)
        attributes[names.LOGFIRE_MSG] = f'model route: {facts.route or facts.model} ({facts.decision}, {facts.reason})'
        blocked = facts.history_action == 'blocked'
        if blocked:
            attributes[names.ERROR_TYPE] = _BLOCKED
            attributes[names.LOGFIRE_LEVEL_NUM] = _ERROR
        elif facts.reason == 'error':
            attributes[names.LOGFIRE_LEVEL_NUM] = _WARN
        _decide(ctx.tracer, names.ROUTE_MODEL_REQUEST, attributes, failed=blocked)


def consultation(
    ctx: RunContext[Any], facts: ConsultationFacts, *, start_time: int | None = None, end_time: int | None = None
) -> None:
    """Record a consultation that is over, as a provider's own is when its response arrives: span `consult advisor`.

    Args:
        ctx: Context of the executor's run.
        facts: What came of it.
        start_time: Start of the span in nanoseconds since the epoch; `None` means now.
        end_time: End of the span in nanoseconds since the epoch; `None` means now.
    """
    if isinstance(ctx.tracer, NoOpTracer):
        return
    with _logged:
        attributes = _common(ctx, names.CONSULT_ADVISOR) | _consultation_attributes(facts)
        span = ctx.tracer.start_span(names.CONSULT_ADVISOR, attributes=attributes, start_time=start_time)
        if facts.outcome in FAILED_OUTCOMES:
            span.set_status(StatusCode.ERROR)
        span.end(end_time)


class ConsultationSpan:
    """Handle of a consultation in progress: takes the facts with which its span ends."""

    def __init__(self, facts: ConsultationFacts) -> None:
        self.facts = facts
        """What is known so far."""
        self.ended = False
        """Whether `end_with` was called."""

    def end_with(self, facts: ConsultationFacts) -> None:
        """Set the facts with which the span ends when the `with` block is left. The last call counts."""
        self.facts = facts
        self.ended = True


def consulting(ctx: RunContext[Any], start: ConsultationFacts) -> AbstractContextManager[ConsultationSpan, None]:
    """Record a consultation while it takes place: span `consult advisor`, current within the `with` block.

    A block that is left by an exception before `end_with` has outcome `cancelled` (any `BaseException` that is no
    `Exception`) or `error`; left without one, it keeps the outcome of `start`. Exceptions pass through.

    Args:
        ctx: Context of the executor's run.
        start: What is known before the advisor is asked; its `outcome` is not recorded until the end.
    """
    return nullcontext(ConsultationSpan(start)) if isinstance(ctx.tracer, NoOpTracer) else _Consulting(ctx, start)


class _Consulting:
    """The block of a consultation. A generator would cost as much as setting three attributes."""

    def __init__(self, ctx: RunContext[Any], start: ConsultationFacts) -> None:
        self._ctx, self._start = ctx, start
        self._handle = ConsultationSpan(start)

    def __enter__(self) -> ConsultationSpan:
        self._span = _start_consultation(self._ctx, self._start)
        # Not `start_as_current_span`: by default that puts an exception's text and stack into the span.
        self._token = attach(set_span_in_context(self._span))
        return self._handle

    def __exit__(self, kind: object, exc: BaseException | None, traceback: object) -> None:
        handle = self._handle
        if exc is not None and not handle.ended:
            # The cancellations of asyncio and trio, `KeyboardInterrupt` and `GeneratorExit` are no `Exception`.
            handle.facts = replace(self._start, outcome='error' if isinstance(exc, Exception) else 'cancelled')
        detach(self._token)
        _end_consultation(self._span, self._start, handle.facts)


def _start_consultation(ctx: RunContext[Any], facts: ConsultationFacts) -> Span:
    with _logged:
        attributes = _common(ctx, names.CONSULT_ADVISOR) | _consultation_facts(facts)
        del attributes[names.ADVISOR_CONSULTATION_OUTCOME]
        attributes[names.LOGFIRE_MSG] = _consultation_title(facts)
        return ctx.tracer.start_span(names.CONSULT_ADVISOR, attributes=attributes)
    # As an uninstrumented run has it: what runs inside keeps its parent.
    return NonRecordingSpan(get_current_span().get_span_context())


def _end_consultation(span: Span, start: ConsultationFacts, facts: ConsultationFacts) -> None:
    with _logged:
        if span.is_recording():
            span.set_attributes(_news(start, facts) | _conclusions(facts))
            if facts.outcome in FAILED_OUTCOMES:
                span.set_status(StatusCode.ERROR)  # no description: it is no place for a message
        span.end()


def _consultation_attributes(facts: ConsultationFacts) -> _Attributes:
    return _consultation_facts(facts) | _conclusions(facts)


def _news(start: ConsultationFacts, facts: ConsultationFacts) -> _Attributes:
    """The facts that a span which was started with others does not have yet: setting an attribute again is not free."""
    pairs = zip(_consultation_keys, _read_consultation(start), _read_consultation(facts), strict=True)
    attributes: _Attributes = {
        key: now for key, before, now in pairs if now is not before and now is not None and now != ()
    }
    attributes[names.ADVISOR_CONSULTATION_OUTCOME] = facts.outcome
    return attributes


def _conclusions(facts: ConsultationFacts) -> _Attributes:
    """The attributes of a consultation that is over which are no plain facts."""
    attributes: _Attributes = {}
    failed = facts.outcome in FAILED_OUTCOMES
    if failed or facts.error_code is not None:
        attributes[names.ERROR_TYPE] = facts.error_code or fields.OTHER_ERROR
    if failed:
        attributes[names.LOGFIRE_LEVEL_NUM] = _ERROR
    elif facts.outcome == 'cancelled':
        attributes[names.LOGFIRE_LEVEL_NUM] = _WARN
    if facts.path == 'native' and facts.timing is None:
        attributes[names.ADVISOR_CONSULTATION_TIMING] = fields.UNKNOWN_TIMING
    attributes[names.ADVISOR_COST_KNOWN] = facts.cost_usd is not None
    if facts.cost_usd is not None:
        attributes[names.ADVISOR_COST_USD] = float(facts.cost_usd)
    attributes[names.LOGFIRE_MSG] = f'{_consultation_title(facts)}: {facts.outcome}'
    return attributes


def _consultation_title(facts: ConsultationFacts) -> str:
    model = ':'.join(part for part in (facts.provider, facts.model) if part) or 'unknown model'
    return f'consult advisor {model} ({facts.path})'


def _common(ctx: RunContext[Any], span_name: str) -> _Attributes:
    """Where in which run the span belongs. Set on every span: only Logfire copies them from the run's own."""
    attributes: _Attributes = {
        names.GEN_AI_AGENT_NAME: (ctx.agent.name if ctx.agent else None) or 'agent',
        names.GEN_AI_AGENT_CALL_ID: ctx.run_id or '',
        fields.STEP[span_name]: ctx.run_step,
        fields.VERSION[span_name]: fields.CURRENT_VERSION,
    }
    if ctx.conversation_id is not None:
        attributes[names.GEN_AI_CONVERSATION_ID] = ctx.conversation_id
    return attributes


def _decide(tracer: Tracer, name: str, attributes: Mapping[str, AttributeValue], *, failed: bool = False) -> None:
    """Emit a span without duration."""
    span = tracer.start_span(name, attributes=attributes)
    if failed:
        span.set_status(StatusCode.ERROR)
    span.end()


def _chat_span(ctx: RunContext[Any]) -> Span | None:
    """The current span, if it is pydantic-ai's span of this run's model request: never a span of the application."""
    span = get_current_span()
    scope = getattr(span, 'instrumentation_scope', None)
    attributes: Mapping[str, object] = getattr(span, 'attributes', None) or {}
    ours = (
        getattr(scope, 'name', None) == 'pydantic-ai'
        and attributes.get('gen_ai.operation.name') == 'chat'
        and attributes.get(names.GEN_AI_AGENT_CALL_ID) == ctx.run_id
    )
    return span if ours else None


class _Logged:
    """Logs an exception of the block and goes on: a broken tracer or exporter must not cost the user the run."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, exc: BaseException | None, traceback: object) -> bool:
        if not isinstance(exc, Exception):
            return False
        _logger.error('A span was not recorded.', exc_info=exc)
        return True


_logged: Final = _Logged()
