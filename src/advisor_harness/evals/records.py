"""What one case left behind: the record that is one line of `cases.jsonl`.

Format, version 1 (every key is always present):

    {"schema": 1, "suite": s, "case": s, "arm": s, "repeat": n, "state": "ok|failed|error|unscored|cancelled",
     "error": {"type": s, "message": s, "where": "task|scorer|cassette|harness"} | null,
     "scores": {name: {"value": bool|number|str|null, "reason": s|null}}, "output": any, "tags": [s], "usage": {...},
     "cost_usd": n|null,
     "cassette": {"file": s, "hits": n, "misses": n, "unused": n, "recorded_with": s, "sha256": s|null} | null,
     "trace_complete": bool, "duration_s": n, "recorded_latency_s": n|null, "spans": s|null, "messages": s|null,
     "trace_problem": s|null, "traceback": s|null, "carried_from": s|null}

The last record of a (suite, case, arm, repeat) wins, so a file only ever grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

__all__ = ['CaseError', 'CaseKey', 'CaseRecord', 'CassetteUse', 'Score', 'State']

State = Literal['ok', 'failed', 'error', 'unscored', 'cancelled']


class CaseKey(NamedTuple):
    """What identifies a record within a run."""

    suite: str
    case: str
    arm: str
    repeat: int


@dataclass(frozen=True)
class CaseError:
    """Why a case is not `ok` or `failed`, and whose fault that is."""

    type: str
    """Name of the exception's class."""
    message: str
    where: Literal['task', 'scorer', 'cassette', 'harness']


@dataclass(frozen=True)
class Score:
    """One evaluation of a case."""

    value: bool | int | float | str | None
    """`None` when the scorer ran and found nothing to measure."""
    reason: str | None = None


@dataclass(frozen=True)
class CassetteUse:
    """What a case did with its recording."""

    file: str
    """Path relative to the current directory."""
    hits: int
    misses: int
    unused: int
    recorded_with: str
    """Who answered: `provider`, `local model`, `emulator` or `unknown`."""
    sha256: str | None = field(default=None, compare=False)
    """SHA-256 of the file when the case ended: two runs that have the same replayed the same answers."""


@dataclass(frozen=True, kw_only=True)
class CaseRecord:
    """One case of one arm, run once."""

    suite: str
    case: str
    arm: str
    repeat: int = 1
    state: State
    error: CaseError | None = None
    scores: Mapping[str, Score] = field(default_factory=dict[str, Score])
    output: Any = None
    """The task's output as JSON."""
    tags: tuple[str, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict[str, int])
    """`requests`, `input_tokens`, `output_tokens` of all model requests of the case, the advisor's included."""
    cost_usd: float | None = None
    """US dollars of all model requests; `None` when a price is unknown."""
    cassette: CassetteUse | None = None
    trace_complete: bool = False
    trace_problem: str | None = None
    """What the trace lacks; `None` when it is complete."""
    duration_s: float = 0.0
    """Seconds the case took here; in a replay this says nothing about the provider."""
    recorded_latency_s: float | None = None
    """Seconds the provider took when it was recorded; `None` when the recording does not say."""
    spans: str | None = None
    """File with the case's spans, relative to the run's folder; `RunStore.spans` reads them."""
    messages: str | None = None
    """File with the messages of the case's first agent run; `RunStore.messages` reads them."""
    traceback: str | None = None
    """File with the traceback of `error`; `RunStore.traceback` reads it."""
    raised_at: str | None = None
    """Where a task failed, as `evals/support.py:31 in answer`: the last place below the current directory that is no
    installed package, else the last one; `None` when no task failed."""
    carried_from: str | None = field(default=None, compare=False)
    """Id of the run that ran the case, where this one took its record over; `None` where this one ran it."""

    @property
    def key(self) -> CaseKey:
        """What identifies this record within a run."""
        return CaseKey(self.suite, self.case, self.arm, self.repeat)

    def to_json(self) -> dict[str, Any]:
        """The record as the JSON object of the module's docstring."""
        return {'schema': 1, **asdict(self), 'tags': list(self.tags)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CaseRecord:
        """Read `to_json`'s object back; keys of later versions are ignored.

        Raises:
            ValueError: the object is not a record of schema 1.
        """
        if data.get('schema') != 1:
            raise ValueError(f'not a case record of schema 1: schema is {data.get("schema")!r}')
        error, cassette = data.get('error'), data.get('cassette')
        return cls(
            suite=data['suite'],
            case=data['case'],
            arm=data['arm'],
            repeat=data['repeat'],
            state=data['state'],
            error=None if error is None else CaseError(**error),
            scores={name: Score(**score) for name, score in data['scores'].items()},
            output=data.get('output'),
            tags=tuple(data.get('tags', ())),
            usage=data.get('usage', {}),
            cost_usd=data.get('cost_usd'),
            cassette=None if cassette is None else CassetteUse(**cassette),
            trace_complete=data['trace_complete'],
            duration_s=data['duration_s'],
            recorded_latency_s=data.get('recorded_latency_s'),
            spans=data.get('spans'),
            messages=data.get('messages'),
            trace_problem=data.get('trace_problem'),
            traceback=data.get('traceback'),
            raised_at=data.get('raised_at'),
            carried_from=data.get('carried_from'),
        )
