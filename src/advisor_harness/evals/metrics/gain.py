"""Is the advice worth it: what changes between two arms of the same cases."""

from __future__ import annotations

from collections.abc import Sequence

from advisor_harness.evals.measure import Unit
from advisor_harness.evals.metrics.measurement import Measurement
from advisor_harness.evals.metrics.pairs import pairs_of

__all__ = ['lift']


def lift(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """Mean difference of the grades in two arms of the same cases, `mean(q_arm - q_against)`."""
    pairs = pairs_of(units, of=of, arm=arm, against=against)
    known = [pair for pair in pairs if pair.known]
    return Measurement(
        value=sum(pair.gain for pair in known) / len(known) if known else None,
        n_scored=len(known),
        n_expected=len(pairs),
        missing=tuple(pair.ours.label for pair in pairs if not pair.known),
    )
