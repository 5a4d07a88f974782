"""A run beside the baseline of its suite: which cases are the same, what became of them, whether that says anything.

Cases are paired by name, never by position. Pure functions over what the run and the baseline left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advisor_harness.evals.baseline import Baseline
from advisor_harness.evals.measure import Unit, units_of
from advisor_harness.evals.meta import SuiteMeta
from advisor_harness.evals.records import CaseRecord
from advisor_harness.evals.rules import Policy
from advisor_harness.evals.verdict import Flip, Precondition

__all__ = ['Comparison', 'Pair', 'compare', 'is_exact']

_FEW = 5


@dataclass(frozen=True)
class Pair:
    """A case in an arm, in the baseline and in the run."""

    before: Unit
    after: Unit


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What a run is compared with, and what changed besides its results."""

    baseline: Baseline
    before: Mapping[tuple[str, str], Unit]
    """Case and arm to what the baseline has of it."""
    problems: tuple[str, ...]
    """Why the two cannot be compared, for people; empty when they can."""
    added: tuple[str, ...]
    """Cases that the baseline does not have; renamed ones are not among them."""
    removed: tuple[str, ...]
    """Cases that the dataset does not have any more; renamed ones are not among them."""
    changed: tuple[str, ...]
    """Cases whose content is another under the same name."""
    renamed: Mapping[str, str]
    """Old name to new name of cases with the same content."""

    @property
    def renamed_from(self) -> Mapping[str, str]:
        """New name to old name."""
        return {new: old for old, new in self.renamed.items()}

    def pairs(self, units: Sequence[Unit]) -> tuple[Pair, ...]:
        """Those of `units` that the baseline has too, with the same content."""
        changed = set(self.changed)
        same = (unit for unit in units if unit.case not in changed)
        found = ((self.before.get((unit.case, unit.arm)), unit) for unit in same)
        return tuple(Pair(before, after) for before, after in found if before is not None)

    def precondition(self, suite: SuiteMeta, run_id: str) -> Precondition:
        """Whether the run may be compared with the baseline at all."""
        new = {*self.added, *self.changed, *self.renamed.values()}
        only_cases = bool(new or self.removed) and len(self.problems) == 1
        total = len(suite.cases)
        met = total if not self.problems else sum(case not in new for case in suite.cases) if only_cases else 0
        way_out = f'accept a run of what is there now: advisor-harness baseline accept {run_id} --reason TEXT' + (
            f' --name {self.baseline.name}' if self.baseline.name != 'main' else ''
        )
        detail = (
            f'{"; ".join(self.problems)} since baseline {self.baseline.name!r}; {way_out}' if self.problems else None
        )
        return Precondition(
            name='baseline',
            value=met / total if total else 0.0,
            expected=1.0,
            ok=not self.problems,
            detail=detail,
            n_met=met,
            n_expected=total,
        )

    def flips(self, suite: SuiteMeta, units: Sequence[Unit], aside: Collection[str]) -> Iterator[Flip]:
        """Every case whose state is not the baseline's, then those that are gone."""
        known = {case for case, _ in self.before}
        arms = {arm for _, arm in self.before}
        for unit in units:
            before = self.before.get((unit.case, unit.arm))
            if before is None and (unit.case in known or unit.arm not in arms):
                continue  # an arm, or a part of a case, that was never accepted
            state = 'missing' if before is None else before.state
            if state != unit.state:
                why = self._why_new(unit.case) if before is None else self._why_changed(unit)
                yield Flip(case=unit.case, arm=unit.arm, from_=state, to=unit.state, why=why)
        for (case, arm), before in self.before.items():
            if case not in suite.cases and case not in aside and arm in suite.arms:
                yield Flip(case=case, arm=arm, from_=before.state, to='missing', why=self._why_gone(case))

    def to_json(self, units: Sequence[Unit]) -> dict[str, Any]:
        """What `verdict.json` says about it."""
        baseline, pairs = self.baseline, self.pairs(units)
        return {
            'name': baseline.name,
            'run_id': baseline.run_id,
            'accepted': vars(baseline.accepted),
            'exact': is_exact(pairs),
            'pairs': len(pairs),
            'added': list(self.added),
            'removed': list(self.removed),
            'renamed': dict(self.renamed),
            'changed': list(self.changed),
        }

    def _why_new(self, case: str) -> str:
        old = self.renamed_from.get(case)
        return 'not in the baseline' if old is None else f'renamed from {old!r}'

    def _why_changed(self, unit: Unit) -> str | None:
        why = why_of(unit)
        if unit.case in self.changed:
            return 'its content changed' + (f'; {why}' if why else '')
        return why

    def _why_gone(self, case: str) -> str:
        new = self.renamed.get(case)
        return 'not in the dataset any more' if new is None else f'renamed to {new!r}'


