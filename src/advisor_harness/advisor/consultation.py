"""One local consultation: a nested agent asks the advisor, and every way that can end becomes a `Consultation`."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from opentelemetry.trace import NoOpTracer
from pydantic_ai import Agent, RunContext, capture_run_messages
from pydantic_ai.exceptions import ModelAPIError, ModelRetry, ModelTimeoutError, RunCancelled, ToolFailed
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_core import to_json

from advisor_harness.advisor import texts
from advisor_harness.advisor.models import ModelName, named, resolve_advisor, serving_model
from advisor_harness.advisor.money import total_cost
from advisor_harness.advisor.options import Options
from advisor_harness.advisor.outcome import Failure, Outcome, failure_of, last_error
from advisor_harness.advisor.transcript import Forwarded, forward
from advisor_harness.telemetry import emit
from advisor_harness.telemetry.facts import ConsultationFacts
from advisor_harness.telemetry.nested import hand_over_instrumentation

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


async def consult(ctx: RunContext[Any], options: Options, prompt: str, *, index: int) -> Answer:
    """Ask the advisor in a run of its own, under the executor's usage and usage limits.

    Every ending is an `Answer`, cancellation included; the caller raises its `error` once the record is delivered.
    """
    exchange = _Exchange(ctx, options, prompt, index)
    started = time.perf_counter()
    with emit.consulting(ctx, exchange.opening()) as span:
        ending = await exchange.run()
        record = exchange.record(ending, time.perf_counter() - started)
        span.end_with(exchange.facts(record))
    return Answer(record, ending.advice, _error(options, ending))


def unasked(ctx: RunContext[Any], options: Options, prompt: str, *, index: int, outcome: Outcome) -> Consultation:
    """The record of a call for which nothing was sent: refused by a limit, or skipped."""
    return _Exchange(ctx, options, prompt, index).record(_Ending(outcome), None)


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


@dataclass(frozen=True)
class _Ending:
    """How a consultation ended, before it is told apart for span, record and executor."""

    outcome: Outcome
    code: str | None = None
    advice: object | None = None
    truncated: bool | None = None
    optional: bool = False
    cause: BaseException | None = None


@dataclass
class _Exchange:
    ctx: RunContext[Any]
    options: Options
    prompt: str
    index: int
    advisor: ModelName = field(init=False)
    sent: Forwarded | None = None
    messages: list[ModelMessage] = field(default_factory=list[ModelMessage])
    """The nested run's messages, readable however it ends."""

    def __post_init__(self) -> None:
        self.advisor = named(self.options.model)

    async def run(self) -> _Ending:
        try:
            return self._answered(await self._ask())
        except (asyncio.CancelledError, RunCancelled) as cancelled:
            return _Ending(Outcome.CANCELLED, cause=cancelled)
        except Exception as error:  # noqa: BLE001 - recorded here, raised again or retold by `_error`
            return self._failed(error)

    async def _ask(self) -> Any:
        self.sent = forward(self.ctx, self.options, self.prompt)
        timer = asyncio.timeout(self.options.timeout)
        try:
            async with timer:
                return await self._advice(self.sent)
        except TimeoutError as error:
            if not timer.expired():
                raise
            message = f'The advisor gave no answer within `Advisor.timeout`, {self.options.timeout} seconds.'
            raise ModelTimeoutError(str(self.advisor.name), message) from error

    async def _advice(self, sent: Forwarded) -> Any:
        model = await resolve_advisor(self.ctx, self.options.model)
        self.advisor = named(model)
        with capture_run_messages() as self.messages:
            result = await self._agent(model).run(
                sent.prompt,
                message_history=sent.messages,
                conversation_id=self.ctx.conversation_id,
                usage=self.ctx.usage,
                usage_limits=self.ctx.usage_limits,
            )
        return result.output

    def _agent(self, model: Model) -> Agent[None, Any]:
        limit = self.options.max_tokens
        agent: Agent[None, Any] = Agent(
            model,
            name='advisor',
            output_type=self.options.output_type,
            instructions=texts.advisor_instructions(structured=self.options.structured),
            model_settings=None if limit is None else ModelSettings(max_tokens=limit),
        )
        hand_over_instrumentation(self.ctx, agent)
        return agent

    def _answered(self, output: Any) -> _Ending:
        if self.options.structured:
            # What validated is whole, whatever the provider says about its limit.
            return _Ending(Outcome.ADVISED, advice=output, truncated=False)
        cut = self._cut()
        if not output.strip():
            return _Ending(Outcome.EMPTY, 'empty', truncated=cut, optional=True)
        if not cut:
            return _Ending(Outcome.ADVISED, advice=output, truncated=False)
        marked = f'{output.rstrip()}\n\n{texts.truncation_marker(self.options.max_tokens)}'
        return _Ending(Outcome.TRUNCATED, advice=marked, truncated=True)

    def _failed(self, error: Exception) -> _Ending:
        failure = failure_of(error)
        if failure.outcome is Outcome.INVALID_OUTPUT and self._silent():
            failure = Failure(Outcome.EMPTY, 'empty', optional=True)
        truncated = True if self._cut() else None
        return _Ending(failure.outcome, failure.code, truncated=truncated, optional=failure.optional, cause=error)

    def _own(self) -> list[ModelMessage]:
        """The nested run's messages without the forwarded ones, which core may have copied."""
        forwarded = {message.run_id for message in (self.sent and self.sent.messages) or ()} | {None}
        return [message for message in self.messages if message.run_id not in forwarded]

    def _responses(self) -> list[ModelResponse]:
        return [message for message in self._own() if isinstance(message, ModelResponse)]

    def _unanswered(self, cause: BaseException | None) -> bool:
        """Whether an error or a cancellation left the last request unanswered."""
        own = self._own()
        interrupted = isinstance(cause, asyncio.CancelledError | RunCancelled | TimeoutError) or (
            isinstance(cause, Exception) and isinstance(last_error(cause), ModelAPIError)
        )
        return interrupted and bool(own) and isinstance(own[-1], ModelRequest)

    def _usage(self, cause: BaseException | None) -> dict[str, Any]:
        """What was sent and used. Unknown where a request stayed unanswered: its provider may bill it all the same."""
        responses = self._responses()
        if self._unanswered(cause):
            return {'requests': len(responses) + 1}
        return {
            'requests': len(responses),
            'input_tokens': sum(response.usage.input_tokens for response in responses),
            'output_tokens': sum(response.usage.output_tokens for response in responses),
            'cost_usd': total_cost(responses),
        }

    def _cut(self) -> bool:
        responses = self._responses()
        return bool(responses) and responses[-1].finish_reason == 'length'

    def _silent(self) -> bool:
        """Whether the last answer held nothing but thinking."""
        responses = self._responses()
        return bool(responses) and all(
            part.part_kind == 'thinking' or (part.part_kind == 'text' and not part.content.strip())
            for part in responses[-1].parts
        )

    def opening(self) -> ConsultationFacts:
        """What is known before the advisor is asked; until it ended, a consultation counts as cancelled."""
        return ConsultationFacts(
            path='local',
            outcome=Outcome.CANCELLED,
            call_id=self.ctx.tool_call_id or '',
            provider=self.advisor.provider,
            model=self.advisor.name,
            index=self.index,
            retry=self.ctx.retry,
            prompt_length=len(self.prompt),
        )

    def facts(self, record: Consultation) -> ConsultationFacts:
        sent = self.sent
        measured = not isinstance(self.ctx.tracer, NoOpTracer)  # the JSON of structured advice is made for spans only
        return span_facts(
            record,
            self.advisor,
            retry=self.ctx.retry,
            prompt_length=len(self.prompt),
            advice_length=_length(record.advice) if measured else None,
            history_messages=sent and sent.sent_messages,
            history_chars=sent and sent.sent_chars,
            history_dropped=sent and sent.dropped_parts,
        )

    def record(self, ending: _Ending, duration_s: float | None) -> Consultation:
        return Consultation(
            path='local',
            outcome=ending.outcome,
            index=self.index,
            run_step=self.ctx.run_step,
            call_id=self.ctx.tool_call_id or '',
            executor_model=serving_model(self.ctx),
            advisor_model=str(self.advisor),
            prompt=self.prompt,
            advice=ending.advice,
            truncated=ending.truncated,
            error_code=ending.code,
            duration_s=duration_s,
            **self._usage(ending.cause),
        )


def _error(options: Options, ending: _Ending) -> BaseException | None:
    """What the executor's run is to see of a consultation without advice, `None` when there is advice.

    Only fixed texts reach the executor's model: what a provider wrote stays in the exception's cause.
    """
    if ending.outcome in (Outcome.ADVISED, Outcome.TRUNCATED):
        return None
    code = ending.code or ''
    if ending.optional and options.on_error == 'continue':
        return _caused(ToolFailed(texts.unavailable(code)), ending.cause)
    if ending.outcome in _UNUSABLE:
        return _caused(ModelRetry(texts.no_usable_answer(code)), ending.cause)
    return ending.cause


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
