"""Finished runs, as the commands that read one find them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from advisor_harness.evals import CaseRecord, RunMeta, RunStore, Score, SuiteMeta

RUN_ID = '20270101T120000000Z-beef'


def record(case: str, *, right: bool = True, suite: str = 'mirror', arm: str = 'advised') -> CaseRecord:
    """A case that was scored and fully traced."""
    return CaseRecord(
        suite=suite,
        case=case,
        arm=arm,
        state='ok' if right else 'failed',
        scores={'right': Score(right, None if right else 'not the same')},
        trace_complete=True,
    )


def finished_run(*records: CaseRecord, spans: Sequence[dict[str, Any]] = (), policy: str | None = None) -> RunStore:
    """A run below the current directory that left `records`, each with `spans`."""
    names = {each.suite: None for each in records} or {'mirror': None}
    metas = tuple(
        SuiteMeta(
            name=name,
            regime='sampled',
            arms=tuple(dict.fromkeys(each.arm for each in records if each.suite == name)) or ('advised',),
            repeat=1,
            cases={each.case: () for each in records if each.suite == name} or {'short': ()},
            policy=policy,
        )
        for name in names
    )
    meta = RunMeta(id=RUN_ID, started='2027-01-01T12:00:00+00:00', mode='replay', suites=metas)
    store = RunStore.create(Path('runs'), meta)
    for each in records:
        kept = store.write_spans(each.key, spans) if spans else None
        store.append(CaseRecord.from_json({**each.to_json(), 'spans': kept}))
    return store
