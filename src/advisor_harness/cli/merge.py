"""`advisor-harness merge`: put the shards of a run together and judge them as one."""

from __future__ import annotations

from typing import Annotated

import typer

from advisor_harness.cli.options import Baseline, Json, PolicyFile, Quiet, Verbose

__all__ = ['merge']


def merge(
    runs: Annotated[
        list[str], typer.Argument(metavar='RUN...', help='Runs of `run --shard i/n`: ids, or paths of their folders.')
    ],
    policy: PolicyFile = None,
    baseline: Baseline = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Put the shards of a run together into a new run, and judge it as if nobody had divided it."""
    from advisor_harness.cli.judging import judge_and_report
    from advisor_harness.cli.options import Output
    from advisor_harness.cli.stdout import reserved
    from advisor_harness.evals.merge import merge_runs
    from advisor_harness.evals.policy import load_policies
    from advisor_harness.evals.store import open_run

    output = Output(json=json, quiet=quiet, verbose=verbose)
    merged = merge_runs([open_run(run) for run in runs])
    with reserved(output.json) as out:
        policies = load_policies(merged.meta, policy)
        return judge_and_report(merged, policies, output, out, baseline=baseline or merged.meta.baseline or 'main')
