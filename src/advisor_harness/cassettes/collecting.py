"""Loading without garbage collection, which takes most of the time once a file makes many thousand objects."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Generator

__all__ = ['uncollected']

_LARGE = 200_000


@contextlib.contextmanager
def uncollected(size: int) -> Generator[None]:
    """Suspend garbage collection in the block if what is loaded in it is large.

    Args:
        size: Bytes of the file.
    """
    if size < _LARGE or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
