"""Baselines: what a suite measured when somebody accepted it, for later runs to be compared with.

One file per suite, `evals/baselines/<suite>.json`, made to be committed and reviewed: every case and every record is a
line of its own, in the order of the dataset, with nothing in it that changes without reason.

    {"schema": 1, "suite": s, "baselines": {name: {
      "accepted": {"by": s, "at": s, "reason": s},
      "run": {"id": s, "mode": s, "regime": "replay|sampled", "verdict": "pass|blocked", "versions": {...}},
      "dataset_sha256": s, "scorers_sha256": s, "policy": s|null, "policy_sha256": s|null, "arms": [s], "repeat": n,
      "metrics": {name: "assertion|score|null"},
      "cases": {case: {"tags": [s], "sha256": s|null}},
      "records": [{"case": s, "arm": s, "repeat": n, "state": s, "error": {"type": s, "where": s}|null,
                   "scores": {name: bool|number|str|null}, "usage": {...}, "cost_usd": n|null,
                   "recorded_latency_s": n|null, "recording": {"file": s, "sha256": s|null}|null}]}}}

Outputs, reasons and messages of errors are left out: they may hold what users typed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from advisor_harness.evals.errors import HarnessError
from advisor_harness.evals.meta import Mode, Regime, RunMeta, SuiteMeta
from advisor_harness.evals.naming import encoded, shown
from advisor_harness.evals.records import CaseError, CaseKey, CaseRecord, CassetteUse, Score

__all__ = [
    'BASELINES',
    'MAIN',
    'Acceptance',
    'Baseline',
    'baseline_of',
    'file_of',
    'load',
    'load_all',
    'names',
    'save',
    'suites',
]

BASELINES = Path('evals/baselines')
"""Where baselines are."""

MAIN = 'main'
"""Name of the baseline that is meant when none is named."""

# Deeper than this, JSON stays on one line.
_LINES_TO = 4


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """Who made a run the baseline, when and why."""

    by: str
    at: str
    """ISO 8601, UTC."""
    reason: str


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """What a suite measured in an accepted run."""

    name: str
    accepted: Acceptance
    run_id: str
    mode: Mode
    verdict: str
    """`pass` or `blocked`, without any comparison."""
    versions: Mapping[str, str]
    suite: SuiteMeta
    """The suite as it was."""
    records: Mapping[CaseKey, CaseRecord]
    """Without outputs, reasons and messages."""

    def to_json(self) -> dict[str, Any]:
        """The object below its name in the file."""
        suite = self.suite
        return {
            'accepted': vars(self.accepted),
            'run': {
                'id': self.run_id,
                'mode': self.mode,
                'regime': suite.regime,
                'verdict': self.verdict,
                'versions': dict(self.versions),
            },
            'dataset_sha256': suite.dataset_sha256,
            'scorers_sha256': suite.scorers_sha256,
            'policy': suite.policy,
            'policy_sha256': suite.policy_sha256,
            'arms': list(suite.arms),
            'repeat': suite.repeat,
            'metrics': dict(suite.metrics),
            'cases': {
                case: {'tags': list(tags), 'sha256': suite.case_sha256.get(case)} for case, tags in suite.cases.items()
            },
            'records': [_record_json(record) for record in self.records.values()],
        }


def baseline_of(
    meta: RunMeta, suite: SuiteMeta, records: Mapping[CaseKey, CaseRecord], *, name: str, verdict: str, by: Acceptance
) -> Baseline:
    """The baseline that a run's suite becomes: its records in the order of the dataset."""
    there = {key: _bare(records[key]) for key in suite.expected() if key in records}
    return Baseline(
        name=name,
        accepted=by,
        run_id=meta.id,
        mode=meta.mode,
        verdict=verdict,
        versions=meta.versions,
        suite=replace(suite, cassettes=None, selected=None, all_arms=suite.arms, code_sha256=None),
        records=there,
    )


