"""Metrics over several cases: pure functions over records, so that a finished run can be judged again.

A policy names them like the scorers of single cases. `docs/metrics.md` has the whole list, and the definition of each
is the docstring of its function. None of them turns a missing value into 0: what cannot be said is `None`, with a
reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from advisor_harness.evals.metrics import names
from advisor_harness.evals.metrics.agreement import judge_agreement
from advisor_harness.evals.metrics.asking import (
    ask_calibration,
    consult_precision,
    consult_recall,
    false_consult_rate,
    oracle_recall,
)
from advisor_harness.evals.metrics.bounds import lower_of, upper_of
from advisor_harness.evals.metrics.evidence import replay_fidelity, trace_completeness
from advisor_harness.evals.metrics.facts import added_seconds_p95, mean_fact, measured_mean
from advisor_harness.evals.metrics.faults import error_propagation, retry_recovery
from advisor_harness.evals.metrics.gain import (
    average_gap_recovered,
    consults_for_half_gap,
    gap_recovered,
    harmful_flips,
    helpful_flips,
    lift,
    net_flips,
    noise_floor,
)
from advisor_harness.evals.metrics.measurement import Direction, Measure, Measurement, Metric, MetricUnit
from advisor_harness.evals.metrics.money import cost_per_point
from advisor_harness.evals.metrics.reliance import harmful_advice_rate, rair, rsr

__all__ = ['METRICS', 'Measurement', 'Metric', 'names']


def _metric(number: int, unit: MetricUnit, direction: Direction | None, measure: Measure) -> Metric:
    definition = (measure.__doc__ or '').strip().partition('\n')[0]
    return Metric(number=number, definition=definition, unit=unit, direction=direction, measure=measure)


METRICS: Mapping[str, Metric] = {
    'lift': _metric(1, 'score', 'up', lift),
    'lift_lower': _metric(1, 'score', 'up', lower_of(lift, 'lift')),
    'noise_floor': _metric(1, 'score', None, noise_floor),
    'gap_recovered': _metric(2, 'share', 'up', gap_recovered),
    'average_gap_recovered': _metric(2, 'share', 'up', average_gap_recovered),
    'consults_for_half_gap': _metric(2, 'share', 'down', consults_for_half_gap),
    'helpful_flips': _metric(3, 'share', 'up', helpful_flips),
    'harmful_flips': _metric(3, 'share', 'down', harmful_flips),
    'harmful_flips_upper': _metric(3, 'share', 'down', upper_of(harmful_flips, 'harmful_flips')),
    'net_flips': _metric(3, 'share', 'up', net_flips),
    'consult_recall': _metric(4, 'share', 'up', consult_recall),
    'oracle_recall': _metric(4, 'share', 'up', oracle_recall),
    'consult_precision': _metric(5, 'share', 'up', consult_precision),
    'false_consult_rate': _metric(5, 'share', 'down', false_consult_rate),
    'consult_timing': _metric(6, 'share', 'up', mean_fact(names.CONSULT_TIMING)),
    'consult_position': _metric(6, 'share', None, mean_fact(names.CONSULT_POSITION)),
    'adherence': _metric(7, 'share', None, mean_fact(names.ADHERENCE)),
    'rair': _metric(8, 'share', 'up', rair),
    'rsr': _metric(8, 'share', 'up', rsr),
    'advice_correctness': _metric(9, 'share', 'up', mean_fact(names.ADVICE_CORRECTNESS)),
    'harmful_advice_rate': _metric(10, 'share', 'down', harmful_advice_rate),
    'harmful_advice_upper': _metric(10, 'share', 'down', upper_of(harmful_advice_rate, 'harmful_advice_rate')),
    'advice_tokens': _metric(11, 'score', None, mean_fact(names.ADVICE_TOKENS)),
    'advice_truncated': _metric(11, 'share', 'down', mean_fact(names.ADVICE_TRUNCATED)),
    'advice_empty': _metric(11, 'share', 'down', mean_fact(names.ADVICE_EMPTY)),
    'redundancy': _metric(12, 'share', 'down', mean_fact(names.REDUNDANCY)),
    'advice_overlap': _metric(12, 'share', 'down', mean_fact(names.ADVICE_OVERLAP)),
    'cost_per_point': _metric(13, 'usd', 'down', cost_per_point),
    'latency_overhead': _metric(14, 'share', 'down', mean_fact(names.ADVISOR_LATENCY)),
    'added_seconds_p95': _metric(14, 'seconds', 'down', added_seconds_p95),
    'structured_first': _metric(15, 'share', 'up', mean_fact(names.STRUCTURED_FIRST)),
    'structured_eventually': _metric(15, 'share', 'up', mean_fact(names.STRUCTURED_EVENTUALLY)),
    'quota_compliance': _metric(16, 'share', 'up', mean_fact(names.QUOTA_COMPLIANCE)),
    'refused_calls': _metric(16, 'share', 'down', mean_fact(names.REFUSED_CALLS)),
    'retry_recovery': _metric(17, 'share', 'up', retry_recovery),
    'error_propagation': _metric(18, 'share', None, error_propagation),
    'trace_completeness': _metric(19, 'share', 'up', trace_completeness),
    'replay_fidelity': _metric(20, 'share', 'up', replay_fidelity),
    'context_hygiene': _metric(21, 'share', 'up', mean_fact(names.CONTEXT_HYGIENE)),
    'ask_calibration': _metric(22, 'share', 'up', ask_calibration),
    'measured_mean': _metric(0, 'score', None, measured_mean),
    'judge_agreement': _metric(0, 'score', 'up', judge_agreement),
}
"""Every metric over several cases, by the name that policies use."""
