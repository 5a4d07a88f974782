"""`FailoverModel`: which failures move on, in which order models are tried, and what is raised when none answers."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai import Agent, ModelSettings
from pydantic_ai.exceptions import (
    FallbackExceptionGroup,
    ModelAPIError,
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ThinkingPart, UserPromptPart
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel

from advisor_harness.routing import FailoverModel, Portability, PortabilityError, PortabilityReport, Router
from tests.routing.conftest import Recorded
from tests.routing.support import mark, marks, talker

pytestmark = pytest.mark.anyio

UNAVAILABLE = ModelHTTPError(503, 'broken')


class Line:
    """Models that note in `asked` when they are asked, and fail while there is an error under their name."""

    def __init__(self, **errors: BaseException | None) -> None:
        self.asked: list[str] = []
        self.errors = errors

    def __getitem__(self, name: str) -> FunctionModel:
        async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            self._ask(name)
            return ModelResponse([TextPart(name)])

        async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
            self._ask(name)
            yield name

        return FunctionModel(answer, stream_function=stream, model_name=name)

    def models(self) -> list[Model]:
        return [self[name] for name in self.errors]

    def _ask(self, name: str) -> None:
        self.asked.append(name)
        if (error := self.errors[name]) is not None:
            raise error


async def streamed(model: Model) -> str:
    async with Agent(model).run_stream('hello') as stream:
        return await stream.get_output()


async def plain(model: Model) -> str:
    return (await Agent(model).run('hello')).output


@pytest.mark.parametrize('run', [plain, streamed])
@pytest.mark.parametrize(
    'error',
    [
        UNAVAILABLE,
        ModelHTTPError(400, 'broken'),
        ModelAPIError('broken', 'no connection'),
        TimeoutError('too slow'),
        UnexpectedModelBehavior('empty'),
        UserError('this provider takes no such file'),
        NotImplementedError('no video'),
        ValueError('URL protocol not allowed'),
        FallbackExceptionGroup('all', [UNAVAILABLE]),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_fails_before_an_answer_moves_on(run: Any, error: Exception) -> None:
    """R15: errors of the provider and refusals of content alike give the next model its turn, streamed or not."""
    line = Line(first=error, second=None, third=None)
    assert (await run(FailoverModel(*line.models())), line.asked) == ('second', ['first', 'second'])


async def test_a_stream_is_committed_with_its_first_event() -> None:
    """R15: what fails after an event was handed on is raised, and no other model is asked."""

    async def breaks(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield 'partial '
        raise UNAVAILABLE

    line = Line(second=None)
    agent = Agent(FailoverModel(FunctionModel(stream_function=breaks), line['second']))
    got: list[str] = []

    async def read() -> None:
        async with agent.run_stream('x') as run:
            async for text in run.stream_text(delta=True, debounce_by=None):
                got.append(text)

    with pytest.raises(ModelHTTPError) as error:
        await read()
    assert (error.value, got, line.asked) == (UNAVAILABLE, ['partial '], [])


async def test_a_group_raised_by_the_consumer_is_not_an_exhaustion() -> None:
    """What the code that reads a stream raises is left as it is, also a group like those of pydantic-ai."""
    group, model = FallbackExceptionGroup('mine', [ValueError('mine')]), FailoverModel(talker('only'))
    with pytest.raises(FallbackExceptionGroup) as error:
        async with Agent(model).run_stream('hello'):
            raise group
    assert error.value is group


@pytest.mark.parametrize('run', [plain, streamed])
async def test_a_cancelled_request_asks_nobody_else(run: Any) -> None:
    """R15: cancelling the caller ends the request: no other model is asked."""
    line, begun = Line(second=None), asyncio.Event()

    async def hang(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        begun.set()
        await asyncio.Event().wait()
        return ModelResponse([])

    async def hang_stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        await hang(messages, info)
        yield ''

    task = asyncio.create_task(run(FailoverModel(FunctionModel(hang, stream_function=hang_stream), line['second'])))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert line.asked == []


@pytest.mark.parametrize('run', [plain, streamed])
async def test_exhaustion_raises_one_group_with_every_attempt(run: Any) -> None:
    """R15: the group has each model's error and attempt in order; it is a `ModelAPIError` that names the chain."""
    errors = [UNAVAILABLE, UserError('no files'), TimeoutError('slow')]
    line = Line(**dict(zip('abc', errors, strict=True)))
    with pytest.raises(FallbackExceptionGroup) as caught:
        await run(FailoverModel(*line.models()))
    error: Any = caught.value
    assert list(error.exceptions) == errors
    assert [(each.model_name, each.outcome) for each in error.attempts] == [(name, 'error') for name in 'abc']
    assert isinstance(error, ModelAPIError)
    assert str(error) == "No model has answered 'fallback:a,b,c' (3 sub-exceptions)"
    assert error.model_name == 'fallback:a,b,c'


