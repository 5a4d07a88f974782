"""Claims per executor request and per run, under every interleaving."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from advisor_harness.advisor.quota import Claim, Quota


def test_without_a_limit_there_is_no_claim() -> None:
    """Nothing limited, nothing to record, and nothing ever refused."""
    quota = Quota()
    assert [quota.claim(1), quota.refuse(1), quota.run_remaining] == [None, None, None]


def test_a_request_limit_starts_afresh_with_the_step() -> None:
    """Each step has its own window; a refusal takes nothing."""
    quota = Quota(per_request=1)
    assert [quota.claim(step) for step in (1, 1, 2)] == [
        Claim(True, 'request', limit=1, used=1),
        Claim(False, 'request', limit=1, used=1),
        Claim(True, 'request', limit=1, used=1),
    ]


def test_a_run_limit_spans_the_steps() -> None:
    """The run's limit counts all steps and refuses first."""
    quota = Quota(per_request=2, per_run=2)
    assert [quota.claim(step) for step in (1, 2, 2)] == [
        Claim(True, 'request', limit=2, used=1),
        Claim(True, 'run', limit=2, used=2),
        Claim(False, 'run', limit=2, used=2),
    ]
    assert quota.run_remaining == 0


def test_the_limit_with_less_left_answers() -> None:
    """Of two limits a granted claim names the tighter one, of equals that of the request."""
    assert Quota(per_request=3, per_run=1).claim(1) == Claim(True, 'run', limit=1, used=1)
    assert Quota(per_request=1, per_run=1).claim(1) == Claim(True, 'request', limit=1, used=1)


def test_what_a_provider_granted_is_spent() -> None:
    """Consultations that a provider ran count, even beyond the limit that it was given."""
    quota = Quota(per_request=1, per_run=2)
    for _ in range(3):
        quota.spend(1)
    claim = quota.claim(2)
    assert (claim, quota.run_remaining) == (Claim(False, 'run', limit=2, used=3), 0)
    assert claim is not None
    assert claim.remaining == 0


def test_a_skipped_call_leaves_the_books_as_they_are() -> None:
    """`refuse` reports the tighter limit without taking from it."""
    quota = Quota(per_request=2)
    quota.claim(1)
    assert [quota.refuse(1), quota.refuse(1)] == [Claim(False, 'request', limit=2, used=1)] * 2
    assert quota.claim(1) == Claim(True, 'request', limit=2, used=2)


LIMIT = st.none() | st.integers(1, 4)


@given(LIMIT, LIMIT, st.lists(st.integers(1, 4), max_size=20))
def test_limits_hold_for_every_sequence(per_request: int | None, per_run: int | None, steps: list[int]) -> None:
    """Whatever the order of claims, no limit is exceeded, and none is left unused while calls are refused."""
    quota = Quota(per_request, per_run)
    granted: Counter[int] = Counter()
    for step in steps:
        claim = quota.claim(step)
        if claim is None or claim.granted:
            granted[step] += 1
        else:
            assert (granted.total() == per_run) if claim.scope == 'run' else (granted[step] == per_request)
    assert all(per_request is None or count <= per_request for count in granted.values())
    assert per_run is None or granted.total() <= per_run
    assert quota.run_remaining == (None if per_run is None else per_run - granted.total())


@given(st.integers(1, 3), st.integers(1, 5), st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_limits_hold_under_random_interleavings(per_request: int, per_run: int, delays: list[int]) -> None:
    """Tool calls that wait for each other in any order never take more than there is."""

    async def race() -> list[bool]:
        quota = Quota(per_request, per_run)

        async def call(step: int, delay: int) -> bool:
            for _ in range(delay):
                await asyncio.sleep(0)
            claim = quota.claim(step)
            return claim is not None and claim.granted

        return await asyncio.gather(*(call(n % 2, delay) for n, delay in enumerate(delays)))

    granted = asyncio.run(race())
    by_step = [sum(granted[0::2]), sum(granted[1::2])]
    assert max(by_step) <= per_request
    wanted = [min(per_request, len(granted[0::2])), min(per_request, len(granted[1::2]))]
    assert sum(granted) == min(per_run, sum(wanted))


@pytest.mark.parametrize(('used', 'remaining'), [(0, 2), (2, 0), (3, 0)])
def test_remaining_is_never_negative(used: int, remaining: int) -> None:
    """What is left under a limit is at least nothing."""
    assert Claim(True, 'run', limit=2, used=used).remaining == remaining
