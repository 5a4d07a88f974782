"""Baselines and differences from them as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from advisor_harness.evals.baseline import Baseline
from advisor_harness.evals.comparison import Comparison, compare, is_exact
from advisor_harness.evals.measure import Unit, kind_of, names_measured, pass_rate, units_of, value_of
from advisor_harness.evals.meta import SuiteMeta
from advisor_harness.evals.policy import Policy
from advisor_harness.evals.records import CaseKey, CaseRecord
from advisor_harness.evals.reports.words import number, one_line, plural
from advisor_harness.evals.store import RunStore

__all__ = ['Difference', 'differences', 'shown_baseline']


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One suite of a run beside its baseline."""

    text: str
    comparable: bool
    """Whether dataset, scorers and policy are those of the baseline."""
    different: bool
    """Whether any case or metric is not what it was."""


def shown_baseline(baseline: Baseline) -> str:
    """Who accepted what, when and why, and what it measured."""
    accepted, suite = baseline.accepted, baseline.suite
    rate = pass_rate(units_of(suite, baseline.records))
    policy = 'no policy' if suite.policy is None else f'policy {suite.policy} {_short(suite.policy_sha256)}'
    return '\n'.join(
        (
            f'{suite.name} {baseline.name}',
            f'  accepted   {accepted.at} by {one_line(accepted.by)}: {one_line(accepted.reason)}',
            f'  run        {baseline.run_id}, {baseline.mode}, {baseline.verdict}',
            f'  passed     {number(rate.value)} over {rate.n_scored}/{rate.n_expected} of {", ".join(suite.arms)}',
            f'  hashes     dataset {_short(suite.dataset_sha256)}, scorers {_short(suite.scorers_sha256)}, {policy}',
        )
    )


def differences(store: RunStore, policies: Mapping[str, Policy], baselines: Mapping[str, Baseline]) -> list[Difference]:
    """Every suite of a run that has a baseline, beside it."""
    records = store.records()
    return [
        _difference(suite, records, policies.get(suite.name, Policy()), baselines[suite.name], store.id)
        for suite in store.meta.suites
        if suite.name in baselines
    ]


def _difference(
    suite: SuiteMeta, records: Mapping[CaseKey, CaseRecord], policy: Policy, baseline: Baseline, run_id: str
) -> Difference:
    aside = policy.set_aside(datetime.now(UTC).date())
    units = [unit for unit in units_of(suite, records) if unit.case not in aside]
    comparison = compare(baseline, suite, policy)
    pairs = comparison.pairs(units)
    how = 'replayed from the same recordings' if is_exact(pairs) else 'sampled'
    flips = list(comparison.flips(suite, units, aside))
    metrics = list(_metrics(suite, units, comparison))
    of = f'{baseline.name} (run {baseline.run_id})'
    lines = [f'{suite.name}: run {run_id} beside {of}, {plural(len(pairs), "pair")}, {how}']
    condition = comparison.precondition(suite, run_id)
    if not condition.ok:
        lines.append(f'  not comparable: {condition.detail}')
    for flip in flips:
        why = f': {one_line(flip.why)}' if flip.why else ''
        lines.append(f'  {flip.case} [{flip.arm}]  {flip.from_} -> {flip.to}{why}')
    lines += metrics
    if not flips and not metrics and condition.ok:
        lines.append('  nothing is different')
    return Difference(text='\n'.join(lines), comparable=condition.ok, different=bool(flips or metrics))


def _metrics(suite: SuiteMeta, units: Sequence[Unit], comparison: Comparison) -> Iterator[str]:
    """Metrics of which any case has another value, arm by arm."""
    pairs = comparison.pairs(units)
    for metric in sorted(names_measured(units)):
        if _is_label(metric, units) or _is_label(metric, [pair.before for pair in pairs]):
            continue
        kind = kind_of(metric, suite, units)
        for arm in suite.arms:
            found = [
                (value_of(pair.before, metric, kind), value_of(pair.after, metric, kind))
                for pair in pairs
                if pair.after.arm == arm
            ]
            values = [(before, after) for before, after in found if before is not None and after is not None]
            moved = sum(before != after for before, after in values)
            if moved:
                before, after = (sum(side) / len(values) for side in zip(*values, strict=True))
                yield (
                    f'  {metric} [{arm}]  {number(before)} -> {number(after)}, {moved} of {plural(len(values), "case")}'
                )


def _is_label(metric: str, units: Sequence[Unit]) -> bool:
    scores = (record.scores.get(metric) for unit in units for record in unit.known)
    return any(score is not None and isinstance(score.value, str) for score in scores)


def _short(digest: str | None) -> str:
    return 'none' if not digest else digest[:12]
