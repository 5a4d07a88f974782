"""What changes between two arms, by hand-computed examples."""

from __future__ import annotations

import pytest

from advisor_harness.evals.metrics import Measurement

from .units import crashed, lost, measure, pairs, unit, unreadable


def test_lift_is_the_mean_paired_difference() -> None:
    """Of five cases two are won and one is lost: (2 - 1) / 5; the interval is the paired bootstrap's."""
    found = measure('lift', pairs('01 01 10 11 00'))
    assert (found.value, found.n_scored, found.n_expected, found.detail) == (pytest.approx(0.2), 5, 5, '0.400 to 0.600')
    assert found.interval is not None
    assert found.interval[0] < 0.2 < found.interval[1]


def test_lift_of_numbers_and_repeats() -> None:
    """Grades may be numbers, and repeats are averaged within their case: (0.75 - 0.5 + 0.25 - 0.25) / 2 = 0.125."""
    units = [
        unit('a', 'solo', 0.5, 0.5),
        unit('a', 'advised', 1.0, 0.5),
        unit('b', 'solo', 0.25, 0.25),
        unit('b', 'advised', 0.0, 0.5),
    ]
    assert measure('lift', units) == Measurement(value=0.125, n_scored=2, n_expected=2, detail='0.375 to 0.500')


def test_a_case_of_one_arm_only_is_no_pair() -> None:
    """A case without its other half is not compared with another case, and is not missing either."""
    units = [*pairs('01'), unit('alone', 'advised', True)]
    assert measure('lift', units) == Measurement(value=1.0, n_scored=1, n_expected=1, detail='0.000 to 1.000')


def test_what_is_not_known_is_missing() -> None:
    """A lost record and a recording that does not match are missing; a crash is a failed case and no gap."""
    units = [
        *pairs('01'),
        unit('x', 'solo', True),
        lost('x', 'advised'),
        unreadable('y', 'solo'),
        unit('y', 'advised', True),
        unit('z', 'solo', True),
        crashed('z', 'advised'),
    ]
    assert measure('lift', units) == Measurement(
        value=0.0,
        n_scored=2,
        n_expected=4,
        detail='0.500 to 0.500',
        missing=('x [advised]', 'y [solo]'),
    )


def test_without_a_grade_the_state_of_the_case_counts() -> None:
    """With no scorer named, a case is graded 1 if it passed and 0 if it did not."""
    assert measure('lift', pairs('01 11'), of=None).value == 0.5


def test_no_pairs_no_lift() -> None:
    """Nothing to compare is not a lift of 0."""
    expected = Measurement(value=None, n_scored=0, n_expected=0, detail='no pair of cases')
    assert measure('lift', []) == expected
    assert measure('lift', [unit('a', 'advised', True)]) == expected


def test_the_lower_end_of_the_lift_needs_five_pairs() -> None:
    """With an interval its end is the value; below five pairs there is none, and that is not 0."""
    units = pairs('01 01 01 01 01')
    assert measure('lift_lower', units).value == measure('lift', units).interval[0]  # pyright: ignore[reportOptionalSubscript] - has one
    few = measure('lift_lower', pairs('01 01'))
    assert (few.value, few.detail) == (None, 'lift has no interval over so few cases')


def test_noise_floor_compares_two_runs_of_the_same_arm() -> None:
    """Second repeats pass 1 of 2 and first ones 2 of 2: -0.5, and one of two cases differs."""
    units = [unit('a', 'solo', True, False), unit('b', 'solo', True, True)]
    assert measure('noise_floor', units) == Measurement(
        value=-0.5, n_scored=2, n_expected=2, detail="1 of 2 cases differ between two runs of 'solo'"
    )


def test_one_run_has_no_noise_floor() -> None:
    """A single run says nothing about noise."""
    assert measure('noise_floor', pairs('01')) == Measurement(
        value=None, n_scored=0, n_expected=0, detail="arm 'solo' ran once (`Suite.repeat`)"
    )