async def test_nested_chains_raise_one_flat_group() -> None:
    """Of chains in chains, ours and pydantic-ai's, also wrapped, only the models' own errors and attempts are told."""
    line = Line(a=UNAVAILABLE, b=UNAVAILABLE, c=UserError('no files'), d=UNAVAILABLE)
    a, b, c, d = line.models()
    with pytest.raises(FallbackExceptionGroup) as error:
        await plain(FailoverModel(FailoverModel(a, b), WrapperModel(FallbackModel(c, fallback_on=(UserError,))), d))
    assert list(error.value.exceptions) == [line.errors[name] for name in 'abcd']
    assert [attempt.model_name for attempt in error.value.attempts] == list('abcd')


@pytest.mark.parametrize('run', [plain, streamed])
async def test_chains_nest_in_each_other_and_in_fallback_models(run: Any) -> None:
    """R15: an exhausted chain is one failed model of the chain around it, a `FallbackModel` included."""
    for outer in (FailoverModel, FallbackModel):
        line = Line(a=UNAVAILABLE, b=UNAVAILABLE, c=None)
        a, b, c = line.models()
        assert (await run(outer(FailoverModel(a, b), c)), line.asked) == ('c', ['a', 'b', 'c'])
    line = Line(a=UNAVAILABLE, b=UNAVAILABLE, c=None)
    a, b, c = line.models()
    assert (await run(FailoverModel(FallbackModel(a, b), c)), line.asked) == ('c', ['a', 'b', 'c'])


async def test_the_group_survives_pickling_and_splitting() -> None:
    """Across processes the group keeps errors and attempts; `except*` takes it apart into groups of pydantic-ai."""
    with pytest.raises(FallbackExceptionGroup) as caught:
        await plain(FailoverModel(*Line(a=UNAVAILABLE, b=ValueError('no')).models()))
    error: Any = caught.value
    copied = pickle.loads(pickle.dumps(error))
    assert (str(copied), copied.attempts, copied.model_name) == (str(error), error.attempts, error.model_name)
    matching, rest = error.split(ModelHTTPError)
    assert (type(matching), list(matching.exceptions)) == (FallbackExceptionGroup, [UNAVAILABLE])
    assert list(rest.exceptions) == [error.exceptions[1]]


async def test_max_attempts_bounds_one_request() -> None:
    """Models beyond the bound are not asked."""
    line = Line(a=UNAVAILABLE, b=UNAVAILABLE, c=None)
    with pytest.raises(FallbackExceptionGroup) as error:
        await plain(FailoverModel(*line.models(), max_attempts=2))
    assert (line.asked, len(error.value.attempts)) == (['a', 'b'], 2)


async def test_the_same_model_is_asked_once_per_position() -> None:
    """A model that is listed twice gets two turns."""
    line = Line(a=UNAVAILABLE, b=None)
    model = line['a']
    assert (await plain(FailoverModel(model, model, line['b'])), line.asked) == ('b', ['a', 'a', 'b'])


