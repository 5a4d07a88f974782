"""Evals: suites that are replayed, scored, gated and reported. Needs the extra `evals`."""

from __future__ import annotations

from advisor_harness.evals import scorers, statistics
from advisor_harness.evals.baseline import Acceptance, Baseline
from advisor_harness.evals.errors import (
    HarnessError,
    MissingExtraError,
    PolicyError,
    RunNotFoundError,
    StoreError,
    SuiteError,
)
from advisor_harness.evals.merge import merge_runs
from advisor_harness.evals.meta import RunMeta, SuiteMeta
from advisor_harness.evals.policy import Policy, judge, load_policies
from advisor_harness.evals.records import CaseError, CaseKey, CaseRecord, CassetteUse, Score, State
from advisor_harness.evals.run import Run, RunOptions, resume_run, run_suites
from advisor_harness.evals.store import RunStore, open_run
from advisor_harness.evals.suite import Arm, Recording, Suite, load_suites
from advisor_harness.evals.verdict import Flip, GateResult, Precondition, RunVerdict, SuiteVerdict, Verdict

__all__ = [
    'Acceptance',
    'Arm',
    'Baseline',
    'CaseError',
    'CaseKey',
    'CaseRecord',
    'CassetteUse',
    'Flip',
    'GateResult',
    'HarnessError',
    'MissingExtraError',
    'Policy',
    'PolicyError',
    'Precondition',
    'Recording',
    'Run',
    'RunMeta',
    'RunNotFoundError',
    'RunOptions',
    'RunStore',
    'RunVerdict',
    'Score',
    'State',
    'StoreError',
    'Suite',
    'SuiteError',
    'SuiteMeta',
    'SuiteVerdict',
    'Verdict',
    'judge',
    'load_policies',
    'load_suites',
    'merge_runs',
    'open_run',
    'resume_run',
    'run_suites',
    'scorers',
    'statistics',
]
