"""The code of a suite as a digest: its file, and what that imports from beside it or from the folder above."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ['code_sha256', 'local_sources']


def code_sha256(file: Path) -> str:
    """SHA-256 over the sources that `local_sources` finds; where they lie changes nothing."""
    digest, root = hashlib.sha256(), file.resolve().parent.parent
    for source in local_sources(file):
        content = source.read_bytes().replace(b'\r\n', b'\n')
        digest.update(f'{source.relative_to(root).as_posix()} {len(content)}\n'.encode() + content)
    return digest.hexdigest()


def local_sources(file: Path) -> list[Path]:
    """The file and every Python file that it imports, directly or not, from its folder or the folder above.

    These are the folders that suites import from without being installed. What a file imports under a condition or
    inside a function counts; a name that is put together while it runs cannot be seen.
    """
    file = file.resolve()
    roots = (file.parent, file.parent.parent)
    found, waiting = set[Path](), [file]
    while waiting:
        source = waiting.pop()
        if source not in found:
            found.add(source)
            waiting += (each for name in _imported(source, roots) for each in _files_of(name, roots))
    return sorted(found)


def _imported(source: Path, roots: Sequence[Path]) -> Iterator[str]:
    """Dotted names of modules that a file imports; of `from a import b` both `a` and `a.b`, as `b` may be a module."""
    try:
        tree = ast.parse(source.read_bytes())
    except (SyntaxError, ValueError):  # it does not import, which whoever imports it says better
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ''
            if node.level:
                base = '.'.join(filter(None, (_package(source, node.level, roots), base)))
            yield base
            yield from (f'{base}.{alias.name}' for alias in node.names)


def _package(source: Path, level: int, roots: Sequence[Path]) -> str:
    folder = source.parents[level - 1]
    root = next((root for root in roots if folder.is_relative_to(root)), folder)
    return '.'.join(folder.relative_to(root).parts)


def _files_of(name: str, roots: Sequence[Path]) -> Iterator[Path]:
    """The files that importing a dotted name runs: those of the packages on the way, and its own."""
    parts = [part for part in name.split('.') if part]
    for root in roots:
        for end in range(1, len(parts) + 1):
            path = root.joinpath(*parts[:end])
            yield from (each for each in (path.with_suffix('.py'), path / '__init__.py') if each.is_file())
