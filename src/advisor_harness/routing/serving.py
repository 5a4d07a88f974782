"""The model that sends a routed request: it announces the switch, sends what the next model can read of the history,
stamps the answer and emits the span.

A wrapper's `request` and `request_stream` are the one place where every run style meets the model that serves, also one
that a hook or `run(model=...)` put there, and where the response can still be marked before a stream is consumed.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import CompletedStreamedResponse, Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from advisor_harness.routing.decision import Decision, RouteSwitch, facts
from advisor_harness.routing.identity import serving_leaf
from advisor_harness.routing.portability import Portability, PortabilityError, PortabilityReport, explain, wrap
from advisor_harness.routing.stamp import Stamp
from advisor_harness.telemetry import emit

__all__ = ['OnSwitch', 'ServingModel']

OnSwitch = Callable[[RouteSwitch], Awaitable[None] | None]
"""Called once per switch, before the request; an exception it raises stops the request."""


class ServingModel(WrapperModel):
    """Sends the requests of one step; a step has several when a provider pauses and its turn is continued."""

    def __init__(
        self,
        wrapped: Model,
        decision: Decision,
        *,
        ctx: RunContext[Any],
        state_key: str,
        portability: Portability,
        on_switch: OnSwitch | None,
    ) -> None:
        super().__init__(wrap(wrapped, portability, on_report=self._note))
        self._target = wrapped
        self._decision = decision
        self._ctx = ctx
        self._state_key = state_key
        self._portability = portability
        self._on_switch = on_switch
        self._report = PortabilityReport()
        self._history: list[ModelMessage] | None = None
        self._announced = False
        self._emitted = False

    def prepare_messages(
        self, messages: list[ModelMessage], model_request_parameters: ModelRequestParameters | None = None
    ) -> list[ModelMessage]:
        """Bring the history into the form that the model reads."""
        self._history = messages
        try:
            return super().prepare_messages(messages, model_request_parameters)
        except PortabilityError:
            self._emit_unanswered()
            raise

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Send the request and stamp its response."""
        with self._emitting():
            await self._announce(messages, model_settings)
            response = await super().request(messages, model_settings, model_request_parameters)
            return replace(response, metadata=self._mark(response))

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Send the request and stamp the response that its stream builds."""
        with self._emitting():
            await self._announce(messages, model_settings)
            async with super().request_stream(
                messages, model_settings, model_request_parameters, run_context
            ) as stream:
                stream.metadata = self._mark(stream)
                if isinstance(stream, CompletedStreamedResponse):
                    # This one builds no response but hands out the one it was given.
                    stream.response = replace(stream.response, metadata=self._mark(stream.response))
                yield stream

    async def _announce(self, messages: list[ModelMessage], model_settings: ModelSettings | None) -> None:
        if self._announced:
            return
        self._announced = True
        if self._on_switch is None or not self._decision.is_switch:
            return
        # What is sent may be rewritten already; what a switch does to the history is said of the history itself.
        history = messages if self._history is None else self._history
        report = explain(history, self._target, settings=model_settings, portability=self._portability)
        answer = self._on_switch(self._decision.switch(self._ctx.conversation_id, report))
        if inspect.isawaitable(answer):
            await answer

    def _note(self, report: PortabilityReport) -> None:
        self._report = report

    def _mark(self, answer: ModelResponse | StreamedResponse) -> dict[str, Any]:
        leaf = serving_leaf(self.wrapped, answer)
        self._emit(leaf)
        return {**(answer.metadata or {}), self._state_key: Stamp.by(self._decision.route, leaf).as_metadata()}

    @contextmanager
    def _emitting(self) -> Generator[None]:
        """Emit the span in any case: at the latest when it is known that nobody has answered."""
        try:
            yield
        finally:
            self._emit_unanswered()

    def _emit_unanswered(self) -> None:
        # Of several models the last one that was asked says why there is no answer.
        self._emit(serving_leaf(self.wrapped, None), blocked=bool(self._report.blocking))

    def _emit(self, model: Model, *, blocked: bool = False) -> None:
        if not self._emitted:
            self._emitted = True
            emit.route(self._ctx, facts(self._decision, model, self._report, blocked=blocked))
