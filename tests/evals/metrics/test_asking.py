"""Consultations beside the need for them, by hand-computed examples."""

from __future__ import annotations

import pytest

from advisor_harness.evals.metrics import Measurement

from .units import crashed, measure, pairs, unit


def asked(solo: bool, consulted: bool, *, strong: bool | None = None, case: str = 'c'):
    """A case by whether the executor passes alone and whether it consulted."""
    arms = [unit(case, 'solo', solo), unit(case, 'advised', True, Consulted=float(consulted))]
    return arms if strong is None else [*arms, unit(case, 'strong', strong)]


# Need and asked 3, need and did not 1, no need and asked 2, no need and did not 4.
CASES = [
    *(asked(False, True, strong=True, case=f'a{i}') for i in range(2)),
    asked(False, True, strong=False, case='a2'),
    asked(False, False, strong=True, case='b'),
    *(asked(True, True, strong=True, case=f'c{i}') for i in range(2)),
    *(asked(True, False, strong=True, case=f'd{i}') for i in range(4)),
]
UNITS = [unit for case in CASES for unit in case]


@pytest.mark.parametrize(
    ('name', 'value', 'detail'),
    [
        ('consult_recall', 3 / 4, '3 of 4 cases that need advice'),
        ('oracle_recall', 2 / 3, '2 of 3 cases that only the advisor solves'),
        ('consult_precision', 3 / 5, '3 of 5 cases that consulted'),
        ('false_consult_rate', 2 / 6, '2 of 6 cases that need no advice'),
    ],
)
def test_asking(name: str, value: float, detail: str) -> None:
    """Ten cases, four in need, five that asked."""
    found = measure(name, UNITS)
    assert (found.value, found.n_scored, found.n_expected, found.detail) == (pytest.approx(value), 10, 10, detail)
    assert found.interval is not None


@pytest.mark.parametrize(
    ('name', 'units', 'detail'),
    [
        ('consult_recall', asked(True, True), 'no cases that need advice'),
        ('oracle_recall', asked(False, True), 'no pair of cases'),
        ('oracle_recall', asked(False, True, strong=False), 'no cases that only the advisor solves'),
        ('consult_precision', asked(False, False), 'no cases that consulted'),
        ('false_consult_rate', asked(False, True), 'no cases that need no advice'),
    ],
)
def test_nothing_to_count_is_undefined(name: str, units: list, detail: str) -> None:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType] - of units
    """A share of no cases is `None`, with the reason."""
    found = measure(name, units)  # pyright: ignore[reportUnknownArgumentType] - of units
    assert (found.value, found.detail) == (None, detail)


def test_a_case_that_does_not_say_whether_it_asked_is_missing() -> None:
    """A crashed case was graded, as failed, but nobody knows whether it consulted."""
    units = [*asked(False, True), unit('x', 'solo', False), crashed('x', 'advised')]
    assert measure('consult_recall', units).missing == ('x [advised]',)
    assert measure('consult_recall', pairs('01')) == Measurement(
        value=None, n_scored=0, n_expected=1, detail='no pair of cases', missing=('c1 [advised]',)
    )


def test_calibration_is_the_chance_that_need_doubts_more() -> None:
    """Doubts 0.5 and 0.2 where advice is needed, 0.2 and 0.1 where not: wins 1, 1, a half, 1 of 4."""
    said = [(False, 0.5), (False, 0.8), (True, 0.8), (True, 0.9)]
    units = [unit(f'c{i}', 'solo', q, Confidence=confidence) for i, (q, confidence) in enumerate(said)]
    assert measure('ask_calibration', units) == Measurement(
        value=3.5 / 4, n_scored=4, n_expected=4, detail='2 cases that need advice, 2 that do not'
    )


def test_no_confidence_no_calibration() -> None:
    """An executor that does not say how sure it is has no calibration; one that says it now and then lacks some."""
    assert measure('ask_calibration', pairs('01 11')) == Measurement(
        value=None, n_scored=0, n_expected=0, detail='0 cases that need advice, 0 that do not'
    )
    units = [unit('a', 'solo', False, Confidence=0.2), unit('b', 'solo', True)]
    assert measure('ask_calibration', units).missing == ('b [solo]',)
