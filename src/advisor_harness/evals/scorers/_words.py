"""Texts as words and sequences of words, capitals and punctuation aside."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ['sequences', 'words_of']

_WORD = re.compile(r'\w+')


def words_of(text: str) -> list[str]:
    """The words of a text, in order."""
    return _WORD.findall(text.casefold())


def sequences(words: Sequence[str], length: int) -> set[tuple[str, ...]]:
    """The different sequences of so many words; fewer words are one sequence, none are none."""
    length = min(length, len(words))
    return {tuple(words[i : i + length]) for i in range(len(words) - length + 1)} if words else set()
