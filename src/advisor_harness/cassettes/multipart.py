"""The parts of a multipart body, just as far as looking for secrets in them needs."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ['Part', 'boundary_of', 'parts']

_BOUNDARY = re.compile(r'boundary="?([^";,\s]+)"?', re.IGNORECASE)
_NAME = re.compile(r'\bname="?([^";\r\n]+)"?', re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """What stands between two boundaries."""

    head: str
    """The headers of the part, with the blank line that ends them; all of it where there is none."""
    content: str
    end: str
    """The line break before the next boundary, which is no content."""

    @property
    def name(self) -> str:
        """The field's name, `''` without one."""
        found = _NAME.search(self.head)
        return found.group(1) if found else ''


def boundary_of(content_type: str) -> str | None:
    """What separates the parts of a body of this type; `None` if it is not multipart."""
    found = _BOUNDARY.search(content_type) if content_type.lower().startswith('multipart/') else None
    return found.group(1) if found else None


def parts(text: str, boundary: str) -> list[Part]:
    """The parts of a body; joined with `--` and the boundary between them they are the body again."""
    return [_part(part) for part in text.split(f'--{boundary}')]


def _part(text: str) -> Part:
    headers, blank, content = text.partition('\r\n\r\n')
    end = '\r\n' if content.endswith('\r\n') else ''
    return Part(headers + blank, content.removesuffix(end), end)