def file_of(suite: str, folder: Path = BASELINES) -> Path:
    """The file with the baselines of a suite."""
    return folder / f'{encoded(suite)}.json'


def load(suite: str, name: str = MAIN, folder: Path = BASELINES) -> Baseline | None:
    """The baseline of that name, `None` if the suite has none.

    Raises:
        HarnessError: the file is not readable, or not a file of baselines.
    """
    path = file_of(suite, folder)
    entry = _entries(path, suite).get(name)
    if entry is None:
        return None
    try:
        return _from_json(suite, name, entry)
    except (KeyError, TypeError, ValueError, AttributeError) as e:
        raise _broken(path, f'baseline {name!r} is not complete ({type(e).__name__}: {e})') from e


def load_all(suites: Sequence[str], name: str = MAIN, folder: Path = BASELINES) -> dict[str, Baseline]:
    """The baseline of every suite that has one.

    Args:
        suites: Names of suites.
        name: Which one.
        folder: Where baselines are.

    Raises:
        HarnessError: a file is not readable, or no suite has a baseline of a name that is not the usual one.
    """
    found = {suite: each for suite in suites if (each := load(suite, name, folder)) is not None}
    if not found and name != MAIN:
        known = sorted({each for suite in suites for each in names(suite, folder)})
        raise HarnessError(
            f'there is no baseline {name!r} of {", ".join(suites)} in {shown(folder)}: there is '
            f'{", ".join(known) or "none"}; make one: advisor-harness baseline accept RUN --reason TEXT --name {name}'
        )
    return found


def names(suite: str, folder: Path = BASELINES) -> tuple[str, ...]:
    """Names of the baselines of a suite, in order.

    Raises:
        HarnessError: the file is not readable, or not a file of baselines.
    """
    return tuple(sorted(_entries(file_of(suite, folder), suite)))


def suites(folder: Path = BASELINES) -> tuple[str, ...]:
    """The suites that have a baseline, in order.

    Raises:
        HarnessError: a file is not readable, or not a file of baselines.
    """
    found = (_content(path) for path in sorted(folder.glob('*.json')))
    return tuple(sorted(content['suite'] for content in found if content['baselines']))


def save(baseline: Baseline, folder: Path = BASELINES) -> Path:
    """Add a baseline to its suite's file, or replace the one of its name, in one step; returns the file.

    Raises:
        HarnessError: the file is there and not a file of baselines, or cannot be written.
    """
    suite = baseline.suite.name
    path = file_of(suite, folder)
    entries = {**_entries(path, suite), baseline.name: baseline.to_json()}
    content = {'schema': 1, 'suite': suite, 'baselines': dict(sorted(entries.items()))}
    part = path.with_name(f'.{path.name}.{os.getpid()}.part')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(_lines(content) + '\n', encoding='utf-8')
        os.replace(part, path)
    except OSError as e:
        with suppress(OSError):  # whatever kept it from being written may keep it from being removed
            part.unlink()
        raise HarnessError(f'baseline {shown(path)} cannot be written: {e.strerror}') from e
    return path


def _lines(value: Any, depth: int = 0) -> str:
    if depth == _LINES_TO or not isinstance(value, (dict, list)) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner, outer = '  ' * (depth + 1), '  ' * depth
    if isinstance(value, dict):
        entries = cast('dict[str, Any]', value).items()
        rows = [f'{json.dumps(key, ensure_ascii=False)}: {_lines(each, depth + 1)}' for key, each in entries]
        return '{\n' + ',\n'.join(inner + row for row in rows) + f'\n{outer}}}'
    rows = [_lines(each, depth + 1) for each in cast('list[Any]', value)]
    return '[\n' + ',\n'.join(inner + row for row in rows) + f'\n{outer}]'


def _entries(path: Path, suite: str) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    found = _content(path)
    if found['suite'] != suite:
        raise _broken(path, f'it is of suite {found["suite"]!r}, not {suite!r}')
    return cast('dict[str, dict[str, Any]]', found['baselines'])


