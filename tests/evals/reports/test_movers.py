from __future__ import annotations

import pytest

from advisor_harness.evals.reports.movers import direction_of, flip_counts, movers_of
from advisor_harness.evals.verdict import Flip
from tests.evals.reports.sample import gate


def test_what_moved_furthest_comes_first() -> None:
    """Movers are ordered by the part of the value that changed; what stayed or has no baseline is none."""
    gates = [
        gate('same', 1.0, '>= 1', 'pass', 1, 1, baseline=1.0),
        gate('new', 1.0, '>= 1', 'pass', 1, 1),
        gate('lost', None, '>= 1', 'missing', 0, 1, baseline=1.0),
        gate('little', 101.0, '<= 200', 'pass', 1, 1, baseline=100.0),
        gate('much', 0.0, '>= 0', 'pass', 1, 1, baseline=0.1),
    ]
    moved = [(mover.name, round(mover.delta, 6), mover.direction) for mover in movers_of(gates)]
    assert moved == [('much', -0.1, 'regressed'), ('little', 1.0, 'regressed')]


@pytest.mark.parametrize(
    ('limit', 'given', 'rise', 'fall'),
    [
        ('>= 0.9', None, 'improved', 'regressed'),
        ('<= 3', None, 'regressed', 'improved'),
        ('>= 1 and <= 3', None, 'changed', 'changed'),
        ('shown only', None, 'changed', 'changed'),
        ('at most 0.02 worse than the baseline', 'up', 'improved', 'regressed'),
        ('at most 0.02 worse than the baseline', 'down', 'regressed', 'improved'),
    ],
)
def test_a_direction_is_known_or_not_guessed(limit: str, given: str | None, rise: str, fall: str) -> None:
    """The policy or a limit says which way is better; otherwise a change is only a change."""
    judged = gate('m', 1.0, limit, 'pass', 1, 1, direction=given)
    assert (direction_of(judged, 0.5), direction_of(judged, -0.5)) == (rise, fall)


def test_flips_are_counted_by_what_they_mean() -> None:
    """From pass is worse, to pass is better, the rest is neither."""
    states = [('pass', 'fail'), ('pass', 'missing'), ('fail', 'pass'), ('fail', 'error'), ('missing', 'fail')]
    flips = [Flip(case='c', arm='solo', from_=before, to=after) for before, after in states]
    assert flip_counts(flips) == (2, 1, 2)