def test_gap_recovered() -> None:
    """Ten cases: alone 0, advised 6, the advisor itself 8: 6 of a gap of 8 is 0.75."""
    units = [
        *(unit(f'c{i}', 'solo', False) for i in range(10)),
        *(unit(f'c{i}', 'advised', i < 6) for i in range(10)),
        *(unit(f'c{i}', 'strong', i < 8) for i in range(10)),
    ]
    found = measure('gap_recovered', units)
    assert (found.value, found.n_scored, found.detail) == (pytest.approx(0.75), 10, '+0.600 of a gap of 0.800')


def test_a_gap_that_may_be_noise_is_not_divided_by() -> None:
    """Ten cases can detect 0.581, so a gap of 0.2 has no share that was recovered; nor has a suite without arm."""
    units = [
        *(unit(f'c{i}', 'solo', False) for i in range(10)),
        *(unit(f'c{i}', 'advised', i < 1) for i in range(10)),
        *(unit(f'c{i}', 'strong', i < 2) for i in range(10)),
    ]
    found = measure('gap_recovered', units)
    assert (found.value, found.detail) == (None, 'the gap is 0.200; 10 cases can detect 0.581 or more')
    found = measure('gap_recovered', pairs('01 01'))
    assert (found.value, found.detail) == (None, "no case ran in 'advised', 'solo' and 'strong'")


def test_a_sweep_of_limits() -> None:
    """Limits 0, 1 and 2 recover 0, 0.5 and 1 of the gap: 0.5 on average; half of it needs 40 % of cases to consult."""
    units = [
        *(unit(f'c{i}', 'solo', False) for i in range(10)),
        *(unit(f'c{i}', 'strong', True) for i in range(10)),
        *(unit(f'c{i}', 'advised@0', False, Consulted=0.0) for i in range(10)),
        *(unit(f'c{i}', 'advised@1', i < 5, Consulted=float(i < 4)) for i in range(10)),
        *(unit(f'c{i}', 'advised@2', True, Consulted=float(i < 9)) for i in range(10)),
    ]
    average, half = measure('average_gap_recovered', units), measure('consults_for_half_gap', units)
    assert (average.value, average.n_scored, average.detail) == (pytest.approx(0.5), 10, 'over 3 limits')
    assert (half.value, half.n_scored, half.detail) == (pytest.approx(0.4), 10, None)


def test_no_sweep_no_average() -> None:
    """Without arms named by their limit both are undefined."""
    average, half = (measure(name, pairs('01')) for name in ('average_gap_recovered', 'consults_for_half_gap'))
    assert (average.value, average.detail) == (None, 'needs two or more arms named advised@<limit>, each with a gap')
    assert (half.value, half.detail) == (None, 'no arm named advised@<limit> recovers half of the gap')


def test_flips() -> None:
    """Of eight cases three are helped and one is harmed; net 2 of 8; McNemar of 1 harmful, 3 helpful: 15 / 16."""
    units = pairs('01 01 01 10 11 11 00 00')
    helpful, harmful, net = (measure(name, units) for name in ('helpful_flips', 'harmful_flips', 'net_flips'))
    assert (helpful.value, helpful.detail) == (0.375, '3 of 8 pairs of cases: c1, c2, c3')
    assert (harmful.value, harmful.detail) == (0.125, '1 of 8 pairs of cases: c4')
    assert (net.value, net.detail) == (0.25, '3 helpful, 1 harmful; exact McNemar, harm: p = 0.938')


def test_the_upper_end_of_the_harm() -> None:
    """None of ten harmed still allows 30.8 % (two-sided 95 %, Clopper-Pearson: 1 - 0.025 ** (1 / 10))."""
    found = measure('harmful_flips_upper', pairs(' '.join(['11'] * 10)))
    assert found.value == pytest.approx(1 - 0.025**0.1)


def test_no_pairs_no_flips() -> None:
    """Shares of nothing are undefined."""
    for name in ('helpful_flips', 'harmful_flips', 'net_flips', 'harmful_flips_upper'):
        assert measure(name, []).value is None
