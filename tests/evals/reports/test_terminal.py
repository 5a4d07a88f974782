from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from advisor_harness.evals.meta import RunMeta
from advisor_harness.evals.records import CaseError, Score
from advisor_harness.evals.reports import terminal
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import Flip, RunVerdict, SuiteVerdict, Verdict
from tests.evals.reports.pages import rich
from tests.evals.reports.sample import condition, gate, mixed, passing, record, stored


def printed(verdict: RunVerdict, store: RunStore, *, encoding: str = 'utf-8', **options: bool) -> str:
    """The report as a plain console with `encoding` gets it."""
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    console = Console(file=file, width=200, color_system=None, force_terminal=False)
    console.print(terminal.render(verdict, store, **options), soft_wrap=True)
    return raw.getvalue().decode(encoding)


def test_a_run_with_every_verdict(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """The report shows what failed and why, every number with its denominator, and the result last."""
    assert printed(*mixed(tmp_path)) == snapshot


def test_verbose_lists_the_cases_that_are_fine_too(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """`verbose` shows every row."""
    assert printed(*passing(tmp_path), verbose=True) == snapshot


def test_quiet_prints_the_result_alone(tmp_path: Path) -> None:
    """`quiet` leaves one line, the same that ends the whole report."""
    verdict, store = mixed(tmp_path)
    line = printed(verdict, store, quiet=True)
    assert line == (
        'RESULT        INCONCLUSIVE   exit 2   run 20270101-120000   failures: preconditions cassettes 2/3, '
        'traces 2/3\n'
    )
    assert printed(verdict, store).endswith('\n' + line)


def test_an_ascii_console_gets_ascii(tmp_path: Path) -> None:
    """Marks have ASCII forms, and text outside the encoding is escaped instead of failing."""
    store = stored(tmp_path, record('s', 'naïve', state='failed', scores={'right': Score(False, '5 € \x1b[31m')}))
    suite = SuiteVerdict(
        suite='s',
        regime='sampled',
        verdict=Verdict.PASS,
        flips=(Flip(case='naïve', arm='advised', from_='pass', to='fail'),),
    )
    assert printed(RunVerdict(run_id='r', suites=(suite,)), store, encoding='ascii') == (
        '+ s   sampled: no recordings   1 case: 1 failed\n'
        '  changed against the baseline: 1 worse, 0 better, 0 otherwise\n'
        '    na\\xefve [advised]   pass -> fail\n'
        '  cases to look at: 1 of 1, none of them blocks\n'
        '    ! failed   na\\xefve [advised]\n'
        '        right: 5 \\u20ac \\x1b[31m\n'
        '\n'
        'rests on      0 recordings: 0 provider, 0 local model, 0 emulator, 0 unknown; 1 case without a recording\n'
        'total         1 case: 1 failed in 1 suite\n'
        'RESULT        PASS   exit 0   run r\n'
    )


def test_a_suite_that_fails_everywhere_is_cut_with_a_count(tmp_path: Path) -> None:
    """Without `verbose` at most `MOST_ROWS` rows of a suite are printed, with the number of those that are not."""
    error = CaseError('ValueError', 'no', 'task')
    store = stored(tmp_path, *(record('s', f'{n:03}', state='error', error=error) for n in range(60)))
    verdict = RunVerdict(run_id='r', suites=(SuiteVerdict(suite='s', regime='sampled', verdict=Verdict.BLOCKED),))
    assert '    x error   049 [advised]\n' in printed(verdict, store, encoding='ascii')
    assert '050' not in printed(verdict, store)
    assert '    and 10 more: -v shows all\n' in printed(verdict, store)
    assert '    ✗ error   059 [advised]\n' in printed(verdict, store, verbose=True)


def test_a_case_set_aside_is_named_with_the_reason(tmp_path: Path) -> None:
    """A quarantined case is no case to look at, but it is never silent."""
    store = stored(tmp_path, record('s', 'flaky', state='failed', scores={'right': Score(False)}), record('s', 'good'))
    suite = SuiteVerdict(suite='s', regime='sampled', verdict=Verdict.PASS, quarantined={'flaky': 'known, see issue 7'})
    text = printed(RunVerdict(run_id='r', suites=(suite,)), store)
    assert text.splitlines()[:2] == [
        '✓ s   sampled: no recordings   2 cases: 1 ok, 1 set aside',
        '  set aside: flaky [advised], failed: known, see issue 7',
    ]


def test_a_run_that_judged_nothing_says_so(tmp_path: Path) -> None:
    """Without suites there is a RESULT line all the same, and it is not a pass."""
    assert printed(RunVerdict(run_id='r', suites=()), stored(tmp_path), quiet=True) == (
        'RESULT        INCONCLUSIVE   exit 2   run r   no suite was judged\n'
    )


def test_many_gates_are_cut_to_those_that_did_not_pass(tmp_path: Path) -> None:
    """A long table shows what needs a look, says how many gates there are, and is whole with `verbose`."""
    gates = [gate(f'must_pass {n}', 1.0, '>= 1', 'pass', 1, 1) for n in range(30)]
    gates[20] = gate('must_pass 20', 0.0, '>= 1', 'fail', 1, 1)
    suite = SuiteVerdict(suite='s', regime='sampled', verdict=Verdict.BLOCKED, gates=tuple(gates))
    verdict, store = RunVerdict(run_id='r', suites=(suite,)), stored(tmp_path)
    assert printed(verdict, store).splitlines()[:4] == [
        '✗ s   sampled: no recordings   no case was run',
        '     gate          arm      value  scored  limit  verdict',
        '  ✗  must_pass 20  advised  0      1/1     >= 1   fail',
        '     1 of 30 gates are shown, none that passed: -v shows all',
    ]
    assert printed(verdict, store, verbose=True).count('must_pass') == 31


def test_everything_that_a_comparison_says_is_shown(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """Baseline, movers, flips, what cannot be seen, arms, quarantine and who answered each have their line."""
    assert printed(*rich(tmp_path)) == snapshot


def test_a_run_that_recorded_says_so_and_names_its_carried_records(tmp_path: Path) -> None:
    """A header explains why answers are samples, and the total counts what another run left."""
    meta = RunMeta(id='r', started='2027-01-01T12:00:00Z', mode='record', suites=())
    store = RunStore.create(tmp_path, meta)
    for name, source in (('a', None), ('b', 'before')):
        store.append(record('s', name, carried_from=source))
    suite = SuiteVerdict(suite='s', regime='sampled', verdict=Verdict.PASS)
    lines = printed(RunVerdict(run_id='r', suites=(suite,), narrowed="case 'a'"), store).splitlines()
    assert lines == [
        '✓ s   sampled: this run recorded its answers   2 cases: 2 ok',
        '',
        'rests on      0 recordings: 0 provider, 0 local model, 0 emulator, 0 unknown; 2 cases without a recording',
        'total         2 cases: 2 ok in 1 suite, 1 record carried over from an earlier run',
        "RESULT        PASS   exit 0   run r   narrowed to case 'a'",
    ]


def test_a_precondition_that_no_case_explains_is_told_where_it_stands(tmp_path: Path) -> None:
    """What fails a precondition is told once: with the case where one is listed, otherwise beside the condition."""
    failing = condition('shards', 2, 3, 'shard 2 of 3 was not merged\nmerge it')
    suite = SuiteVerdict(suite='s', regime='replay', verdict=Verdict.INCONCLUSIVE, preconditions=(failing,))
    text = printed(RunVerdict(run_id='r', suites=(suite,)), stored(tmp_path))
    assert '    shards: shard 2 of 3 was not merged\n' in text


def test_a_suite_that_passes_shows_few_of_its_failed_cases(tmp_path: Path) -> None:
    """Where nothing blocks, a long list of cases is no news: ten stand for all."""
    wrong = {'state': 'failed', 'scores': {'right': Score(False, 'no')}}
    store = stored(tmp_path, *(record('s', f'{n:03}', **wrong) for n in range(20)))
    verdict = RunVerdict(run_id='r', suites=(SuiteVerdict(suite='s', regime='sampled', verdict=Verdict.PASS),))
    text = printed(verdict, store)
    assert text.count('right: no') == 10
    assert '    and 10 more: -v shows all\n' in text
