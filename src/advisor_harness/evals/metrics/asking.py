"""Does the executor ask when it should: consultations beside the need for them.

A case needs advice when it fails in arm `against`, the executor alone. Whether it was asked for is `Consulted` of the
measured arm.
"""

from __future__ import annotations

from collections.abc import Sequence

from advisor_harness.evals.measure import Unit
from advisor_harness.evals.metrics.measurement import Measurement
from advisor_harness.evals.metrics.names import CONFIDENCE, CONSULTED
from advisor_harness.evals.metrics.pairs import PASSING, Pair, Sample, fact, grade, pairs_of, units_in
from advisor_harness.evals.suite import Arm

__all__ = ['ask_calibration', 'consult_precision', 'consult_recall', 'false_consult_rate', 'oracle_recall']


def consult_recall(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """`#(need and consulted) / #need`; Clopper-Pearson interval."""
    sample = pairs_of(units, of=of, arm=arm, against=against).known(CONSULTED)
    need = [pair for pair in sample.pairs if not pair.passed_other]
    return sample.share(sum(map(_consulted, need)), len(need), 'cases that need advice')


def oracle_recall(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """As `consult_recall`, of the cases that advice could have helped: `against` fails and arm `strong` passes."""
    sample = pairs_of(units, of=of, arm=arm, against=against).known(CONSULTED)
    grades = grade(units, of)
    strong = {unit.case: grades(unit) for unit in units_in(units, Arm.STRONG)}
    unknown = [pair for pair in sample.pairs if pair.ours.case in strong and strong[pair.ours.case] is None]
    pairs = [pair for pair in sample.pairs if strong.get(pair.ours.case) is not None]
    sample = Sample(pairs=pairs, missing=(*sample.missing, *(pair.ours.label for pair in unknown)))
    need = [pair for pair in pairs if not pair.passed_other and (strong[pair.ours.case] or 0) >= PASSING]
    return sample.share(sum(map(_consulted, need)), len(need), 'cases that only the advisor solves')


def consult_precision(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """`#(need and consulted) / #consulted`; Clopper-Pearson interval."""
    sample = pairs_of(units, of=of, arm=arm, against=against).known(CONSULTED)
    asked = [pair for pair in sample.pairs if _consulted(pair)]
    return sample.share(sum(not pair.passed_other for pair in asked), len(asked), 'cases that consulted')


def false_consult_rate(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """`#(no need and consulted) / #no need`; Clopper-Pearson interval."""
    sample = pairs_of(units, of=of, arm=arm, against=against).known(CONSULTED)
    needless = [pair for pair in sample.pairs if pair.passed_other]
    return sample.share(sum(map(_consulted, needless)), len(needless), 'cases that need no advice')


def ask_calibration(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """AUROC of `1 - confidence` against need, both of arm `against`: how well doubt tells which cases fail.

    0.5 is chance. Equal confidences count one half (Mann-Whitney). Undefined where no case, or every case, needs
    advice, and where the executor says no confidence.
    """
    grades = grade(units, of)
    known = [(grades(unit), fact(unit, CONFIDENCE)) for unit in units_in(units, against)]
    said = [(q, confidence) for q, confidence in known if q is not None and confidence is not None]
    missing = tuple(
        unit.label
        for unit, (q, confidence) in zip(units_in(units, against), known, strict=True)
        if said and (q is None or confidence is None)
    )
    need = [1 - confidence for q, confidence in said if q < PASSING]
    needless = [1 - confidence for q, confidence in said if q >= PASSING]
    detail = f'{len(need)} cases that need advice, {len(needless)} that do not'
    wins = sum((doubt > other) + (doubt == other) / 2 for doubt in need for other in needless)
    defined = bool(need and needless)
    return Measurement(
        value=wins / (len(need) * len(needless)) if defined else None,
        n_scored=len(said),
        n_expected=len(said) + len(missing),
        detail=detail if defined else f'{detail}',
        missing=missing,
    )


def _consulted(pair: Pair) -> bool:
    return (fact(pair.ours, CONSULTED) or 0) >= PASSING
