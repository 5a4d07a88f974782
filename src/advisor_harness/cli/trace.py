"""`advisor-harness trace`: print the span tree of a case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from advisor_harness.cli.options import Arm, RunRef

if TYPE_CHECKING:
    from advisor_harness.evals.records import CaseRecord

__all__ = ['trace']

_WIDTH = 120
"""Characters of a line where there is no terminal that says otherwise."""


def trace(
    run: RunRef,
    case: Annotated[str, typer.Argument(metavar='CASE', help='Name of the case.')],
    arm: Arm = None,
    suite: Annotated[str | None, typer.Option('--suite', metavar='SUITE', help='Only this suite.')] = None,
    verbose: Annotated[
        bool, typer.Option('--verbose', '-v', help='Print what each decision says about itself.')
    ] = False,
    everything: Annotated[bool, typer.Option('--all', help='Print all attributes of every span.')] = False,
) -> int:
    """Print the span tree of a case, once for each arm and repeat that ran, and where its error came from."""
    from shutil import get_terminal_size

    from advisor_harness.evals.reports.words import visible
    from advisor_harness.evals.store import open_run
    from advisor_harness.telemetry import tree

    store = open_run(run)
    records = sorted(store.records().values(), key=lambda record: record.key)
    for what, wanted in (('suite', suite), ('case', case), ('arm', arm)):
        records = _narrowed(records, what, wanted, run)
    for record in records:
        repeat = '' if record.repeat == 1 else f' repeat {record.repeat}'
        typer.echo(f'{record.suite} / {record.case} [{record.arm}]{repeat}: {record.state}')
        shown = 'all' if everything else 'own' if verbose else 'messages'
        spans = tree.render(store.trace(record), attributes=shown, width=get_terminal_size((_WIDTH, 0)).columns)
        typer.echo(visible(spans) or 'no spans')
        if (traceback := store.traceback(record)) is not None:
            typer.echo(visible(traceback.rstrip()))
    return 0


def _narrowed(records: list[CaseRecord], what: str, wanted: str | None, run: str) -> list[CaseRecord]:
    from difflib import get_close_matches

    from advisor_harness.evals.errors import HarnessError

    if wanted is None:
        return records
    known = list(dict.fromkeys(str(getattr(record, what)) for record in records))
    if wanted not in known:
        nearest = get_close_matches(wanted, known, n=5, cutoff=0) if known else []
        raise HarnessError(f'run {run!r} has no record of {what} {wanted!r}: ' + _listed(nearest, known))
    return [record for record in records if getattr(record, what) == wanted]


def _listed(nearest: list[str], known: list[str]) -> str:
    if not known:
        return 'no case has ended'
    more = f' and {len(known) - len(nearest)} more' if len(known) > len(nearest) else ''
    return f'there is {", ".join(nearest)}{more}'
