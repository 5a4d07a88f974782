"""A finished run of three suites, one of each verdict, as reports get it."""

from __future__ import annotations

from pathlib import Path

from advisor_harness.evals.meta import RunMeta, SuiteMeta
from advisor_harness.evals.records import CaseError, CaseRecord, CassetteUse, Score
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import GateResult, Precondition, RunVerdict, SuiteVerdict, Verdict

MISS = """no recorded answer for POST https://api.example.com/v1/messages
  nearest    interaction 2 differs first at $.messages[4].content[0].text, character 14
  re-record  advisor-harness record failures --case lost"""


RUN_ID = '20270101-120000'


def stored(folder: Path, *records: CaseRecord, owed: tuple[SuiteMeta, ...] = ()) -> RunStore:
    """A run in `folder` that left `records` and owes `owed`."""
    meta = RunMeta(id=RUN_ID, started='2027-01-01T12:00:00Z', mode='replay', suites=owed)
    store = RunStore.create(folder, meta)
    for each in records:
        store.append(each)
    return store


def record(suite: str, case: str, **facts: object) -> CaseRecord:
    """A case that is fine but for `facts`."""
    given = {
        'arm': 'advised',
        'state': 'ok',
        'trace_complete': True,
        'duration_s': 0.25,
        'scores': {'right': Score(True)},
    }
    return CaseRecord(suite=suite, case=case, **(given | facts))  # pyright: ignore[reportArgumentType] - any field


def used(suite: str, case: str, by: str = 'emulator', **counts: int) -> CassetteUse:
    """A recording of two answers, both played."""
    hits, misses, unused = (counts.get(name, usual) for name, usual in (('hits', 2), ('misses', 0), ('unused', 0)))
    return CassetteUse(f'cassettes/{suite}/{case}.advised.yaml', hits, misses, unused, by)


def condition(name: str, met: int, of: int, detail: str | None = None) -> Precondition:
    return Precondition(name=name, value=met / of, expected=1.0, ok=met == of, n_met=met, n_expected=of, detail=detail)


def gate(
    metric: str, value: float | None, limit: str, verdict: str, scored: int, expected: int, **more: object
) -> GateResult:
    given = {'arm': 'advised', 'n_scored': scored, 'n_expected': expected} | more
    return GateResult(metric=metric, value=value, limit=limit, verdict=verdict, **given)  # pyright: ignore[reportArgumentType] - any field


PASSING = SuiteVerdict(
    suite='advice',
    regime='replay',
    verdict=Verdict.PASS,
    preconditions=(condition('cassettes', 2, 2), condition('traces', 2, 2), condition('scored', 2, 2)),
    gates=(
        gate('right', 1.0, '>= 0.9', 'pass', 2, 2),
        gate('bounds', 0.5, 'shown only', 'info', 2, 2, severity='info'),
    ),
)
PASSING_RECORDS = (
    record('advice', 'capital', cassette=used('advice', 'capital', 'local model')),
    record('advice', 'river', cassette=used('advice', 'river', 'provider')),
)
BLOCKED = SuiteVerdict(
    suite='choice',
    regime='sampled',
    verdict=Verdict.BLOCKED,
    preconditions=(condition('traces', 3, 3), condition('scored', 3, 3)),
    gates=(
        gate('right', 0.0, '>= 0.9', 'fail', 2, 2, detail='crash, wrong'),
        gate('tone', 0.99996, '>= 0.5', 'warn', 1, 2, severity='warn'),
    ),
)
BLOCKED_RECORDS = (
    record('choice', 'plain', arm='solo'),
    record('choice', 'wrong', state='failed', scores={'right': Score(False, "'escalate' is not 'refund'")}),
    record('choice', 'crash', state='error', scores={}, error=CaseError('TimeoutError', 'no answer in 5 s', 'task')),
)
INCONCLUSIVE = SuiteVerdict(
    suite='failures',
    regime='replay',
    verdict=Verdict.INCONCLUSIVE,
    preconditions=(
        condition('cassettes', 2, 3, f'lost [advised]: {MISS}'),
        condition('traces', 2, 3, 'blind [advised]: no spans'),
        condition('scored', 3, 3),
    ),
    gates=(gate('length', None, '>= 10', 'missing', 0, 3),),
)
INCONCLUSIVE_RECORDS = (
    record('failures', 'kept', cassette=used('failures', 'kept')),
    record(
        'failures',
        'lost',
        state='error',
        scores={},
        error=CaseError('UnmatchedRequest', MISS, 'cassette'),
        cassette=used('failures', 'lost', hits=1, misses=1, unused=1),
    ),
    record(
        'failures',
        'blind',
        trace_complete=False,
        trace_problem='no spans',
        cassette=used('failures', 'blind', 'unknown'),
    ),
)


def passing(folder: Path) -> tuple[RunVerdict, RunStore]:
    """One suite, two cases, nothing to look at."""
    return RunVerdict(run_id=RUN_ID, suites=(PASSING,)), stored(folder, *PASSING_RECORDS)


def mixed(folder: Path) -> tuple[RunVerdict, RunStore]:
    """A suite that passes, one that a gate blocks and one that is inconclusive."""
    verdict = RunVerdict(run_id=RUN_ID, suites=(PASSING, BLOCKED, INCONCLUSIVE))
    return verdict, stored(folder, *PASSING_RECORDS, *BLOCKED_RECORDS, *INCONCLUSIVE_RECORDS)
