"""Means of facts, money, faults and evidence, by hand-computed examples."""

from __future__ import annotations

from typing import Any

import pytest

from advisor_harness.evals.metrics import METRICS, Measurement, names

from .units import crashed, lost, measure, pairs, played, unit

FACTS = {
    'consult_timing': names.CONSULT_TIMING,
    'consult_position': names.CONSULT_POSITION,
    'adherence': names.ADHERENCE,
    'advice_correctness': names.ADVICE_CORRECTNESS,
    'advice_tokens': names.ADVICE_TOKENS,
    'advice_truncated': names.ADVICE_TRUNCATED,
    'advice_empty': names.ADVICE_EMPTY,
    'redundancy': names.REDUNDANCY,
    'advice_overlap': names.ADVICE_OVERLAP,
    'latency_overhead': names.ADVISOR_LATENCY,
    'structured_first': names.STRUCTURED_FIRST,
    'structured_eventually': names.STRUCTURED_EVENTUALLY,
    'quota_compliance': names.QUOTA_COMPLIANCE,
    'refused_calls': names.REFUSED_CALLS,
    'context_hygiene': names.CONTEXT_HYGIENE,
}


@pytest.mark.parametrize('name', FACTS)
def test_the_mean_of_a_fact(name: str) -> None:
    """Facts 1 and 0.5 make 0.75; a case without anything to measure is in neither count, a crashed one is missing."""
    units = [
        unit('a', 'advised', True, **{FACTS[name]: 1.0}),
        unit('b', 'advised', True, **{FACTS[name]: 0.5}),
        unit('nothing to measure', 'advised', True),
        unit('another arm', 'solo', True, **{FACTS[name]: 0.0}),
        crashed('x', 'advised'),
    ]
    assert measure(name, units) == Measurement(
        value=0.75,
        n_scored=2,
        n_expected=3,
        detail=f'2 of 4 cases have {FACTS[name]}',
        missing=('x [advised]',),
    )


@pytest.mark.parametrize('name', FACTS)
def test_no_fact_no_mean(name: str) -> None:
    """Where no case has the fact, its mean is undefined, never 0."""
    assert measure(name, [unit('a', 'advised', True)]) == Measurement(
        value=None, n_scored=0, n_expected=0, detail=f'no case has {FACTS[name]}'
    )


def test_the_mean_of_any_scorer_where_it_measured() -> None:
    """`measured_mean` takes the scorer from `of`, and is undefined without it."""
    units = [unit('a', 'advised', True, Own=0.25), unit('b', 'advised', True)]
    found = measure('measured_mean', units, of='Own')
    assert (found.value, found.n_scored, found.n_expected) == (0.25, 1, 1)
    assert measure('measured_mean', units, of=None) == Measurement(
        value=None, n_scored=0, n_expected=0, detail='`of` must name the scorer'
    )


def test_added_seconds() -> None:
    """Of 1 to 20 seconds, 95 of 100 cases do not exceed 19 (nearest rank)."""
    units = [unit(f'c{i}', 'advised', True, AdvisorLatencySeconds=float(i)) for i in range(1, 21)]
    found = measure('added_seconds_p95', units)
    assert (found.value, found.n_scored) == (19.0, 20)
    assert measure('added_seconds_p95', []).value is None


def priced(text: str, solo: float | None, advised: float | None) -> list[Any]:
    """Pairs as `pairs` reads them, every case at the same prices."""
    units = pairs(text)
    return [
        unit(each.case, each.arm, each.known[0].scores['Right'].value, cost_usd=solo if each.arm == 'solo' else advised)  # pyright: ignore[reportArgumentType] - a bool
        for each in units
    ]


def test_cost_per_point() -> None:
    """0.02 USD more per case for half a point: 0.04 USD per point; two pairs have no interval."""
    assert measure('cost_per_point', priced('01 11', 0.01, 0.03)) == Measurement(
        value=pytest.approx(0.04),
        n_scored=2,
        n_expected=2,
        detail='+0.020000 USD per case for +0.500 points; no interval: the gain may be none',
    )


