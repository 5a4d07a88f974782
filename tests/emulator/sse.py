"""Server-sent events, as text."""

from __future__ import annotations

import json
import re
from typing import Any

DONE = 'data: [DONE]\n\n'


def event(data: Any, *, name: str | None = None) -> str:
    """One event; compact JSON with the characters that providers send as they are."""
    text = json.dumps(data, ensure_ascii=False, separators=(',', ':'))
    return f'event: {name}\ndata: {text}\n\n' if name else f'data: {text}\n\n'


def comment(text: str) -> str:
    """One comment, which clients skip."""
    return f': {text}\n\n'


def deltas(text: str, *, words: int = 3) -> list[str]:
    """A text in the pieces in which it is streamed; none for an empty text."""
    pieces = re.findall(r'\s*\S+|\s+', text)
    return [''.join(pieces[start : start + words]) for start in range(0, len(pieces), words)]
