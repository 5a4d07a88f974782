"""`advisor-harness gate`: judge a finished run again, without running anything."""

from __future__ import annotations

from advisor_harness.cli.options import Baseline, Json, Output, PolicyFile, Quiet, RunRef, Verbose

__all__ = ['gate']


def gate(
    run: RunRef,
    policy: PolicyFile = None,
    baseline: Baseline = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Judge a finished run again, without running anything."""
    from advisor_harness.cli.judging import judge_and_report
    from advisor_harness.cli.stdout import reserved
    from advisor_harness.evals.policy import load_policies
    from advisor_harness.evals.store import open_run

    output = Output(json=json, quiet=quiet, verbose=verbose)
    store = open_run(run)
    with reserved(output.json) as out:
        policies = load_policies(store.meta, policy)
        return judge_and_report(store, policies, output, out, baseline=baseline or store.meta.baseline or 'main')
