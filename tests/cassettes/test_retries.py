from __future__ import annotations

from typing import Any

import pytest

from advisor_harness.cassettes import Interaction
from advisor_harness.cassettes.retries import attempt_of, retry_headers, which_were_retried

from .support import entry

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


def interactions(*recorded: tuple[int | None, int | str]) -> list[Interaction]:
    """Answers to one request: which attempt it was, and the status or the error that it got."""
    found: list[Interaction] = []
    for attempt, ending in recorded:
        failed = {'network_error': ending} if isinstance(ending, str) else {}
        mapping = entry(status=0 if failed else int(ending), **failed)
        found.append(
            Interaction.from_mapping(mapping if attempt is None else {**mapping, 'recorded': {'attempt': attempt}})
        )
    return found


@pytest.mark.parametrize(
    ('recorded', 'retried'),
    [
        ([(0, 429), (1, 200)], [True, False]),
        ([(0, 'ConnectError'), (1, 'ReadTimeout'), (2, 200)], [True, True, False]),
        ([(0, 429), (0, 200)], [False, False]),
        ([(0, 429), (0, 429), (1, 200), (1, 200)], [True, True, False, False]),
        ([(0, 200), (0, 429), (1, 200)], [False, True, False]),
        ([(0, 503), (1, 503), (2, 503), (0, 200)], [True, True, False, False]),
        ([(None, 429), (None, 200)], [None, None]),
        ([(None, 429), (0, 500), (1, 200)], [None, True, False]),
    ],
)
def test_numbers_of_attempts_tell_retries_from_new_requests(recorded: Any, retried: list[bool | None]) -> None:
    """A failure was retried by its SDK when the attempt after it is recorded; a new request starts from 0 again."""
    assert which_were_retried(interactions(*recorded)) == retried


def test_what_is_known_of_a_retry_decides() -> None:
    """Where the number of attempts is known nothing is inferred from later answers or other headers."""
    recorded = {'retry-after': ['300']}

    assert retry_headers(429, recorded, answered_later=True, retried=False) == NEVER
    assert retry_headers(429, recorded, answered_later=True, retried=True) == NOW
    assert retry_headers(500, {'x-should-retry': ['false']}, answered_later=True, retried=True) == NOW


@pytest.mark.parametrize(
    ('headers', 'attempt'),
    [({}, None), ({'x-stainless-retry-count': '0'}, 0), ({'x-stainless-retry-count': '2'}, 2)]
    + [({'x-stainless-retry-count': odd}, None) for odd in ('', '-1', 'two', '²')],
)
def test_sdks_number_their_attempts(headers: dict[str, str], attempt: int | None) -> None:
    """The header of the SDKs is read if it is a number; other clients send none."""
    assert attempt_of(headers) == attempt
