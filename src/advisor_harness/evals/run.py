"""Runs suites: suite x case x arm x repeat, each under its own recording and trace, one record as each ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from advisor_harness.evals.meta import Mode
from advisor_harness.evals.records import CaseRecord
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.suite import Suite

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor

__all__ = ['Run', 'RunOptions', 'run_suites']


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What to run and how."""

    arm: str | None = None
    """Only this arm; `None` runs all arms."""
    cases: tuple[str, ...] = ()
    """Only these cases; empty runs all."""
    tags: tuple[str, ...] = ()
    """Only cases with one of these tags; empty runs all."""
    only_failed: bool = False
    """Run only cases that are not fine in the suite's newest run, and carry the other records over."""
    mode: Mode = 'replay'
    """`replay` and `live` run several cases at once, the recording modes one after the other."""
    concurrency: int = 8
    """Most cases at the same time, >= 1."""
    runs_dir: Path = Path('runs')
    exporters: Sequence[SpanProcessor] = ()
    """Get every span of every case too; what becomes of it there never changes a record."""
    allow_hosts: tuple[str, ...] = ()
    """Hosts that stay reachable during a replay: where the exporters send to."""


@dataclass(frozen=True)
class Run:
    """A run that ended."""

    id: str
    folder: Path

    @property
    def store(self) -> RunStore:
        """Its records."""
        return RunStore(self.folder)


async def run_suites(
    suites: Sequence[Suite], options: RunOptions, *, on_record: Callable[[CaseRecord], None] | None = None
) -> Run:
    """Run suites and keep a record of every case.

    Args:
        suites: The suites, as `load_suites` gives them.
        options: What to run of them, and how.
        on_record: Called with every record right after it was written.

    Raises:
        HarnessError: a dataset is not usable, the options name something that does not exist, or spans cannot be had.
    """
    raise NotImplementedError
