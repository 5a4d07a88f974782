"""Reliance on advice, right and wrong, by hand-computed examples."""

from __future__ import annotations

import pytest

from advisor_harness.evals.measure import Unit

from .units import measure, unit


def advised(case: str, solo: bool, right: float | None, final: bool, *, adhered: float | None = None) -> list[Unit]:
    """A case by its solo grade, whether its advice was right, and its grade with advice."""
    facts = {'AdviceCorrectness': right, 'Adherence': adhered}
    facts = {name: value for name, value in facts.items() if value is not None}
    return [unit(case, 'solo', solo), unit(case, 'advised', final, Consulted=float(right is not None), **facts)]


UNITS = [
    *advised('corrected', False, 1.0, True, adhered=1.0),
    *advised('corrected too', False, 1.0, True, adhered=1.0),
    *advised('did not listen', False, 1.0, False, adhered=0.0),
    *advised('led astray', True, 0.0, False, adhered=1.0),
    *advised('stood firm', True, 0.0, True, adhered=0.0),
    *advised('slipped by itself', True, 0.0, False, adhered=0.0),
    *advised('asked nobody', True, None, True),
]


def test_rair_is_the_share_of_errors_that_right_advice_corrects() -> None:
    """Right advice met three wrong answers and corrected two."""
    found = measure('rair', UNITS)
    assert (found.value, found.detail) == (pytest.approx(2 / 3), '2 of 3 cases that right advice could correct')


def test_rsr_is_the_share_of_right_answers_that_wrong_advice_does_not_spoil() -> None:
    """Wrong advice met three right answers, one of which stood."""
    found = measure('rsr', UNITS)
    assert (found.value, found.detail) == (pytest.approx(1 / 3), '1 of 3 cases that wrong advice could spoil')


def test_harm_is_counted_only_where_wrong_advice_was_followed() -> None:
    """One of six that consulted passed alone, followed wrong advice and failed."""
    found = measure('harmful_advice_rate', UNITS)
    assert (found.value, found.n_scored, found.detail) == (pytest.approx(1 / 6), 7, '1 of 6 cases that consulted')


def test_the_upper_end_of_the_harmful_advice_rate() -> None:
    """No harm in 30 consultations still allows 11.6 %: 1 - 0.025 ** (1 / 30)."""
    units = [each for i in range(30) for each in advised(f'c{i}', False, 1.0, True, adhered=1.0)]
    assert measure('harmful_advice_rate', units).value == 0.0
    assert measure('harmful_advice_upper', units).value == pytest.approx(1 - 0.025 ** (1 / 30))


def test_advice_that_nobody_can_grade_is_in_neither() -> None:
    """Redacted advice is not wrong, and where there is none left the shares are undefined."""
    units = [unit('a', 'solo', True), unit('a', 'advised', False, Consulted=1.0, Adherence=1.0)]
    assert [measure(name, units).value for name in ('rair', 'rsr', 'harmful_advice_rate')] == [None, None, 0.0]
