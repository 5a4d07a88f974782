"""`SemanticRoute`: which route a prompt is most like, and what embedding for it costs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai import Agent, BinaryContent, Embedder
from pydantic_ai.embeddings import EmbeddingModel, EmbeddingResult, EmbeddingSettings
from pydantic_ai.embeddings.result import EmbedInputType
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelRequest, ModelResponse, TextContent, TextPart, UserPromptPart
from pydantic_ai.usage import RequestUsage

from advisor_harness.routing import RouteNotFoundError, RoutingError, SemanticRoute
from advisor_harness.routing.semantic import last_prompt
from advisor_harness.routing.similarity import Match, build, match
from tests.routing.conftest import Recorded
from tests.routing.support import routes_of, talker

pytestmark = pytest.mark.anyio


def at(score: float) -> tuple[float, float]:
    """A vector whose cosine similarity to (1, 0) is `score`."""
    return (score, math.sqrt(1 - score * score))


class Vectors(EmbeddingModel):
    """Embeds by a table of vectors, one token per word, and notes what it was asked."""

    def __init__(self, **vectors: Sequence[float]) -> None:
        super().__init__()
        self.vectors = vectors
        self.asked: list[tuple[str, list[str]]] = []
        self.errors: list[Exception] = []
        self.answer: list[Sequence[float]] | None = None

    @property
    def model_name(self) -> str:
        return 'table'

    @property
    def system(self) -> str:
        return 'test'

    async def embed(
        self, inputs: str | Sequence[str], *, input_type: EmbedInputType, settings: EmbeddingSettings | None = None
    ) -> EmbeddingResult:
        texts, _ = self.prepare_embed(inputs, settings)
        self.asked.append((input_type, texts))
        await asyncio.sleep(0)
        if self.errors:
            raise self.errors.pop(0)
        return EmbeddingResult(
            [self.vectors[text] for text in texts] if self.answer is None else self.answer,
            inputs=texts,
            input_type=input_type,
            model_name='table',
            provider_name='test',
            usage=RequestUsage(input_tokens=len(texts)),
        )


PROFILES = {'code': ['bug'], 'chat': ['hello']}


def table() -> Vectors:
    return Vectors(bug=(1, 0), hello=(0, 1), fix=at(0.9), greet=at(0.1), neither=(-1, -1), zero=(0, 0))


def router(vectors: Vectors, profiles: Any = None, **options: Any) -> SemanticRoute[object]:
    routes = {'other': talker('other'), 'code': talker('code'), 'chat': talker('chat')}
    return SemanticRoute(routes, PROFILES if profiles is None else profiles, Embedder(vectors), **options)


async def test_a_prompt_goes_to_the_route_it_is_most_like() -> None:
    """The best cosine similarity wins; below the threshold the default serves."""
    agent = Agent(capabilities=[router(table())])
    outputs = [(await agent.run(prompt)).output for prompt in ('fix', 'greet', 'neither')]
    assert outputs == ['code', 'chat', 'other']


async def test_the_last_prompt_of_the_conversation_counts() -> None:
    """A conversation changes its route with its subject, unless it is sticky."""
    for sticky, expected in (('none', ['code', 'chat']), ('conversation', ['code', 'code'])):
        agent = Agent(capabilities=[router(table(), sticky=sticky)])
        result = await agent.run('fix')
        result = await agent.run('greet', message_history=result.all_messages())
        assert routes_of(result.all_messages()) == expected


async def test_profiles_are_documents_and_prompts_are_queries() -> None:
    """The profile is embedded in one call, once for all runs, and each prompt once."""
    vectors = table()
    agent = Agent(capabilities=[router(vectors)])
    for _ in range(2):
        await agent.run('fix')
    assert vectors.asked == [('document', ['bug', 'hello']), ('query', ['fix']), ('query', ['fix'])]


@pytest.mark.parametrize('prompt', [None, '', ' \n', [BinaryContent(b'\x89PNG', media_type='image/png')]])
async def test_without_text_the_default_serves_and_nothing_is_embedded(prompt: Any) -> None:
    """R16: no prompt, a blank one and one of images only are nothing to compare, so nothing is paid for."""
    vectors = table()
    agent = Agent(capabilities=[router(vectors)], instructions='be brief')
    assert (await agent.run(prompt)).output == 'other'
    assert vectors.asked == []


async def test_tokens_count_in_the_run_that_asked() -> None:
    """R16: the first run pays for the profiles and its prompt, the next for its prompt; requests are not counted up."""
    agent = Agent(capabilities=[router(table())])
    plain = (await Agent(talker('code')).run('fix')).usage
    first, second = (await agent.run('fix')).usage, (await agent.run('fix')).usage
    assert (first.input_tokens - plain.input_tokens, second.input_tokens - plain.input_tokens) == (3, 1)
    assert first.requests == plain.requests


async def test_a_prompt_is_embedded_once_per_run() -> None:
    """Later requests of a run have the same prompt, and so the same route."""
    vectors = table()
    policy = router(vectors)
    policy.routes['code'] = talker('code', calls='work')
    agent = Agent(capabilities=[policy])

    @agent.tool_plain
    def work() -> str:
        return 'done'

    assert routes_of((await agent.run('fix')).all_messages()) == ['code', 'code']
    assert [kind for kind, _ in vectors.asked] == ['document', 'query']


async def test_fifty_first_requests_build_one_index() -> None:
    """R16: concurrent runs wait for the one that embeds the profiles."""
    vectors = table()
    agent = Agent(capabilities=[router(vectors)])
    results = await asyncio.gather(*(agent.run('fix' if number % 2 else 'greet') for number in range(50)))
    assert [result.output for result in results] == ['code' if number % 2 else 'chat' for number in range(50)]
    assert [kind for kind, _ in vectors.asked].count('document') == 1


async def test_a_failed_build_is_made_again() -> None:
    """R16: what the embedder raises reaches the caller, and the next request tries anew."""
    vectors = table()
    vectors.errors.append(ModelHTTPError(503, 'table'))
    agent = Agent(capabilities=[router(vectors)])
    with pytest.raises(ModelHTTPError):
        await agent.run('fix')
    assert (await agent.run('fix')).output == 'code'
    assert [kind for kind, _ in vectors.asked] == ['document', 'document', 'query']


async def test_a_cancelled_build_leaves_it_to_the_next() -> None:
    """When the run that builds the index is cancelled, one that waits for it builds it."""
    vectors, begun, go_on = table(), asyncio.Event(), asyncio.Event()

    class Slow(Vectors):
        async def embed(self, inputs: Any, **options: Any) -> EmbeddingResult:
            begun.set()
            await go_on.wait()
            return await vectors.embed(inputs, **options)

    agent = Agent(capabilities=[router(Slow())])
    first = asyncio.create_task(agent.run('fix'))
    await begun.wait()
    second = asyncio.create_task(agent.run('fix'))
    await asyncio.sleep(0)
    first.cancel()
    go_on.set()
    assert (await second).output == 'code'
    assert first.cancelled()
    assert [kind for kind, _ in vectors.asked] == ['document', 'query']


def test_one_router_serves_the_event_loops_of_several_threads() -> None:
    """Runs of different event loops share the index."""
    vectors = table()
    policy = router(vectors)
    outputs = [asyncio.run(Agent(capabilities=[policy]).run('fix')).output for _ in range(2)]
    assert outputs == ['code', 'code']
    assert [kind for kind, _ in vectors.asked] == ['document', 'query', 'query']


async def test_a_zero_vector_is_like_nothing() -> None:
    """A prompt without direction goes to the default whatever the threshold; a profile without one never matches."""
    agent = Agent(capabilities=[router(table(), score_threshold=-1)])
    assert (await agent.run('zero')).output == 'other'
    index = build({'a': ['x'], 'b': ['y']}, [(0, 0), (1, 0)])
    assert match(index, [(1, 0)], top_k=2, aggregation='sum') == Match('b', 1.0)
    assert match(build({'a': ['x']}, [(0, 0)]), [(1, 0)], top_k=1, aggregation='mean') is None


def test_mean_and_sum_pick_differently() -> None:
    """R16: of three texts with scores 1.0 against 0.8 and 0.8, the mean picks the first route, the sum the second."""
    index = build({'writing': ['a', 'b'], 'code': ['c']}, [at(0.8), at(0.8), (1, 0)])
    mean, total = (match(index, [(1, 0)], top_k=3, aggregation=each) for each in ('mean', 'sum'))
    assert mean == Match('code', 1.0)
    assert total is not None
    assert (total.route, round(total.score, 9)) == ('writing', 1.6)


@pytest.mark.parametrize('top_k', [1, 2, 5])
def test_of_equals_the_first_registered_wins(top_k: int) -> None:
    """R16: equal scores never depend on chance."""
    index = build({'b': ['x'], 'a': ['y']}, [(1, 0), (1, 0)])
    assert match(index, [(2, 0)], top_k=top_k, aggregation='mean') == Match('b', 1.0)


def test_top_k_counts_over_all_routes() -> None:
    """Texts beyond the best `top_k` do not pull a route's mean down."""
    index = build({'a': ['1', '2'], 'b': ['3']}, [(1, 0), (-1, 0), at(0.5)])
    assert match(index, [(1, 0)], top_k=2, aggregation='mean') == Match('a', 1.0)
    found = match(index, [(1, 0)], top_k=3, aggregation='mean')
    assert found is not None
    assert (found.route, round(found.score, 9)) == ('b', 0.5)


