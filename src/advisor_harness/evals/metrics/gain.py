"""Is the advice worth having: what changes between two arms of the same cases.

Sources: the paired difference and its noise floor as in Miller, "Adding Error Bars to Evals" (arXiv 2411.00640); the
gap recovered is the performance gap recovered of "Weak-to-Strong Generalization" (arXiv 2312.09390), its sweep that of
RouteLLM (arXiv 2406.18665); flips are the deltas i->c and c->i of SCoRe (arXiv 2409.12917).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from advisor_harness.evals.measure import Unit, mean_of
from advisor_harness.evals.metrics.measurement import Measurement
from advisor_harness.evals.metrics.names import CONSULTED
from advisor_harness.evals.metrics.pairs import Sample, grade, pairs_of, units_in
from advisor_harness.evals.statistics import mcnemar_exact, minimum_detectable_effect, paired_bootstrap
from advisor_harness.evals.suite import Arm

__all__ = [
    'average_gap_recovered',
    'consults_for_half_gap',
    'gap_recovered',
    'harmful_flips',
    'helpful_flips',
    'lift',
    'net_flips',
    'noise_floor',
]

_RESAMPLES = 2_000
_SEED = 1


def lift(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """`mean_i(q_arm,i - q_against,i)` over the cases that ran in both arms.

    The interval is a paired bootstrap over cases, 95 %, from five cases on. Read it beside `noise_floor`: what the same
    arm differs from itself is no effect of the advice.
    """
    sample = pairs_of(units, of=of, arm=arm, against=against)
    return _difference(sample, [pair.q_other for pair in sample.pairs], [pair.q for pair in sample.pairs])


def noise_floor(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """`mean_i(q_A',i - q_A,i)`: the second repeat of arm `against` beside its first.

    Undefined with one repeat: a replay of the same recording differs from itself by nothing, which says nothing. A
    second recording of the arm under a name of its own is compared by `lift` with that `arm`.
    """
    before: list[float] = []
    after: list[float] = []
    missing: list[str] = []
    chosen = [unit for unit in units_in(units, against) if len(unit.records) > 1]
    for unit in chosen:
        grades = grade(units, of)
        first, second = (grades(_only(unit, repeat)) for repeat in (0, 1))
        if first is None or second is None:
            missing.append(unit.label)
        else:
            before.append(first)
            after.append(second)
    if not chosen:
        return Measurement(value=None, n_scored=0, n_expected=0, detail=f'arm {against!r} ran once (`Suite.repeat`)')
    changed = sum(first != second for first, second in zip(before, after, strict=True))
    return Measurement(
        value=fmean(after) - fmean(before) if before else None,
        n_scored=len(before),
        n_expected=len(chosen),
        interval=_interval(before, after),
        detail=f'{changed} of {len(before)} cases differ between two runs of {against!r}',
        missing=tuple(missing),
    )


def gap_recovered(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """`(q_arm - q_against) / (q_strong - q_against)`, means over the cases that ran in all three arms.

    Undefined where the gap between arm `strong` and `against` is smaller than what that many cases can detect (exact
    McNemar, 80 % power, alpha 0.05): a ratio over a gap that may be noise is noise.
    """
    ours = pairs_of(units, of=of, arm=arm, against=against)
    strong = pairs_of(units, of=of, arm=Arm.STRONG, against=against)
    grades = {pair.ours.case: pair.q for pair in strong.pairs}
    strong_cases = {unit.case for unit in units_in(units, Arm.STRONG)}
    pairs = [pair for pair in ours.pairs if pair.ours.case in grades]
    lost = [pair.ours.label for pair in ours.pairs if pair.ours.case in strong_cases - set(grades)]
    sample = Sample(pairs=pairs, missing=(*ours.missing, *lost))
    if not pairs:
        return sample.measured(None, f'no case ran in {arm!r}, {against!r} and {Arm.STRONG.value!r}')
    gained = fmean(pair.q - pair.q_other for pair in pairs)
    gap = fmean(grades[pair.ours.case] - pair.q_other for pair in pairs)
    detectable = minimum_detectable_effect(len(pairs), churn=0.0, alpha=0.05, power=0.8)
    if detectable is None or gap < detectable:
        can = 'none' if detectable is None else f'{detectable:.3f} or more'
        return sample.measured(None, f'the gap is {gap:.3f}; {len(pairs)} cases can detect {can}')
    return sample.measured(gained / gap, f'{gained:+.3f} of a gap of {gap:.3f}')


def average_gap_recovered(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """Mean of `gap_recovered` over a sweep of the limit on consultations (APGR of RouteLLM).

    The sweep are the arms named `<arm>@<limit>`, such as `advised@0`, `advised@1`, `advised@2`. Undefined without at
    least two of them, or where the gap of one is.
    """
    steps = _sweep(units, of=of, arm=arm, against=against)
    values = [gap.value for _, gap in steps if gap.value is not None]
    defined = len(steps) >= 2 and len(values) == len(steps)
    needs = f'needs two or more arms named {arm}@<limit>, each with a gap'
    return Measurement(
        value=fmean(values) if defined else None,
        n_scored=steps[0][1].n_scored if steps else 0,
        n_expected=steps[0][1].n_expected if steps else 0,
        detail=f'over {len(steps)} limits' if defined else f'{needs}',
    )


def consults_for_half_gap(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """Least share of cases that consult at which `gap_recovered` is 0.5 or more (CPT(50 %) of RouteLLM).

    Over the arms of the sweep that `average_gap_recovered` describes; undefined where none of them gets there.
    """
    steps = _sweep(units, of=of, arm=arm, against=against)
    enough = [rate for rate, gap in steps if rate is not None and gap.value is not None and gap.value >= 0.5]
    first = steps[0][1] if steps else None
    return Measurement(
        value=min(enough) if enough else None,
        n_scored=first.n_scored if first else 0,
        n_expected=first.n_expected if first else 0,
        detail=None if enough else f'no arm named {arm}@<limit> recovers half of the gap',
    )


def helpful_flips(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """Share of the cases that fail in `against` and pass in `arm`; Clopper-Pearson interval."""
    sample = pairs_of(units, of=of, arm=arm, against=against)
    helpful, _ = _flips(sample)
    return sample.share(len(helpful), len(sample.pairs), _named('pairs of cases', helpful))


def harmful_flips(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """Share of the cases that pass in `against` and fail in `arm`; Clopper-Pearson interval."""
    sample = pairs_of(units, of=of, arm=arm, against=against)
    _, harmful = _flips(sample)
    return sample.share(len(harmful), len(sample.pairs), _named('pairs of cases', harmful))


def net_flips(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """`(helpful - harmful) / n`; the detail has both counts and the one-sided exact McNemar p of harm."""
    sample = pairs_of(units, of=of, arm=arm, against=against)
    helpful, harmful = _flips(sample)
    if not sample.pairs:
        return sample.measured(None, 'no pair of cases')
    p = mcnemar_exact(len(harmful), len(helpful))
    detail = f'{len(helpful)} helpful, {len(harmful)} harmful; exact McNemar, harm: p = {p:.3g}'
    return sample.measured((len(helpful) - len(harmful)) / len(sample.pairs), detail)


def _difference(sample: Sample, before: Sequence[float], after: Sequence[float]) -> Measurement:
    if not before:
        return sample.measured(None, 'no pair of cases')
    value = fmean(after) - fmean(before)
    return sample.measured(value, f'{fmean(before):.3f} to {fmean(after):.3f}', _interval(before, after))


def _interval(before: Sequence[float], after: Sequence[float]) -> tuple[float, float] | None:
    # Below five pairs there is no inference (small-n policy of the gates).
    if len(before) < 5:
        return None
    _, low, high = paired_bootstrap(before, after, confidence=0.95, resamples=_RESAMPLES, seed=_SEED)
    return low, high


def _flips(sample: Sample) -> tuple[list[str], list[str]]:
    helpful = [pair.ours.case for pair in sample.pairs if pair.passed and not pair.passed_other]
    harmful = [pair.ours.case for pair in sample.pairs if pair.passed_other and not pair.passed]
    return helpful, harmful


def _named(what: str, cases: Sequence[str]) -> str:
    few = ', '.join(cases[:5]) + (', ...' if len(cases) > 5 else '')
    return f'{what}: {few}' if cases else what


def _only(unit: Unit, repeat: int) -> Unit:
    return Unit(case=unit.case, arm=unit.arm, tags=unit.tags, records=(unit.records[repeat],))


def _sweep(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> list[tuple[float | None, Measurement]]:
    """Share of cases that consult, and gap recovered, of every arm of the sweep, by its limit."""
    arms = {unit.arm for unit in units if _limit(unit.arm, arm) is not None}
    found: list[tuple[float | None, Measurement]] = []
    for each in sorted(arms, key=lambda name: _limit(name, arm) or 0):
        rate = mean_of(CONSULTED, 'score', units_in(units, each)).value
        found.append((rate, gap_recovered(units, of=of, arm=each, against=against)))
    return found


def _limit(name: str, arm: str) -> int | None:
    base, _, limit = name.rpartition('@')
    return int(limit) if base == arm and limit.isdecimal() else None
