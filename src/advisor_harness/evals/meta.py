"""What a run set out to do: the content of `run.json`, written before the first case starts.

It names every case that the run owes, so that a record that is not there is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from advisor_harness.evals.records import CaseKey

__all__ = ['Filters', 'MetricKind', 'Mode', 'Regime', 'RunMeta', 'SuiteMeta']

Mode = Literal['replay', 'record', 'record-missing', 'live']
Regime = Literal['replay', 'sampled']
MetricKind = Literal['assertion', 'score']

# Names of cases or tags in a sentence.
_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What the person at the keyboard narrowed the run down to; empty means everything."""

    arm: str | None = None
    cases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    only_failed: bool = False
    shard: tuple[int, int] | None = None
    """Which part of how many, from 1: `(2, 3)` is the second third; `None` is not divided."""

    @property
    def narrow(self) -> bool:
        """Whether cases or arms were left out on purpose."""
        return bool(self.arm or self.cases or self.tags or self.shard)

    @property
    def text(self) -> str | None:
        """What was left in, for people: `arm 'solo', shard 2 of 3`; `None` when nothing was left out."""
        parts = [] if self.arm is None else [f'arm {self.arm!r}']
        for what, names in (('case', self.cases), ('tag', self.tags)):
            if names:
                shown = ' or '.join(map(repr, names[:_SHOWN]))
                parts.append(f'{what} {shown}{f" or {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""}')
        if self.shard is not None:
            parts.append('shard {} of {}'.format(*self.shard))
        return ', '.join(parts) or None


@dataclass(frozen=True, kw_only=True)
class SuiteMeta:
    """One suite of a run: which cases it owes, and what they were measured with."""

    name: str
    regime: Regime
    """`replay` when every answer comes from a recording, else `sampled`."""
    arms: tuple[str, ...]
    """Arms that this run runs."""
    repeat: int
    """Runs per case and arm."""
    cases: Mapping[str, tuple[str, ...]]
    """Every case of the dataset with its tags, in order."""
    selected: tuple[str, ...] | None = None
    """Names of the cases that this run runs; `None` means all."""
    all_arms: tuple[str, ...] = ()
    """Arms that the suite has."""
    metrics: Mapping[str, MetricKind | None] = field(default_factory=dict[str, 'MetricKind | None'])
    """Names that the scorers are known to give to their results; `None` where only a run shows what kind they are."""
    judges: tuple[str, ...] = ()
    """Names of the results that models gave: a gate on one blocks only if it agrees with people."""
    cassettes: str | None = None
    """Folder of the recordings, relative to the current directory; `None` when the suite has none."""
    policy: str | None = None
    """Policy file, relative to the current directory."""
    policy_sha256: str | None = None
    dataset_sha256: str = ''
    """SHA-256 over the cases: a comment in the file changes nothing."""
    case_sha256: Mapping[str, str] = field(default_factory=dict[str, str])
    """Case to the SHA-256 of what it is besides its name, so that a renamed case is known again."""
    scorers_sha256: str = ''
    """SHA-256 over names, arguments and versions of all scorers."""
    code_sha256: str | None = None
    """SHA-256 over the suite's file and what it imports from beside it; `None` when it comes from no file."""

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the cases that this run runs."""
        return tuple(self.cases) if self.selected is None else self.selected

    def expected(self) -> Iterator[CaseKey]:
        """The key of every record that the run owes, in order."""
        for case in self.chosen:
            for arm in self.arms:
                for repeat in range(1, self.repeat + 1):
                    yield CaseKey(self.name, case, arm, repeat)


@dataclass(frozen=True, kw_only=True)
class RunMeta:
    """What ran, how and with which versions."""

    id: str
    started: str
    """Start of the run, ISO 8601, UTC."""
    mode: Mode
    suites: tuple[SuiteMeta, ...]
    filters: Filters = field(default_factory=Filters)
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    """Versions of Python, this package and the packages that decide what a replay does."""
    timeout: float | None = None
    """Seconds a task may take, > 0, when the run set another limit than its suites; `None` leaves them theirs."""
    baseline: str | None = None
    """Name of the baseline that was asked for; `None` is the usual one."""
    resumed: int = 0
    """How often the run was finished after it had been cut off."""
    merged: tuple[str, ...] = ()
    """Ids of the shards that the run was put together from, in order; empty when it ran by itself."""
    shards: int | None = None
    """Number of shards that there should be; `None` unless `merged`."""
    missing_shards: tuple[int, ...] = ()
    """Shards that were not there to be merged, from 1."""

    def suite(self, name: str) -> SuiteMeta | None:
        """The suite of that name, `None` if the run has none."""
        return next((suite for suite in self.suites if suite.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """The content of `run.json`."""
        return {'schema': 1, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunMeta:
        """Read `to_json`'s object back.

        Raises:
            ValueError: the object does not describe a run of schema 1.
        """
        if data.get('schema') != 1:
            raise ValueError(f'not a run of schema 1: schema is {data.get("schema")!r}')
        filters = data['filters']
        return cls(
            id=data['id'],
            started=data['started'],
            mode=data['mode'],
            suites=tuple(_suite_from_json(suite) for suite in data['suites']),
            filters=Filters(
                arm=filters['arm'],
                cases=tuple(filters['cases']),
                tags=tuple(filters['tags']),
                only_failed=filters['only_failed'],
                shard=None if filters.get('shard') is None else tuple(filters['shard']),
            ),
            versions=data['versions'],
            timeout=data.get('timeout'),
            baseline=data.get('baseline'),
            resumed=data.get('resumed', 0),
            merged=tuple(data.get('merged', ())),
            shards=data.get('shards'),
            missing_shards=tuple(data.get('missing_shards', ())),
        )


def _suite_from_json(data: Mapping[str, Any]) -> SuiteMeta:
    selected: list[str] | None = data['selected']
    parts: dict[str, Any] = {
        **data,
        'arms': tuple(data['arms']),
        'judges': tuple(data.get('judges', ())),
        'all_arms': tuple(data['all_arms']),
        'cases': {case: tuple(tags) for case, tags in data['cases'].items()},
        'selected': None if selected is None else tuple(selected),
    }
    return SuiteMeta(**parts)