async def test_the_threshold_is_inclusive() -> None:
    """A score that equals the threshold is enough."""
    agent = Agent(capabilities=[router(Vectors(bug=(1, 0), hello=(0, 1), fix=(1, 0)), score_threshold=1)])
    assert (await agent.run('fix')).output == 'code'


@pytest.mark.parametrize(
    ('build_answer', 'query_answer', 'message'),
    [
        ([(1, 0)], None, 'The embedder returned 1 vectors for 2 profile texts.'),
        ([], None, 'The embedder returned 0 vectors for 2 profile texts.'),
        (None, [(1, 0), (0, 1)], 'The embedder returned 2 vectors for one text.'),
        (None, [], 'The embedder returned 0 vectors for one text.'),
        (
            [(1, 0), (1, 0, 0)],
            None,
            'The embedder returned a vector of 3 dimensions where 2 were expected. '
            'Use one embedding model, with the same number of dimensions, for the profiles and for the queries.',
        ),
        (
            [(), ()],
            None,
            'The embedder returned a vector of 0 dimensions where some were expected. '
            'Use one embedding model, with the same number of dimensions, for the profiles and for the queries.',
        ),
        (
            None,
            [(1,)],
            'The embedder returned a vector of 1 dimensions where 2 were expected. '
            'Use one embedding model, with the same number of dimensions, for the profiles and for the queries.',
        ),
        (None, [(math.nan, 0)], 'The embedder returned a vector that is not finite.'),
        (None, [(math.inf, 0)], 'The embedder returned a vector that is not finite.'),
    ],
)
async def test_what_an_embedder_must_not_return(build_answer: Any, query_answer: Any, message: str) -> None:
    """Vectors that cannot be compared are an error that says what came, never a route by chance."""
    vectors = table()
    agent = Agent(capabilities=[router(vectors)])
    if build_answer is None:
        await agent.run('fix')
        vectors.answer = query_answer
    else:
        vectors.answer = build_answer
    with pytest.raises(RoutingError) as error:
        await agent.run('fix')
    assert str(error.value) == message