def _content(path: Path) -> dict[str, Any]:
    try:
        content: Any = json.loads(path.read_bytes())
    except (OSError, ValueError) as e:
        raise _broken(path, str(e)) from e
    if not isinstance(content, dict):
        raise _broken(path, 'it is no JSON object')
    found = cast('dict[str, Any]', content)
    if found.get('schema') != 1 or not isinstance(found.get('baselines'), dict):
        raise _broken(path, f'schema is {found.get("schema")!r}, not 1')
    if not isinstance(found.get('suite'), str):
        raise _broken(path, f'its suite is {found.get("suite")!r}')
    return found


def _broken(path: Path, why: str) -> HarnessError:
    return HarnessError(
        f'{shown(path)} is not a file of baselines: {why}; restore it from version control, or remove it and accept a '
        'run again'
    )


def _bare(record: CaseRecord) -> CaseRecord:
    """A record without what may hold conversation, and without what only the run's folder has."""
    return replace(
        record,
        error=None if record.error is None else replace(record.error, message=''),
        scores={name: Score(score.value) for name, score in record.scores.items()},
        output=None,
        tags=(),
        spans=None,
        messages=None,
        traceback=None,
        trace_problem=None,
        duration_s=0.0,
        cassette=None if record.cassette is None else _recording(record.cassette.file, record.cassette.sha256),
        trace_complete=True,
        carried_from=None,
    )


def _recording(file: str, sha256: str | None) -> CassetteUse:
    return CassetteUse(file=file, hits=0, misses=0, unused=0, recorded_with='', sha256=sha256)


def _record_json(record: CaseRecord) -> dict[str, Any]:
    error, used = record.error, record.cassette
    return {
        'case': record.case,
        'arm': record.arm,
        'repeat': record.repeat,
        'state': record.state,
        'error': None if error is None else {'type': error.type, 'where': error.where},
        'scores': {name: score.value for name, score in sorted(record.scores.items())},
        'usage': dict(sorted(record.usage.items())),
        'cost_usd': record.cost_usd,
        'recorded_latency_s': record.recorded_latency_s,
        'recording': None if used is None else {'file': used.file, 'sha256': used.sha256},
    }


def _from_json(suite: str, name: str, data: Mapping[str, Any]) -> Baseline:
    run, cases = data['run'], data['cases']
    arms = tuple(data['arms'])
    regime: Regime = run['regime']
    records = [_record_from_json(suite, each) for each in data['records']]
    return Baseline(
        name=name,
        accepted=Acceptance(**data['accepted']),
        run_id=run['id'],
        mode=run['mode'],
        verdict=run['verdict'],
        versions=run['versions'],
        suite=SuiteMeta(
            name=suite,
            regime=regime,
            arms=arms,
            all_arms=arms,
            repeat=data['repeat'],
            cases={case: tuple(each['tags']) for case, each in cases.items()},
            metrics=data['metrics'],
            policy=data['policy'],
            policy_sha256=data['policy_sha256'],
            dataset_sha256=data['dataset_sha256'],
            case_sha256={case: each['sha256'] for case, each in cases.items() if each['sha256'] is not None},
            scorers_sha256=data['scorers_sha256'],
        ),
        records={record.key: record for record in records},
    )


def _record_from_json(suite: str, data: Mapping[str, Any]) -> CaseRecord:
    error, used = data['error'], data['recording']
    return CaseRecord(
        suite=suite,
        case=data['case'],
        arm=data['arm'],
        repeat=data['repeat'],
        state=data['state'],
        error=None if error is None else CaseError(type=error['type'], message='', where=error['where']),
        scores={name: Score(value) for name, value in data['scores'].items()},
        usage=data['usage'],
        cost_usd=data['cost_usd'],
        recorded_latency_s=data['recorded_latency_s'],
        cassette=None if used is None else _recording(used['file'], used['sha256']),
        trace_complete=True,
    )
