"""A file that stands in for a terminal."""

from __future__ import annotations

import io


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True
