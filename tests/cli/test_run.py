from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from syrupy.assertion import SnapshotAssertion

from advisor_harness.cli import delivery
from tests.cli.project import CASES, CRASHING_CASE, SUITE, WRONG_CASE, invoke, write_project
from tests.cli.receiver import Receiver, receiving


def without_ids(text: str) -> str:
    """`text` with run ids replaced, which no two runs share."""
    return re.sub(r'\d{8}T\d{9}Z-[0-9a-f]{4}', 'RUN-ID', text)


def verdict() -> dict[str, object]:
    """The newest verdict."""
    return json.loads(Path('reports/verdict.json').read_text())


def test_a_run_that_passes(folder: Path, snapshot: SnapshotAssertion) -> None:
    """A passing run prints its gates and RESULT, exits with 0 and leaves its records and reports."""
    write_project(folder)
    result = invoke('run', '--quiet', 'mirror')
    assert (result.exit_code, without_ids(result.stdout)) == (
        0,
        'a task may print\na task may print\nRESULT        PASS   exit 0   run RUN-ID\n',
    )
    result = invoke('gate', 'latest')
    assert without_ids(result.stdout) == snapshot
    (run,) = Path('runs').iterdir()
    reports = {'junit.xml', 'report.html', 'report.md', 'verdict.json'}
    names = {'cases.jsonl', 'messages', 'run.json', 'spans', *reports}
    assert {path.name for path in run.iterdir()} == names
    assert {path.name for path in Path('reports').iterdir()} == reports


def test_a_run_that_a_gate_blocks(folder: Path, snapshot: SnapshotAssertion) -> None:
    """A wrong answer and a crash block: exit code 1, and both are named with what went wrong."""
    write_project(folder, cases=CASES + WRONG_CASE + CRASHING_CASE)
    result = invoke('run')
    assert (result.exit_code, verdict()['exit_code']) == (1, 1)
    assert without_ids(result.stdout.replace('a task may print\n', '')) == snapshot


def test_progress_is_a_line_for_every_tenth_on_stderr(folder: Path) -> None:
    """Where nobody watches, progress is lines, and standard output is the report alone."""
    write_project(folder)
    assert invoke('run').stderr == (
        ' 50 %  1 of 2 cases: 1 ok; cost unknown\n100 %  2 of 2 cases: 2 ok; cost unknown\n'
    )


def test_json_keeps_stdout_for_json_lines(folder: Path) -> None:
    """With `--json` every line of stdout is JSON: the records, then the verdict; what a task prints goes to stderr."""
    write_project(folder)
    result = invoke('run', '--json')
    *records, last = (json.loads(line) for line in result.stdout.splitlines())
    assert (result.exit_code, last) == (0, verdict())
    assert sorted(record['case'] for record in records) == ['long', 'short']
    assert result.stderr.count('a task may print\n') == 2


@pytest.mark.parametrize(
    ('args', 'cases'),
    [
        ([], ['long', 'short']),
        (['--case', 'long'], ['long']),
        (['--case', 'long', '--case', 'short'], ['long', 'short']),
        (['--tag', 'easy'], ['short']),
        (['--arm', 'advised'], ['long', 'short']),
    ],
)
def test_a_run_is_narrowed_down(folder: Path, args: list[str], cases: list[str]) -> None:
    """`--case`, `--tag` and `--arm` choose what is run."""
    write_project(folder)
    assert invoke('run', *args).exit_code == 0
    root = ET.parse('reports/junit.xml').getroot()
    assert [case.get('name') for case in root.iter('testcase') if case.get('classname') == 'mirror'] == [
        f'{case} [advised]' for case in cases
    ]


def test_only_failed_runs_the_rest_of_the_newest_run(folder: Path) -> None:
    """Cases that were ok keep their records; the run is judged as a whole."""
    write_project(folder, cases=CASES + WRONG_CASE)
    assert invoke('run').exit_code == 1
    result = invoke('run', '--only-failed')
    assert (result.exit_code, result.stdout.count('a task may print')) == (1, 1)
    assert (
        'total         3 cases: 1 failed, 2 ok in 1 suite, 2 records carried over from an earlier run\n'
        in result.stdout
    )
    assert result.stderr == (
        '2 of 3 cases were ok in the newest run and are carried over, 1 to run\n'
        '100 %  3 of 3 cases: 1 failed, 2 ok; cost unknown\n'
    )


