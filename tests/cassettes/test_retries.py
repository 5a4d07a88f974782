from __future__ import annotations

import pytest

from advisor_harness.cassettes.retries import retry_headers

NOW = {'retry-after-ms': ['1'], 'retry-after': ['0'], 'x-should-retry': ['true']}
NEVER = {'x-should-retry': ['false']}


@pytest.mark.parametrize('status', [408, 409, 429, 500, 503, 529])
@pytest.mark.parametrize(
    'recorded', [{}, {'retry-after': ['300']}, {'retry-after-ms': ['1500']}, {'x-should-retry': ['true']}]
)
def test_a_failure_is_retried_as_often_as_it_was_recorded(status: int, recorded: dict[str, list[str]]) -> None:
    """With a further answer the retry comes at once, without one never; recorded waiting times are gone."""
    assert retry_headers(status, recorded, answered_later=True) == NOW
    assert retry_headers(status, recorded, answered_later=False) == NEVER


def test_a_recorded_refusal_of_retries_stays() -> None:
    """After `x-should-retry: false` it was a higher layer that asked again, so the failure must be seen."""
    recorded = {'x-should-retry': ['false'], 'retry-after': ['5'], 'vary': ['a']}

    assert retry_headers(429, recorded, answered_later=True) == {'vary': ['a'], **NEVER}


def test_a_recorded_wish_for_retries_counts_for_any_failure() -> None:
    """A status that SDKs do not retry by themselves is retried if the provider asked for it."""
    assert retry_headers(400, {'x-should-retry': ['true']}, answered_later=True) == NOW
    assert retry_headers(400, {'x-should-retry': ['true']}, answered_later=False) == NEVER


@pytest.mark.parametrize('status', [200, 302, 400, 401, 404])
def test_other_answers_are_left_alone(status: int) -> None:
    """Answers that nobody retries keep their headers."""
    assert retry_headers(status, {'retry-after': ['5']}, answered_later=True) == {'retry-after': ['5']}
