"""How far a run is: a bar for people who watch it, a line for every tenth in a log."""

from __future__ import annotations

import sys
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from advisor_harness.cli.stdout import console_for, is_plain

if TYPE_CHECKING:
    from advisor_harness.evals.records import CaseRecord

__all__ = ['Progress']


class Progress:
    """Shows the records of a run as they come in, until the block is left."""

    def __init__(self, file: TextIO, *, shown: bool = True) -> None:
        self.ended = 0
        """Number of records so far."""
        self._file = file
        self._shown = shown
        self._bar = None
        self._total = 0
        self._states = Counter[str]()
        self._cost_usd = 0.0
        self._unpriced = 0
        self._tenths = 0

    def __enter__(self) -> Self:
        if self._shown and not is_plain(self._file):
            from rich.progress import Progress as Bar

            # What a task prints belongs to standard output, unless that is the terminal with the bar.
            self._bar = Bar(console=console_for(self._file), transient=True, redirect_stdout=sys.stdout.isatty())
            self._task = self._bar.add_task('cases', total=None)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, total: int) -> None:
        """Say how many records there will be."""
        self._total = total
        if self._bar is not None:
            self._bar.update(self._task, total=total, description=self._text())

    def add(self, record: CaseRecord, *, silent: bool = False) -> None:
        """Count one more record, without a line when it is `silent`."""
        self.ended += 1
        self._states[record.state] += 1
        if record.cost_usd is None:
            self._unpriced += 1
        else:
            self._cost_usd += record.cost_usd
        tenths = 10 * self.ended // max(self._total, 1)
        if self._bar is not None:
            self._bar.update(self._task, completed=self.ended, description=self._text())
        elif self._shown and not silent and tenths > self._tenths:
            self._file.write(f'{100 * self.ended // max(self._total, 1):3} %  {self._text()}\n')
            self._file.flush()
        self._tenths = max(tenths, self._tenths)

    def _text(self) -> str:
        states = ', '.join(f'{count} {state}' for state, count in sorted(self._states.items()))
        cases = f'{self.ended} of {self._total} cases'
        return f'{cases}: {states}; {self._cost()}' if states else cases

    def _cost(self) -> str:
        """What the records cost so far; a price that nobody knows is not 0."""
        if self._unpriced == self.ended:
            return 'cost unknown'
        known = f'${self._cost_usd:.4f}'
        return f'{known} and {self._unpriced} of unknown cost' if self._unpriced else known