async def test_the_span_says_rule_or_default(recorded: Recorded) -> None:
    """A match is a rule's choice, too little similarity the default."""
    agent = Agent(capabilities=[router(table()), recorded.instrumentation])
    for prompt in ('fix', 'neither'):
        await agent.run(prompt)
    assert [(facts.route, facts.reason) for facts in recorded.routes] == [('code', 'rule'), ('other', 'default')]


async def test_a_switch_says_how_similar() -> None:
    """The reason of a switch is the score."""
    told: list[Any] = []
    agent = Agent(capabilities=[router(table(), on_switch=told.append)])
    result = await agent.run('greet')
    await agent.run('fix', message_history=result.all_messages())
    assert [(switch.previous, switch.route, switch.reason) for switch in told] == [('chat', 'code', 'similarity 0.90')]


def test_texts_of_a_prompt_are_joined() -> None:
    """Of the newest user prompt every text counts, and nothing else."""
    content = ['one', BinaryContent(b'', media_type='image/png'), TextContent('two')]
    messages = [
        ModelRequest([UserPromptPart('old')]),
        ModelResponse([TextPart('answer')]),
        ModelRequest([UserPromptPart('older in the same message'), UserPromptPart(content)]),
        ModelResponse([TextPart('answer')]),
    ]
    assert (last_prompt(messages), last_prompt([])) == ('one\ntwo', '')


