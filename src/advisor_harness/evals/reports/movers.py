"""What moved most against the baseline: gates by the size of their change, in words that never guess a direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from advisor_harness.evals.verdict import Flip, GateResult

__all__ = ['Direction', 'Mover', 'direction_of', 'flip_counts', 'movers_of']

Direction = Literal['improved', 'regressed', 'changed']


@dataclass(frozen=True, kw_only=True)
class Mover:
    """A metric that is not what it was."""

    name: str
    arm: str | None
    before: float
    now: float
    direction: Direction
    """`changed` where the limit does not say which way is better."""

    @property
    def delta(self) -> float:
        """Now less before."""
        return self.now - self.before

    @property
    def size(self) -> float:
        """How far it moved, as a part of the larger value, 0 to 2."""
        return abs(self.delta) / max(abs(self.before), abs(self.now))


def movers_of(gates: Sequence[GateResult]) -> list[Mover]:
    """The gates whose value differs from the baseline's, those that moved furthest first."""
    moved = [
        Mover(
            name=gate.metric,
            arm=gate.arm,
            before=gate.baseline,
            now=gate.value,
            direction=direction_of(gate, gate.value - gate.baseline),
        )
        for gate in gates
        if gate.value is not None and gate.baseline is not None and gate.value != gate.baseline
    ]
    return sorted(moved, key=lambda mover: (-mover.size, mover.name))


def direction_of(gate: GateResult, delta: float) -> Direction:
    """Whether a change is for the better, as far as the gate or a limit such as `>= 0.9` tells."""
    floor, ceiling = '>=' in gate.limit, '<=' in gate.limit
    if gate.direction is None and floor is ceiling:
        return 'changed'
    up = floor if gate.direction is None else gate.direction == 'up'
    return 'improved' if (delta > 0) is up else 'regressed'


def flip_counts(flips: Sequence[Flip]) -> tuple[int, int, int]:
    """How many cases got worse, got better, and changed otherwise, by whether they passed before and pass now."""
    worse = sum(flip.from_ == 'pass' and flip.to != 'pass' for flip in flips)
    better = sum(flip.from_ != 'pass' and flip.to == 'pass' for flip in flips)
    return worse, better, len(flips) - worse - better
