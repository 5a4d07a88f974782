"""Routing by meaning: each route has a few example texts, and the one most like the user's last prompt serves."""

from __future__ import annotations

import asyncio
import math
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack, get_args

from pydantic_ai import Embedder
from pydantic_ai.messages import ModelMessage, ModelRequest, TextContent, UserPromptPart
from pydantic_ai.models import ModelSelectionContext
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.usage import RunUsage

from advisor_harness.routing.decision import Selection
from advisor_harness.routing.options import check_choice, check_number, check_whole
from advisor_harness.routing.policies import PolicyOptions, PolicyRouter
from advisor_harness.routing.route import RouteLike
from advisor_harness.routing.similarity import Aggregation, Index, build, match

__all__ = ['SemanticRoute', 'last_prompt']


@dataclass(init=False)
class SemanticRoute(PolicyRouter[AgentDepsT]):
    """Serve every request by the route whose example texts are most like the user's last prompt.

    ```python
    profiles = {'code': ['Fix this bug', 'Write a function'], 'chat': ['How are you?', 'Tell me a joke']}
    router = SemanticRoute(routes, profiles, Embedder('openai:text-embedding-3-small'), default_route='chat')
    ```

    The default route serves when nothing is similar enough, and when there is nothing to compare: no prompt, an empty
    one, one without text, a zero vector. The example texts are embedded once, when they are needed first; a failed
    attempt is made again by the next request. A prompt is embedded once per run. Tokens of both count in the usage of
    the run that asked for them. What the embedder raises ends the run.
    """

    profiles: Mapping[str, tuple[str, ...]]
    """Example texts of each route. A route without any is only chosen as the default, or when it is set."""
    embedder: Embedder
    """Embeds the example texts as documents and prompts as queries."""
    score_threshold: float
    """The least score, inclusive, with which a route is chosen."""
    top_k: int
    """How many of the most similar example texts count, over all routes."""
    aggregation: Aggregation
    """Whether a route's score is the `mean` or the `sum` of its texts among them."""

    def __init__(
        self,
        routes: Mapping[str, RouteLike],
        profiles: Mapping[str, Sequence[str]],
        embedder: Embedder,
        *,
        score_threshold: float = 0.3,
        top_k: int = 1,
        aggregation: Aggregation = 'mean',
        **options: Unpack[PolicyOptions],
    ) -> None:
        """Set up the router; further `options` are those of `PolicyRouter`.

        Raises:
            ValueError: no profile, an empty or blank one, `top_k` below 1, a threshold that no score can reach or that
                every score does (beyond ±1 for the mean, ±`top_k` for the sum), or as `PolicyRouter`.
            TypeError: `embedder` is no `Embedder`, a profile is one text instead of several, or as `PolicyRouter`.
            RouteNotFoundError: a profile is of no registered route.
        """
        super().__init__(routes, **options)
        if not isinstance(embedder, Embedder):  # pyright: ignore[reportUnnecessaryIsInstance] - for untyped callers
            raise TypeError(f'`SemanticRoute.embedder` must be a pydantic-ai `Embedder`; got {embedder!r}.')
        check_choice('SemanticRoute.aggregation', aggregation, get_args(Aggregation))
        _check_scoring(score_threshold, top_k, aggregation)
        self.profiles = {name: _texts(name, texts) for name, texts in profiles.items()}
        if not self.profiles:
            raise ValueError('`SemanticRoute.profiles` must hold example texts of at least one route; got none.')
        for name in self.profiles:
            self.routes.find(name)
        self.embedder = embedder
        self.score_threshold = score_threshold
        self.top_k = top_k
        self.aggregation = aggregation
        self._shared = _SharedIndex()

    async def _ask(self, ctx: ModelSelectionContext[AgentDepsT]) -> Selection:
        query = last_prompt(ctx.messages)
        if not query.strip():
            return self._default('default')
        before = self._run.selection if self._run is not None else None
        if before is not None and before.about == query and before.name in self.routes:
            return before
        index = await self._shared.get(self.embedder, self.profiles, ctx.usage)
        result = await self.embedder.embed_query(query)
        _count(result.usage.input_tokens, ctx.usage)
        best = match(index, result.embeddings, top_k=self.top_k, aggregation=self.aggregation)
        if best is None or best.score < self.score_threshold:
            default = self._default('default')
            return Selection(default.name, default.route, 'default', about=query)
        return self._named(best.route, 'selector', f'similarity {best.score:.2f}', query)


class _SharedIndex:
    """The index of a router's profiles, built once for all of its runs."""

    def __init__(self) -> None:
        self._index: Index | None = None
        # A lock belongs to the event loop it was used in, and agents may run in several threads, each with a loop.
        self._locks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()

    async def get(self, embedder: Embedder, profiles: Mapping[str, tuple[str, ...]], usage: RunUsage) -> Index:
        if self._index is not None:
            return self._index
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if self._index is None:
                result = await embedder.embed_documents([text for texts in profiles.values() for text in texts])
                _count(result.usage.input_tokens, usage)
                self._index = build(profiles, result.embeddings)
            return self._index


def last_prompt(messages: Sequence[ModelMessage]) -> str:
    """The text of the newest user prompt, its texts joined by line breaks; empty if there is none."""
    parts = (
        part
        for message in reversed(messages)
        if isinstance(message, ModelRequest)
        for part in reversed(message.parts)
        if isinstance(part, UserPromptPart)
    )
    newest = next(parts, None)
    if newest is None:
        return ''
    if isinstance(newest.content, str):
        return newest.content
    texts = (item.content if isinstance(item, TextContent) else item for item in newest.content)
    return '\n'.join(text for text in texts if isinstance(text, str))


def _count(tokens: int, usage: RunUsage) -> None:
    usage.input_tokens += tokens


def _texts(name: str, texts: Sequence[str]) -> tuple[str, ...]:
    if isinstance(texts, str):
        raise TypeError(
            f'The profile of route {name!r} must be several texts; got the text {texts!r}. Put it in a list.'
        )
    if not texts:
        raise ValueError(f'The profile of route {name!r} is empty. Give it example texts, or leave the route out.')
    if blank := [text for text in texts if not text.strip()]:
        raise ValueError(f'The profile of route {name!r} holds a blank text ({blank[0]!r}), which is like nothing.')
    return tuple(texts)


def _check_scoring(threshold: float, top_k: int, aggregation: Aggregation) -> None:
    check_whole('SemanticRoute.top_k', top_k)
    check_number('SemanticRoute.score_threshold', threshold)
    if top_k < 1:
        raise ValueError(f'`SemanticRoute.top_k` must be at least 1; got {top_k!r}.')
    bound = top_k if aggregation == 'sum' else 1
    if not math.isfinite(threshold) or abs(threshold) > bound:
        raise ValueError(
            f'`SemanticRoute.score_threshold` must be from -{bound} to {bound} for the {aggregation} of {top_k} '
            f'similarities; got {threshold!r}.'
        )
