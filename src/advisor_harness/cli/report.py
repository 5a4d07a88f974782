"""`advisor-harness report`: print or write one report of a judged run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from advisor_harness.cli.options import RunRef

__all__ = ['report']


def report(
    run: RunRef,
    html: Annotated[bool, typer.Option('--html', help='One HTML file for a browser.')] = False,
    markdown: Annotated[bool, typer.Option('--markdown', help='For a pull request or a job summary.')] = False,
    junit: Annotated[bool, typer.Option('--junit', help='JUnit XML, for CI servers.')] = False,
    json: Annotated[bool, typer.Option('--json', help='The verdict, on one line.')] = False,
    file: Annotated[
        Path | None, typer.Option('--output', '-o', metavar='FILE', help='Write it here instead of printing it.')
    ] = None,
) -> int:
    """Print a report of a run, as it was last judged."""
    from advisor_harness.evals.errors import HarnessError
    from advisor_harness.evals.store import open_run

    choices = (('report.html', html), ('report.md', markdown), ('junit.xml', junit), ('verdict.json', json))
    names = [name for name, chosen in choices if chosen]
    if len(names) != 1:
        raise HarnessError('say which report you want: one of `--html`, `--markdown`, `--junit` and `--json`')
    text = _read(open_run(run).folder / names[0], run)
    if file is None:
        # In UTF-8 whatever the terminal says: that is what the file declares.
        typer.echo(text.encode(), nl=False)
        return 0
    try:
        file.write_text(text, encoding='utf-8')
    except OSError as e:
        raise HarnessError(f'{str(file)!r} cannot be written: {e.strerror}') from e
    return 0


def _read(path: Path, run: str) -> str:
    import json

    from advisor_harness.evals.errors import HarnessError
    from advisor_harness.evals.reports import json_lines

    if not path.is_file():
        raise HarnessError(f'run {run!r} was not judged yet: advisor-harness gate {run}')
    text = path.read_text(encoding='utf-8')
    return json_lines.line(json.loads(text)) + '\n' if path.suffix == '.json' else text
