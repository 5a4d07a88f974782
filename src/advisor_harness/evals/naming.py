"""Names of files that belong to a case: no two cases ever share one, whatever they are called."""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import quote

__all__ = ['case_stem', 'encoded', 'ignores_case', 'shown']

# Most file systems allow 255 bytes for a name; extensions and the suffixes of temporary files need room too.
_LONGEST = 200


def encoded(name: str) -> str:
    """`name` with everything outside `[A-Za-z0-9._-]` percent-encoded, cut and made unique by a digest if very long."""
    text = quote(name, safe='', errors='surrogatepass').replace('~', '%7E')
    if text in ('.', '..'):
        text = text.replace('.', '%2E')
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f'{text[: _LONGEST - 17]}-{digest}'


def case_stem(case: str, arm: str, repeat: int = 1) -> str:
    """Name, without extension, of the files of a case: `<case>.<arm>`, from the second repeat on `<case>.<arm>.<n>`."""
    stem = f'{encoded(case)}.{encoded(arm)}'
    return stem if repeat == 1 else f'{stem}.{repeat}'


def ignores_case(folder: Path) -> bool:
    """Whether files in `folder`, or where it would be made, are the same when their names differ in case only."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    while there.name and there.name.swapcase() == there.name:
        there = there.parent
    other = there.with_name(there.name.swapcase()) if there.name else there
    return bool(there.name) and other.exists() and other.samefile(there)


def shown(path: Path) -> str:
    """`path` as people should read it: relative to the current directory where it lies below it, with `/`."""
    if not path.is_absolute() and '..' not in path.parts:  # below it already: no need to ask the file system
        return path.as_posix()
    absolute = path.absolute().resolve()
    here = Path.cwd().resolve()
    return (absolute.relative_to(here) if absolute.is_relative_to(here) else absolute).as_posix()
