"""Where a cassette came from, and how to make it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

__all__ = ['SOURCES', 'checked_provenance', 'record_command']

SOURCES = ('provider', 'local model', 'emulator')
"""Who may have answered."""


def checked_provenance(recorded_with: Mapping[str, str] | None) -> dict[str, str]:
    """A copy of a provenance block.

    Raises:
        ValueError: `by` names nobody that can answer.
    """
    block = dict(recorded_with or {})
    if 'by' in block and block['by'] not in SOURCES:
        raise ValueError(f'`recorded_with` says by={block["by"]!r}; it must be one of {", ".join(map(repr, SOURCES))}.')
    return block


def record_command(path: Path) -> str:
    """How to record a file: the command for a case of a suite, the call for any other path."""
    suite, name = path.parent.name, path.name.removesuffix('.yaml').split('.')
    if path.parent.parent.name != 'cassettes' or len(name) < 2:
        return f"`use_cassette({str(path)!r}, mode='record')`"
    # `<case>.<arm>` or `<case>.<arm>.<n>`; a case may hold dots itself.
    case = '.'.join(name[:-2] if name[-1].isdigit() and len(name) > 2 else name[:-1])
    return f'`advisor-harness record {suite} --case {shlex.quote(unquote(case))}`'
