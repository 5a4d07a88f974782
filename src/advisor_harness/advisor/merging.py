"""What two `Advisor`s of one agent amount to: the stricter setting wins, and a contradiction is an error.

Core merges capabilities of one id by taking the later value, which could loosen a limit or send history that one of
them withheld.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from pydantic_ai.exceptions import UserError

from advisor_harness.advisor.options import ForwardHistory, OnConsultation, Options

__all__ = ['merged']

_MOST_WITHHELD: tuple[ForwardHistory, ...] = (False, 'transcript', True)


def merged(several: Sequence[Options]) -> Options:
    """Merge the options of several advisors, in the order given.

    Raises:
        UserError: two of them name different models, modes, output types or caching, or the result is a combination
            that no single `Advisor` accepts.
    """
    values: dict[str, Any] = {
        'model': _agreed('model', [options.model for options in several]),
        'mode': _agreed('mode', [options.mode for options in several], unset='auto'),
        'output_type': _agreed('output_type', [options.output_type for options in several], unset=str),
        'caching': _agreed('caching', [options.caching for options in several], unset=None),
        'max_uses': _smallest(options.max_uses for options in several),
        'max_tokens': _smallest(options.max_tokens for options in several),
        'max_uses_per_run': _smallest(options.max_uses_per_run for options in several),
        'timeout': _smallest(options.timeout for options in several),
        'max_transcript_chars': min(options.max_transcript_chars for options in several),
        'forward_history': min((options.forward_history for options in several), key=_MOST_WITHHELD.index),
        'on_error': 'raise' if any(options.on_error == 'raise' for options in several) else 'continue',
        'on_consultation': _both([options.on_consultation for options in several]),
        'redact': _chained([options.redact for options in several]),
    }
    try:
        return Options(**values)
    except ValueError as error:
        raise UserError(f'Two `Advisor`s of one agent do not go together: {error}') from error


def _agreed(option: str, values: Sequence[Any], **unset: Any) -> Any:
    """The one value that is stated; `unset` is the default, which states nothing."""
    stated = [value for value in values if not unset or value != unset['unset']]
    for value in stated[1:]:
        if value != stated[0]:
            raise UserError(
                f'Two `Advisor`s of one agent differ in `Advisor.{option}`: {stated[0]!r} and {value!r}. '
                'An agent has one advisor: give both the same value, or leave one out.'
            )
    return stated[0] if stated else unset['unset']


def _smallest(values: Any) -> Any:
    return min((value for value in values if value is not None), default=None)


def _both(callbacks: Sequence[OnConsultation | None]) -> OnConsultation | None:
    distinct = list(dict.fromkeys(callback for callback in callbacks if callback is not None))
    if len(distinct) < 2:
        return distinct[0] if distinct else None

    async def each(consultation: Any) -> None:
        for callback in distinct:
            returned = callback(consultation)
            if inspect.isawaitable(returned):
                await returned

    return each


def _chained(redactors: Sequence[Callable[[str], str] | None]) -> Callable[[str], str] | None:
    distinct = list(dict.fromkeys(redact for redact in redactors if redact is not None))
    if len(distinct) < 2:
        return distinct[0] if distinct else None

    def each(text: str) -> str:
        for redact in distinct:
            text = redact(text)
        return text

    return each
