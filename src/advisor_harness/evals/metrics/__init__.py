"""Metrics over several cases: pure functions over records, so that a finished run can be judged again.

A policy names them like the metrics of single cases. `docs/metrics.md` has the whole list.
"""

from __future__ import annotations

from collections.abc import Mapping

from advisor_harness.evals.metrics.gain import lift
from advisor_harness.evals.metrics.measurement import Measurement, Metric

__all__ = ['METRICS', 'Measurement', 'Metric']

METRICS: Mapping[str, Metric] = {
    'lift': Metric(
        number=1,
        definition='mean difference of the grades in two arms of the same cases',
        unit='share',
        direction='up',
        measure=lift,
    ),
}
"""Every metric over several cases, by the name that policies use."""
