"""Accepting a run as the baseline of its suites: an explicit act of a person, with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from advisor_harness.evals.baseline import BASELINES, MAIN, Acceptance, Baseline, baseline_of, save
from advisor_harness.evals.errors import HarnessError
from advisor_harness.evals.policy import judge
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import SuiteVerdict, Verdict

__all__ = ['accept', 'accepted']


def accept(
    store: RunStore,
    *,
    reason: str,
    by: str,
    name: str = MAIN,
    folder: Path = BASELINES,
    environ: Mapping[str, str],
    now: datetime | None = None,
) -> list[tuple[Baseline, Path]]:
    """Make a run the baseline of every suite that it ran; nothing is written unless all of them can be.

    Args:
        store: The run.
        reason: Why; it is kept beside the values.
        by: Who.
        name: Name of the baseline; one of that name is replaced.
        folder: Where baselines are.
        environ: Where `CI` is looked for: a machine never accepts.
        now: The time of the act; `None` is now.

    Raises:
        HarnessError: `CI` is set, the reason or a name is blank, the run was narrowed down, or a suite of it is
            inconclusive.
    """
    if environ.get('CI'):
        raise HarnessError(
            f'`CI` is set ({environ["CI"]!r}): a baseline is accepted by a person, on their own machine, and committed'
        )
    at = (now or datetime.now(UTC)).isoformat(timespec='seconds')
    found = accepted(store, Acceptance(by=by.strip(), at=at, reason=' '.join(reason.split())), name=name.strip())
    return [(baseline, save(baseline, folder)) for baseline in found]


def accepted(store: RunStore, by: Acceptance, *, name: str = MAIN) -> list[Baseline]:
    """The baselines that a run would become.

    Raises:
        HarnessError: as for `accept`.
    """
    for what, value in (('--reason', by.reason), ('--by', by.by), ('--name', name)):
        if not value:
            raise HarnessError(f'`{what}` must not be blank')
    meta = store.meta
    if meta.filters.narrow:
        raise HarnessError(
            f'run {meta.id} cannot be a baseline: it was narrowed down to {meta.filters.text}; run everything first'
        )
    # Without any baseline: a dataset that changed is what accepting is for.
    verdict = judge(store, baselines={})
    if not verdict.suites:
        raise HarnessError(f'run {meta.id} cannot be a baseline: it ran no suite')
    for suite in verdict.suites:
        if suite.verdict is Verdict.INCONCLUSIVE:
            raise HarnessError(
                f'run {meta.id} cannot be a baseline: suite {suite.suite!r} is inconclusive ({_why(suite)}); mend that '
                'and run it again'
            )
    records = store.records()
    verdicts = {suite.suite: str(suite.verdict) for suite in verdict.suites}
    return [
        baseline_of(
            meta,
            # The policy it was judged under just now, which may be newer than the run.
            replace(suite, policy_sha256=verdict.policy_sha256[suite.name]),
            records,
            name=name,
            verdict=verdicts[suite.name],
            by=by,
        )
        for suite in meta.suites
        if suite.name in verdicts
    ]


def _why(suite: SuiteVerdict) -> str:
    for condition in suite.preconditions:
        if not condition.ok:
            first = (condition.detail or 'it does not hold').splitlines()[0]
            return f'precondition {condition.name}: {first}'
    gate = next(gate for gate in suite.gates if gate.verdict == 'missing')
    return f'gate {gate.metric}: {gate.detail or "not measured"}'
