"""How every command ends: its exit code, and what stands on stderr when it could not do what was asked."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import typer

__all__ = ['FAULT', 'INTERRUPTED', 'ending']

FAULT = 2
"""Exit code of a mistake in what was asked for, and of a fault in here: the run says nothing about the agent."""

INTERRUPTED = 130
"""Exit code after SIGINT, as shells have it."""

_OF_THE_EXTRAS = frozenset({'jinja2', 'markupsafe', 'opentelemetry', 'pydantic_evals', 'rich', 'yaml'})

_P = ParamSpec('_P')


def ending(command: Callable[_P, int]) -> Callable[_P, None]:
    """Make a command that returns its exit code one that ends the process with it.

    A `HarnessError` becomes one message without traceback. Anything else is a fault in here and shows its traceback,
    but never ends with 1: that would say that a gate blocks.
    """

    @wraps(command)
    def end(*args: _P.args, **kwargs: _P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
        except KeyboardInterrupt:
            code = INTERRUPTED
        except Exception as e:  # noqa: BLE001 - the last place that sees it; reported in full
            code = _report(e)
        raise typer.Exit(code)

    return end


def _report(error: Exception) -> int:
    if isinstance(error, ModuleNotFoundError) and (error.name or '').split('.')[0] in _OF_THE_EXTRAS:
        typer.echo(
            f"error: {error.name} is not installed: python -m pip install 'advisor-harness[evals,cli]'", err=True
        )
        return FAULT
    from advisor_harness.evals.errors import HarnessError

    if isinstance(error, HarnessError):
        typer.echo(f'error: {error.message}', err=True)
    else:
        typer.echo(''.join(traceback.format_exception(error)), err=True, nl=False)
    return FAULT
