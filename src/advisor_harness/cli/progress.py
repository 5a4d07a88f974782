"""How far a run is: a bar for people who watch it, a line for every tenth in a log."""

from __future__ import annotations

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
        self._states = Counter[str]()
        self._tenths = 0

    def __enter__(self) -> Self:
        if self._shown and not is_plain(self._file):
            from rich.progress import Progress as Bar

            self._bar = Bar(console=console_for(self._file), transient=True)
            self._task = self._bar.add_task('cases', total=None)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def add(self, record: CaseRecord, total: int) -> None:
        """Count one more of `total` records."""
        self.ended += 1
        self._states[record.state] += 1
        if self._bar is not None:
            self._bar.update(self._task, completed=self.ended, total=total, description=self._text(total))
        elif self._shown and (tenths := 10 * self.ended // max(total, 1)) > self._tenths:
            self._tenths = tenths
            self._file.write(f'{100 * self.ended // total:3} %  {self._text(total)}\n')
            self._file.flush()

    def _text(self, total: int) -> str:
        states = ', '.join(f'{count} {state}' for state, count in sorted(self._states.items()))
        return f'{self.ended} of {total} cases: {states}'
