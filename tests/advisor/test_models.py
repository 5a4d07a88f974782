"""Which model serves, and how the advisor's name becomes a model: H12, A12 and F32."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext, models
from pydantic_ai.capabilities import AbstractCapability, ResolveModelId
from pydantic_ai.exceptions import ModelHTTPError, UserError
from pydantic_ai.models import Model, ModelResolutionContext
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.instrumented import InstrumentedModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel

from advisor_harness import Advisor, Consultation
from advisor_harness.advisor.models import named
from advisor_harness.telemetry import read

from .conftest import Spans
from .scripts import (
    HAIKU,
    OPUS,
    SONNET,
    Provider,
    Script,
    answers,
    asks,
    client_call,
    completion,
    consulted,
    executor,
    failing,
    message,
    native_advice,
    says,
    text,
)

pytestmark = pytest.mark.anyio

NAME = f'anthropic:{OPUS}'


class Verdict(BaseModel):
    sound: bool


@pytest.mark.parametrize('wrap', [WrapperModel, InstrumentedModel, lambda model: WrapperModel(WrapperModel(model))])
async def test_h12_a_wrapped_executor_is_judged_by_the_model_inside(wrap: Any) -> None:
    """Wrappers do not hide the provider: the request is native."""
    provider = Provider(message(*native_advice(), text('done')))
    records: list[Consultation] = []
    await Agent(wrap(provider.anthropic()), capabilities=[Advisor(NAME, on_consultation=records.append)]).run('Go.')
    assert provider.tools() == ['advisor_20260301']
    assert [record.executor_model for record in records] == [f'anthropic:{HAIKU}']


async def test_h12_a_model_given_to_the_run_decides_for_that_run() -> None:
    """`run(model=...)` and `override` are judged as what serves, not the model of the agent."""
    native, script = Provider(message(text('done'))), executor()
    agent = Agent(script.model(), capabilities=[Advisor(NAME)])
    await agent.run('Go.', model=native.anthropic())
    with agent.override(model=native.anthropic()):
        await agent.run('Go.')
    await agent.run('Go.')
    assert (native.tools(0), native.tools(1), script.tools) == (
        ['advisor_20260301'],
        ['advisor_20260301'],
        [['advisor']],
    )


@pytest.mark.parametrize('mode', ['auto', 'native'])
async def test_h12_candidates_that_agree_are_native(mode: Any) -> None:
    """A `FallbackModel` whose candidates could all consult natively does, whichever of them serves."""
    first, second = Provider(failing(529)), Provider(message(*native_advice(), text('done'), model=SONNET))
    records: list[Consultation] = []
    fallback = FallbackModel(first.anthropic(), second.anthropic(SONNET))
    await Agent(fallback, capabilities=[Advisor(NAME, mode=mode, on_consultation=records.append)]).run('Go.')
    assert (first.tools(), second.tools()) == (['advisor_20260301'], ['advisor_20260301'])
    assert [record.executor_model for record in records] == [f'anthropic:{SONNET}']


async def test_h12_candidates_that_agree_are_native_in_streams_too() -> None:
    """The same holds for a streamed request."""
    first, second = Provider(failing(529)), Provider(message(*native_advice(), text('done'), model=SONNET))
    records: list[Consultation] = []
    fallback = FallbackModel(first.anthropic(), second.anthropic(SONNET))
    agent = Agent(fallback, capabilities=[Advisor(NAME, on_consultation=records.append)])
    async with agent.run_stream('Go.') as stream:
        await stream.get_output()
    assert (first.tools(), second.tools()) == (['advisor_20260301'], ['advisor_20260301'])
    assert [record.advice for record in records] == ['Use a lock.']


async def test_h12_candidates_that_disagree_are_local(spans: Spans) -> None:
    """Where one candidate cannot consult natively none does: a native tool would be lost on the other."""
    first, second = Provider(failing(529)), Provider(completion('done'))
    fallback = FallbackModel(first.anthropic(), second.openrouter())
    await Agent(fallback, capabilities=[spans.capability(), Advisor(NAME)]).run('Go.')
    assert (first.tools(), second.tools()) == (['advisor'], ['advisor'])
    (selection,) = read.selections(spans.finished)
    assert (selection.path, selection.reason) == ('local', 'executor_fallback')
    assert (selection.executor_provider, selection.executor_model) == (
        'anthropic|openrouter',
        f'{HAIKU}|openai/gpt-4o-mini',
    )


async def test_h12_native_on_candidates_that_disagree_raises_before_sending() -> None:
    """`native` names the candidates and sends nothing."""
    first, second = Provider(), Provider()
    fallback = FallbackModel(first.anthropic(), WrapperModel(second.openrouter()))
    with pytest.raises(UserError) as raised:
        await Agent(fallback, capabilities=[Advisor(NAME, mode='native')]).run('Go.')
    assert raised.value.message == (
        f"`Advisor(mode='native')` with advisor '{NAME}' cannot serve executor 'anthropic:{HAIKU} or "
        "openrouter:openai/gpt-4o-mini': its candidates do not agree on a native advisor. Change one of the models, "
        "or use mode='auto', which consults locally here."
    )
    assert (first.requests, second.requests) == ([], [])


async def test_a_local_consultation_of_a_fallback_executor_names_the_candidate_that_asked() -> None:
    """`executor_model` is the model whose response asks, not the list of candidates."""
    first = Provider(failing(529))
    second = Provider(
        message(client_call('advisor', prompt='How?'), stop='tool_use', model=SONNET), message(text('done'))
    )
    records: list[Consultation] = []
    advisor = Advisor(Script(says('Use a lock.')).model(), on_consultation=records.append)
    await Agent(FallbackModel(first.anthropic(), second.anthropic(SONNET)), capabilities=[advisor]).run('Go.')
    assert [record.executor_model for record in records] == [f'anthropic:{SONNET}']


async def test_a_candidate_whose_responses_name_no_provider_is_named_with_it() -> None:
    """`executor_model` is `provider:model` also where only the candidate itself says its provider."""
    first = Script(ModelHTTPError(503, 'first'))
    records: list[Consultation] = []
    advisor = Advisor(Script(says('Use a lock.')).model(), on_consultation=records.append)
    candidates = FallbackModel(first.model('first'), executor(asks('How?')).model('second'))
    await Agent(candidates, capabilities=[advisor]).run('Go.')
    assert [record.executor_model for record in records] == ['function:second']


async def test_a12_a_name_goes_through_the_capabilities_of_the_run() -> None:
    """`resolve_model_id` of the executor resolves the advisor's name too, with the run's dependencies."""
    advisor, asked = Script(says('Use a lock.')), list[tuple[object, str]]()

    async def resolve(ctx: ModelResolutionContext[str], model_id: str) -> Model | None:
        asked.append((ctx.deps, model_id))
        return advisor.model('inside') if model_id == 'house:wise' else None

    records: list[Consultation] = []
    ours = Advisor[str]('house:wise', on_consultation=records.append)
    agent = Agent(executor(asks('How?')).model(), deps_type=str, capabilities=[ResolveModelId(resolve), ours])
    result = await agent.run('Go.', deps='tenant')
    assert answers(result.all_messages()) == ['Use a lock.']
    assert asked == [('tenant', 'house:wise')]
    assert [record.advisor_model for record in records] == ['function:inside']


async def test_a12_a_name_that_no_capability_takes_is_inferred() -> None:
    """A capability that returns `None` leaves the name to core."""

    async def resolve(ctx: ModelResolutionContext[object], model_id: str) -> Model | None:
        return None

    agent = Agent(executor(asks('How?')).model(), capabilities=[ResolveModelId(resolve), Advisor('test')])
    assert answers((await agent.run('Go.')).all_messages()) == ['success (no tool calls)']


async def test_a12_a_failed_resolution_is_a_consultation_with_an_error() -> None:
    """What could not be resolved is recorded under its configured name, with no request."""
    records: list[Consultation] = []
    with pytest.raises(UserError):
        await consulted(Advisor('nonsense:model', on_consultation=records.append), asks('How?'))
    (record,) = records
    assert (record.outcome, record.advisor_model, record.requests) == ('error', 'nonsense:model', 0)


@pytest.mark.parametrize('wrap', [lambda model: model, WrapperModel, lambda model: FallbackModel(model, TestModel())])
async def test_f32_a_test_executor_has_a_test_advisor(wrap: Any) -> None:
    """An executor that is a `TestModel`, wrapped or overridden, never makes its named advisor a real one."""
    records: list[Consultation] = []
    agent = Agent('test', capabilities=[Advisor(NAME, on_consultation=records.append)])
    with agent.override(model=wrap(TestModel())):
        result = await agent.run('Go.')
    assert result.output == '{"advisor":"success (no tool calls)"}'
    assert [(record.advisor_model, record.outcome) for record in records] == [('test:test', 'advised')]


async def test_f32_a_test_model_beside_a_real_one_is_no_test() -> None:
    """Where a real model may serve too, the advisor's name means what it says."""
    script = executor(asks('How?'))
    agent = Agent(FallbackModel(script.model(), TestModel()), capabilities=[Advisor(NAME)])
    with pytest.raises(UserError, match='ANTHROPIC_API_KEY'):
        await agent.run('Go.')


