"""Suites: their arguments, and finding them in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from advisor_harness.evals import Arm, Suite, SuiteError, load_suites
from tests.evals.support import mirror

SUITE = """
from advisor_harness.evals import Suite
async def task(inputs, arm):
    return inputs
suite = Suite(dataset='{name}.yaml', task=task, policy='{name}.policy.yaml', cassettes='../cassettes/{name}'{more})
"""


def write(name: str, text: str | None = None, more: str = '') -> Path:
    path = Path('evals') / f'{name}.py'
    path.parent.mkdir(exist_ok=True)
    path.write_text(SUITE.format(name=name, more=more) if text is None else text)
    return path


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'task': None}, '`Suite.task` must be a function `task(inputs, arm)`; got None'),
        ({'arms': 'solo'}, "`Suite.arms` must be a sequence of names, such as ('advised',); got 'solo'"),
        ({'arms': ()}, "`Suite.arms` must be a sequence of names, such as ('advised',); got ()"),
        ({'arms': ('solo', ' ')}, "`Suite.arms` must be names that are not blank; got ' '"),
        ({'arms': ('solo', Arm.SOLO)}, "`Suite.arms` must name each arm once; got ('solo', 'solo')"),
        ({'repeat': 0}, '`Suite.repeat` must be at least 1; got 0'),
    ],
)
def test_unusable_arguments(options: dict[str, Any], message: str) -> None:
    """An argument that has no meaning is refused with its value and the rule."""
    with pytest.raises(SuiteError) as caught:
        Suite(**{'dataset': 'x.yaml', 'task': mirror, **options})
    assert caught.value.message == message


def test_arms_may_have_any_name() -> None:
    """The members of `Arm` and plain strings mix, and come back as plain strings."""
    suite = Suite(dataset='x.yaml', task=mirror, arms=(Arm.SOLO, 'two advisors'))
    assert (suite.arm_names, Suite(dataset='x.yaml', task=mirror).arm_names) == (('solo', 'two advisors'), ('advised',))


def test_suites_are_found_by_file() -> None:
    """Every file with a `suite` is one, named after its module unless it says otherwise; paths start at its folder."""
    write('first')
    write('second', more=", name='other'")
    write('_helper', 'raise RuntimeError')
    write('plain', 'x = 1')
    suites = load_suites()
    assert [(each.name, each.folder, each.policy_file, each.cassettes_folder) for each in suites] == [
        ('first', Path('evals'), Path('evals/first.policy.yaml'), Path('cassettes/first')),
        ('other', Path('evals'), Path('evals/second.policy.yaml'), Path('cassettes/second')),
    ]


def test_named_suites_only() -> None:
    """Names choose suites, by file or by `Suite.name`; another file that does not import is not in the way."""
    write('first')
    write('second')
    broken = write('third', '1 / 0')
    assert [each.name for each in load_suites(names=('second', 'first'))] == ['first', 'second']
    broken.write_text(SUITE.format(name='third', more=", name='own'"))
    assert [each.name for each in load_suites(names=('own',))] == ['own']


def test_a_suite_may_import_its_neighbours() -> None:
    """A suite file imports helpers beside it; installed packages are never hidden by them."""
    write('_neighbour_of_a_suite', 'ARMS = ("solo",)')
    write('json', 'raise RuntimeError("hidden")')
    write('user', 'import json\nfrom _neighbour_of_a_suite import ARMS\n' + SUITE.format(name='u', more=', arms=ARMS'))
    (suite,) = load_suites(names=('user',))
    assert suite.arm_names == ('solo',)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('x = 1\n1 / 0', 'evals/bad.py does not import: ZeroDivisionError: division by zero (line 2)'),
        (
            'import no_such_module',
            "evals/bad.py does not import: ModuleNotFoundError: No module named 'no_such_module' (line 1)",
        ),
        ('import sys\nsys.exit(4)', 'evals/bad.py does not import: SystemExit: 4 (line 2)'),
        ('suite = 3', '`suite` in evals/bad.py must be an advisor_harness.evals.Suite; got int'),
        (
            SUITE.format(name='x', more=', repeat=0'),
            'evals/bad.py: `Suite.repeat` must be at least 1; got 0',
        ),
    ],
)
def test_a_file_that_does_not_import_is_named(text: str, message: str) -> None:
    """One message says which file, what went wrong and where in it."""
    write('bad', text)
    with pytest.raises(SuiteError) as caught:
        load_suites()
    assert caught.value.message == message


def test_a_syntax_error_is_named() -> None:
    """A file that is no Python is named, with the line."""
    write('bad', 'x = (\n')
    with pytest.raises(SuiteError) as caught:
        load_suites()
    assert caught.value.message == "evals/bad.py does not import: SyntaxError: '(' was never closed (bad.py, line 1)"


def test_what_does_not_exist() -> None:
    """A missing folder, a folder without suites and an unknown name are errors that say what there is."""
    with pytest.raises(SuiteError) as folder:
        load_suites()
    write('plain', 'x = 1')
    with pytest.raises(SuiteError) as nothing:
        load_suites()
    write('first')
    with pytest.raises(SuiteError) as unknown:
        load_suites(names=('firts',))
    assert [each.value.message for each in (folder, nothing, unknown)] == [
        "there is no folder 'evals' here: suites are Python files in it",
        "no file in 'evals' has a module-level `suite`",
        "there is no suite 'firts' in 'evals': it has first",
    ]


def test_two_suites_of_one_name() -> None:
    """Records are kept by the suite's name, so it must be unique."""
    write('first')
    write('second', more=", name='first'")
    with pytest.raises(SuiteError) as caught:
        load_suites()
    assert caught.value.message == "two suites are named 'first': give one of them another `Suite.name`"