class Clock:
    """A clock that a test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_a_model_that_was_down_is_skipped_until_its_cooldown_is_over() -> None:
    """R15: within the cooldown the second model is asked first; afterwards the first has its turn again."""
    line, clock = Line(first=UNAVAILABLE, second=None), Clock()
    model = FailoverModel(*line.models(), cooldown=30, clock=clock)
    for _ in range(2):
        await plain(model)
    assert line.asked == ['first', 'second', 'second']
    line.errors['first'] = None
    clock.now += 29.9
    assert await plain(model) == 'second'
    clock.now += 0.1
    assert await plain(model) == 'first'


async def test_without_a_cooldown_every_request_starts_at_the_top() -> None:
    """A dead first model is asked every time, as in .NET and in `FallbackModel`."""
    line = Line(first=UNAVAILABLE, second=None)
    model = FailoverModel(*line.models())
    for _ in range(2):
        await plain(model)
    assert line.asked == ['first', 'second', 'first', 'second']


async def test_models_that_cool_down_are_the_last_resort() -> None:
    """When the others fail too, a model within its cooldown is asked before giving up."""
    line = Line(first=UNAVAILABLE, second=None)
    model = FailoverModel(*line.models(), cooldown=30, clock=Clock())
    await plain(model)
    line.errors.update(first=None, second=UNAVAILABLE)
    line.asked.clear()
    assert (await plain(model), line.asked) == ('first', ['second', 'first'])


@pytest.mark.parametrize(
    ('error', 'cools'),
    [
        (ModelHTTPError(500, 'm'), True),
        (ModelHTTPError(429, 'm'), True),
        (ModelHTTPError(401, 'm'), True),
        (ModelHTTPError(400, 'm'), False),
        (ModelHTTPError(413, 'm'), False),
        (ModelHTTPError(422, 'm'), False),
        (ModelAuthenticationError('m', 'no key'), True),
        (ModelNotFoundError('m', 'gone'), True),
        (ModelContextWindowExceededError('m', 'too long'), False),
        (ModelAPIError('m', 'no connection'), True),
        (TimeoutError(), True),
        (ConnectionResetError(), True),
        (UserError('no files'), False),
        (PortabilityError('m', PortabilityReport()), False),
        (NotImplementedError('no video'), False),
        (UnexpectedModelBehavior('odd'), False),
        (FallbackExceptionGroup('all', [UNAVAILABLE]), True),
        (FallbackExceptionGroup('all', [UNAVAILABLE, UserError('no files')]), False),
    ],
    ids=str,
)
async def test_only_a_model_that_was_down_cools_down(error: Exception, cools: bool) -> None:
    """A refusal of one request says nothing about the next; an outage, a lost key or a limit does."""
    line = Line(first=error, second=None)
    model = FailoverModel(*line.models(), cooldown=30, clock=Clock())
    await plain(model)
    assert [each.model_name for each in model.in_order()] == (['second', 'first'] if cools else ['first', 'second'])


async def test_concurrent_requests_share_the_cooldown_and_nothing_else() -> None:
    """Fifty requests at once each find their way to the model that answers."""
    line = Line(a=UNAVAILABLE, b=UNAVAILABLE, c=None)
    model = FailoverModel(*line.models(), cooldown=30, clock=Clock())
    assert await asyncio.gather(*(plain(model) for _ in range(50))) == ['c'] * 50
    assert [each.model_name for each in model.in_order()] == ['c', 'a', 'b']


async def test_as_a_route_it_remembers_who_was_down() -> None:
    """The cooldown holds across the requests of a router, which wraps the models anew for each."""
    line = Line(first=UNAVAILABLE, second=None)
    chain = FailoverModel(*line.models(), cooldown=30, clock=Clock())
    agent = Agent(capabilities=[Router({'chain': chain})])
    for _ in range(3):
        await agent.run('hello')
    assert line.asked == ['first', 'second', 'second', 'second']


def thoughtful(place: str) -> list[ModelMessage]:
    """A history with thinking that only the model at `place` can read."""
    metadata = {'router': {'route': 'chain', 'identity': place, 'model': 'm'}}
    parts = [ThinkingPart('hm', signature='S', provider_name='function'), TextPart('a')]
    return [ModelRequest([UserPromptPart('q')]), ModelResponse(parts, provider_name='function', metadata=metadata)]


class Elsewhere(FunctionModel):
    """A model of another place, which can read what the others cannot."""

    @property
    def base_url(self) -> str:
        return 'https://elsewhere.example'


@pytest.mark.parametrize('is_streamed', [False, True])
async def test_a_history_that_one_model_cannot_take_goes_to_the_next(is_streamed: bool, recorded: Recorded) -> None:
    """A refusal by the rules of portability moves on, without a cooldown; the span tells of the one that answered."""
    line = Line(here=None, there=None)
    model = line['there']
    assert model.function
    assert model.stream_function
    there = Elsewhere(model.function, stream_function=model.stream_function, model_name='there')
    chain = FailoverModel(line['here'], there, cooldown=30, clock=Clock())
    router = Router({'chain': chain}, portability=Portability(thinking='raise'))
    agent = Agent(capabilities=[router, recorded.instrumentation])
    history = thoughtful('function|https://elsewhere.example|FunctionModel')
    if is_streamed:
        async with agent.run_stream('and?', message_history=history) as stream:
            await stream.get_output()
    else:
        await agent.run('and?', message_history=history)
    assert (line.asked, [model.model_name for model in chain.in_order()]) == (['there'], ['here', 'there'])
    facts = recorded.routes[0]
    assert (facts.model, facts.reason, facts.history_action, facts.issues) == ('there', 'sticky', 'kept', ())


async def test_a_history_that_no_model_can_take_is_not_sent(recorded: Recorded) -> None:
    """When every model refuses it, the group holds the refusals and the span is an error."""
    line = Line(a=None, b=None)
    router = Router({'chain': FailoverModel(*line.models())}, portability=Portability(thinking='raise'))
    agent = Agent(capabilities=[router, recorded.instrumentation])
    with pytest.raises(FallbackExceptionGroup) as error:
        await agent.run('and?', message_history=thoughtful('other||X'))
    assert [type(each) for each in error.value.exceptions] == [PortabilityError, PortabilityError]
    facts = recorded.routes[0]
    assert (line.asked, facts.reason, facts.history_action) == ([], 'history_incompatible', 'blocked')


def suspended(pinned: str) -> list[ModelMessage]:
    """A turn that model `pinned` of a chain has begun."""
    metadata: dict[str, Any] = {'__pydantic_ai__': {'fallback_model_id': f'function:{pinned}'}}
    return [
        ModelRequest([UserPromptPart('go on')]),
        ModelResponse([TextPart('part')], state='suspended', model_name=pinned, metadata=metadata),
    ]


@pytest.mark.parametrize(
    ('max_attempts', 'asked'), [(None, ['b', 'a', 'b', 'c']), (1, ['b']), (2, ['b', 'a']), (3, ['b', 'a', 'b'])]
)
async def test_an_unfinished_turn_goes_to_the_model_that_began_it(max_attempts: int | None, asked: list[str]) -> None:
    """That model is asked first, beyond the bound's cut too; when it fails, the turn starts over within the bound."""
    line = Line(a=UNAVAILABLE, b=UNAVAILABLE, c=UNAVAILABLE)
    model = FailoverModel(*line.models(), max_attempts=max_attempts, cooldown=30, clock=Clock())
    with pytest.raises(FallbackExceptionGroup) as error:
        await Agent(model).run(None, message_history=suspended('b'))
    assert (line.asked, [each.model_name for each in error.value.attempts]) == (asked, asked)
    line.asked.clear()
    line.errors['b'] = None
    await Agent(model).run(None, message_history=suspended('b'))
    assert line.asked == ['b']