async def test_f32_a_test_advisor_gives_structured_advice_too() -> None:
    """The `TestModel` in the advisor's place answers in the output type."""
    agent = Agent('test', capabilities=[Advisor(NAME, output_type=Verdict)])
    assert (await agent.run('Go.')).output == '{"advisor":{"sound":false}}'


async def test_f32_a_model_instance_is_used_as_given_beside_a_test_executor() -> None:
    """Only names are replaced: a `Model` was chosen by the test itself."""
    advisor = Script(says('Use a lock.'))
    agent = Agent('test', capabilities=[Advisor(advisor.model())])
    assert (await agent.run('Go.')).output == '{"advisor":"Use a lock."}'


async def test_f32_without_allowance_no_request_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ALLOW_MODEL_REQUESTS=False` raises core's error before a provider is even built."""
    monkeypatch.setattr(models, 'ALLOW_MODEL_REQUESTS', False)
    with pytest.raises(RuntimeError, match='Model requests are not allowed'):
        await consulted(Advisor(NAME), asks('How?'))
    own = Provider(message(text('Use a lock.')))
    with pytest.raises(RuntimeError, match='Model requests are not allowed'):
        await consulted(Advisor(own.anthropic(OPUS)), asks('How?'))
    assert own.requests == []
    result, _ = await consulted(Advisor('test'), asks('How?'))
    assert answers(result.all_messages()) == ['success (no tool calls)']


async def test_a_hook_that_swaps_the_model_is_seen_by_the_selection(spans: Spans) -> None:
    """The recorded selection is about the model that serves, also when a later hook put it there."""
    native, script = Provider(message(text('done'))), executor()

    class Swap(AbstractCapability[Any]):
        async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:
            request_context.model = script.model('swapped')
            return request_context

    agent = Agent(native.anthropic(), capabilities=[spans.capability(), Swap(), Advisor(NAME, mode='local')])
    await agent.run('Go.')
    (selection,) = read.selections(spans.finished)
    assert (selection.executor_provider, selection.executor_model, native.requests) == ('function', 'swapped', [])


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('openai-chat:gpt-5', 'openai:gpt-5'),
        ('openai-responses:gpt-5', 'openai:gpt-5'),
        ('gateway/openai-chat:gpt-5', 'openai:gpt-5'),
        ('gateway/anthropic:claude-opus-4-8', 'anthropic:claude-opus-4-8'),
        ('anthropic:claude-opus-4-8', 'anthropic:claude-opus-4-8'),
        ('house:wise', 'house:wise'),
        ('test', 'test:test'),
        ('gpt-5', 'gpt-5'),
    ],
)
def test_a_name_says_the_provider_that_its_model_will_report(name: str, expected: str) -> None:
    """Before and after it is resolved an advisor has the same name: APIs and gateways are no providers."""
    assert str(named(name)) == expected


async def test_decision_and_consultation_name_the_advisor_the_same(
    spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`advisor.provider` and `advisor.model` are equal on both spans where the name chooses an API."""
    monkeypatch.setenv('OPENAI_API_KEY', 'none')
    agent = Agent(
        executor(asks('How?')).model(),
        capabilities=[spans.capability(), Advisor[object]('openai-chat:gpt-5', on_error='continue', timeout=1e-9)],
    )
    await agent.run('Go.')
    named_in = {
        span.name: [(span.attributes or {}).get(f'advisor.{key}') for key in ('provider', 'model')]
        for span in spans.finished
        if span.name in ('select advisor', 'consult advisor')
    }
    assert named_in == {'select advisor': ['openai', 'gpt-5'], 'consult advisor': ['openai', 'gpt-5']}
