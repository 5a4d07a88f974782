"""Several tests at once, and observations that come in clusters."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from advisor_harness.evals.statistics.checks import check_finite

__all__ = ['clustered_se', 'holm']


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for being several (Holm's step-down method): compare each with alpha as if it were alone.

    Args:
        p_values: Of the tests that are gated, and of no others.

    Returns:
        The adjusted p-values, in the same order; empty for none.

    Raises:
        ValueError: a p-value is not between 0 and 1.
    """
    for p in p_values:
        if not 0 <= p <= 1:
            raise ValueError(f'every p-value must be between 0 and 1; got {p!r}')
    adjusted, so_far = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        so_far = max(so_far, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = so_far
    return adjusted


def clustered_se(scores: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Standard error of the mean of scores that come in clusters, such as repeats of a case or questions on one text.

    With the finite-cluster factor C / (C - 1), so that clusters of one are the usual standard error (Miller, arXiv
    2411.00640, has it without).

    Args:
        scores: One value for each observation.
        clusters: The cluster of each observation; at least 2 different ones.

    Returns:
        The standard error, in the unit of the scores.

    Raises:
        ValueError: the lengths differ, there are fewer than 2 clusters, or a value is not finite.
    """
    if len(scores) != len(clusters):
        raise ValueError(f'`scores` and `clusters` must be of one length; got {len(scores)} and {len(clusters)}')
    check_finite(scores)
    sums = dict.fromkeys(clusters, 0.0)
    if len(sums) < 2:
        raise ValueError(f'`clusters` must name at least 2 clusters; got {len(sums)}: one cluster has no spread')
    mean = math.fsum(scores) / len(scores)
    for score, cluster in zip(scores, clusters, strict=True):
        sums[cluster] += score - mean
    return math.sqrt(len(sums) / (len(sums) - 1) * math.fsum(total**2 for total in sums.values())) / len(scores)
