"""The command line: its commands and the options that belong to none of them."""

from __future__ import annotations

from typing import Annotated

import typer

from advisor_harness.cli import baseline, cassette, gate, merge, record, report, run, trace
from advisor_harness.cli.ending import ending

__all__ = ['app']

app = typer.Typer(
    help='Run eval suites by replay, judge them, and show why the verdict is what it is.',
    epilog='Exit codes: 0 pass, 1 blocked by a gate, 2 inconclusive or a mistake in the command, 130 interrupted.',
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain help starts faster and reads the same in a log.
    rich_markup_mode=None,
)
app.command()(ending(run.run))
app.command()(ending(gate.gate))
app.command()(ending(merge.merge))
app.command()(ending(report.report))
app.command()(ending(trace.trace))
app.command()(ending(record.record))

_cassettes = typer.Typer(
    help='Look at recordings, and keep them up to date.', no_args_is_help=True, rich_markup_mode=None
)
_cassettes.command()(ending(cassette.show))
_cassettes.command()(ending(cassette.check))
_cassettes.command()(ending(cassette.diff))
_cassettes.command()(ending(cassette.rebase))
_cassettes.command()(ending(cassette.prune))
app.add_typer(_cassettes, name='cassette')

_baselines = typer.Typer(
    help='Accept a run for later ones to be compared with, show what is accepted, compare.',
    no_args_is_help=True,
    rich_markup_mode=None,
)
_baselines.command()(ending(baseline.accept))
_baselines.command()(ending(baseline.show))
_baselines.command()(ending(baseline.diff))
app.add_typer(_baselines, name='baseline')


def _print_version(wanted: bool) -> None:
    if wanted:
        from advisor_harness import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option('--version', callback=_print_version, is_eager=True, help='Print the version and exit.')
    ] = False,
) -> None:
    """Run eval suites by replay, judge them, and show why the verdict is what it is."""
