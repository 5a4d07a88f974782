from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cli.project import CASES, POLICY, RECORDED_SUITE, invoke, write_project


def test_several_suites_are_recorded_at_once(folder: Path) -> None:
    """`record A B` records both, each its own way, into one run."""
    write_project(folder, suite=RECORDED_SUITE)
    Path('evals/other.py').write_text(RECORDED_SUITE.replace('mirror.', 'other.').replace('/mirror', '/other'))
    Path('evals/other.yaml').write_text(CASES)
    Path('evals/other.policy.yaml').write_text(POLICY)
    assert invoke('record', 'mirror', 'other', '--quiet').exit_code == 0
    assert [path.as_posix() for path in sorted(Path('cassettes').rglob('*.yaml'))] == [
        f'cassettes/{suite}/{case}.advised.yaml' for suite in ('mirror', 'other') for case in ('long', 'short')
    ]
    assert invoke('run', '--quiet').exit_code == 0


def test_a_task_that_fails_while_it_is_recorded_does_not_block(folder: Path) -> None:
    """A recording that was not made says nothing about the agent: exit code 2, and the reason."""
    failing = RECORDED_SUITE.replace(
        "    return (await Agent('openai", "    raise KeyError('no key')\n    return (await Agent('openai"
    )
    write_project(folder, suite=failing)
    result = invoke('record', 'mirror')
    assert result.exit_code == 2
    verdict = json.loads(Path('reports/verdict.json').read_text())
    first = verdict['suites'][0]['preconditions'][0]
    detail = re.sub('(short|long)', 'CASE', first['detail'])
    assert (verdict['verdict'], first['name'], first['n_met']) == ('inconclusive', 'recorded', 0)
    assert detail == "CASE [advised]: its task failed, so the recording it had is kept: KeyError: 'no key'"