def test_another_policy_judges_the_run(folder: Path) -> None:
    """`--policy` holds every suite to one file."""
    write_project(folder, cases=CASES + WRONG_CASE)
    Path('lenient.yaml').write_text('metrics: {EqualsExpected: {min: 0.5}}\n')
    assert [invoke('run', '--policy', 'lenient.yaml').exit_code, invoke('gate', 'latest').exit_code] == [0, 1]


@pytest.mark.parametrize(
    ('args', 'message'),
    [
        (['miror'], "there is no suite 'miror' in 'evals': it has mirror"),
        (['--case', 'x'], "there is no case 'x' in mirror: there is short, long"),
        (['--tag', 'x'], "there is no tag 'x' in mirror: there is easy"),
        (['--arm', 'x'], "there is no arm 'x' in mirror: there is advised"),
        (['--policy', 'x.yaml'], 'policy x.yaml cannot be read: No such file or directory'),
        (['--quiet', '--verbose'], '`--quiet` and `--verbose` exclude each other: give one of them'),
        (['--otlp', 'x'], "`--otlp` needs the URL of an OTLP/HTTP endpoint, such as http://localhost:4318; got 'x'"),
        (
            ['--logfire'],
            '`--logfire` needs a write token: set LOGFIRE_TOKEN, or choose a project with `logfire projects use`',
        ),
        (['--mode', 'record'], "suite 'mirror' has no `cassettes` folder: there is nothing to record"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(folder: Path, args: list[str], message: str) -> None:
    """What was asked for and does not exist is named, and nothing is run."""
    write_project(folder)
    result = invoke('run', *args)
    assert (result.exit_code, result.stdout, result.stderr) == (2, '', f'error: {message}\n')
    assert not Path('runs').exists()


@pytest.mark.parametrize(
    ('broken', 'message'),
    [
        (
            {'suite': 'import nothing_like_this'},
            "evals/mirror.py does not import: ModuleNotFoundError: No module named 'nothing_like_this' (line 1)",
        ),
        ({'suite': ''}, "no file in 'evals' has a module-level `suite`"),
        ({'cases': 'cases: []'}, 'dataset evals/mirror.yaml is empty: a suite needs at least one case'),
        (
            {'cases': 'name: [1'},
            "dataset evals/mirror.yaml is not valid YAML: expected ',' or ']', but got '<stream end>' "
            'at line 1, column 9',
        ),
        (
            {'cases': CASES + CASES.partition('cases:\n')[2]},
            "dataset evals/mirror.yaml is not a dataset: two cases are named 'short': every name must be used once",
        ),
        (
            {'policy': 'metrics: {EqualsExpected: {mim: 1}}'},
            'policy evals/mirror.policy.yaml: unknown key `metrics.EqualsExpected.mim`: did you mean `min`?',
        ),
    ],
)
def test_a_broken_project_is_one_message_and_exit_code_2(folder: Path, broken: dict[str, str], message: str) -> None:
    """A suite, dataset or policy that cannot be used is named, without a traceback, and nothing is run."""
    write_project(folder, **broken)
    result = invoke('run')
    assert (result.exit_code, result.stdout, result.stderr.rstrip('\n')) == (2, '', f'error: {message}')
    assert not Path('runs').exists()


def test_a_project_without_suites_is_not_a_pass(folder: Path) -> None:
    """Where there is no folder of suites, that is said, and the exit code is not 0."""
    result = invoke('run')
    assert (result.exit_code, result.stderr) == (
        2,
        "error: there is no folder 'evals' here: suites are Python files in it\n",
    )


@pytest.mark.parametrize(
    ('policy', 'problem'),
    [
        (
            'metrics: {Rightness: {min: 1}}\n',
            "gate 'Rightness' reads metric 'Rightness', which the suite does not have: it has EqualsExpected",
        ),
        ('must_pass: [shrt]\n', "`must_pass` names case 'shrt', which the suite does not have: it has long, short"),
    ],
)
@pytest.mark.parametrize('file', [None, 'other.yaml'])
def test_a_policy_that_does_not_fit_costs_no_run(folder: Path, policy: str, problem: str, file: str | None) -> None:
    """What a policy names and the suite does not have is found before the first case, in any policy file."""
    write_project(folder, policy='' if file else policy)
    Path('other.yaml').write_text(policy)
    result = invoke('run', '--quiet', *(('--policy', file) if file else ()))
    where = file or 'evals/mirror.policy.yaml'
    assert (result.exit_code, result.stdout, result.stderr) == (
        2,
        '',
        f"error: policy {where} of suite 'mirror': {problem}\n",
    )
    assert not Path('runs').exists()


def test_a_policy_that_only_a_run_can_check_keeps_the_run(folder: Path) -> None:
    """Where scorers name their results themselves, a metric is checked when the run is judged, again if need be."""
    suite = SUITE.replace('scorers=(EqualsExpected(),)', 'scorers=(Named(),)').replace(
        '\n\nsuite = ',
        """


@dataclass
class Named(Evaluator):
    def evaluate(self, ctx: EvaluatorContext) -> dict[str, bool]:
        return {'exact': ctx.output == ctx.expected_output}


suite = """,
    )
    suite = (
        'from dataclasses import dataclass\nfrom pydantic_evals.evaluators import Evaluator, EvaluatorContext\n' + suite
    )
    write_project(folder, suite=suite, policy='metrics: {exakt: {min: 1}}\n')
    result = invoke('run', '--quiet')
    (run,) = Path('runs').iterdir()
    assert (result.exit_code, result.stderr) == (
        2,
        "error: policy evals/mirror.policy.yaml of suite 'mirror': gate 'exakt' reads metric 'exakt', which the suite "
        f'does not have: it has Named, exact\nThe run is kept: advisor-harness gate {run.name}\n',
    )


def test_the_spans_of_a_run_arrive_at_an_otlp_endpoint(folder: Path, receiver: Receiver) -> None:
    """While a replay refuses the network, the spans of the run and of pydantic-ai arrive, with their resource."""
    write_project(folder)
    result = invoke('run', '--case', 'short', '--quiet', '--otlp', receiver.url)
    assert (result.exit_code, result.stderr) == (0, '')
    assert sorted(span.name for span in receiver.spans) == [
        'chat doer',
        'chat doer',
        'chat sage',
        'claim advisor quota',
        'consult advisor',
        'execute_tool advisor',
        'invoke_agent advisor',
        'invoke_agent executor',
        'route model request',
        'route model request',
        'select advisor',
    ]
    services = {
        attribute.value.string_value
        for each in receiver.resources
        for attribute in each.resource.attributes
        if attribute.key == 'service.name'
    }
    assert services == {'advisor-harness'}


def test_an_endpoint_that_is_not_there_changes_no_verdict(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead endpoint is one warning beside a run that passes."""
    monkeypatch.setattr(delivery, '_BATCH_S', 0.2)
    with receiving() as gone:
        pass
    write_project(folder)
    result = invoke('run', '--quiet', '--otlp', gone.url)
    assert (result.exit_code, without_ids(result.stdout.splitlines()[-1])) == (
        0,
        'RESULT        PASS   exit 0   run RUN-ID',
    )
    assert re.fullmatch(r'warning: \d+ of \d+ spans did not reach .*/v1/traces, which changes .*\n', result.stderr)


def test_the_spans_of_a_run_arrive_at_logfire(
    folder: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--logfire` sends the same spans to the project of the token."""
    pytest.importorskip('logfire')
    monkeypatch.setenv('LOGFIRE_TOKEN', 'pylf_v1_local_token')
    monkeypatch.setenv('LOGFIRE_BASE_URL', receiver.url)
    write_project(folder)
    assert invoke('run', '--quiet', '--logfire').exit_code == 0
    assert {each['authorization'] for each in receiver.headers} == {'pylf_v1_local_token'}
    assert {'consult advisor', 'select advisor', 'route model request'} <= {span.name for span in receiver.spans}


def test_a_fault_of_ours_is_never_exit_code_1(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that nobody expected shows its traceback and does not look like a gate that blocks."""
    write_project(folder)
    monkeypatch.setattr('advisor_harness.evals.reports.markdown.render_summary', lambda *_: 1 / 0)
    result = invoke('run', '--quiet')
    assert result.exit_code == 2
    assert result.stderr.startswith('Traceback (most recent call last):\n')
    assert result.stderr.endswith('ZeroDivisionError: division by zero\n')
