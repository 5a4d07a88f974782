"""`advisor-harness baseline`: accept a run for later ones to be compared with, show what is accepted, compare."""

from __future__ import annotations

from typing import Annotated

import typer

from advisor_harness.cli.options import PolicyFile, RunRef

__all__ = ['accept', 'diff', 'show']

_Name = Annotated[str, typer.Option('--name', metavar='NAME', help='Name of the baseline.')]
_LatestRun = Annotated[str, typer.Argument(metavar='[RUN]', help='Run id, path of its folder, or `latest`.')]


def accept(
    run: RunRef,
    reason: Annotated[str, typer.Option('--reason', metavar='TEXT', help='Why; kept beside the values.')],
    name: _Name = 'main',
    by: Annotated[
        str | None,
        typer.Option('--by', metavar='WHO', help='Who accepts it; `user.name` of git, else the login, when not given.'),
    ] = None,
) -> int:
    """Make a run the baseline of its suites, in `evals/baselines`. Refused where `CI` is set."""
    import os

    from advisor_harness.evals.accepting import accept as accept_run
    from advisor_harness.evals.naming import shown
    from advisor_harness.evals.reports.words import plural
    from advisor_harness.evals.store import open_run

    store = open_run(run)
    who = _who() if by is None else by
    for baseline, path in accept_run(store, reason=reason, by=who, name=name, environ=os.environ):
        cases = plural(len(baseline.suite.cases), 'case')
        typer.echo(
            f'{shown(path)}: {baseline.suite.name} {baseline.name} is run {baseline.run_id}, {cases}, accepted by {who}'
        )
    return 0


def show(
    suites: Annotated[
        list[str] | None, typer.Argument(metavar='[SUITE]...', help='Suites; all that have a baseline when none.')
    ] = None,
) -> int:
    """Print which baselines there are: who accepted them, when and why."""
    from advisor_harness.evals import baseline as files
    from advisor_harness.evals.baseline_texts import shown_baseline
    from advisor_harness.evals.errors import HarnessError

    known = files.suites()
    for suite in suites or known:
        if suite not in known:
            raise HarnessError(f'suite {suite!r} has no baseline: {", ".join(known) or "no suite"} has')
        for name in files.names(suite):
            baseline = files.load(suite, name)
            assert baseline is not None  # its name was just read
            typer.echo(shown_baseline(baseline))
    if not known:
        typer.echo('there is no baseline yet: advisor-harness baseline accept RUN --reason TEXT')
    return 0


def diff(run: _LatestRun = 'latest', name: _Name = 'main', policy: PolicyFile = None) -> int:
    """Compare a run with the baselines of its suites, case by case and metric by metric.

    Exit codes: 0 the same, 1 different, 2 not comparable or no baseline.
    """
    from advisor_harness.cli.ending import FAULT
    from advisor_harness.evals.baseline import load_all
    from advisor_harness.evals.baseline_texts import differences
    from advisor_harness.evals.errors import HarnessError
    from advisor_harness.evals.policy import load_policies
    from advisor_harness.evals.store import open_run

    store = open_run(run)
    baselines = load_all([suite.name for suite in store.meta.suites], name)
    if not baselines:
        names = ', '.join(suite.name for suite in store.meta.suites)
        raise HarnessError(
            f'{names} has no baseline {name!r}: make one: advisor-harness baseline accept {store.id} --reason TEXT'
        )
    found = differences(store, load_policies(store.meta, policy), baselines)
    for each in found:
        typer.echo(each.text)
    if any(not each.comparable for each in found):
        return FAULT
    return 1 if any(each.different for each in found) else 0


def _who() -> str:
    """The name that git knows, else that of the login; no address."""
    import getpass
    import subprocess

    try:
        found = subprocess.run(
            ['git', 'config', 'user.name'],
            capture_output=True,
            text=True,
            encoding='utf-8',
            errors='replace',
            check=False,
        ).stdout.strip()
    except OSError:
        found = ''  # git is not installed
    if found:
        return found
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return 'unknown'