@pytest.mark.parametrize(
    ('profiles', 'options', 'kind', 'message'),
    [
        (
            {},
            {},
            ValueError,
            '`SemanticRoute.profiles` must hold example texts of at least one route; got none.',
        ),
        (
            {'code': []},
            {},
            ValueError,
            "The profile of route 'code' is empty. Give it example texts, or leave the route out.",
        ),
        (
            {'code': ['bug', ' ']},
            {},
            ValueError,
            "The profile of route 'code' holds a blank text (' '), which is like nothing.",
        ),
        (
            {'code': 'bug'},
            {},
            TypeError,
            "The profile of route 'code' must be several texts; got the text 'bug'. Put it in a list.",
        ),
        (
            {'gone': ['bug']},
            {},
            RouteNotFoundError,
            "Route 'gone' is not registered (registered: 'other', 'code', 'chat'). "
            'Register it in `Router.routes`, or set a registered route with `Router.set_active_route()`.',
        ),
        (PROFILES, {'top_k': 1.5}, TypeError, '`SemanticRoute.top_k` must be a whole number; got 1.5.'),
        (PROFILES, {'score_threshold': '1'}, TypeError, "`SemanticRoute.score_threshold` must be a number; got '1'."),
        (PROFILES, {'top_k': 0}, ValueError, '`SemanticRoute.top_k` must be at least 1; got 0.'),
        (
            PROFILES,
            {'aggregation': 'max'},
            ValueError,
            "`SemanticRoute.aggregation` must be 'mean' or 'sum'; got 'max'.",
        ),
        (
            PROFILES,
            {'score_threshold': 1.1},
            ValueError,
            '`SemanticRoute.score_threshold` must be from -1 to 1 for the mean of 1 similarities; got 1.1.',
        ),
        (
            PROFILES,
            {'score_threshold': math.nan},
            ValueError,
            '`SemanticRoute.score_threshold` must be from -1 to 1 for the mean of 1 similarities; got nan.',
        ),
        (
            PROFILES,
            {'score_threshold': -3.5, 'aggregation': 'sum', 'top_k': 3},
            ValueError,
            '`SemanticRoute.score_threshold` must be from -3 to 3 for the sum of 3 similarities; got -3.5.',
        ),
    ],
)
def test_options_are_checked_early(profiles: Any, options: Any, kind: type[Exception], message: str) -> None:
    """What cannot work is refused at construction, by name and value."""
    with pytest.raises(kind) as error:
        router(table(), profiles, **options)
    assert str(error.value) == message


def test_an_embedder_is_needed() -> None:
    """A model's name is not an embedder."""
    with pytest.raises(TypeError) as error:
        SemanticRoute({'code': talker('code')}, {'code': ['bug']}, 'openai:small')  # pyright: ignore[reportArgumentType]
    assert str(error.value) == "`SemanticRoute.embedder` must be a pydantic-ai `Embedder`; got 'openai:small'."


@pytest.mark.parametrize('length', [0.1, 3.7, 1e-160])
def test_a_text_is_like_itself_by_one(length: float) -> None:
    """The last digits of a cosine are noise, and must not keep an equal text from a threshold of 1."""
    vector = [math.sin(n) for n in range(1, 17)]
    index = build({'a': ['text']}, [vector])
    found = match(index, [[value * length for value in vector]], top_k=1, aggregation='mean')
    assert found == Match('a', 1.0)
