"""Errors of the person at the keyboard: one clear message each, no traceback, exit code 2."""

from __future__ import annotations

__all__ = ['HarnessError', 'MissingExtraError', 'PolicyError', 'RunNotFoundError', 'StoreError', 'SuiteError']


class HarnessError(Exception):
    """Something the user asked for cannot be done; the message names it and the way out.

    The command prints the message alone and exits with code 2.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class SuiteError(HarnessError):
    """A suite, its dataset or a selection of its cases is not usable."""


class PolicyError(HarnessError):
    """A policy file is not usable, or names something that the run does not have."""


class RunNotFoundError(HarnessError):
    """There is no run of that id or at that path."""


class StoreError(HarnessError):
    """What a run left cannot be written; what was written before is kept."""


class MissingExtraError(HarnessError):
    """A feature needs an optional dependency that is not installed."""

    def __init__(self, extra: str, *, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the extra '{extra}': python -m pip install 'advisor-harness[{extra}]'",
        )
        self.extra = extra
        self.needed_for = needed_for
