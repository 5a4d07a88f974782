"""Dotted JSON paths with `*` for any key or index, as a tree that is walked beside a value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self, cast

__all__ = ['ANY', 'Paths', 'without']

ANY = '*'


@dataclass
class Paths:
    """A set of paths, seen from one place in a JSON value."""

    ends_here: bool = False
    """Whether one of the paths is this very place."""
    below: dict[str, Paths] = field(default_factory=dict['str', 'Paths'])
    """What the paths go on with, by key, by index as text, or `*`."""

    @classmethod
    def parse(cls, paths: Iterable[str]) -> Self:
        """Build the tree of dotted paths such as `metadata` or `messages.*.content.*.id`."""
        root = cls()
        for path in paths:
            place: Paths = root
            for step in path.split('.'):
                place = place.below.setdefault(step, Paths())
            place.ends_here = True
        return root

    def at(self, step: str) -> Paths | None:
        """The same paths seen one step further down; `None` when none goes there."""
        named, wild = self.below.get(step), self.below.get(ANY)
        if named is None or wild is None:
            return named or wild
        return Paths(named.ends_here or wild.ends_here, _merged(named.below, wild.below))


def without(value: Any, paths: Paths) -> Any:
    """A JSON value without the members that the paths name; `value` itself is never changed."""
    if isinstance(value, dict):
        items = ((k, v, paths.at(k)) for k, v in cast('dict[str, Any]', value).items())
        return {k: v if at is None else without(v, at) for k, v, at in items if at is None or not at.ends_here}
    if isinstance(value, list):
        steps = ((v, paths.at(str(i))) for i, v in enumerate(cast('list[Any]', value)))
        return [v if at is None else without(v, at) for v, at in steps if at is None or not at.ends_here]
    return value


def _merged(first: dict[str, Paths], second: dict[str, Paths]) -> dict[str, Paths]:
    merged = dict(first)
    for step, paths in second.items():
        mine = merged.get(step)
        merged[step] = (
            paths if mine is None else Paths(mine.ends_here or paths.ends_here, _merged(mine.below, paths.below))
        )
    return merged
