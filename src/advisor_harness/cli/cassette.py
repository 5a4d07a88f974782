"""`advisor-harness cassette`: look at recordings, compare them, and keep them up to date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from advisor_harness.cassettes.rebase import Named
    from advisor_harness.cli.cassette_cases import Pruning

__all__ = ['check', 'diff', 'prune', 'rebase', 'show']

_Targets = Annotated[
    list[str] | None,
    typer.Argument(metavar='[SUITE|PATH]...', help='Suites, recordings or folders; all suites when none is named.'),
]
_Write = Annotated[bool, typer.Option('--write', help='Change the files; without it nothing is written.')]


def show(
    paths: Annotated[list[Path], typer.Argument(metavar='PATH...', help='Recordings, or folders of recordings.')],
) -> int:
    """Print what recordings hold: who answered, and every request with its answer."""
    from advisor_harness.cassettes import CassetteError, render
    from advisor_harness.cli.cassette_cases import files_in
    from advisor_harness.evals.errors import HarnessError

    for file in [file for path in paths for file in files_in(path)]:
        try:
            typer.echo(render.show(file))
        except CassetteError as e:
            raise HarnessError(str(e)) from e
    return 0


def check(
    targets: _Targets = None,
    verbose: Annotated[bool, typer.Option('--verbose', '-v', help='Name every file of every difference.')] = False,
) -> int:
    """Tell how recordings differ from what would be sent today, by kind of difference.

    Exit codes: 0 no difference, 1 differences, 2 nothing could be checked.
    """
    import asyncio

    from advisor_harness.cassettes import drift
    from advisor_harness.cli.cassette_cases import check_targets, find_targets
    from advisor_harness.cli.ending import FAULT
    from advisor_harness.cli.stdout import reserved, write

    with reserved(True) as out:
        checks = asyncio.run(check_targets(find_targets(targets or ())))
        write(out, drift.render(checks, every_file=verbose))
    if any(check.changes for check in checks):
        return 1
    return 0 if any(check.sent for check in checks) else FAULT


def diff(
    first: Annotated[Path, typer.Argument(metavar='A', help='A recording.')],
    second: Annotated[Path, typer.Argument(metavar='B', help='Another one.')],
) -> int:
    """Compare two recordings by what they mean. Exit codes: 0 the same, 1 different."""
    from advisor_harness.cassettes import CassetteError
    from advisor_harness.cassettes.diff import compare
    from advisor_harness.evals.errors import HarnessError

    for path in (first, second):
        if not path.is_file():
            raise HarnessError(f'there is no recording {str(path)!r}')
    try:
        lines = compare(first, second)
    except CassetteError as e:
        raise HarnessError(str(e)) from e
    for line in lines:
        typer.echo(line)
    return 1 if lines else 0


def rebase(
    targets: _Targets = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            '--accept',
            metavar='PLACE',
            help='Take what is sent today at this place; may be repeated. As `check` names it.',
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            '--set', metavar='PLACE=VALUE', help='The same, but only where today sends VALUE; may be repeated.'
        ),
    ] = None,
    write: _Write = False,
) -> int:
    """Rewrite recorded requests that differ from today's only at named places. Answers are never changed.

    Exit codes: 0 done, or nothing to do; 1 recordings were left as they are because something else differs.
    """
    import asyncio

    from advisor_harness.cassettes.rebase import rebase as rebased
    from advisor_harness.cli.cassette_cases import check_targets, find_targets
    from advisor_harness.cli.cassette_texts import rebased_summary, rebased_text
    from advisor_harness.cli.stdout import reserved, write as print_to

    named = _named(accept or [], set_ or [])
    with reserved(True) as out:
        found = find_targets(targets or ())
        checks = asyncio.run(check_targets(found))
        results = [rebased(check, named, target.matching) for check, target in zip(checks, found, strict=True)]
        for result in results:
            if write:
                result.write()
            print_to(out, rebased_text(result, written=write))
        print_to(out, rebased_summary(results, written=write))
    return 1 if any(result.refused for result in results) else 0


def prune(
    targets: _Targets = None,
    run: Annotated[
        str | None,
        typer.Option('--run', metavar='RUN', help="Run that says what is used; the suite's newest if not given."),
    ] = None,
    write: _Write = False,
) -> int:
    """Drop interactions that a replay of their case does not use.

    Exit codes: 0 done, or nothing to do; 1 recordings were left as they are, because their case may still need them.
    """
    import asyncio

    from advisor_harness.cassettes import yamlfile
    from advisor_harness.cassettes.prune import without_interactions
    from advisor_harness.cli.cassette_cases import find_targets, prune_target
    from advisor_harness.cli.cassette_texts import pruned_summary, pruned_text
    from advisor_harness.cli.stdout import reserved, write as print_to

    async def look() -> list[Pruning]:
        return [await prune_target(target, run) for target in find_targets(targets or ())]

    with reserved(True) as out:
        results = asyncio.run(look())
        for result in results:
            if write and result.numbers:
                yamlfile.write(result.path, without_interactions(result.path, result.numbers))
            print_to(out, pruned_text(result, written=write))
        print_to(out, pruned_summary(results, written=write))
    return 1 if any(result.kept for result in results) else 0


def _named(accept: list[str], exactly: list[str]) -> list[Named]:
    from advisor_harness.cassettes.rebase import Named
    from advisor_harness.evals.errors import HarnessError

    if not accept and not exactly:
        raise HarnessError(
            'say what may be taken over: `--accept PLACE` or `--set PLACE=VALUE`; `advisor-harness cassette check` '
            'names the places'
        )
    try:
        return [*map(Named, accept), *map(Named.exactly, exactly)]
    except ValueError as e:
        raise HarnessError(f'`--set`: {e}') from e