def compare(baseline: Baseline, suite: SuiteMeta, policy: Policy) -> Comparison:
    """Put a suite of a run beside its baseline."""
    old, new = _contents(baseline.suite), _contents(suite)
    gone = [case for case in old if case not in new]
    fresh = [case for case in new if case not in old]
    renamed = _renamed(old, new, gone, fresh)
    changed = [case for case in new if case in old and old[case] and new[case] and old[case] != new[case]]
    new_names = set(renamed.values())
    parts = {
        'added': [case for case in fresh if case not in new_names],
        'removed': [case for case in gone if case not in renamed],
        'renamed': [f'{before} -> {after}' for before, after in renamed.items()],
        'changed': changed,
    }
    units = units_of(baseline.suite, baseline.records)
    return Comparison(
        baseline=baseline,
        # What was set aside when it was accepted may have left no record.
        before={(unit.case, unit.arm): unit for unit in units if unit.known},
        problems=tuple(_problems(baseline, suite, policy, parts)),
        added=tuple(parts['added']),
        removed=tuple(parts['removed']),
        changed=tuple(changed),
        renamed=renamed,
    )


def is_exact(pairs: Sequence[Pair]) -> bool:
    """Whether both sides replayed the same recordings, so that only the change under test can make a difference."""
    return bool(pairs) and all(_same_recordings(pair) for pair in pairs)


def why_of(unit: Unit) -> str | None:
    """What is wrong with a case, in one line; `None` when nothing is."""
    if len(unit.known) < len(unit.records):
        return 'the run left no record of it'
    return next((why for record in unit.known if (why := _fault(record)) is not None), None)


def _fault(record: CaseRecord) -> str | None:
    if record.error is not None:
        lines = record.error.message.splitlines()
        return f'{record.error.type} in the {record.error.where}' + (f': {lines[0]}' if lines else '')
    if record.state == 'unscored':
        return 'nothing scored it'
    for name, score in record.scores.items():
        if score.value is False:
            return f'{name}: {score.reason}' if score.reason else f'{name} is false'
    return None


def _contents(suite: SuiteMeta) -> dict[str, str | None]:
    return {case: suite.case_sha256.get(case) for case in suite.cases}


def _renamed(
    old: Mapping[str, str | None], new: Mapping[str, str | None], gone: Sequence[str], fresh: Sequence[str]
) -> dict[str, str]:
    """Cases that went and came with the same content, where only one did."""
    came = {content: case for case in fresh if (content := new[case])}
    times_came, times_went = Counter(new[case] for case in fresh), Counter(old[case] for case in gone)
    return {
        case: came[content]
        for case in gone
        if (content := old[case]) and times_went[content] == times_came[content] == 1
    }


def _problems(
    baseline: Baseline, suite: SuiteMeta, policy: Policy, parts: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    if any(parts.values()):
        counts = [f'{len(cases)} {what} ({_few(cases)})' for what, cases in parts.items() if cases]
        yield f'the dataset changed: {", ".join(counts)}'
    elif suite.dataset_sha256 != baseline.suite.dataset_sha256 and not (
        suite.case_sha256 and baseline.suite.case_sha256
    ):
        yield 'the dataset changed'
    if suite.scorers_sha256 != baseline.suite.scorers_sha256:
        yield 'the scorers changed'
    # Another policy than the suite's own may be tried at any time; its own decides what a baseline was accepted under.
    if policy.file == suite.policy and policy.sha256 != baseline.suite.policy_sha256:
        yield f'policy {policy.file} changed' if policy.file else 'the policy was taken away'


def _few(cases: Sequence[str]) -> str:
    return ', '.join(cases[:_FEW]) + (f' and {len(cases) - _FEW} more' if len(cases) > _FEW else '')


def _same_recordings(pair: Pair) -> bool:
    before, after = _recordings(pair.before), _recordings(pair.after)
    return before == after and None not in before


def _recordings(unit: Unit) -> list[str | None]:
    return [None if record.cassette is None else record.cassette.sha256 for record in unit.known]
