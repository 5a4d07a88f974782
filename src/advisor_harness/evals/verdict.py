"""The verdict of a run: one object decides `verdict.json`, every report and the exit code.

Precedence: `inconclusive` (2) over `blocked` (1) over `pass` (0); over suites the worst wins. A missing measurement is
never a pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Literal

__all__ = ['Flip', 'GateResult', 'Precondition', 'RunVerdict', 'SuiteVerdict', 'Verdict']


class Verdict(StrEnum):
    """What a run or a suite amounts to."""

    PASS = 'pass'
    BLOCKED = 'blocked'
    INCONCLUSIVE = 'inconclusive'

    @property
    def exit_code(self) -> int:
        """0 pass, 1 blocked by a gate, 2 inconclusive: look at the harness."""
        return {Verdict.PASS: 0, Verdict.BLOCKED: 1, Verdict.INCONCLUSIVE: 2}[self]


@dataclass(frozen=True, kw_only=True)
class Precondition:
    """Something that must hold before any number means anything."""

    name: str
    """`cassettes`, `traces`, `scored`, or another word for a fault of the harness."""
    value: float
    """Share of cases that meet it, 0 to 1."""
    expected: float
    """Least share."""
    ok: bool
    detail: str | None = None
    """What failed first, with its remedy, for people."""
    n_met: int | None = None
    n_expected: int | None = None


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """One gate of a policy, judged."""

    metric: str
    """The gate's own name."""
    arm: str | None
    value: float | None
    """`None` when nothing was measured."""
    n_scored: int
    n_expected: int
    baseline: float | None = None
    limit: str
    """What was asked for, as text: `>= 0.9`."""
    severity: Literal['block', 'warn', 'info'] = 'block'
    verdict: Literal['pass', 'fail', 'warn', 'info', 'missing']
    detail: str | None = None
    delta: float | None = None
    """`value - baseline`; `None` when there is no baseline."""
    interval: tuple[float, float] | None = None
    """Lower and upper bound of `value`, or of `delta` where the gate compares; `None` when none was computed."""
    p_value: float | None = None
    """Of the test that the gate names; `None` without a test."""
    direction: Literal['up', 'down'] | None = None
    """Which way is better, where the policy or the metric says so."""


@dataclass(frozen=True, kw_only=True)
class Flip:
    """A case whose state differs from the baseline's."""

    case: str
    arm: str
    from_: str
    to: str
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class SuiteVerdict:
    """The verdict of one suite."""

    suite: str
    regime: Literal['replay', 'sampled']
    verdict: Verdict
    preconditions: tuple[Precondition, ...] = ()
    gates: tuple[GateResult, ...] = ()
    flips: tuple[Flip, ...] = ()
    detectable: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What a run of this size can see: for `cases` and every gate that compares with a baseline, the smallest drop
    (`drop`, `None` when there is none), with `n`, `test`, `alpha`, `power`, `churn` and a sentence (`text`)."""
    baseline: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What it was compared with: `name`, `run_id`, `accepted`, `exact` (a replay of the same recordings), `pairs`,
    `added`, `removed`, `renamed`, `changed`; empty without a baseline."""
    quarantined: Mapping[str, str] = field(default_factory=dict[str, str])
    """Cases that the policy sets aside today, with the reason; they are in no denominator."""
    expired: Mapping[str, str] = field(default_factory=dict[str, str])
    """Cases that the policy set aside until a day that is past, with the reason; they count again."""


@dataclass(frozen=True, kw_only=True)
class RunVerdict:
    """The verdict of a run."""

    run_id: str
    suites: tuple[SuiteVerdict, ...]
    policy_sha256: Mapping[str, str | None] = field(default_factory=dict[str, 'str | None'])
    """SHA-256 of the policy file each suite was judged under; `None` without one."""
    narrowed: str | None = None
    """What the run was narrowed down to, so that its `pass` speaks for no more; `None` when it ran everything."""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the suites; a run without suites is inconclusive."""
        if not self.suites:
            return Verdict.INCONCLUSIVE
        return max((suite.verdict for suite in self.suites), key=lambda verdict: verdict.exit_code)

    def to_json(self) -> dict[str, Any]:
        """The content of `verdict.json`."""
        suites = [asdict(suite) for suite in self.suites]
        for suite in suites:
            for flip in suite['flips']:
                flip['from'] = flip.pop('from_')
        return {
            'schema': 1,
            'verdict': str(self.verdict),
            'exit_code': self.verdict.exit_code,
            'run_id': self.run_id,
            'suites': suites,
            'policy_sha256': dict(self.policy_sha256),
            'narrowed': self.narrowed,
        }
