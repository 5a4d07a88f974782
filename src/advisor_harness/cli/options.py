"""Arguments and options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = ['Arm', 'Baseline', 'Cases', 'Json', 'Mode', 'Output', 'PolicyFile', 'Quiet', 'RunRef', 'Verbose']

RunRef = Annotated[str, typer.Argument(metavar='RUN', help='Run id, path of its folder, or `latest`.')]
Arm = Annotated[str | None, typer.Option('--arm', metavar='ARM', help='Only this arm.')]
Cases = Annotated[list[str] | None, typer.Option('--case', metavar='CASE', help='Only this case; may be repeated.')]
PolicyFile = Annotated[
    Path | None,
    typer.Option('--policy', metavar='FILE', help='Judge every suite under this policy instead of its own.'),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        '--baseline', metavar='NAME', help='Compare with this baseline of each suite that has it.  [default: main]'
    ),
]
Json = Annotated[bool, typer.Option('--json', help='Print JSON lines only; the last one is the verdict.')]
Quiet = Annotated[bool, typer.Option('--quiet', '-q', help='Print the RESULT line only.')]
Verbose = Annotated[bool, typer.Option('--verbose', '-v', help='Print every case, not only those to look at.')]


class Mode(StrEnum):
    """Where answers come from."""

    REPLAY = 'replay'
    """The recordings; no network."""
    RECORD = 'record'
    """The provider; the recordings are written anew."""
    RECORD_MISSING = 'record-missing'
    """The recordings, and the provider where they have no answer, which is added."""
    LIVE = 'live'
    """The provider; nothing is kept."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """What a command prints."""

    json: bool = False
    """JSON lines on stdout and nothing else there."""
    quiet: bool = False
    """The RESULT line only."""
    verbose: bool = False
    """Every case."""

    def __post_init__(self) -> None:
        if self.quiet and self.verbose:
            from advisor_harness.evals.errors import HarnessError

            raise HarnessError('`--quiet` and `--verbose` exclude each other: give one of them')
