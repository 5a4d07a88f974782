"""The model that sends a history in a form its provider can read."""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import KnownModelName, Model, ModelRequestContext, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.native_tools import AdvisorTool
from pydantic_ai.settings import ModelSettings, merge_model_settings
from pydantic_ai.usage import RequestUsage

from advisor_harness.routing.identity import layers
from advisor_harness.routing.portability.carry import Carried, carried, with_carried, without_carried
from advisor_harness.routing.portability.convert import Conversion, convert
from advisor_harness.routing.portability.errors import refusal
from advisor_harness.routing.portability.options import Portability
from advisor_harness.routing.portability.report import PortabilityIssue, PortabilityReport
from advisor_harness.routing.portability.settled import Settled, settled
from advisor_harness.routing.portability.target import Target, target_of
from advisor_harness.routing.portability.uploads import fetch_uploads

__all__ = ['OnReport', 'PortableModel', 'wrap']

OnReport = Callable[[PortabilityReport], None]
"""Called with the report of every request, before it is sent or refused."""


class PortableModel(WrapperModel):
    """Continues a history that other models wrote, by the rules of a `Portability`.

    ```python
    model = PortableModel('anthropic:claude-sonnet-4-5', Portability(media='convert'))
    result = await agent.run('And now?', model=model, message_history=history_of_another_model)
    ```

    The history itself stays as it is: every request is made from a rewritten copy. A request that would lose what is
    not to be lost raises `PortabilityError` before anything is sent. As that is a `ModelAPIError`, a `FallbackModel`
    tries its next model.

    Args:
        wrapped: The model that sends, or its id. Of a `FallbackModel` every candidate gets the same rules.
        portability: The rules; `None` takes the defaults.
        on_report: Called with the report of every request, before it is sent or refused. What it raises stops the
            request.
    """

    def __init__(
        self,
        wrapped: Model | KnownModelName | str,
        portability: Portability | None = None,
        *,
        on_report: OnReport | None = None,
    ) -> None:
        super().__init__(wrapped)  # pyright: ignore[reportArgumentType]  # any text is accepted: ids of new models, too
        self.portability = Portability() if portability is None else portability
        self.on_report = on_report
        self._settled: Settled | None = None
        inner = layers(self.wrapped)
        # Which of several models serves is known only further in, so that they are wrapped there, once.
        self.passes_through = isinstance(inner[-1], FallbackModel) or any(isinstance(m, PortableModel) for m in inner)
        if self.passes_through:
            self.wrapped = wrap(self.wrapped, self.portability, on_report=on_report)

    def prepare_messages(
        self, messages: list[ModelMessage], model_request_parameters: ModelRequestParameters | None = None
    ) -> list[ModelMessage]:
        """Convert the messages, then let the wrapped model prepare them.

        Raises:
            PortabilityError: something in them is not to be lost.
        """
        if self.passes_through:
            return super().prepare_messages(messages, model_request_parameters)
        found = self._convert(messages, None, model_request_parameters)
        if found.report.blocking:
            self._tell(found.report)
            raise refusal(self.model_name, found.report)
        prepared = super().prepare_messages(found.messages, model_request_parameters)
        sent = with_carried(prepared, found.report, found.elsewhere)
        self._settled = settled(found, prepared, sent, _offers_advisor(model_request_parameters))
        return sent

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Convert what is not converted yet, and send it.

        Raises:
            PortabilityError: something is not to be lost; nothing was sent.
        """
        messages, model_settings = await self._ready(messages, model_settings, model_request_parameters)
        return await super().request(messages, model_settings, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Convert what is not converted yet, and send it.

        Raises:
            PortabilityError: something is not to be lost; nothing was sent.
        """
        messages, model_settings = await self._ready(messages, model_settings, model_request_parameters)
        async with super().request_stream(messages, model_settings, model_request_parameters, run_context) as stream:
            yield stream

    async def count_tokens(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> RequestUsage:
        """Count the tokens of the messages as they would be sent."""
        messages, model_settings = await self._ready(messages, model_settings, model_request_parameters, tell=False)
        return await super().count_tokens(messages, model_settings, model_request_parameters)

    async def compact_messages(
        self, request_context: ModelRequestContext, *, instructions: str | None = None
    ) -> ModelResponse:
        """Let the wrapped model summarise the messages as it would be sent them."""
        settings, parameters = request_context.model_settings, request_context.model_request_parameters
        messages, settings = await self._ready(request_context.messages, settings, parameters, tell=False)
        converted = replace(request_context, messages=messages, model_settings=settings)
        return await super().compact_messages(converted, instructions=instructions)

    def _convert(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters | None,
        before: Carried | None = None,
    ) -> Conversion:
        offered = _offers_advisor(parameters)
        return convert(messages, self._target(settings), self.portability, advisor_offered=offered, before=before)

    def _converted(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> Conversion:
        """The conversion of messages that were prepared as a rule, and then as they were prepared."""
        # Another run may have prepared its messages since: these are then converted again, which changes nothing.
        known, self._settled = self._settled, None
        if known is not None and known.holds(messages, settings, _offers_advisor(parameters)):
            return replace(known.found, messages=without_carried(messages))
        return self._convert(messages, settings, parameters, carried(messages))

    def _target(self, settings: ModelSettings | None) -> Target:
        return target_of(layers(self.wrapped)[-1], settings)

    async def _ready(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        *,
        tell: bool = True,
    ) -> tuple[list[ModelMessage], ModelSettings | None]:
        """The messages and the settings to send."""
        if self.passes_through:
            return messages, settings
        found = self._converted(messages, settings, parameters)
        converted, report = found.messages, found.report
        if not report.blocking:
            converted, more = await self._fetched(converted, settings, parameters)
            report = report.with_issues(more)
        if tell:
            self._tell(report)
        if report.blocking:
            raise refusal(self.model_name, report)
        return converted, _overridden(settings, found)

    async def _fetched(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> tuple[list[ModelMessage], list[PortabilityIssue]]:
        """The messages with the files that were uploaded elsewhere, and what is wrong with those."""
        fetched, failed = await fetch_uploads(messages, self._target(settings), self.portability)
        if all(new is old for new, old in zip(fetched, messages, strict=True)):
            return messages, failed
        found = self._convert(fetched, settings, parameters)
        return found.messages, [*failed, *(issue for issue in found.report.issues if issue.kind == 'media')]

    def _tell(self, report: PortabilityReport) -> None:
        if self.on_report is not None:
            self.on_report(report)


def wrap(model: Model, portability: Portability, *, on_report: OnReport | None = None) -> Model:
    """`model`, with a `PortableModel` around every model in it that may serve a request.

    Args:
        model: Any model. One that is wrapped already keeps its rules, so that wrapping twice changes nothing.
        portability: The rules.
        on_report: Called with the report of every request, before it is sent or refused; beside the one of a model
            that is wrapped already.
    """
    inner = layers(model)
    if isinstance(inner[-1], FallbackModel):
        return _rebuilt(model, portability, on_report)
    if any(isinstance(layer, PortableModel) for layer in inner):
        return model if on_report is None else _also_told(model, on_report)
    return PortableModel(model, portability, on_report=on_report)


class _Chain(WrapperModel):
    """A copy of a `FallbackModel`, entered and left as the original: its owner decides when clients are closed."""

    def __init__(self, chain: FallbackModel, original: FallbackModel) -> None:
        super().__init__(chain)
        self._entered = WrapperModel(original)

    async def __aenter__(self) -> Self:
        await self._entered.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return await self._entered.__aexit__(exc_type, exc_val, exc_tb)


def _rebuilt(model: Model, portability: Portability, on_report: OnReport | None) -> Model:
    """A copy of `model` in which every candidate is wrapped, or `model` itself where nothing changes."""
    changed = copy.copy(model)
    if isinstance(model, FallbackModel) and isinstance(changed, FallbackModel):
        changed.models = [wrap(candidate, portability, on_report=on_report) for candidate in model.models]
        same = all(new is old for new, old in zip(changed.models, model.models, strict=True))
        return model if same else _Chain(changed, model)
    assert isinstance(model, WrapperModel)
    assert isinstance(changed, WrapperModel)
    changed.wrapped = wrap(model.wrapped, portability, on_report=on_report)
    return model if changed.wrapped is model.wrapped else changed


def _also_told(model: Model, on_report: OnReport) -> Model:
    """A copy of `model` whose `PortableModel` tells `on_report` too."""
    changed = copy.copy(model)
    assert isinstance(model, WrapperModel)
    assert isinstance(changed, WrapperModel)
    if isinstance(changed, PortableModel) and not changed.passes_through:
        changed.on_report = _both(changed.on_report, on_report)
    else:
        changed.wrapped = _also_told(model.wrapped, on_report)
    return changed


def _both(first: OnReport | None, second: OnReport) -> OnReport:
    if first is None or first is second:
        return second

    def tell(report: PortabilityReport) -> None:
        first(report)
        second(report)

    return tell


def _offers_advisor(parameters: ModelRequestParameters | None) -> bool | None:
    return None if parameters is None else any(isinstance(tool, AdvisorTool) for tool in parameters.native_tools)


def _overridden(settings: ModelSettings | None, found: Conversion) -> ModelSettings | None:
    if not found.overrides:
        return settings
    return merge_model_settings(settings, ModelSettings(**found.overrides))
