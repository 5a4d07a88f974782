"""What the arms of a suite came to, side by side: how good, at what cost, and what changed between two of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from advisor_harness.evals.measure import Unit, pass_rate
from advisor_harness.evals.records import CaseRecord
from advisor_harness.evals.statistics import wilson
from advisor_harness.evals.suite import Arm

__all__ = ['ArmFacts', 'Changes', 'Mean', 'arms_of', 'changes_of']

_USUAL_ORDER = (Arm.SOLO, Arm.ADVISED, Arm.STRONG, Arm.PLACEBO)


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A mean per case, with its denominator."""

    value: float | None
    """`None` unless it is known of every case: the mean of some would be that of others."""
    n_known: int
    n_expected: int


@dataclass(frozen=True, kw_only=True)
class ArmFacts:
    """One arm of a suite, without the cases that the policy sets aside."""

    arm: str
    passed: int
    n_scored: int
    """Cases that passed or failed."""
    n_expected: int
    interval: tuple[float, float] | None
    """Wilson's 95 % interval of the share that passed; `None` when nothing was scored."""
    cost_usd: Mean
    tokens: Mean
    """Input and output of every model, the advisor's included."""
    latency_s: Mean
    """As recorded."""

    @property
    def share(self) -> float | None:
        """Share of the scored cases that passed; `None` when nothing was scored."""
        return self.passed / self.n_scored if self.n_scored else None


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What happens to the same cases in another arm."""

    arm: str
    against: str
    pairs: int
    """Cases that both arms passed or failed."""
    helped: tuple[str, ...]
    harmed: tuple[str, ...]


def arms_of(units: Sequence[Unit]) -> tuple[ArmFacts, ...]:
    """The arms of a suite, the usual ones first."""
    return tuple(_arm(arm, [unit for unit in units if unit.arm == arm]) for arm in _names(units))


def changes_of(units: Sequence[Unit]) -> tuple[Changes, ...]:
    """Every arm beside the executor alone, paired by case; empty without such an arm."""
    solo = {unit.case: unit.passed for unit in units if unit.arm == Arm.SOLO}
    if not solo:
        return ()
    return tuple(_changes(arm, units, solo) for arm in _names(units) if arm != Arm.SOLO)


def _names(units: Sequence[Unit]) -> list[str]:
    there = dict.fromkeys(unit.arm for unit in units)
    usual = [str(arm) for arm in _USUAL_ORDER if arm in there]
    return usual + [arm for arm in there if arm not in usual]


def _arm(arm: str, units: Sequence[Unit]) -> ArmFacts:
    measured = pass_rate(units)
    passed = sum(unit.passed is True for unit in units)
    return ArmFacts(
        arm=arm,
        passed=passed,
        n_scored=measured.n_scored,
        n_expected=measured.n_expected,
        interval=wilson(passed, measured.n_scored) if measured.n_scored else None,
        cost_usd=_mean(units, lambda record: record.cost_usd),
        tokens=_mean(units, _tokens),
        latency_s=_mean(units, lambda record: record.recorded_latency_s),
    )


def _changes(arm: str, units: Sequence[Unit], solo: dict[str, bool | None]) -> Changes:
    pairs = [
        (unit.case, solo[unit.case], unit.passed)
        for unit in units
        if unit.arm == arm and unit.passed is not None and solo.get(unit.case) is not None
    ]
    return Changes(
        arm=arm,
        against=str(Arm.SOLO),
        pairs=len(pairs),
        helped=tuple(case for case, before, after in pairs if after and not before),
        harmed=tuple(case for case, before, after in pairs if before and not after),
    )


def _mean(units: Sequence[Unit], amount_of: Callable[[CaseRecord], float | None]) -> Mean:
    known: list[float] = []
    for unit in units:
        amounts = [None if record is None else amount_of(record) for record in unit.records]
        there = [amount for amount in amounts if amount is not None]
        if there and len(there) == len(amounts):
            known.append(math.fsum(there) / len(there))
    complete = bool(known) and len(known) == len(units)
    return Mean(value=math.fsum(known) / len(known) if complete else None, n_known=len(known), n_expected=len(units))


def _tokens(record: CaseRecord) -> float | None:
    used = record.usage
    if 'input_tokens' not in used or 'output_tokens' not in used:
        return None
    return used['input_tokens'] + used['output_tokens']
