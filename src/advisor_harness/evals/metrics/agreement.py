"""May a judge block? Only when it agrees with people on the very texts that it judges.

Sources: alpha as in Krippendorff, "Content Analysis" (nominal data, two raters), with his 0.667 as the least value from
which conclusions may be drawn; the lower bound keeps a lucky few labels from passing for agreement.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from advisor_harness.evals.measure import Unit
from advisor_harness.evals.metrics.measurement import Measurement
from advisor_harness.evals.metrics.names import label_of
from advisor_harness.evals.metrics.pairs import PASSING, fact
from advisor_harness.evals.statistics import clopper_pearson

__all__ = [
    'LEAST_AGREEMENT',
    'LEAST_ALPHA',
    'LEAST_LABELS',
    'Agreement',
    'agreement_of',
    'judge_agreement',
    'shortfall_of',
]

LEAST_LABELS = 30
"""Fewest labelled texts."""
LEAST_ALPHA = 0.667
"""Least alpha."""
LEAST_AGREEMENT = 0.7
"""Least lower end of the 95 % Clopper-Pearson interval of the share of equal verdicts."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How a judge's verdicts compare with people's."""

    judge: str
    verdicts: tuple[tuple[bool, bool], ...]
    """What the judge and what a person said, text by text."""

    @property
    def equal(self) -> int:
        """Texts on which they agree."""
        return sum(judge == person for judge, person in self.verdicts)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % Clopper-Pearson interval of the share of equal verdicts."""
        return clopper_pearson(self.equal, len(self.verdicts)) if self.verdicts else None

    @property
    def alpha(self) -> float | None:
        """Krippendorff's alpha; `None` where all verdicts are the same, as then nothing could have differed."""
        n = len(self.verdicts)
        ones = sum(judge + person for judge, person in self.verdicts)
        zeros = 2 * n - ones
        if not ones or not zeros:
            return None
        observed = (n - self.equal) / n
        by_chance = 2 * ones * zeros / (2 * n * (2 * n - 1))
        return 1 - observed / by_chance

    @property
    def text(self) -> str:
        """The figures, for reports."""
        alpha = 'undefined' if self.alpha is None else f'{self.alpha:.3f}'
        low = '' if self.interval is None else f', at least {self.interval[0]:.3f}'
        return f'{self.equal} of {len(self.verdicts)} labels{low}, alpha {alpha}'

    @property
    def shortfall(self) -> str | None:
        """Why the judge may not block; `None` when it may."""
        if len(self.verdicts) < LEAST_LABELS:
            return f'judge {self.judge!r} has {len(self.verdicts)} labels; it may block from {LEAST_LABELS} on'
        low = 0.0 if self.interval is None else self.interval[0]
        if low < LEAST_AGREEMENT or self.alpha is None or self.alpha < LEAST_ALPHA:
            asked = f'at least {LEAST_AGREEMENT:g} and alpha {LEAST_ALPHA:g}'
            return f'judge {self.judge!r} agrees with {self.text}; it may block from {asked} on'
        return None


def agreement_of(judge: str, units: Sequence[Unit]) -> Agreement:
    """The verdicts of a judge on labelled texts, in every arm; each case of an arm is one."""
    pairs = [(fact(unit, judge), fact(unit, label_of(judge))) for unit in units]
    known = (
        (verdict >= PASSING, label >= PASSING) for verdict, label in pairs if not (verdict is None or label is None)
    )
    return Agreement(judge=judge, verdicts=tuple(known))


def judge_agreement(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """Krippendorff's alpha of the judge named by `of` with the labels; the interval is that of equal verdicts.

    Undefined without `of`, and where all verdicts are the same.
    """
    if of is None:
        return Measurement(value=None, n_scored=0, n_expected=0, detail='`of` must name the judge')
    agreement = agreement_of(of, units)
    n = len(agreement.verdicts)
    return Measurement(
        value=agreement.alpha, n_scored=n, n_expected=n, interval=agreement.interval, detail=agreement.text
    )


def shortfall_of(metric: str, of: str | None, judges: Collection[str], units: Sequence[Unit]) -> str | None:
    """Why a gate on `metric` (`of` a scorer) may not block: it rests on a judge that people do not agree with.

    `None` where it may, which includes every gate that rests on no judge, and the gate on the agreement itself.
    """
    judge = metric if metric in judges else of if of in judges and metric != 'judge_agreement' else None
    return None if judge is None else agreement_of(judge, units).shortfall
