"""Asking a local advisor: a nested run under the executor's limits, and every way it can end as a value.

This is the part of a consultation that a durable execution engine checkpoints, and may run in another process: it reads
no state of the executor's run beyond what its arguments and the carried fields of a `RunContext` hold.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field
from pydantic_ai import Agent, RunContext, capture_run_messages
from pydantic_ai.exceptions import ModelAPIError, ModelTimeoutError, RunCancelled
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RunUsage

from advisor_harness.advisor import texts
from advisor_harness.advisor.models import ModelName, named, resolve_advisor
from advisor_harness.advisor.money import total_cost
from advisor_harness.advisor.options import Options
from advisor_harness.advisor.outcome import Failure, Outcome, failure_of, last_error
from advisor_harness.advisor.reservation import Reservation, guarded
from advisor_harness.telemetry.nested import hand_over_instrumentation

__all__ = ['Question', 'Reply', 'ask', 'failed']


@dataclass(frozen=True, kw_only=True)
class Question:
    """What one consultation sends."""

    prompt: str
    history: Sequence[Any] | None = None
    """Messages sent along as such, `None` without history; as JSON on the way into a durable unit."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """How asking ended, before it is told apart for span, record and executor."""

    outcome: Outcome
    code: str | None = None
    advice: Any = None
    truncated: bool | None = None
    optional: bool = False
    """Whether the executor can do without (`Failure.optional`)."""
    provider: str | None = None
    model: str | None = None
    """Provider and name of the advisor, as far as it was resolved."""
    requests: int | None = 0
    """Model requests sent, answered or not; `None` when unknown."""
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cost_usd: Decimal | None = Decimal(0)
    usage: RunUsage = field(default_factory=RunUsage)
    """What the executor's run is to be charged with."""
    duration_s: float | None = None
    limit: str | None = None
    """What a usage limit said that stopped it."""
    cause: Annotated[Any, Field(exclude=True)] = None
    """The exception that ended it; it never leaves the process."""

    @property
    def advisor(self) -> ModelName:
        """The advisor, as far as it was resolved."""
        return ModelName(self.provider, self.model)


async def ask(ctx: RunContext[Any], options: Options, question: Question, reservation: Reservation) -> Reply:
    """Ask the advisor in a run of its own. Every ending is a `Reply`, cancellation included.

    `reservation.usage` is what the nested run counts in; the caller closes the reservation.
    """
    nested = _Nested(ctx, options, question, reservation)
    started = time.perf_counter()
    return replace(await nested.run(), usage=reservation.usage, duration_s=time.perf_counter() - started)


def failed(error: Exception, options: Options) -> Reply:
    """The reply of a consultation that broke off before anything was sent."""
    failure, advisor = failure_of(error), named(options.model)
    return Reply(
        outcome=failure.outcome,
        code=failure.code,
        optional=failure.optional,
        provider=advisor.provider,
        model=advisor.name,
        duration_s=0.0,
        cause=error,
    )


@dataclass
class _Nested:
    ctx: RunContext[Any]
    options: Options
    question: Question
    reservation: Reservation
    advisor: ModelName = field(init=False)
    messages: list[ModelMessage] = field(default_factory=list[ModelMessage])
    """The nested run's messages, readable however it ends."""

    def __post_init__(self) -> None:
        self.advisor = named(self.options.model)

    async def run(self) -> Reply:
        try:
            reply = self._answered(await self._in_time())
        except (asyncio.CancelledError, RunCancelled) as cancelled:
            reply = Reply(outcome=Outcome.CANCELLED, cause=cancelled)
        except Exception as error:  # noqa: BLE001 - told as a `Reply`, raised again by `consultation`
            reply = self._failed(error)
        return replace(reply, provider=self.advisor.provider, model=self.advisor.name, **self._facts(reply.cause))

    async def _in_time(self) -> Any:
        timer = asyncio.timeout(self.options.timeout)
        try:
            async with timer:
                return await self._advice()
        except TimeoutError as error:
            if not timer.expired():
                raise
            message = f'The advisor gave no answer within `Advisor.timeout`, {self.options.timeout} seconds.'
            raise ModelTimeoutError(str(self.advisor.name), message) from error

    async def _advice(self) -> Any:
        model = await resolve_advisor(self.ctx, self.options.model)
        self.advisor = named(model)
        with capture_run_messages() as self.messages:
            result = await self._agent(model).run(
                self.question.prompt,
                message_history=self.question.history,
                conversation_id=self.ctx.conversation_id,
                usage=self.reservation.usage,
                usage_limits=guarded(self.reservation),
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

    def _answered(self, output: Any) -> Reply:
        if self.options.structured:
            # What validated is whole, whatever the provider says about its limit.
            return Reply(outcome=Outcome.ADVISED, advice=output, truncated=False)
        cut = self._cut()
        if not output.strip():
            return Reply(outcome=Outcome.EMPTY, code='empty', truncated=cut, optional=True)
        if not cut:
            return Reply(outcome=Outcome.ADVISED, advice=output, truncated=False)
        marked = f'{output.rstrip()}\n\n{texts.truncation_marker(self.options.max_tokens)}'
        return Reply(outcome=Outcome.TRUNCATED, advice=marked, truncated=True)

    def _failed(self, error: Exception) -> Reply:
        failure = failure_of(error)
        if failure.outcome is Outcome.INVALID_OUTPUT and self._silent():
            failure = Failure(Outcome.EMPTY, 'empty', optional=True)
        truncated = True if self._cut() else None
        return Reply(
            outcome=failure.outcome, code=failure.code, truncated=truncated, optional=failure.optional, cause=error
        )

    def _own(self) -> list[ModelMessage]:
        """The nested run's messages without the forwarded ones, which core may have copied."""
        forwarded = {message.run_id for message in self.question.history or ()} | {None}
        return [message for message in self.messages if message.run_id not in forwarded]

    def _responses(self) -> list[ModelResponse]:
        return [message for message in self._own() if isinstance(message, ModelResponse)]

    def _unanswered(self, cause: BaseException | None) -> bool:
        """Whether an error or a cancellation left the last request unanswered."""
        own = self._own()
        interrupted = isinstance(cause, asyncio.CancelledError | RunCancelled | TimeoutError) or (
            isinstance(cause, Exception) and isinstance(last_error(cause), ModelAPIError)
        )
        return interrupted and bool(own) and isinstance(own[-1], ModelRequest) and not self.reservation.counting

    def _facts(self, cause: BaseException | None) -> dict[str, Any]:
        """What was sent and used. Unknown where a request stayed unanswered: its provider may bill it all the same."""
        responses = self._responses()
        if self._unanswered(cause):
            return {'requests': len(responses) + 1, 'input_tokens': None, 'output_tokens': None, 'cost_usd': None}
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
