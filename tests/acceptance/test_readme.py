"""The README keeps its promises: the example runs and prints what it says, and every link leads somewhere."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
README = (PROJECT / 'README.md').read_text()


def test_the_example_prints_what_the_readme_says(capsys: pytest.CaptureFixture[str]) -> None:
    """The first code block runs as it stands, and the lines behind it are its output."""
    code, printed = re.search(r'```python\n(.*?)```\n\n((?:    [^\n]*\n)+)', README, re.DOTALL).groups()
    with asyncio.Runner() as runner:
        asyncio.set_event_loop(runner.get_loop())  # else `run_sync` opens a loop of its own and leaves it open
        exec(compile(code, 'README.md', 'exec'), {'__name__': 'readme'})
        asyncio.set_event_loop(None)
    assert capsys.readouterr().out == re.sub(r'^    ', '', printed, flags=re.MULTILINE)


def test_the_example_has_about_twenty_lines() -> None:
    """An example that does not fit a screen is not read."""
    (code,) = re.findall(r'```python\n(.*?)```', README, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 20


@pytest.mark.parametrize(
    'page', ['README.md', *sorted(f'docs/{path.name}' for path in (PROJECT / 'docs').glob('*.md'))]
)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    """Every relative link names a file that exists."""
    source = PROJECT / page
    targets = [target.partition('#')[0] for target in re.findall(r'\]\(([^)]+)\)', source.read_text())]
    relative = [target for target in targets if target and '://' not in target]
    assert [target for target in relative if not (source.parent / target).exists()] == []
