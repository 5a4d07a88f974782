"""Policies: which rules a run is held to, and `judge`, which holds its records to them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path

from advisor_harness.evals.baseline import MAIN, Baseline, load_all
from advisor_harness.evals.gates import judge_suite
from advisor_harness.evals.meta import RunMeta
from advisor_harness.evals.recorded import counting_recordings
from advisor_harness.evals.records import CaseKey, CaseRecord
from advisor_harness.evals.rules import Policy
from advisor_harness.evals.shards import counting_shards
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import RunVerdict, SuiteVerdict

__all__ = ['Policy', 'judge', 'load_policies']


def load_policies(meta: RunMeta, file: Path | None = None) -> dict[str, Policy]:
    """The policy of every suite of a run: from `file` for all of them, else from the suite's own file, if it has one.

    Raises:
        PolicyError: a file is not usable.
    """
    if file is not None:
        policy = Policy.from_file(file)
        return {suite.name: policy for suite in meta.suites}
    return {
        suite.name: Policy() if suite.policy is None else Policy.from_file(Path(suite.policy)) for suite in meta.suites
    }


def _asked(meta: RunMeta) -> tuple[list[str], str]:
    return [suite.name for suite in meta.suites], meta.baseline or MAIN


def judge(
    store: RunStore,
    policies: Mapping[str, Policy] | None = None,
    *,
    baselines: Mapping[str, Baseline] | None = None,
    today: date | None = None,
) -> RunVerdict:
    """Judge the records of a run: suite by suite, preconditions first.

    Nothing is run and nothing is written: the same records, policies and day always give the same verdict.

    Args:
        store: The run.
        policies: The policy of each suite; `None` reads the suites' own files, a suite that is left out must pass
            every case.
        baselines: What suites are compared with; `None` reads `evals/baselines`, a suite that is left out has none.
        today: The day on which quarantines are looked at; `None` is today, UTC.

    Raises:
        PolicyError: a policy names a metric, arm, tag or case that the run does not know.
        HarnessError: a file of baselines is not readable.
    """
    chosen = load_policies(store.meta) if policies is None else policies
    accepted = load_all(*_asked(store.meta)) if baselines is None else baselines
    day = today or datetime.now(UTC).date()
    records = store.records()
    narrow = store.meta.filters.narrow
    return RunVerdict(
        run_id=store.id,
        suites=tuple(
            _caveated(
                judge_suite(
                    suite,
                    records,
                    chosen.get(suite.name, Policy()),
                    baseline=accepted.get(suite.name),
                    narrow=narrow,
                    run_id=store.id,
                    today=day,
                ),
                store.meta,
                records,
            )
            for suite in store.meta.suites
            if suite.chosen
        ),
        policy_sha256={suite.name: chosen.get(suite.name, Policy()).sha256 for suite in store.meta.suites},
        narrowed=store.meta.filters.text,
    )


def _caveated(verdict: SuiteVerdict, meta: RunMeta, records: Mapping[CaseKey, CaseRecord]) -> SuiteVerdict:
    """The verdict of a suite after what the way it was run takes from it."""
    return counting_recordings(counting_shards(verdict, meta), meta, records)
