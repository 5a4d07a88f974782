"""Interactions that a replay did not use, removed from a recording."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from . import yamlfile

__all__ = ['without_interactions']


def without_interactions(path: Path, numbers: Collection[int]) -> str:
    """The text of a recording without some of its interactions; everything else is as it was.

    Args:
        path: The recording.
        numbers: Numbers of the interactions to leave out, from 1.

    Raises:
        CassetteFormatError: the file is not a cassette of HTTP traffic.
        ValueError: there is no interaction of such a number, or none would be left.
    """
    document = yamlfile.read(path)
    interactions = list(document['interactions'] or [])
    if unknown := sorted(set(numbers) - set(range(1, len(interactions) + 1))):
        raise ValueError(f'there is no interaction {unknown[0]} in {path}: it holds {len(interactions)}')
    if len(set(numbers)) == len(interactions):
        raise ValueError(f'no interaction of {path} would be left: remove the file instead')
    left = [each for number, each in enumerate(interactions, start=1) if number not in numbers]
    return yamlfile.dump({**document, 'interactions': left})
