"""Cases in arms, written by their facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from advisor_harness.evals import CaseError, CaseRecord, CassetteUse, Score
from advisor_harness.evals.measure import Unit
from advisor_harness.evals.metrics import METRICS, Measurement


def record(arm: str, q: float | bool | None, facts: Mapping[str, Any], case: str = 'c', **more: Any) -> CaseRecord:
    """A record whose grade `Right` is `q`, where it has one."""
    scores = {name: Score(value) for name, value in facts.items()}
    if q is not None:
        scores['Right'] = Score(q)
    more = {'state': 'failed' if q is False else 'ok', 'trace_complete': True, **more}
    return CaseRecord(suite='s', case=case, arm=arm, scores=scores, **more)


def unit(case: str, arm: str, *q: float | bool | None, tags: tuple[str, ...] = (), **facts: Any) -> Unit:
    """A case in an arm with a repeat for each grade; facts are scores by name, or fields of the record."""
    fields = {
        name: facts.pop(name) for name in ('state', 'error', 'cost_usd', 'cassette', 'trace_complete') if name in facts
    }
    return Unit(case=case, arm=arm, tags=tags, records=tuple(record(arm, each, facts, case, **fields) for each in q))


def crashed(case: str, arm: str) -> Unit:
    """A case whose task raised."""
    error = CaseError(type='ValueError', message='no', where='task')
    return unit(case, arm, None, state='error', error=error, trace_complete=False)


def unreadable(case: str, arm: str) -> Unit:
    """A case whose recording does not match: nothing of it was measured."""
    error = CaseError(type='UnmatchedRequest', message='no', where='cassette')
    return unit(case, arm, None, state='error', error=error)


def lost(case: str, arm: str) -> Unit:
    """A case that the run left no record of."""
    return Unit(case=case, arm=arm, tags=(), records=(None,))


def played(hits: int, misses: int = 0, unused: int = 0) -> CassetteUse:
    return CassetteUse(file='f', hits=hits, misses=misses, unused=unused, recorded_with='emulator')


def pairs(text: str, **facts: Any) -> list[Unit]:
    """Cases named by place from solo and advised grades: `'01 11'` fails alone, passes advised; then passes twice."""
    units: list[Unit] = []
    for place, (solo, advised) in enumerate(text.split(), start=1):
        units.append(unit(f'c{place}', 'solo', solo == '1'))
        units.append(unit(f'c{place}', 'advised', advised == '1', **facts))
    return units


def measure(name: str, units: list[Unit], of: str | None = 'Right', **arms: str) -> Measurement:
    """A metric as a policy without `arm` and `against` asks for it."""
    return METRICS[name].measure(units, of=of, **{'arm': 'advised', 'against': 'solo', **arms})
