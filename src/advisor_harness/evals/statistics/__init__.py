"""Exact tests, intervals and power for small suites, with nothing but the standard library.

Agent suites have tens of cases, where intervals of the central limit theorem are too narrow (Bowyer et al., arXiv
2503.01747), so the exact methods come first. Pairs are cases: average the repeats of a case before, never pool them.
`before` is the baseline, `after` the run under test, and greater values are better. A *harmful* pair got worse, a
*helpful* one better.
"""

from __future__ import annotations

from advisor_harness.evals.statistics.families import clustered_se, holm
from advisor_harness.evals.statistics.paired import noninferiority, paired_bootstrap, sign_flip
from advisor_harness.evals.statistics.power import mcnemar_power, minimum_detectable_effect
from advisor_harness.evals.statistics.shares import clopper_pearson, mcnemar_exact, paired_difference_bound, wilson

__all__ = [
    'clopper_pearson',
    'clustered_se',
    'holm',
    'mcnemar_exact',
    'mcnemar_power',
    'minimum_detectable_effect',
    'noninferiority',
    'paired_bootstrap',
    'paired_difference_bound',
    'sign_flip',
    'wilson',
]
