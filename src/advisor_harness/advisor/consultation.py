"""One local consultation: a nested agent asks the advisor, and every way that can end becomes a `Consultation`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from opentelemetry.trace import NoOpTracer
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.usage import UsageLimits
from pydantic_core import to_json

from advisor_harness.advisor import texts
from advisor_harness.advisor.asking import Question, Reply, failed
from advisor_harness.advisor.models import ModelName, named, serving_model
from advisor_harness.advisor.options import Options
from advisor_harness.advisor.outcome import Outcome
from advisor_harness.advisor.reservation import Reservation, Reservations
from advisor_harness.advisor.transcript import Forwarded, forward
from advisor_harness.telemetry import emit
from advisor_harness.telemetry.facts import ConsultationFacts

__all__ = ['Answer', 'Consultation', 'consult', 'span_facts', 'unasked']

_UNUSABLE = frozenset({Outcome.EMPTY, Outcome.INVALID_OUTPUT, Outcome.REFUSED})
"""Answers that came but cannot be used: the executor may ask again (`on_error='raise'`)."""


@dataclass(frozen=True, kw_only=True)
class Consultation:
    """What one consultation was and what became of it, the same for both paths."""

    path: Literal['native', 'local']
    outcome: Outcome
    index: int
    """Nth consultation of its executor request, from 1."""
    run_step: int
    """The executor request, `RunContext.run_step`."""
    call_id: str
    """Id of the executor's tool call; `<response id>#<n>` where the provider gives none."""
    executor_model: str
    """`provider:model`."""
    advisor_model: str | None
    """`provider:model`; the configured name when none was resolved."""
    prompt: str | None
    """The question; `None` where the executor cannot put one."""
    advice: object | None = None
    """What the executor got; `None` when not advised or unreadable."""
    truncated: bool | None = None
    """Whether the advice was cut at the token limit; `None` when that is not known."""
    error_code: str | None = None
    """Stable code of what went wrong; an unknown provider code is passed through unchanged."""
    input_tokens: int | None = None
    """The advisor's input tokens; `None` when unknown."""
    output_tokens: int | None = None
    """The advisor's output tokens; `None` when unknown."""
    requests: int | None = None
    """The advisor's model requests, its own retries included; `None` when unknown."""
    cost_usd: Decimal | None = None
    """US dollars; `None` when unknown, which is never 0."""
    duration_s: float | None = None
    """Seconds from the question to the answer; `None` on the native path."""


@dataclass(frozen=True)
class Answer:
    """The record of a consultation with what the executor gets: `result`, or the error to raise."""

    consultation: Consultation
    result: object | None = None
    error: BaseException | None = None


Asking = Callable[[RunContext[Any], Question, Reservation], Awaitable[Reply]]
"""Asks the advisor, here or in a unit of a durable execution engine."""


async def consult(
    ctx: RunContext[Any], options: Options, prompt: str, *, index: int, among: Reservations, asking: Asking
) -> Answer:
    """Ask the advisor in a run of its own, under the executor's usage and usage limits.

    Every ending is an `Answer`, cancellation included; the caller raises its `error` once the record is delivered.
    """
    exchange = _Exchange(ctx, options, prompt, index)
    with emit.consulting(ctx, exchange.opening()) as span:
        reply = await exchange.run(among, asking)
        record = exchange.record(reply)
        span.end_with(exchange.facts(record, reply))
    return Answer(record, reply.advice, _error(options, reply))


def unasked(ctx: RunContext[Any], options: Options, prompt: str, *, index: int, outcome: Outcome) -> Consultation:
    """The record of a call for which nothing was sent: refused by a limit, or skipped."""
    advisor = named(options.model)
    reply = Reply(outcome=outcome, provider=advisor.provider, model=advisor.name)
    return _Exchange(ctx, options, prompt, index).record(reply)


