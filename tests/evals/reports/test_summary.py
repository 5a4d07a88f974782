from __future__ import annotations

from pathlib import Path

from advisor_harness.evals.meta import SuiteMeta
from advisor_harness.evals.records import Score
from advisor_harness.evals.reports.summary import NOT_RUN, summarise
from advisor_harness.evals.verdict import GateResult, RunVerdict, SuiteVerdict, Verdict
from tests.evals.reports.sample import gate, record, stored, used


def one_suite(*gates: GateResult, verdict: Verdict = Verdict.PASS) -> RunVerdict:
    suite = SuiteVerdict(suite='s', regime='sampled', verdict=verdict, gates=gates)
    return RunVerdict(run_id='r', suites=(suite,))


def test_a_case_without_record_is_a_row_that_needs_a_look(tmp_path: Path) -> None:
    """A run that was cut off shows what it owes, not only what it did."""
    owed = SuiteMeta(name='s', regime='sampled', arms=('solo',), repeat=2, cases={'a': (), 'b': ()})
    records = [record('s', 'a', arm='solo'), record('s', 'a', arm='solo', repeat=2)]
    records.append(record('s', 'b', arm='solo', repeat=2, state='failed', scores={'right': Score(False, 'no')}))
    store = stored(tmp_path, *records, owed=(owed,))
    (suite,) = summarise(one_suite(), store).suites
    assert [(row.label, row.state, row.why) for row in suite.rows] == [
        ('a [solo]', 'ok', ()),
        ('b [solo]', 'cancelled', (f'repeat 1: {NOT_RUN}', 'repeat 2: right: no')),
    ]


def test_every_fault_of_a_case_is_told(tmp_path: Path) -> None:
    """A recording that was not used up, a missing trace and a score without value are faults even where no error is."""
    cassette = used('s', 'a', hits=1, unused=2, misses=1)
    scores = {'right': Score(True), 'lift': Score(None, 'no advice'), 'bounds': Score(False), 'length': Score(3)}
    facts = {'scores': scores, 'cassette': cassette, 'trace_complete': False, 'output': 'née'}
    store = stored(tmp_path, record('s', 'a', state='failed', **facts))
    (row,) = summarise(one_suite(), store).rows
    assert row.why == (
        'lift: nothing to measure, no advice',
        'bounds: false for the output "née"',
        'not in cassettes/s/a.advised.yaml: 1 request',
        'not asked for: 2 of 3 recorded answers in cassettes/s/a.advised.yaml',
        'the trace is not complete',
    )


def test_recordings_are_counted_by_file_and_kind(tmp_path: Path) -> None:
    """A recording that two cases share counts once; all four kinds are named, and others after them."""
    shared = used('s', 'shared', 'emulator')
    store = stored(
        tmp_path,
        record('s', 'a', cassette=shared),
        record('s', 'b', cassette=shared),
        record('s', 'c', cassette=used('s', 'c', 'proxy')),
        record('s', 'd'),
    )
    (suite,) = summarise(one_suite(), store).suites
    assert (list(suite.answered_by.items()), suite.without_cassette) == (
        [('provider', 0), ('local model', 0), ('emulator', 1), ('unknown', 0), ('proxy', 1)],
        1,
    )


def test_the_reasons_are_those_of_the_verdict(tmp_path: Path) -> None:
    """A blocked suite names what blocks it, an inconclusive one what was not measured, and a pass needs no reason."""
    gates = (
        gate('right', 0.5, '>= 0.9', 'fail', 2, 2),
        gate('tone', None, '<= 3', 'missing', 0, 2),
        gate('pace', None, '<= 3', 'missing', 0, 2, severity='info'),
        gate('length', 1.0, '>= 1', 'pass', 2, 2),
    )
    store = stored(tmp_path)
    reasons = [summarise(one_suite(*gates, verdict=verdict), store).reasons for verdict in Verdict]
    assert reasons == [
        (),
        ('s: right 0.500 (limit >= 0.9)', 's: tone not measured (limit <= 3)'),
        ('s: tone not measured (limit <= 3)',),
    ]
