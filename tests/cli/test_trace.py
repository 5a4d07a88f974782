from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from advisor_harness.evals import CaseError
from tests.cli.project import invoke
from tests.cli.runs import finished_run, record


def span(name: str, number: int, parent: int | None = None, **attributes: object) -> dict[str, Any]:
    """A span as a run keeps it."""
    return {
        'name': name,
        'trace_id': f'{1:032x}',
        'span_id': f'{number:016x}',
        'parent_id': None if parent is None else f'{parent:016x}',
        'kind': 'internal',
        'start_ns': number,
        'end_ns': 10,
        'status': 'unset',
        'status_text': None,
        'attributes': attributes,
        'scope': 'tested',
        'phase': 'task',
    }


SPANS = [
    span('invoke_agent doer', 1, **{'gen_ai.agent.name': 'doer', 'gen_ai.usage.input_tokens': 5}),
    span('select advisor', 2, 1, **{'advisor.selection.path': 'local', 'logfire.msg': 'advisor path: local'}),
]


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are as wide as where nobody watches, whatever runs the tests."""
    monkeypatch.setenv('COLUMNS', '120')


def test_the_span_tree_of_a_case_is_printed() -> None:
    """A case that ran once is a heading and a tree."""
    finished_run(record('short'), record('long'), spans=SPANS)
    result = invoke('trace', 'latest', 'short')
    assert (result.exit_code, result.stdout, result.stderr) == (
        0,
        'mirror / short [advised]: ok\ninvoke_agent doer\n  advisor path: local\n',
        '',
    )


def test_decisions_are_printed_in_full_on_request() -> None:
    """`-v` shows what this package's spans carry."""
    finished_run(record('short'), spans=SPANS)
    assert invoke('trace', 'latest', 'short', '-v').stdout == (
        'mirror / short [advised]: ok\n'
        'invoke_agent doer [INTERNAL] {gen_ai.agent.name=doer}\n'
        '  select advisor [INTERNAL] {advisor.selection.path=local, logfire.msg="advisor path: local"}\n'
    )


def test_all_attributes_are_printed_on_request() -> None:
    """`--all` shows what other packages put on their spans."""
    finished_run(record('short'), spans=SPANS[:1])
    assert invoke('trace', 'latest', 'short', '--all').stdout == (
        'mirror / short [advised]: ok\n'
        'invoke_agent doer [INTERNAL] {gen_ai.agent.name=doer, gen_ai.usage.input_tokens=5}\n'
    )


def test_every_arm_and_suite_that_ran_the_case_has_a_tree() -> None:
    """Without `--arm` and `--suite` nothing is left out; with them, the rest is."""
    finished_run(record('short', arm='solo'), record('short', right=False), record('short', suite='other'))
    headings = ['mirror / short [advised]: failed', 'mirror / short [solo]: ok', 'other / short [advised]: ok']
    assert invoke('trace', 'latest', 'short').stdout.split('\nno spans\n')[:-1] == headings
    assert invoke('trace', 'latest', 'short', '--arm', 'solo').stdout == f'{headings[1]}\nno spans\n'
    assert invoke('trace', 'latest', 'short', '--suite', 'other').stdout == f'{headings[2]}\nno spans\n'


@pytest.mark.parametrize(
    ('args', 'message'),
    [
        (['shore'], "run 'latest' has no record of case 'shore': there is short, long"),
        (['short', '--arm', 'solo'], "run 'latest' has no record of arm 'solo': there is advised"),
        (['short', '--suite', 'x'], "run 'latest' has no record of suite 'x': there is mirror"),
    ],
)
def test_what_has_no_record_is_named(args: list[str], message: str) -> None:
    """A case, arm or suite that the run does not have is one line with those that it has, and exit code 2."""
    finished_run(record('short'), record('long'))
    result = invoke('trace', 'latest', *args)
    assert (result.exit_code, result.stdout, result.stderr) == (2, '', f'error: {message}\n')


def test_a_long_list_of_cases_is_cut_to_the_nearest() -> None:
    """Of many cases, the five most like the one asked for are named."""
    finished_run(*(record(f'case-{n:02}') for n in range(30)))
    assert invoke('trace', 'latest', 'case-071').stderr == (
        "error: run 'latest' has no record of case 'case-071': "
        'there is case-07, case-01, case-27, case-21, case-20 and 25 more\n'
    )


def test_a_run_without_records_says_so() -> None:
    """A run that was cut off at once has no traces."""
    finished_run()
    assert invoke('trace', 'latest', 'short').stderr == (
        "error: run 'latest' has no record of case 'short': no case has ended\n"
    )


def test_long_decisions_are_broken_and_control_characters_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a narrow terminal every attribute has its line, and nothing that a model wrote moves the cursor."""
    monkeypatch.setenv('COLUMNS', '40')
    chat = span('chat \x1b[31m', 1) | {'attributes': {'gen_ai.request.model': 'a-model-of-some-length'}}
    finished_run(record('short'), spans=[chat])
    assert invoke('trace', 'latest', 'short', '-v').stdout == (
        'mirror / short [advised]: ok\nchat \\x1b[31m [INTERNAL]\n    gen_ai.request.model=a-model-of-some-length\n'
    )


def test_the_traceback_of_an_error_follows_its_spans() -> None:
    """A case that crashed shows where."""
    store = finished_run(record('short'))
    crashed = replace(record('short'), state='error', error=CaseError('ValueError', 'no', 'task'))
    kept = store.write_traceback(crashed.key, 'Traceback (most recent call last):\n  boom()\nValueError: no\n')
    store.append(replace(crashed, traceback=kept))
    assert invoke('trace', 'latest', 'short').stdout == (
        'mirror / short [advised]: error\nno spans\nTraceback (most recent call last):\n  boom()\nValueError: no\n'
    )
