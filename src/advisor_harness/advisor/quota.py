"""How often an executor may consult its advisor: per executor request, and per run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

__all__ = ['Claim', 'Quota', 'Scope']

Scope = Literal['request', 'run']


@dataclass(frozen=True)
class Claim:
    """The answer to one claim: granted or refused, by which limit, and what is left under it."""

    granted: bool
    scope: Scope
    """The limit that refused; of a granted claim, the one with less left."""
    limit: int
    used: int
    """Consultations claimed under `limit` after this claim."""

    @property
    def remaining(self) -> int:
        """Consultations left under `limit` after this claim."""
        return max(0, self.limit - self.used)


@dataclass
class Quota:
    """The claims of one run. Keyed on `RunContext.run_step`, so every executor request opens a new window.

    The step also advances when a cache or a guard answers instead of the model, where hooks on the model's response
    would not run.
    """

    per_request: int | None = None
    """Most consultations per executor request, >= 1; `None` sets no limit."""
    per_run: int | None = None
    """Most consultations per run, >= 1; `None` sets no limit."""
    _by_step: Counter[int] = field(default_factory=Counter[int])
    _spent: int = 0

    def claim(self, step: int) -> Claim | None:
        """Take one consultation for `step`; `None` where no limit is set.

        Awaits nothing, so two parallel tool calls can never both take the last one.
        """
        if self.per_run is not None and self._spent >= self.per_run:
            return Claim(False, 'run', self.per_run, self._spent)
        if self.per_request is not None and self._by_step[step] >= self.per_request:
            return Claim(False, 'request', self.per_request, self._by_step[step])
        self.spend(step)
        return self._tightest(step, granted=True)

    def refuse(self, step: int) -> Claim | None:
        """What a call that is not started leaves in the books: nothing is taken; `None` where no limit is set."""
        return self._tightest(step, granted=False)

    def spend(self, step: int) -> None:
        """Count a consultation that the provider granted on its own."""
        self._by_step[step] += 1
        self._spent += 1

    @property
    def run_remaining(self) -> int | None:
        """Consultations left for the run; `None` without a limit."""
        return None if self.per_run is None else max(0, self.per_run - self._spent)

    def _tightest(self, step: int, *, granted: bool) -> Claim | None:
        claims: list[Claim] = []
        if self.per_request is not None:
            claims.append(Claim(granted, 'request', self.per_request, self._by_step[step]))
        if self.per_run is not None:
            claims.append(Claim(granted, 'run', self.per_run, self._spent))
        return min(claims, key=lambda claim: claim.remaining, default=None)
