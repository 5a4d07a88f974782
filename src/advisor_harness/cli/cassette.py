"""`advisor-harness cassette`: look at recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ['show']


def show(
    paths: Annotated[list[Path], typer.Argument(metavar='PATH...', help='Recordings, or folders of recordings.')],
) -> int:
    """Print what recordings hold: who answered, and every request with its answer."""
    from advisor_harness.cassettes import CassetteError, render
    from advisor_harness.evals.errors import HarnessError

    for path in _files(paths):
        try:
            typer.echo(render.show(path))
        except CassetteError as e:
            raise HarnessError(str(e)) from e
    return 0


def _files(paths: list[Path]) -> list[Path]:
    from advisor_harness.evals.errors import HarnessError

    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise HarnessError(f'there is no recording {str(path)!r}')
        inside = sorted([*path.rglob('*.yaml'), *path.rglob('*.yml')]) if path.is_dir() else [path]
        if not inside:
            raise HarnessError(f'there is no recording in {str(path)!r}: recordings end with `.yaml`')
        files += inside
    return files
