"""Runs the benchmarks and writes `docs/benchmarks.md`: `python -m tests.benchmarks.write`, on a machine at rest."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGES = (
    'advisor-harness',
    'pydantic-ai-slim',
    'pydantic-evals',
    'openai',
    'httpx2',
    'vcrpy',
    'PyYAML',
    'opentelemetry-sdk',
)

Measured = dict[str, dict[str, Any]]


def measure() -> Measured:
    """Every benchmark by its name."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'benchmarks.json'
        command = ['pytest', 'tests/benchmarks', '--benchmark-only', '-o', 'addopts=', '-q', f'--benchmark-json={file}']
        subprocess.run([sys.executable, '-m', *command], cwd=ROOT, check=True)
        found = json.loads(file.read_text())['benchmarks']
    return {each['name']: {**each['extra_info'], 'median': each['stats']['median']} for each in found}


def cpu() -> str:
    """Model and cores, without the name of the machine."""
    model = platform.processor()
    try:
        lines = Path('/proc/cpuinfo').read_text().splitlines()
        model = next(line.partition(':')[2].strip() for line in lines if line.startswith('model name'))
    except (OSError, StopIteration):
        pass  # other systems name it themselves, or not at all
    return f'{model or platform.machine()}, {os.cpu_count()} cores'


def us(seconds: float) -> str:
    return f'{seconds * 1e6:,.1f} us'


def ms(seconds: float) -> str:
    return f'{seconds * 1e3:,.2f} ms'


def table(head: tuple[str, ...], *rows: tuple[str, ...]) -> str:
    lines = [head, tuple('---' for _ in head), *rows]
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines)


def cassettes(measured: Measured) -> str:
    match = {n: measured[f'test_matching[{n}]']['median'] for n in (1, 10, 100, 10_000)}
    request = measured['test_request']
    loading = {which: measured[f'test_loading[{which}]']['median'] for which in ('first', 'second')}
    return table(
        ('what', 'measured', 'budget'),
        *(
            (f'finding the answer to a request, 1 of {n:,} interactions', us(seconds), '')
            for n, seconds in match.items()
        ),
        ('the same at 10,000 as a multiple of 10', f'{match[10_000] / match[10]:.2f}x', '<= 1.2x'),
        ('explaining a miss in 10,000 interactions', ms(measured['test_miss']['median']), '<= 50 ms'),
        ('a replayed request of an HTTP client', us(request['ours']), ''),
        ('the same from `httpx2.MockTransport`', us(request['other']), ''),
        ('what the cassette adds', us(request['difference']), '<= 150 us'),
        ('loading 10,000 interactions, the first time', f'{loading["first"]:.2f} s', ''),
        ('loading them again', f'{loading["second"]:.2f} s', '< 1 s'),
    )


def vcrpy(measured: Measured) -> str:
    rows: list[tuple[str, ...]] = []
    for interactions, requests, rounds, budget in ((2, 2, 40, '>= 1x'), (20, 20, 15, ''), (1_000, 200, 3, '>= 12x')):
        each = measured[f'test_against_vcrpy[{interactions}-{requests}-{rounds}]']
        rows.append(
            (f'{interactions:,}', str(requests), ms(each['ours']), ms(each['other']), f'{each["ratio"]:.1f}x', budget)
        )
    return table(('interactions', 'requests', 'here', 'vcrpy', 'faster', 'budget'), *rows)


def spans(measured: Measured) -> str:
    bare = measured['test_bare_span_of_twelve_attributes']['median']
    rows = [('a bare span with 12 attributes', us(bare), '', '')]
    for kind in ('claim', 'consultation'):
        on, off = (measured[f'test_{kind}_span[{traced}]']['median'] for traced in (True, False))
        rows.append((f'the span of a {kind}', us(on), f'{on / bare:.2f}x', '<= 1.5x'))
        rows.append(('the same in a run that is not traced', us(off), '', '<= 10 us'))
    rows.append(('a run with one consultation', ms(measured['test_run_with_one_consultation']['median']), '', ''))
    rows.append(('`advisor-harness --help`', ms(measured['test_help']['median']), '', '< 200 ms'))
    return table(('what', 'measured', 'of a bare span', 'budget'), *rows)


def harness(measured: Measured) -> str:
    pair, memory = measured['test_overhead'], measured.get('test_memory')
    rows = [
        ('a replayed case here, one request', ms(pair['ours']), ''),
        ('the same in `Dataset.evaluate`, traced by the SDK', ms(pair['other']), ''),
        ('what the harness adds', ms(pair['difference']), '<= 0.5 ms'),
        ('1,000 cases by the command, one process', f'{measured["test_thousand_cases[1]"]["median"]:.1f} s', '< 12 s'),
        ('1,000 cases by the command, two workers', f'{measured["test_thousand_cases[2]"]["median"]:.1f} s', '< 7 s'),
        ('judging 1,000 cases and writing all reports', ms(measured['test_gate_and_reports']['median']), '< 1 s'),
    ]
    if memory is not None:
        early, late = (f'{memory[key] / 1024:,.0f} MB' for key in ('early_kb', 'late_kb'))
        rows.append((f'memory after {memory["cases"] // 10:,} synthetic cases', early, ''))
        rows.append((f'memory after {memory["cases"]:,}', late, 'the same'))
    return table(('what', 'measured', 'budget'), *rows)


def page(measured: Measured) -> str:
    versions = ', '.join(f'{name} {version(name)}' for name in PACKAGES)
    return f"""# Benchmarks

Measured {datetime.now(UTC).date().isoformat()} on {cpu()}, {platform.system()}, Python {platform.python_version()}.
{versions}.

`python -m nox -s bench` measures again; `python -m tests.benchmarks.write` also writes this page. All figures are
medians. They are no checks: nothing fails by being slow, and another machine has other figures.

## Recordings

An interaction of these files is about 2 kB: a chat request with a prompt of 0.9 kB and its answer. Finding the answer
includes reading, normalising and digesting the request, which is nearly all of it.

{cassettes(measured)}

## Recordings beside vcrpy

The same file, in vcrpy's own layout, replayed through `Agent.run` with an OpenAI model, opened for the run as a case
opens its cassette. vcrpy compares method, URI and body. Time per request, the file's loading and a few milliseconds of
pydantic-ai and SDK included; requests are spread evenly over the file. Runs of both take turns, after one of each, so
that the file of 1,000 interactions, which is over a megabyte, is loaded here from what was kept of it.

{vcrpy(measured)}

## Replayed cases

Each case is one request to an OpenAI model behind a recording. The harness keeps records, spans and messages and checks
every trace; `Dataset.evaluate` opens the same recordings and keeps nothing. What it adds is processor time, the median
difference of pairs that take turns in one process. The command's times include the start of its processes. Memory is
resident, of a run of synthetic cases: `ADVISOR_HARNESS_BENCH_CASES=100000 python -m nox -s bench` measures it too.

{harness(measured)}

## Spans and commands

{spans(measured)}
"""


if __name__ == '__main__':
    (ROOT / 'docs' / 'benchmarks.md').write_text(page(measure()), encoding='utf-8')
