from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from syrupy.assertion import SnapshotAssertion

from advisor_harness.evals.records import CaseError, Score
from advisor_harness.evals.reports import junit
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import RunVerdict, SuiteVerdict, Verdict
from tests.evals.reports.sample import mixed, record, stored


def rendered(store: RunStore, **facts: object) -> ET.Element:
    """The `<testsuite>` of a run of one suite, read back."""
    suite = {'suite': 's', 'regime': 'sampled', 'verdict': Verdict.PASS} | facts
    verdict = RunVerdict(run_id='r', suites=(SuiteVerdict(**suite),))  # pyright: ignore[reportArgumentType] - any field
    return ET.fromstring(junit.render(verdict, store).encode())[0]


def test_a_run_with_every_verdict(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """Cases, gates and unmet preconditions are testcases; failure, error and success are told apart."""
    assert junit.render(*mixed(tmp_path)) == snapshot


def test_the_counts_are_those_of_the_elements(tmp_path: Path) -> None:
    """`tests`, `failures`, `errors` and `skipped` say what the file holds, suite by suite and in total."""
    root = ET.fromstring(junit.render(*mixed(tmp_path)).encode())
    for element in (root, *root):
        counted = [len(list(element.iter(tag))) for tag in ('testcase', 'failure', 'error', 'skipped')]
        assert [int(element.attrib[name]) for name in ('tests', 'failures', 'errors', 'skipped')] == counted


def test_characters_that_xml_forbids_are_escaped(tmp_path: Path) -> None:
    """Whatever a case is called or says, the file can be parsed."""
    error = CaseError('Odd\x00Error', 'a\x1b[31m <b> & "c" \ud800 \uffff', 'task')
    store = stored(tmp_path, record('s', 'bad\x07name', state='error', scores={}, error=error))
    case = rendered(store).find('testcase')
    assert case is not None
    fault = case.find('error')
    assert fault is not None
    assert (case.get('name'), fault.get('type'), fault.text) == (
        'bad\\x07name [advised]',
        'Odd\\x00Error',
        'Odd\\x00Error in the task: a\\x1b[31m <b> & "c" \\ud800 \\uffff',
    )


def test_a_quarantined_case_is_skipped_with_the_reason(tmp_path: Path) -> None:
    """What the policy sets aside neither fails nor counts as passed."""
    store = stored(tmp_path, record('s', 'flaky', state='failed', scores={'right': Score(False)}))
    skipped = rendered(store, quarantined={'flaky': 'known'}).findall('testcase/skipped')
    assert [element.get('message') for element in skipped] == ['known']


def test_repeats_of_a_case_are_one_testcase(tmp_path: Path) -> None:
    """There is one testcase per case and arm; the worst repeat decides and says which it was."""
    store = stored(
        tmp_path,
        record('s', 'c', repeat=1),
        record('s', 'c', repeat=2, state='failed', scores={'right': Score(False, 'no')}),
    )
    cases = rendered(store).findall('testcase')
    assert [(case.get('name'), case.get('time'), case.findtext('failure')) for case in cases] == [
        ('c [advised]', '0.500', 'repeat 2: right: no')
    ]


def test_a_verdict_without_a_visible_cause_is_an_error(tmp_path: Path) -> None:
    """A suite that does not pass is never green on a CI server."""
    cases = rendered(stored(tmp_path), verdict=Verdict.INCONCLUSIVE).findall('testcase')
    assert [(case.get('classname'), case.findtext('error')) for case in cases] == [('s.verdict', 's is inconclusive')]
