"""Ordered failover: the next model takes a request as long as nothing of an answer has been handed on.

pydantic-ai's `FallbackModel` makes the attempts, with their spans, deadlines and suspended turns. What is added here is
which models are tried, in which order, after which errors, and what is raised when none has answered.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

from pydantic_ai import RunContext
from pydantic_ai.exceptions import (
    FallbackExceptionGroup,
    ModelAPIError,
    ModelAuthenticationError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelRequestRejectedError,
)
from pydantic_ai.messages import ModelMessage, ModelRequestAttempt, ModelResponse
from pydantic_ai.models import KnownModelName, Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.settings import ModelSettings

from advisor_harness.routing.identity import layers
from advisor_harness.routing.options import check_number, check_whole
from advisor_harness.routing.portability import PortabilityError
from advisor_harness.routing.stamp import suspended_tail

__all__ = ['FailoverExhaustedError', 'FailoverModel']

_ABOUT_THE_REQUEST = frozenset({400, 413, 414, 415, 422})
"""HTTP statuses that say something about the request: the same model may well take the next one."""


class FailoverExhaustedError(FallbackExceptionGroup, ModelAPIError):  # pyright: ignore[reportIncompatibleVariableOverride] - `message` is the group's, which is text too
    """No model has answered: the group of what each attempt raised, in order, without groups inside.

    It is a `ModelAPIError` too, so that a `FallbackModel` with its usual rule moves on from it.
    """

    model_name: str
    """Name of the `FailoverModel`."""

    def __new__(cls, model_name: str, errors: Sequence[Exception], attempts: Sequence[ModelRequestAttempt]) -> Self:
        """Make the group; its text counts the attempts."""
        return super().__new__(cls, f'No model has answered {model_name!r}', errors)

    def __init__(self, model_name: str, errors: Sequence[Exception], attempts: Sequence[ModelRequestAttempt]) -> None:
        # `ModelAPIError` would set `message`, which is the group's own and cannot be set.
        self.model_name = model_name
        self.attempts = tuple(attempts)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model_name, self.exceptions, self.attempts)

    def __str__(self) -> str:
        return BaseExceptionGroup.__str__(self)

    def derive(self, excs: Sequence[Exception]) -> FallbackExceptionGroup:  # pyright: ignore[reportIncompatibleMethodOverride] - as narrow as the errors of a model are
        """Make the part of the group that `except*` and `split` ask for."""
        return FallbackExceptionGroup(self.message, excs)


class FailoverModel(FallbackModel):
    """Tries several models in order until one answers.

    Any exception but a cancellation moves on to the next model, also a refusal of content that only this model cannot
    take. A streamed answer is committed with its first event: what fails later is raised. Exhaustion raises one
    `FailoverExhaustedError`. The models keep their own settings. It nests, and works as the model of a route, of an
    agent and of a `FallbackModel`.

    Safe for concurrent requests; the cooldown is shared by them.

    Args:
        models: Models or model ids, at least one. The same model may stand at several places, and is tried at each.
        max_attempts: Most models to try per request, >= 1; `None` tries all.
        cooldown: Seconds, > 0, for which a model that was down goes to the end of the order; `None` tries every request
            in the given order. Down is what failed by itself (no connection, a timeout, 401, 403, 404, 429, 5xx), not
            by the request it got (400, 413, 422, content it refuses).
        clock: Seconds of a clock that never goes back.

    Raises:
        ValueError: no model, `max_attempts` below 1 or `cooldown` not above 0.
        TypeError: `max_attempts` is no whole number, or `cooldown` no number.
    """

    def __init__(
        self,
        *models: Model | KnownModelName | str,
        max_attempts: int | None = None,
        cooldown: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not models:
            raise ValueError('`FailoverModel` needs at least one model; got none.')
        if max_attempts is not None:
            check_whole('FailoverModel.max_attempts', max_attempts)
            if max_attempts < 1:
                raise ValueError(f'`FailoverModel.max_attempts` must be at least 1; got {max_attempts!r}.')
        if cooldown is not None:
            check_number('FailoverModel.cooldown', cooldown)
            if not cooldown > 0:
                raise ValueError(f'`FailoverModel.cooldown` must be more than 0 seconds; got {cooldown!r}.')
        super().__init__(*models, fallback_on=(Exception,))
        self.max_attempts = max_attempts
        """Most models that one request tries; `None` for all."""
        self.cooldown = cooldown
        """Seconds for which a model that was down is tried last; `None` for never."""
        self._clock = clock
        # By place, and never replaced: a copy whose models are wrapped for one request shares it.
        self._down_until: dict[int, float] = {}

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Send the request to one model after the other, until one answers."""
        chain = _Chain(self, messages)
        try:
            return await chain.request(messages, model_settings, model_request_parameters)
        except FallbackExceptionGroup as group:
            raise self._exhausted(group) from None

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Open the stream of one model after the other, until one has sent an event."""
        chain, committed = _Chain(self, messages), False
        try:
            async with chain.request_stream(
                messages, model_settings, model_request_parameters, run_context
            ) as streamed:
                committed = True
                yield streamed
        except FallbackExceptionGroup as group:
            if committed:
                raise
            raise self._exhausted(group) from None

    def in_order(self) -> list[Model]:
        """The models in the order in which a request that starts now tries them, before `max_attempts` cuts it."""
        return [self.models[place] for place in self._places()]

    def _exhausted(self, group: FallbackExceptionGroup) -> FailoverExhaustedError:
        composite = {(model.system, model.model_name) for model in self.models if _is_chain(model)}
        attempts = [each for each in group.attempts if (each.provider_name, each.model_name) not in composite]
        return FailoverExhaustedError(self.model_name, _flat(group), attempts)

    def _places(self) -> list[int]:
        now = self._clock()
        return sorted(range(len(self.models)), key=lambda place: self._down_until.get(place, now) > now)

    def _note(self, place: int, error: Exception) -> None:
        if self.cooldown is not None and _is_down(error):
            self._down_until[place] = self._clock() + self.cooldown


class _Chain(FallbackModel):
    """One request's turn through the models."""

    def __init__(self, owner: FailoverModel, messages: list[ModelMessage]) -> None:
        self._owner = owner
        places = owner._places()[: owner.max_attempts]  # pyright: ignore[reportPrivateUsage] - a part of its owner
        super().__init__(*(owner.models[place] for place in places), fallback_on=self._moves_on)
        # The model that began a suspended turn is asked first, and is one attempt.
        tail = suspended_tail(messages)
        pinned = self._pinned_continuation_model(tail) if tail else None
        if pinned is not None:
            places.insert(0, next(place for place, model in enumerate(owner.models) if model is pinned))
            self.models = [owner.models[place] for place in places[1 : owner.max_attempts]]
        self._asked = iter(places)

    @property
    def model_name(self) -> str:
        """The owner's: what an instrumented request is known by, whichever models it may try."""
        return self._owner.model_name

    def _moves_on(self, error: Exception) -> bool:
        """Called once for each model that failed, in the order in which they are tried."""
        self._owner._note(next(self._asked), error)  # pyright: ignore[reportPrivateUsage] - as above
        return True

    def _pinned_continuation_model(self, response: ModelResponse) -> Model | None:
        return self._owner._pinned_continuation_model(response)  # pyright: ignore[reportPrivateUsage] - as above


def _flat(error: Exception) -> list[Exception]:
    if isinstance(error, FallbackExceptionGroup):
        return [leaf for each in error.exceptions for leaf in _flat(each)]
    return [error]


def _is_chain(model: Model) -> bool:
    return isinstance(layers(model)[-1], FallbackModel)


def _is_down(error: Exception) -> bool:
    """Whether the model failed by itself, so that it is likely to fail the next request too."""
    if isinstance(error, FallbackExceptionGroup):
        return all(_is_down(each) for each in _flat(error))
    if isinstance(error, ModelAuthenticationError | ModelNotFoundError):
        return True
    if isinstance(error, ModelRequestRejectedError | PortabilityError):
        return False
    if isinstance(error, ModelHTTPError):
        return error.status_code not in _ABOUT_THE_REQUEST
    return isinstance(error, ModelAPIError | TimeoutError | ConnectionError)
