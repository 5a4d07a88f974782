"""Which route a text is most like: vectors in, a name out. Nothing here embeds, waits or knows a model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Literal

from advisor_harness.routing.errors import RoutingError

__all__ = ['Aggregation', 'Index', 'Match', 'build', 'match']

Aggregation = Literal['mean', 'sum']
"""How the scores of a route's texts that are among the best become the score of the route."""


@dataclass(frozen=True)
class Index:
    """The texts of all routes, as unit vectors."""

    entries: tuple[tuple[str, tuple[float, ...] | None], ...]
    """Route and vector of each text, in the order of registration; `None` for a zero vector, which is like nothing."""
    dimensions: int


@dataclass(frozen=True)
class Match:
    """The route that a text is most like."""

    route: str
    score: float
    """Mean or sum of cosine similarities."""


def build(profiles: Mapping[str, Sequence[str]], vectors: Sequence[Sequence[float]]) -> Index:
    """Index the texts of `profiles` by their vectors, which come in the order of the texts.

    Raises:
        RoutingError: another number of vectors than of texts, or vectors that are empty, not finite or of several
            lengths.
    """
    names = [name for name, texts in profiles.items() for _ in texts]
    if len(vectors) != len(names):
        raise RoutingError(f'The embedder returned {len(vectors)} vectors for {len(names)} profile texts.')
    dimensions = len(vectors[0])
    return Index(tuple(zip(names, (_unit(each, dimensions) for each in vectors), strict=True)), dimensions)


def match(index: Index, vectors: Sequence[Sequence[float]], *, top_k: int, aggregation: Aggregation) -> Match | None:
    """The best route for one text; `None` if it is like nothing. Of equals the one that was registered first.

    Args:
        index: The texts of the routes.
        vectors: What an embedder returned for the one text.
        top_k: How many of the most similar texts count, over all routes.
        aggregation: How the scores of one route's texts among them are put together.

    Raises:
        RoutingError: not one vector, or one of another length than the index has, or one that is not finite.
    """
    if len(vectors) != 1:
        raise RoutingError(f'The embedder returned {len(vectors)} vectors for one text.')
    query = _unit(vectors[0], index.dimensions)
    if query is None:
        return None
    scored = [(name, _cosine(query, vector)) for name, vector in index.entries if vector is not None]
    best = sorted(scored, key=lambda each: each[1], reverse=True)[:top_k]  # stable: of equals the first registered
    return _first_best(dict.fromkeys(name for name, _ in index.entries), best, aggregation)


def _first_best(names: Iterable[str], best: list[tuple[str, float]], aggregation: Aggregation) -> Match | None:
    found: Match | None = None
    for name in names:
        scores = [score for each, score in best if each == name]
        if not scores:
            continue
        total = math.fsum(scores) / (len(scores) if aggregation == 'mean' else 1)
        if found is None or total > found.score:
            found = Match(name, total)
    return found


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    # Without the noise of the last digits: a text is like itself by 1, and reaches a threshold of 1.
    return round(math.fsum(map(mul, one, other)), 12)


def _unit(vector: Sequence[float], dimensions: int) -> tuple[float, ...] | None:
    if len(vector) != dimensions or not dimensions:
        raise RoutingError(
            f'The embedder returned a vector of {len(vector)} dimensions where {dimensions or "some"} were expected. '
            'Use one embedding model, with the same number of dimensions, for the profiles and for the queries.'
        )
    length = math.hypot(*vector)
    if not math.isfinite(length):
        raise RoutingError('The embedder returned a vector that is not finite.')
    return tuple(value / length for value in vector) if length else None
