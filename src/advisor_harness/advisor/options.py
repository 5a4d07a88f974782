"""The options of `Advisor`: their types, their rules and what is said when a rule is broken."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from pydantic_ai import Agent
from pydantic_ai.models import Model, parse_model_id

if TYPE_CHECKING:
    from advisor_harness.advisor.consultation import Consultation

__all__ = ['Caching', 'ForwardHistory', 'Mode', 'OnConsultation', 'OnError', 'Options', 'native_name']

Mode = Literal['auto', 'native', 'local']
Caching = Literal['5m', '1h']
ForwardHistory = Literal[False, True, 'transcript']
OnError = Literal['raise', 'continue']
OnConsultation = Callable[['Consultation'], Awaitable[None] | None]

MIN_MAX_TOKENS = 1024
"""The least `max_tokens` that Anthropic's advisor tool accepts; one floor for every path."""
NATIVE_PROVIDERS = ('anthropic', 'openrouter')
"""Providers with an advisor tool of their own."""

_T = TypeVar('_T')


@dataclass(frozen=True, kw_only=True)
class Options:
    """The validated options of an `Advisor`; field by field its arguments."""

    model: Model | str
    mode: Mode
    output_type: Any
    max_uses: int | None
    max_tokens: int | None
    caching: Caching | None
    forward_history: ForwardHistory
    max_uses_per_run: int | None
    timeout: float | None
    on_error: OnError
    on_consultation: OnConsultation | None
    redact: Callable[[str], str] | None
    max_transcript_chars: int

    def __post_init__(self) -> None:
        _check_model(self.model)
        _one_of('mode', self.mode, ('auto', 'native', 'local'))
        _at_least('max_uses', self.max_uses, 1, 'consultations per executor request')
        _at_least('max_uses_per_run', self.max_uses_per_run, 1, 'consultations per run')
        _at_least('max_tokens', self.max_tokens, MIN_MAX_TOKENS, 'output tokens')
        _at_least('max_transcript_chars', self.max_transcript_chars, 1, 'characters', without='60000')
        _one_of('caching', self.caching, (None, '5m', '1h'))
        _one_of('forward_history', self.forward_history, (False, True, 'transcript'))
        _one_of('on_error', self.on_error, ('raise', 'continue'))
        _check_timeout(self.timeout)
        _check_callable('on_consultation', self.on_consultation)
        _check_callable('redact', self.redact)
        _check_output_type(self.output_type)
        _check_native(self)

    @property
    def structured(self) -> bool:
        """Whether advice has another form than text."""
        return self.output_type is not str

    @property
    def history_form(self) -> Literal['none', 'messages', 'transcript']:
        """How `forward_history` is called in spans."""
        if self.forward_history == 'transcript':
            return 'transcript'
        return 'messages' if self.forward_history else 'none'


def native_name(model: Model | str) -> tuple[str, str] | None:
    """Provider and model name of an advisor that a provider could run itself, else `None`.

    Only an explicit `anthropic:<model>` or `openrouter:<model>` says that the provider's own advisor is meant.
    """
    if not isinstance(model, str):
        return None
    provider, name = parse_model_id(model)
    return (provider, name) if provider in NATIVE_PROVIDERS else None


def _check_model(model: object) -> None:
    if isinstance(model, Model):
        return
    if not isinstance(model, str):
        raise TypeError(f'`Advisor.model` must be a model name or a `Model`; got {model!r}.')
    if not all(part.strip() for part in model.split(':', 1)):
        raise ValueError(
            f"`Advisor.model` must be a model name such as 'anthropic:claude-opus-4-8'; got {model!r}, "
            'in which a part is empty.'
        )


def _one_of(option: str, value: object, allowed: tuple[object, ...]) -> None:
    # By type and value: `1 == True`, but a number is not a choice.
    if any(type(value) is type(choice) and value == choice for choice in allowed):
        return
    error = ValueError if type(value) in map(type, allowed) else TypeError
    raise error(f'`Advisor.{option}` must be one of {", ".join(map(repr, allowed))}; got {value!r}.')


def _at_least(option: str, value: object, least: int, unit: str, *, without: str | None = None) -> None:
    """Check a limit that may be `None`, unless being left out means `without`, another number."""
    if value is None and without is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f'`Advisor.{option}` must be a whole number of {unit}; got {value!r}.')
    if value < least:
        default = without or 'no limit'
        raise ValueError(
            f'`Advisor.{option}` must be at least {least} {unit}; got {value}. Leave it out for {default}.'
        )


def _check_timeout(value: object) -> None:
    if value is None:
        return
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f'`Advisor.timeout` must be a number of seconds; got {value!r}.')
    if not value > 0:
        raise ValueError(f'`Advisor.timeout` must be more than 0 seconds; got {value}. Leave it out to wait.')


def _check_callable(option: str, value: object) -> None:
    if value is not None and not callable(value):
        raise TypeError(f'`Advisor.{option}` must be a callable; got {value!r}.')
    if option == 'redact' and inspect.iscoroutinefunction(value):
        raise TypeError(f'`Advisor.redact` must be a plain function from text to text; got the coroutine {value!r}.')


def _check_output_type(output_type: object) -> None:
    if output_type is str:
        return
    if isinstance(output_type, str) or output_type is None:
        raise _unusable(output_type)
    try:
        # Core builds the schema when an agent is made: a specification that it cannot use fails here, not at the first
        # consultation.
        Agent(output_type=cast(Any, output_type))
    except Exception as error:  # core, Pydantic and pydantic-core raise what has no common base
        raise _unusable(output_type) from error


def _unusable(output_type: object) -> TypeError:
    return TypeError(f'`Advisor.output_type` must be a type or another output specification; got {output_type!r}.')


def _check_native(options: Options) -> None:
    if options.mode != 'native':
        return
    if options.structured:
        raise ValueError(
            f"`Advisor.output_type` must be left out with mode='native': a provider's advisor answers in text; "
            f"got {options.output_type!r}. Use mode='local' for structured advice."
        )
    native = native_name(options.model)
    if native is None:
        raise ValueError(
            "`Advisor.model` must be 'anthropic:<model>' or 'openrouter:<model>' with mode='native'; "
            f"got {options.model!r}. Use mode='auto' or 'local' for another advisor."
        )
    if native[0] == 'openrouter' and options.max_uses is not None:
        raise ValueError(
            "`Advisor.max_uses` must be left out with mode='native' on OpenRouter, whose advisor ignores it; "
            f"got {options.max_uses}. Use mode='auto' to keep the limit."
        )