async def test_every_model_keeps_its_own_settings() -> None:
    """A model's settings apply when it is asked, under those of the request."""
    seen: list[AgentInfo] = []

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        return ModelResponse([TextPart('ok')])

    broken = Line(first=UNAVAILABLE)['first']
    second = FunctionModel(answer, settings=ModelSettings(temperature=0.2, top_p=0.5))
    await Agent(FailoverModel(broken, second), model_settings={'top_p': 1.0}).run('hello')
    assert [info.model_settings for info in seen] == [{'temperature': 0.2, 'top_p': 1.0}]


@pytest.mark.parametrize('is_streamed', [False, True])
async def test_as_a_route_it_is_stamped_with_the_model_that_answered(is_streamed: bool, recorded: Recorded) -> None:
    """Stamp and span name the answering model under the route's name, and the response lists the failed attempt."""
    line = Line(first=UNAVAILABLE, second=None)
    agent = Agent(capabilities=[Router({'chain': FailoverModel(*line.models())}), recorded.instrumentation])
    if is_streamed:
        async with agent.run_stream('hello') as stream:
            await stream.get_output()
        last: Any = stream.all_messages()[-1]
    else:
        last = (await agent.run('hello')).all_messages()[-1]
    assert marks([last]) == [mark('chain', 'second')]
    assert [attempt.model_name for attempt in last.failed_attempts] == ['first']
    assert [(facts.route, facts.model) for facts in recorded.routes] == [('chain', 'second')]
    spans = [(span.name, (span.attributes or {}).get('gen_ai.request.model')) for span in recorded.spans]
    assert [each for each in spans if each[0].startswith(('chat', 'model request attempt'))] == [
        ('model request attempt first', 'first'),
        ('chat second', 'second'),
    ]


@pytest.mark.parametrize(
    ('models', 'options', 'message'),
    [
        (0, {}, '`FailoverModel` needs at least one model; got none.'),
        (1, {'max_attempts': 0}, '`FailoverModel.max_attempts` must be at least 1; got 0.'),
        (1, {'cooldown': 0}, '`FailoverModel.cooldown` must be more than 0 seconds; got 0.'),
        (1, {'cooldown': float('nan')}, '`FailoverModel.cooldown` must be more than 0 seconds; got nan.'),
    ],
)
def test_options_are_checked_early(models: int, options: dict[str, Any], message: str) -> None:
    """What cannot work is refused at construction, by name and value."""
    with pytest.raises(ValueError) as error:
        FailoverModel(*[talker('a')] * models, **options)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'max_attempts': 1.5}, '`FailoverModel.max_attempts` must be a whole number; got 1.5.'),
        ({'max_attempts': True}, '`FailoverModel.max_attempts` must be a whole number; got True.'),
        ({'cooldown': '30'}, "`FailoverModel.cooldown` must be a number; got '30'."),
        ({'cooldown': True}, '`FailoverModel.cooldown` must be a number; got True.'),
    ],
)
def test_options_of_another_type_are_refused(options: dict[str, Any], message: str) -> None:
    """A type checker would say so; who has none hears it at construction."""
    with pytest.raises(TypeError) as error:
        FailoverModel(talker('a'), **options)
    assert str(error.value) == message


def test_a_model_may_be_given_by_its_id() -> None:
    """An id becomes a model by pydantic-ai's own rules."""
    assert FailoverModel('test', talker('a')).model_id == 'fallback:test:test,function:a'
