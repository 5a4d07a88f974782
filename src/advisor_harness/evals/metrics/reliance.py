"""Does the executor rely on advice when it should, and only then.

Sources: RAIR and RSR are the relative AI reliance and relative self-reliance of Schemmer et al., "Appropriate Reliance
on AI Advice" (IUI 2023). To follow every piece of advice is not the best policy, so no gate should ask for adherence
alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from advisor_harness.evals.measure import Unit
from advisor_harness.evals.metrics.measurement import Measurement
from advisor_harness.evals.metrics.names import ADHERENCE, ADVICE_CORRECTNESS, CONSULTED
from advisor_harness.evals.metrics.pairs import PASSING, Pair, fact, pairs_of

__all__ = ['harmful_advice_rate', 'rair', 'rsr']


def rair(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """`#(against wrong, advice right, arm right) / #(against wrong, advice right)`; Clopper-Pearson interval."""
    sample = pairs_of(units, of=of, arm=arm, against=against)
    helped = [pair for pair in sample.pairs if not pair.passed_other and _right(pair) is True]
    return sample.share(sum(pair.passed for pair in helped), len(helped), 'cases that right advice could correct')


def rsr(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """`#(against right, advice wrong, arm right) / #(against right, advice wrong)`; Clopper-Pearson interval."""
    sample = pairs_of(units, of=of, arm=arm, against=against)
    tempted = [pair for pair in sample.pairs if pair.passed_other and _right(pair) is False]
    return sample.share(sum(pair.passed for pair in tempted), len(tempted), 'cases that wrong advice could spoil')


def harmful_advice_rate(units: Sequence[Unit], *, of: str | None, arm: str, against: str) -> Measurement:
    """`#(against passes, arm fails, adhered, advice wrong) / #consulted`.

    Gate the upper end of its interval (two-sided 95 % Clopper-Pearson): none of 30 consultations still allows 11.6 %.
    """
    sample = pairs_of(units, of=of, arm=arm, against=against).known(CONSULTED)
    asked = [pair for pair in sample.pairs if (fact(pair.ours, CONSULTED) or 0) >= PASSING]
    return sample.share(sum(map(_harmed, asked)), len(asked), 'cases that consulted')


def _harmed(pair: Pair) -> bool:
    adhered = (fact(pair.ours, ADHERENCE) or 0) >= PASSING
    return pair.passed_other and not pair.passed and adhered and _right(pair) is False


def _right(pair: Pair) -> bool | None:
    """Whether the advice of a case was right; `None` where nobody can say."""
    value = fact(pair.ours, ADVICE_CORRECTNESS)
    return None if value is None else value >= PASSING