def span_facts(record: Consultation, advisor: ModelName, **more: Any) -> ConsultationFacts:
    """What the span of a consultation says, the same on both paths. `more` holds what only one path knows."""
    return ConsultationFacts(
        path=record.path,
        outcome=record.outcome,
        call_id=record.call_id,
        provider=advisor.provider,
        model=advisor.name,
        index=record.index,
        truncated=record.truncated,
        advice_form=_form(record),
        error_code=record.error_code,
        input_tokens=record.input_tokens,
        output_tokens=record.output_tokens,
        requests=record.requests,
        cost_usd=record.cost_usd,
        **more,
    )


@dataclass
class _Exchange:
    ctx: RunContext[Any]
    options: Options
    prompt: str
    index: int
    sent: Forwarded | None = field(default=None, init=False)

    async def run(self, among: Reservations, asking: Asking) -> Reply:
        try:
            self.sent = sent = forward(self.ctx, self.options, self.prompt)
        except Exception as error:  # noqa: BLE001 - a redactor of the user's; recorded here, raised again by `_error`
            return failed(error, self.options)
        question = Question(prompt=sent.prompt, history=sent.messages)
        limits = self.ctx.usage_limits or UsageLimits()
        reservation = among.open(self.ctx.usage, limits, output_tokens=self.options.max_tokens)
        try:
            return await asking(self.ctx, question, reservation)
        finally:
            reservation.close()

    def opening(self) -> ConsultationFacts:
        """What is known before the advisor is asked; until it ended, a consultation counts as cancelled."""
        advisor = named(self.options.model)
        return ConsultationFacts(
            path='local',
            outcome=Outcome.CANCELLED,
            call_id=self.ctx.tool_call_id or '',
            provider=advisor.provider,
            model=advisor.name,
            index=self.index,
            retry=self.ctx.retry,
            prompt_length=len(self.prompt),
        )

    def facts(self, record: Consultation, reply: Reply) -> ConsultationFacts:
        sent = self.sent
        measured = not isinstance(self.ctx.tracer, NoOpTracer)  # the JSON of structured advice is made for spans only
        return span_facts(
            record,
            reply.advisor,
            retry=self.ctx.retry,
            prompt_length=len(self.prompt),
            advice_length=_length(record.advice) if measured else None,
            history_messages=sent and sent.sent_messages,
            history_chars=sent and sent.sent_chars,
            history_dropped=sent and sent.dropped_parts,
        )

    def record(self, reply: Reply) -> Consultation:
        return Consultation(
            path='local',
            outcome=reply.outcome,
            index=self.index,
            run_step=self.ctx.run_step,
            call_id=self.ctx.tool_call_id or '',
            executor_model=serving_model(self.ctx),
            advisor_model=str(reply.advisor),
            prompt=self.prompt,
            advice=reply.advice,
            truncated=reply.truncated,
            error_code=reply.code,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            requests=reply.requests,
            cost_usd=reply.cost_usd,
            duration_s=reply.duration_s,
        )


def _error(options: Options, reply: Reply) -> BaseException | None:
    """What the executor's run is to see of a consultation without advice, `None` when there is advice.

    Only fixed texts reach the executor's model: what a provider wrote stays in the exception's cause.
    """
    if reply.outcome in (Outcome.ADVISED, Outcome.TRUNCATED):
        return None
    code = reply.code or ''
    if reply.optional and options.on_error == 'continue':
        return _caused(ToolFailed(texts.unavailable(code)), reply.cause)
    if reply.outcome in _UNUSABLE:
        return _caused(ModelRetry(texts.no_usable_answer(code)), reply.cause)
    return reply.cause


def _caused(error: BaseException, cause: BaseException | None) -> BaseException:
    error.__cause__ = cause
    return error


def _form(record: Consultation) -> str:
    if record.outcome is Outcome.REDACTED:
        return 'redacted'
    if record.advice is None:
        return 'none'
    return 'text' if isinstance(record.advice, str) else 'structured'


def _length(advice: object | None) -> int | None:
    """Characters of the advice; of its JSON when it is structured, `None` where it has no JSON."""
    if advice is None or isinstance(advice, str):
        return None if advice is None else len(advice)
    try:
        return len(to_json(advice, bytes_mode='base64', fallback=lambda value: None).decode())
    except ValueError:  # a circular reference
        return None
