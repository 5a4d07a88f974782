"""What became of a consultation: one vocabulary for the native and the local path.

Codes follow Anthropic's advisor tool (`advisor_tool_result_error.error_code`), so that local and native failures read
alike; `auth`, `content_filter`, `empty`, `invalid_output` and `usage_limit` name what only the local path meets.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)

__all__ = ['Failure', 'Outcome', 'failure_of', 'last_error', 'native_failure']


class Outcome(StrEnum):
    """What became of a consultation, the same values on both paths, in spans and in `Consultation`."""

    ADVISED = 'advised'
    """Complete advice."""
    TRUNCATED = 'truncated'
    """Text advice that was cut at the token limit."""
    REDACTED = 'redacted'
    """Advice that only the provider can read."""
    EMPTY = 'empty'
    """An answer without advice."""
    LIMIT_REACHED = 'limit_reached'
    """Refused by `max_uses` or `max_uses_per_run`; nothing was asked."""
    INVALID_OUTPUT = 'invalid_output'
    """An answer that does not fit the output specification."""
    REFUSED = 'refused'
    """The advisor's provider filtered the question or the answer."""
    USAGE_LIMIT = 'usage_limit'
    """The executor's own usage limits stopped it."""
    ERROR = 'error'
    """The advisor could not be asked; `error_code` says why."""
    TIMEOUT = 'timeout'
    """The advisor took too long."""
    CANCELLED = 'cancelled'
    """The run was cancelled meanwhile."""
    SKIPPED = 'skipped'
    """Not started: the response already gives the final output."""


@dataclass(frozen=True)
class Failure:
    """Outcome and stable code of a consultation that brought no advice."""

    outcome: Outcome
    code: str
    optional: bool = False
    """Whether an executor can do without, so that `on_error='continue'` turns it into a failed tool result."""


_UNCLASSIFIED = Failure(Outcome.ERROR, 'unavailable', optional=True)
_BY_ERROR: tuple[tuple[type[Exception], Failure], ...] = (
    # The first match counts: subclasses stand before their bases.
    (UsageLimitExceeded, Failure(Outcome.USAGE_LIMIT, 'usage_limit')),
    (ContentFilterError, Failure(Outcome.REFUSED, 'content_filter', optional=True)),
    (UnexpectedModelBehavior, Failure(Outcome.INVALID_OUTPUT, 'invalid_output', optional=True)),
    (ModelRequestTimeout, Failure(Outcome.TIMEOUT, 'execution_time_exceeded', optional=True)),
    (ModelTimeoutError, Failure(Outcome.TIMEOUT, 'execution_time_exceeded', optional=True)),
    (TimeoutError, Failure(Outcome.TIMEOUT, 'execution_time_exceeded', optional=True)),
    (ModelRateLimitError, Failure(Outcome.ERROR, 'too_many_requests', optional=True)),
    (ModelQuotaExceededError, Failure(Outcome.ERROR, 'too_many_requests', optional=True)),
    (ModelUnavailableError, Failure(Outcome.ERROR, 'overloaded', optional=True)),
    (ModelContextWindowExceededError, Failure(Outcome.ERROR, 'prompt_too_long', optional=True)),
    (ModelAuthenticationError, Failure(Outcome.ERROR, 'auth')),
    (ModelNotFoundError, Failure(Outcome.ERROR, 'model_not_found', optional=True)),
    (ModelRequestRejectedError, Failure(Outcome.ERROR, 'unavailable')),
    (ModelAPIError, _UNCLASSIFIED),
)
_BY_STATUS = {
    # For models that raise a plain `ModelHTTPError`, which core's own models do not.
    400: Failure(Outcome.ERROR, 'unavailable'),
    401: Failure(Outcome.ERROR, 'auth'),
    403: Failure(Outcome.ERROR, 'auth'),
    404: Failure(Outcome.ERROR, 'model_not_found', optional=True),
    429: Failure(Outcome.ERROR, 'too_many_requests', optional=True),
}
_UNAVAILABLE = Failure(Outcome.ERROR, 'unavailable')

_NATIVE_OUTCOMES = {'max_uses_exceeded': Outcome.LIMIT_REACHED, 'execution_time_exceeded': Outcome.TIMEOUT}


def failure_of(error: Exception) -> Failure:
    """The outcome and code of an error that ended a local consultation; `unavailable` where no rule fits.

    A group, such as the one that a `FallbackModel` raises when every candidate failed, counts as its last member: that
    one ended the attempt.
    """
    last = last_error(error)
    failure = next((failure for kind, failure in _BY_ERROR if isinstance(last, kind)), _UNAVAILABLE)
    if failure is _UNCLASSIFIED and isinstance(last, ModelHTTPError):
        return _BY_STATUS.get(last.status_code, failure)
    return failure


def native_failure(code: str) -> Failure:
    """The outcome of a provider's error code; a code of a later version is passed through unchanged."""
    return Failure(_NATIVE_OUTCOMES.get(code, Outcome.ERROR), code)


def last_error(error: Exception) -> Exception:
    """The error itself, or the last one of a group, however deep."""
    while isinstance(error, ExceptionGroup):
        error = cast('ExceptionGroup[Exception]', error).exceptions[-1]
    return error
