"""Whether what a recording run set out to record was recorded: a task that fails leaves what was there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from advisor_harness.evals.measure import task_crashed
from advisor_harness.evals.meta import RunMeta
from advisor_harness.evals.records import CaseKey, CaseRecord
from advisor_harness.evals.verdict import Precondition, SuiteVerdict, Verdict

__all__ = ['counting_recordings']


def counting_recordings(verdict: SuiteVerdict, meta: RunMeta, records: Mapping[CaseKey, CaseRecord]) -> SuiteVerdict:
    """The verdict of a suite, inconclusive where a case was to be recorded and was not.

    A missing key or an outage while recording says nothing about the agent, so it must not look like a gate that
    blocks.
    """
    if meta.mode != 'record':
        return verdict
    mine = [record for key, record in records.items() if key.suite == verdict.suite]
    failed = [record for record in mine if task_crashed(record)]
    if not failed:
        return verdict
    first = failed[0]
    assert first.error is not None  # a crashed task has one
    condition = Precondition(
        name='recorded',
        value=(len(mine) - len(failed)) / len(mine),
        expected=1.0,
        ok=False,
        detail=f'{first.case} [{first.arm}]: its task failed, so the recording it had is kept: '
        f'{first.error.type}: {first.error.message}',
        n_met=len(mine) - len(failed),
        n_expected=len(mine),
    )
    return replace(verdict, verdict=Verdict.INCONCLUSIVE, preconditions=(condition, *verdict.preconditions))
