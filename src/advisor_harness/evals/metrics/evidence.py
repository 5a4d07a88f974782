"""Whether the numbers rest on anything: traces that are whole, and recordings that were played to the end."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from advisor_harness.evals.measure import Unit
from advisor_harness.evals.metrics.measurement import Measurement
from advisor_harness.evals.metrics.pairs import labels, units_in

__all__ = ['replay_fidelity', 'trace_completeness']


def trace_completeness(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """Share of the cases whose trace is complete in every repeat: one root, no orphans, as many requests as recorded.

    The precondition `traces` asks for it in every arm before anything else is judged; this shows it for one.
    """
    chosen = units_in(units, arm)
    known = [unit for unit in chosen if len(unit.known) == len(unit.records)]
    whole = [unit for unit in known if all(record.trace_complete for record in unit.known)]
    broken = [unit.label for unit in known if unit not in whole]
    return Measurement(
        value=len(whole) / len(known) if known else None,
        n_scored=len(known),
        n_expected=len(chosen),
        detail=f'not complete: {broken[0]}' if broken else None if known else 'no case',
        missing=labels(unit for unit in chosen if unit not in known),
    )


def replay_fidelity(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """Recorded answers that were served / (served + missed + left over), summed per case and averaged over cases.

    Undefined without recordings. The diff of the first miss is in the record's error.
    """
    chosen = units_in(units, arm)
    known = [unit for unit in chosen if unit.known and len(unit.known) == len(unit.records)]
    used = {
        unit.label: [record.cassette for record in unit.known if record.cassette is not None]
        for unit in known
        if all(record.cassette is not None for record in unit.known)
    }
    totals = {label: sum(use.hits + use.misses + use.unused for use in uses) for label, uses in used.items()}
    shares = [sum(use.hits for use in uses) / totals[label] for label, uses in used.items() if totals[label]]
    missed = sum(use.misses for uses in used.values() for use in uses)
    unused = sum(use.unused for uses in used.values() for use in uses)
    return Measurement(
        value=fmean(shares) if shares else None,
        n_scored=len(shares),
        n_expected=len(chosen),
        detail=f'{missed} missed, {unused} left over' if shares else 'no recordings',
        missing=labels(unit for unit in chosen if unit not in known),
    )
