"""The taxonomy of failures: every error of core has an outcome and a code."""

from __future__ import annotations

import pytest
from pydantic_ai import exceptions
from pydantic_ai.exceptions import (
    ContentFilterError,
    FallbackExceptionGroup,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
    UserError,
)

from advisor_harness import Outcome
from advisor_harness.advisor.outcome import Failure, failure_of, last_error, native_failure
from advisor_harness.telemetry import conventions as names

ERRORS: list[tuple[Exception, Failure]] = [
    (UsageLimitExceeded('x'), Failure(Outcome.USAGE_LIMIT, 'usage_limit')),
    (ContentFilterError('x'), Failure(Outcome.REFUSED, 'content_filter', optional=True)),
    (UnexpectedModelBehavior('x'), Failure(Outcome.INVALID_OUTPUT, 'invalid_output', optional=True)),
    (ModelTimeoutError('m', 'x'), Failure(Outcome.TIMEOUT, 'execution_time_exceeded', optional=True)),
    (ModelRequestTimeout('m', 1), Failure(Outcome.TIMEOUT, 'execution_time_exceeded', optional=True)),
    (TimeoutError(), Failure(Outcome.TIMEOUT, 'execution_time_exceeded', optional=True)),
    (ModelRateLimitError('m', 'x'), Failure(Outcome.ERROR, 'too_many_requests', optional=True)),
    (ModelQuotaExceededError('m', 'x'), Failure(Outcome.ERROR, 'too_many_requests', optional=True)),
    (ModelUnavailableError('m', 'x'), Failure(Outcome.ERROR, 'overloaded', optional=True)),
    (ModelOverloadedError('m', 'x'), Failure(Outcome.ERROR, 'overloaded', optional=True)),
    (ModelContextWindowExceededError('m', 'x'), Failure(Outcome.ERROR, 'prompt_too_long', optional=True)),
    (ModelNotFoundError('m', 'x'), Failure(Outcome.ERROR, 'model_not_found', optional=True)),
    (ModelServerError('m', 'x'), Failure(Outcome.ERROR, 'unavailable', optional=True)),
    (ModelConnectionError('m', 'x'), Failure(Outcome.ERROR, 'unavailable', optional=True)),
    (ModelHTTPError(418, 'm'), Failure(Outcome.ERROR, 'unavailable', optional=True)),
    (ModelAPIError('m', 'x'), Failure(Outcome.ERROR, 'unavailable', optional=True)),
    (ModelAuthenticationError('m', 'x'), Failure(Outcome.ERROR, 'auth')),
    (ModelRequestRejectedError('m', 'x'), Failure(Outcome.ERROR, 'unavailable')),
    (UserError('x'), Failure(Outcome.ERROR, 'unavailable')),
    (ValueError('x'), Failure(Outcome.ERROR, 'unavailable')),
]


@pytest.mark.parametrize(('error', 'failure'), ERRORS, ids=[type(error).__name__ for error, _ in ERRORS])
def test_every_error_has_an_outcome_and_a_code(error: Exception, failure: Failure) -> None:
    """What went wrong and whether an executor can do without is told by the type."""
    assert failure_of(error) == failure


@pytest.mark.parametrize(
    ('status', 'failure'),
    [
        (400, Failure(Outcome.ERROR, 'unavailable')),
        (401, Failure(Outcome.ERROR, 'auth')),
        (403, Failure(Outcome.ERROR, 'auth')),
        (404, Failure(Outcome.ERROR, 'model_not_found', optional=True)),
        (429, Failure(Outcome.ERROR, 'too_many_requests', optional=True)),
        (500, Failure(Outcome.ERROR, 'unavailable', optional=True)),
    ],
)
def test_a_plain_http_error_is_told_by_its_status(status: int, failure: Failure) -> None:
    """A model of another's making need not know core's classes: what must be fixed still ends the run."""
    assert failure_of(ModelHTTPError(status, 'm')) == failure


def test_every_model_error_of_core_is_in_the_table() -> None:
    """A class of model error that core adds has to be thought about here."""
    known = {type(error) for error, _ in ERRORS}
    public = [getattr(exceptions, name) for name in exceptions.__all__]
    model_errors = {error for error in public if isinstance(error, type) and issubclass(error, ModelAPIError)}
    assert model_errors - known == set()


def test_a_group_counts_as_its_last_member_however_deep() -> None:
    """The last candidate ended the attempt."""
    last = ModelRateLimitError('m', 'x')
    group = FallbackExceptionGroup('all', [ModelNotFoundError('m', 'x'), ExceptionGroup('inner', [ValueError(), last])])
    assert (last_error(group), failure_of(group)) == (last, failure_of(last))


@pytest.mark.parametrize(
    ('code', 'outcome'),
    [
        ('max_uses_exceeded', Outcome.LIMIT_REACHED),
        ('execution_time_exceeded', Outcome.TIMEOUT),
        ('overloaded', Outcome.ERROR),
        ('a_code_of_tomorrow', Outcome.ERROR),
    ],
)
def test_a_providers_code_is_kept(code: str, outcome: Outcome) -> None:
    """Native codes are passed through unchanged under the outcome of their kind."""
    assert native_failure(code) == Failure(outcome, code)


def test_the_vocabulary_of_spans_has_every_outcome() -> None:
    """An outcome that spans could not carry would be no outcome."""
    assert {outcome.value for outcome in Outcome} == set(names.ATTRIBUTE_VALUES[names.ADVISOR_CONSULTATION_OUTCOME])


@pytest.mark.parametrize('members', [1, 2, 3])
def test_the_last_member_of_a_group_is_its_last_error(members: int) -> None:
    """However many there are, and however deep."""
    errors = [ValueError(n) for n in range(members)]
    assert last_error(ExceptionGroup('outer', [ExceptionGroup('inner', errors)])) is errors[-1]