def test_cost_per_point_has_an_interval_where_the_gain_is_sure() -> None:
    """Nine of ten cases gain: 0.02 / 0.9 USD, within its bootstrap interval."""
    found = measure('cost_per_point', priced('01 01 01 01 01 01 01 01 01 11', 0.01, 0.03))
    assert found.value == pytest.approx(0.02 / 0.9)
    assert found.interval is not None
    assert found.interval[0] <= found.value <= found.interval[1]


@pytest.mark.parametrize(
    ('text', 'solo', 'advised', 'value', 'detail'),
    [
        ('11 11', 0.01, 0.03, None, 'dominated: +0.020000 USD per case for +0.000 points'),
        ('10 11', 0.01, 0.03, None, 'dominated: +0.020000 USD per case for -0.500 points'),
        ('11 10', 0.03, 0.01, None, 'saves: -0.020000 USD per case for -0.500 points'),
        ('01 11', 0.03, 0.01, 0.0, 'costs nothing more: -0.020000 USD per case for +0.500 points'),
    ],
)
def test_no_negative_ratio(text: str, solo: float, advised: float, value: float | None, detail: str) -> None:
    """Where there is no ratio, the metric says in words what is the case."""
    found = measure('cost_per_point', priced(text, solo, advised))
    assert (found.value, found.detail, found.interval) == (value, detail, None)


def test_an_unknown_price_is_missing() -> None:
    """A price that nobody knows is not 0."""
    assert measure('cost_per_point', priced('01', None, 0.03)) == Measurement(
        value=None,
        n_scored=0,
        n_expected=1,
        detail='no pair of cases with known prices',
        missing=('c1 [advised]',),
    )


FAULTS = [
    unit('recovered', 'advised', True, AdvisorFailures=1, AdvisorError='timeout', AdvisorEndedRun=0.0),
    unit('failed', 'advised', False, AdvisorFailures=2, AdvisorError='overloaded', AdvisorEndedRun=0.0),
    unit('ended', 'advised', False, AdvisorFailures=1, AdvisorError='usage_limit', AdvisorEndedRun=1.0),
    unit('fine', 'advised', True, AdvisorFailures=0),
    unit('asked nobody', 'advised', True),
]


def test_retry_recovery() -> None:
    """Of three runs with a failed consultation one passes; a run without any consultation is known to have none."""
    found = measure('retry_recovery', FAULTS)
    assert (found.value, found.n_scored, found.n_expected) == (pytest.approx(1 / 3), 5, 5)
    assert found.detail == '1 of 3 runs with a failed consultation'


def test_error_propagation() -> None:
    """Of four failed consultations one ended its run, and the classes say which."""
    found = measure('error_propagation', FAULTS)
    assert (found.value, found.detail) == (
        0.25,
        '1 of 4 failed consultations end the run: overloaded 0 of 2, timeout 0 of 1, usage_limit 1 of 1',
    )


def test_no_failure_nothing_to_recover_from() -> None:
    """Without failures both are undefined; a lost case is missing."""
    units = [unit('fine', 'advised', True, AdvisorFailures=0), lost('x', 'advised')]
    for name in ('retry_recovery', 'error_propagation'):
        found = measure(name, units)
        assert (found.value, found.missing) == (None, ('x [advised]',))


def test_trace_completeness() -> None:
    """One of two traces is whole, and the other is named."""
    units = [unit('a', 'advised', True), unit('b', 'advised', True, trace_complete=False), lost('c', 'advised')]
    assert measure('trace_completeness', units) == Measurement(
        value=0.5, n_scored=2, n_expected=3, detail='not complete: b [advised]', missing=('c [advised]',)
    )


def test_replay_fidelity() -> None:
    """Shares 1 and 2 / 4 make 0.75; a case without recording is in neither count."""
    units = [
        unit('a', 'advised', True, cassette=played(3)),
        unit('b', 'advised', True, cassette=played(2, misses=1, unused=1)),
        unit('c', 'advised', True),
    ]
    found = measure('replay_fidelity', units)
    assert (found.value, found.n_scored, found.detail) == (0.75, 2, '1 missed, 1 left over')
    assert measure('replay_fidelity', units[2:]).value is None


def test_every_metric_says_what_it_is_and_bears_nothing_at_all() -> None:
    """Every metric has a definition, and over no cases it is undefined."""
    assert all(metric.definition for metric in METRICS.values())
    assert {name for name in METRICS if measure(name, []).value is not None} == set()
