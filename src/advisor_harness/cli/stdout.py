"""Standard output: who may write to it, and how much a console can show."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ['console_for', 'is_plain', 'reserved', 'write']

# Tables of a report in a log are as wide as they are: nobody resizes a log.
_WIDTH_OF_A_LOG = 10_000


def is_plain(file: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether `file` gets text without colours and moving parts: it is no terminal, or `NO_COLOR` or `CI` is set."""
    return not file.isatty() or bool(environ.get('NO_COLOR')) or bool(environ.get('CI'))


def console_for(file: TextIO) -> Console:
    """A rich console that writes to `file`, plain where `is_plain` says so."""
    from rich.console import Console

    if is_plain(file):
        width = None if file.isatty() else _WIDTH_OF_A_LOG
        return Console(file=file, color_system=None, force_terminal=False, highlight=False, width=width)
    return Console(file=file, highlight=False)


def write(out: TextIO, text: str) -> None:
    """Write `text` at once, or drop it when its reader has left: the exit code is the verdict's all the same."""
    try:
        out.write(text)
        out.flush()
    except BrokenPipeError:
        # What is still buffered would fail again when the interpreter flushes it at its end.
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, out.fileno())
        os.close(devnull)


@contextmanager
def reserved(wanted: bool) -> Generator[TextIO]:
    """Yield standard output; when `wanted`, everything else that is printed meanwhile goes to standard error.

    That holds for `print`, for handlers that keep `sys.stdout`, and, where standard output is the one of the process,
    for C code and child processes too.
    """
    if not wanted:
        yield sys.stdout
        return
    with _own_descriptor(sys.stdout) as out, redirect_stdout(sys.stderr):
        yield out


@contextmanager
def _own_descriptor(stdout: TextIO) -> Generator[TextIO]:
    if not _is_descriptor_1(stdout):
        yield stdout
        return
    stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with open(kept, 'w', encoding=stdout.encoding, errors=stdout.errors, closefd=False) as out:
            yield out
    finally:
        stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def _is_descriptor_1(stdout: TextIO) -> bool:
    try:
        return stdout.fileno() == 1
    except (OSError, ValueError):  # replaced by something that is no file
        return False
