"""What a run is going to do: which cases of which suites, in which arms, narrowed down by what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from advisor_harness.evals.code import code_sha256
from advisor_harness.evals.datasets import AnyCase, SuiteCases
from advisor_harness.evals.errors import SuiteError
from advisor_harness.evals.meta import Filters, Mode, Regime, SuiteMeta
from advisor_harness.evals.naming import case_stem, ignores_case, shown
from advisor_harness.evals.records import CaseKey
from advisor_harness.evals.rules import Policy
from advisor_harness.evals.shards import dealt
from advisor_harness.evals.suite import Suite

__all__ = ['Job', 'SuitePlan', 'make_plan', 'selected_cases']


@dataclass(frozen=True, kw_only=True)
class Job:
    """One case of one arm, to be run once."""

    suite: SuiteCases
    case: AnyCase
    arm: str
    repeat: int

    @property
    def key(self) -> CaseKey:
        """Key of the record it will leave."""
        return CaseKey(self.suite.suite.name, cast(str, self.case.name), self.arm, self.repeat)

    @property
    def cassette(self) -> Path | None:
        """File of its recording; `None` when the suite has none."""
        folder = self.suite.suite.cassettes_folder
        arm = self.suite.suite.plays.get(self.arm, self.arm)
        return None if folder is None else folder / f'{case_stem(self.key.case, arm, self.repeat)}.yaml'

    @property
    def borrows(self) -> bool:
        """Whether its recording is another arm's, which it must not change."""
        return self.arm in self.suite.suite.plays


@dataclass(frozen=True, kw_only=True)
class SuitePlan:
    """The part of one suite that a run runs."""

    cases: SuiteCases
    arms: tuple[str, ...]
    selected: tuple[AnyCase, ...]

    @property
    def suite(self) -> Suite:
        """The suite."""
        return self.cases.suite

    def jobs(self) -> Iterator[Job]:
        """Every case, arm and repeat, in the order of `SuiteMeta.expected`."""
        for case in self.selected:
            for arm in self.arms:
                for repeat in range(1, self.suite.repeat + 1):
                    yield Job(suite=self.cases, case=case, arm=arm, repeat=repeat)

    def meta(self, mode: Mode) -> SuiteMeta:
        """What `run.json` says about it.

        Raises:
            PolicyError: the suite's policy file is not usable; better known before the run than after it.
        """
        suite, policy = self.suite, self.suite.policy_file
        regime: Regime = 'replay' if mode == 'replay' and suite.cassettes is not None else 'sampled'
        narrowed = len(self.selected) < len(self.cases.cases)
        return SuiteMeta(
            name=suite.name,
            regime=regime,
            arms=self.arms,
            repeat=suite.repeat,
            cases=self.cases.tags,
            selected=tuple(cast(str, case.name) for case in self.selected) if narrowed else None,
            all_arms=suite.arm_names,
            metrics=self.cases.metrics,
            judges=self.cases.judges,
            cassettes=None if suite.cassettes_folder is None else shown(suite.cassettes_folder),
            policy=None if policy is None else shown(policy),
            policy_sha256=None if policy is None else Policy.from_file(policy).sha256,
            dataset_sha256=self.cases.dataset_sha256,
            case_sha256=self.cases.case_sha256,
            scorers_sha256=self.cases.scorers_sha256,
            code_sha256=None if suite.file is None else code_sha256(suite.file),
        )


def make_plan(suites: Sequence[SuiteCases], filters: Filters) -> list[SuitePlan]:
    """The cases to run, suite by suite; a suite that has none of what was asked for is left out.

    A shard names every suite, also those of whose cases it got none, so that shards can be put together again.

    Raises:
        SuiteError: two cases would share a recording, no suite has an arm, case or tag that was asked for, or nothing
            has all of it.
    """
    for cases in suites:
        _check_files(cases)
    _check_known(suites, filters)
    plans = [plan for cases in suites if (plan := _narrowed(cases, filters)) is not None]
    if not plans:
        raise SuiteError(f'no case is left: none has all of {_asked(filters)}')
    return plans if filters.shard is None else _sharded(plans, filters.shard)


def _check_files(cases: SuiteCases) -> None:
    folder = cases.suite.cassettes_folder
    owners: dict[str, str] = {}
    for name in cases.tags if folder is not None else ():
        other = owners.setdefault(case_stem(name, '').lower(), name)
        if other != name and ignores_case(cast(Path, folder)):
            raise SuiteError(
                f'cases {other!r} and {name!r} of suite {cases.suite.name!r} would share a recording, as names of '
                f'files in {shown(cast(Path, folder))} do not differ by case: rename one of them'
            )


def _sharded(plans: Sequence[SuitePlan], shard: tuple[int, int]) -> list[SuitePlan]:
    shares: list[SuitePlan] = []
    start = 0
    for plan in plans:
        shares.append(replace(plan, selected=tuple(dealt(plan.selected, shard, start=start))))
        start += len(plan.selected)
    return shares


def selected_cases(tags: Mapping[str, tuple[str, ...]], filters: Filters) -> list[str]:
    """Names of the cases that filters leave, shards aside, of a suite with these cases and their tags."""
    return [
        case
        for case, its_tags in tags.items()
        if (not filters.cases or case in filters.cases) and (not filters.tags or set(filters.tags) & set(its_tags))
    ]


def _narrowed(cases: SuiteCases, filters: Filters) -> SuitePlan | None:
    arms = tuple(arm for arm in cases.suite.arm_names if filters.arm in (None, arm))
    names = set(selected_cases(cases.tags, filters))
    selected = tuple(case for case in cases.cases if case.name in names)
    return SuitePlan(cases=cases, arms=arms, selected=selected) if arms and selected else None


def _check_known(suites: Sequence[SuiteCases], filters: Filters) -> None:
    names = ', '.join(cases.suite.name for cases in suites)

    def check(what: str, asked: Iterable[str], known: Callable[[SuiteCases], Iterable[str]]) -> None:
        there = list(dict.fromkeys(name for cases in suites for name in known(cases)))
        for name in asked:
            if name not in there:
                few = ', '.join(there[:20]) + (', ...' if len(there) > 20 else '')
                raise SuiteError(f'there is no {what} {name!r} in {names}: there is {few or "none"}')

    check('arm', () if filters.arm is None else (filters.arm,), lambda cases: cases.suite.arm_names)
    check('case', filters.cases, lambda cases: cases.tags)
    check('tag', filters.tags, lambda cases: (tag for tags in cases.tags.values() for tag in tags))


def _asked(filters: Filters) -> str:
    parts = [f'arm {filters.arm!r}'] if filters.arm is not None else []
    for what, names in (('case', filters.cases), ('tag', filters.tags)):
        if names:
            parts.append(f'{what} {" or ".join(map(repr, names))}')
    return ', '.join(parts)
