from __future__ import annotations

from itertools import pairwise

from advisor_harness.evals.measure import Unit
from advisor_harness.evals.records import CaseRecord
from advisor_harness.evals.reports.arms import ArmFacts, Changes, Mean, arms_of, changes_of
from advisor_harness.evals.reports.html.plane import plane
from advisor_harness.evals.reports.words import arm_cells, changes_text, percent, usd
from advisor_harness.evals.statistics import wilson
from tests.evals.reports.sample import record


def unit(case: str, arm: str, *records: CaseRecord | None) -> Unit:
    return Unit(case=case, arm=arm, tags=(), records=records)


def priced(case: str, arm: str, cost: float | None, state: str = 'ok') -> Unit:
    """A case of an arm that cost so much."""
    usage = {'input_tokens': 80, 'output_tokens': 20}
    return unit(case, arm, record('s', case, arm=arm, state=state, cost_usd=cost, usage=usage))


def test_an_arm_keeps_its_denominators() -> None:
    """A case without record is in the denominator, and a mean that is not known of every case is no number."""
    units = [priced('a', 'solo', 0.01), priced('b', 'solo', None, 'failed'), unit('c', 'solo', None)]
    (arm,) = arms_of(units)
    assert arm == ArmFacts(
        arm='solo',
        passed=1,
        n_scored=2,
        n_expected=3,
        interval=wilson(1, 2),
        cost_usd=Mean(value=None, n_known=1, n_expected=3),
        tokens=Mean(value=None, n_known=2, n_expected=3),
        latency_s=Mean(value=None, n_known=0, n_expected=3),
    )
    assert arm_cells(arm) == (
        'solo',
        '1/2 of 3 (50 %)',
        '9.5 % to 90.5 %',
        'known for 1/3',
        'known for 2/3',
        'unknown',
    )


def test_repeats_are_averaged_before_cases_are() -> None:
    """A case that ran twice weighs as much as one that ran once."""
    twice = unit('a', 'solo', record('s', 'a', cost_usd=0.01), record('s', 'a', repeat=2, cost_usd=0.03))
    (arm,) = arms_of([twice, priced('b', 'solo', 0.04)])
    assert arm.cost_usd == Mean(value=0.03, n_known=2, n_expected=2)


def test_the_usual_arms_come_first() -> None:
    """Arms stand in the order in which they are read, others behind them."""
    units = [priced('a', arm, 0.01) for arm in ('zeta', 'placebo', 'advised', 'solo', 'strong')]
    assert [arm.arm for arm in arms_of(units)] == ['solo', 'advised', 'strong', 'placebo', 'zeta']


def test_changes_are_paired_by_case() -> None:
    """Only cases that both arms passed or failed are compared."""
    units = [
        *(
            priced(case, 'solo', 0.01, state)
            for case, state in (('a', 'failed'), ('b', 'ok'), ('c', 'ok'), ('d', 'ok'))
        ),
        *(priced(case, 'advised', 0.02, state) for case, state in (('a', 'ok'), ('b', 'failed'), ('c', 'ok'))),
        unit('d', 'advised', None),
        priced('e', 'advised', 0.02),
    ]
    (changes,) = changes_of(units)
    assert changes == Changes(arm='advised', against='solo', pairs=3, helped=('a',), harmed=('b',))
    assert changes_text(changes) == 'advised beside solo: of 3 pairs, 1 helped and 1 harmed (b)'
    assert changes_of(units[4:]) == ()


def test_the_plane_places_arms_by_cost_and_quality() -> None:
    """Left is cheap and up is good, whatever order the arms have."""
    units = [priced('a', 'solo', 0.001, 'failed'), priced('a', 'advised', 0.004)]
    drawn = plane(arms_of(units))
    assert drawn is not None
    places = {point.arm: (point.x, point.y) for point in drawn.points}
    assert places['solo'][0] < places['advised'][0]
    assert places['solo'][1] > places['advised'][1]
    assert [tick.text for tick in drawn.x_ticks] == ['$0', '$0.001', '$0.002', '$0.003', '$0.004', '$0.005']
    assert all(drawn.left <= x <= drawn.right and drawn.top <= y <= drawn.bottom for x, y in places.values())


def test_the_plane_takes_tokens_where_a_price_is_unknown() -> None:
    """A model without a price does not look free, and without tokens either there is no picture."""
    units = [priced('a', 'solo', None), priced('a', 'advised', 0.004)]
    drawn = plane(arms_of(units))
    assert drawn is not None
    assert drawn.x_name == 'mean tokens of a case, as not every price is known'
    assert plane(arms_of([unit('a', arm, record('s', 'a', arm=arm)) for arm in ('solo', 'advised')])) is None
    assert plane(arms_of(units[:1])) is None


def test_labels_of_near_arms_do_not_lie_on_each_other() -> None:
    """Arms at the same place have their names one below the other."""
    units = [priced(case, arm, 0.004) for arm in ('solo', 'advised', 'strong', 'placebo') for case in 'ab']
    drawn = plane(arms_of(units))
    assert drawn is not None
    heights = sorted(point.label_y for point in drawn.points)
    assert all(later - earlier >= 18 for earlier, later in pairwise(heights))


def test_free_arms_have_a_scale_too() -> None:
    """Arms that cost nothing stand at the left end."""
    drawn = plane(arms_of([priced('a', arm, 0.0) for arm in ('solo', 'advised')]))
    assert drawn is not None
    assert {point.x for point in drawn.points} == {float(drawn.left)}


def test_amounts_are_never_rounded_to_nothing_or_all() -> None:
    """Small amounts and shares near the ends keep what tells them apart."""
    assert [usd(amount) for amount in (0.0, 0.0000255, 0.00351, 0.5, 12.5, 1234.0)] == [
        '$0',
        '$0.0000255',
        '$0.00351',
        '$0.5',
        '$12.50',
        '$1,234.00',
    ]
    assert [percent(share) for share in (0, 1, 0.5, 0.9999, 0.0001, 1 / 3)] == [
        '0 %',
        '100 %',
        '50 %',
        '> 99.9 %',
        '0.01 %',
        '33.3 %',
    ]
