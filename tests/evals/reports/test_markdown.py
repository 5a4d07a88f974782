from __future__ import annotations

from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from advisor_harness.evals.records import CaseError, Score
from advisor_harness.evals.reports import markdown
from advisor_harness.evals.verdict import Flip, RunVerdict, SuiteVerdict, Verdict
from tests.evals.reports.pages import rich
from tests.evals.reports.sample import gate, mixed, record, stored


def one_suite(**facts: object) -> RunVerdict:
    suite = {'suite': 's', 'regime': 'sampled', 'verdict': Verdict.BLOCKED} | facts
    return RunVerdict(run_id='r', suites=(SuiteVerdict(**suite),))  # pyright: ignore[reportArgumentType] - any field


def test_a_run_with_every_verdict(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """The verdict stands first, then every suite's gates, then the cases to look at."""
    assert markdown.render(*mixed(tmp_path)) == snapshot


def test_a_report_that_is_too_long_ends_between_two_blocks(tmp_path: Path) -> None:
    """A comment never exceeds GitHub's limit, says how many rows there are, and leaves no block open."""
    error = CaseError('ValueError', 'x' * 500, 'task')
    store = stored(tmp_path, *(record('s', f'case {n}', state='error', error=error) for n in range(1000)))
    text = markdown.render(one_suite(), store)
    shown = text.count('<details>')
    assert len(text) <= markdown.LONGEST
    assert (shown, text.count('</details>'), text.count('```')) == (shown, shown, 2 * shown)
    assert 90 < shown < 110
    assert text.splitlines()[-1] == (
        '1000 cases in this run, 1000 of them to look at; '
        f'{1000 - shown} of these did not fit here and are in `cases.jsonl`.'
    )


def test_text_of_a_model_cannot_break_out(tmp_path: Path) -> None:
    """Fences are longer than those inside, tags and table marks are shown as they are."""
    reason = '```\n</details><b>|\x1b[0m'
    store = stored(tmp_path, record('s', '<a|b>', state='failed', scores={'right': Score(False, reason)}))
    text = markdown.render(one_suite(gates=(gate('<a|b>', 0.0, '>= 1', 'fail', 1, 1),)), store)
    assert '| &lt;a\\|b&gt; | advised | 0 | 1/1 | &gt;= 1 | fail |\n' in text
    assert (
        '<details><summary>failed: s / &lt;a|b&gt; [advised]</summary>\n\n'
        '````text\nright: ```\n</details><b>|\\x1b[0m\n````\n\n</details>\n'
    ) in text


def test_many_gates_are_cut_to_those_that_did_not_pass(tmp_path: Path) -> None:
    """A long table shows what needs a look, and says how many gates there are."""
    gates = [gate(f'must_pass {n}', 1.0, '>= 1', 'pass', 1, 1) for n in range(80)]
    gates[70] = gate('must_pass 70', 0.0, '>= 1', 'fail', 1, 1)
    text = markdown.render(one_suite(gates=tuple(gates)), stored(tmp_path))
    assert [line for line in text.splitlines() if line.startswith('| must')] == [
        '| must\\_pass 70 | advised | 0 | 1/1 | &gt;= 1 | fail |'
    ]
    assert '1 of 80 gates are shown, none that passed.\n' in text


def test_changed_cases_are_listed_up_to_a_count(tmp_path: Path) -> None:
    """What changed against the baseline is named with its states, and a long list says how long it is."""
    flips = [
        Flip(case=f'c{n}', arm='advised', from_='pass', to='fail', why='no *advice*' if n else None) for n in range(60)
    ]
    lines = markdown.render(one_suite(flips=tuple(flips)), stored(tmp_path)).splitlines()
    assert [line for line in lines if 'changed' in line][:3] == [
        '- changed against the baseline: 60 worse, 0 better, 0 otherwise',
        '- c0 \\[advised\\] changed from pass to fail',
        '- c1 \\[advised\\] changed from pass to fail: no \\*advice\\*',
    ]
    assert '- 50 of 60 changed cases are shown' in lines


def test_everything_that_a_comparison_says_is_shown(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """Baseline, movers, flips, what cannot be seen, arms, quarantine and who answered each have their line."""
    assert markdown.render(*rich(tmp_path)) == snapshot


def test_a_report_never_exceeds_what_a_comment_may_have(tmp_path: Path) -> None:
    """Suites that do not fit are left out part by part, and counted."""
    gates = tuple(gate(f'gate {n}', 0.0, '>= 1', 'fail', 1, 1, detail='x' * 300) for n in range(60))
    suites = tuple(
        SuiteVerdict(suite=f's{n}', regime='sampled', verdict=Verdict.BLOCKED, gates=gates) for n in range(9)
    )
    text = markdown.render(RunVerdict(run_id='r', suites=suites), stored(tmp_path))
    assert len(text) <= markdown.LONGEST
    shown = text.count('### s')
    assert 1 < shown < 9
    assert text.splitlines()[-1] == (
        f'0 cases in this run, 0 of them to look at; {9 - shown} parts of 12 about suites did not fit here.'
    )
