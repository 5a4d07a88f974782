"""Documented behaviour A1-A21 and A31: which path a consultation takes (numbers of `facts/advisor.md`)."""

from __future__ import annotations

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.exceptions import UserError
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.instrumented import InstrumentedModel
from pydantic_ai.native_tools import AdvisorTool
from pydantic_ai.providers.anthropic import AnthropicProvider

from advisor_harness import Advisor

from .conftest import Spans
from .scripts import (
    HAIKU,
    KEY,
    OPUS,
    Provider,
    Script,
    answers,
    asks,
    client_call,
    completion,
    consulted,
    executor,
    message,
    native_advice,
    says,
    server_tool_usage,
    text,
)

pytestmark = pytest.mark.anyio

NATIVE = [{'type': 'advisor_20260301', 'name': 'advisor', 'model': OPUS}]


class Verdict(BaseModel):
    sound: bool


@pytest.mark.parametrize('model', ['test', Script(says('Use a lock.')).model('advisor')], ids=['name', 'model'])
async def test_a1_the_first_argument_is_a_model_name_or_a_model(model: object) -> None:
    """An advisor is named by its first positional argument, an id or a `Model`."""
    advisor = Advisor(model)  # pyright: ignore[reportArgumentType] - one test for both kinds
    result, _ = await consulted(advisor, asks('How?'))
    expected = 'success (no tool calls)' if model == 'test' else 'Use a lock.'
    assert (advisor.model, answers(result.all_messages())) == (model, [expected])


async def test_a2_the_executor_decides_when_to_consult() -> None:
    """The capability contributes a tool and no instructions, and nothing is asked unless the executor calls it."""
    advisor = Script(says('Use a lock.'))
    result, script = await consulted(Advisor(advisor.model('advisor')))
    assert (result.output, script.tools, script.infos[0].instructions) == ('done', [['advisor']], None)
    assert advisor.requests == []


async def test_a4_another_output_type_makes_the_path_local() -> None:
    """Structured advice goes local in `auto` although the provider could consult, and excludes `native`."""
    provider = Provider(message(text('done')))
    await Agent(provider.anthropic(), capabilities=[Advisor(f'anthropic:{OPUS}', output_type=Verdict)]).run('Go.')
    assert provider.tools() == ['advisor']
    with pytest.raises(ValueError, match=r'`Advisor\.output_type` must be left out with mode='):
        Advisor(f'anthropic:{OPUS}', mode='native', output_type=Verdict)


async def test_a8_both_on_anthropic_is_native() -> None:
    """A compatible Anthropic pair sends Anthropic's own tool with its options, and no function tool."""
    provider = Provider(message(*native_advice(), text('done')))
    advisor = Advisor(f'anthropic:{OPUS}', max_uses=2, max_tokens=2048, caching='5m')
    result = await Agent(provider.anthropic(), capabilities=[advisor]).run('Go.', model_settings={'max_tokens': 4096})
    assert result.output == 'done'
    assert provider.requests[0].headers['anthropic-beta'] == 'advisor-tool-2026-03-01'
    assert provider.bodies == [
        {
            'model': HAIKU,
            'max_tokens': 4096,
            'stream': False,
            'messages': [{'role': 'user', 'content': [{'type': 'text', 'text': 'Go.'}]}],
            'tools': [
                {
                    **NATIVE[0],
                    'max_uses': 2,
                    'max_tokens': 2048,
                    'caching': {'type': 'ephemeral', 'ttl': '5m'},
                }
            ],
        }
    ]


async def test_a8_both_on_openrouter_is_native() -> None:
    """An OpenRouter pair sends OpenRouter's own tool, which gets no transcript."""
    provider = Provider(completion(**server_tool_usage(1)))
    advisor = Advisor('openrouter:anthropic/claude-opus-4.8', max_tokens=1024)
    result = await Agent(provider.openrouter(), capabilities=[advisor]).run('Go.')
    parameters = {'model': 'anthropic/claude-opus-4.8', 'forward_transcript': False, 'max_completion_tokens': 1024}
    assert result.output == 'Boomerang.'
    assert provider.bodies[0]['tools'] == [{'type': 'openrouter:advisor', 'parameters': parameters}]


async def test_a9_any_other_pair_gets_a_function_tool_and_an_agent_of_its_own() -> None:
    """Where the provider cannot consult, the executor gets `advisor(prompt)`, answered by a separate request."""
    advisor, provider = (
        Script(says('Use a lock.')),
        Provider(message(client_call('advisor', prompt='How?'), stop='tool_use'), message(text('done'))),
    )
    result = await Agent(provider.anthropic(), capabilities=[Advisor(advisor.model('advisor'))]).run('Go.')
    assert (result.output, answers(result.all_messages()), len(advisor.requests)) == ('done', ['Use a lock.'], 1)
    assert provider.bodies[0]['tools'][0]['input_schema'] == {
        'type': 'object',
        'properties': {'prompt': {'type': 'string'}},
        'required': ['prompt'],
        'additionalProperties': False,
    }


@pytest.mark.parametrize('name', [OPUS, f'gateway/anthropic:{OPUS}', 'openrouter:anthropic/claude-opus-4.8', 'test'])
async def test_a10_only_an_explicit_name_of_the_same_provider_is_native(name: str) -> None:
    """A bare name, a gateway or another provider goes local in `auto`."""
    provider = Provider(message(text('done')))
    await Agent(provider.anthropic(), capabilities=[Advisor(name)]).run('Go.')
    assert provider.tools() == ['advisor']


async def test_a11_a_model_instance_is_local_and_keeps_its_client_and_instrumentation(spans: Spans) -> None:
    """A `Model` is used as it is, its own client and instrumentation included, even next to a matching executor."""
    own = Provider(message(text('Use a lock.'), model=OPUS))
    provider = Provider(message(client_call('advisor', prompt='How?'), stop='tool_use'), message(text('done')))
    advisor = InstrumentedModel(own.anthropic(OPUS), spans.capability().settings)
    await Agent(provider.anthropic(), capabilities=[Advisor(advisor)]).run('Go.')
    assert (provider.tools(), len(own.requests)) == (['advisor'], 1)
    assert [span.name for span in spans.finished] == [f'chat {OPUS}', 'invoke_agent advisor']


async def test_a12_a_name_is_resolved_only_by_a_local_consultation() -> None:
    """A name that no provider knows does no harm until it is consulted; then resolving it ends the run."""
    result, _ = await consulted(Advisor('nonsense:model'))
    assert result.output == 'done'
    with pytest.raises(UserError) as raised:
        await consulted(Advisor('nonsense:model'), asks('How?'))
    assert raised.value.message == 'Unknown model: nonsense:model'


async def test_a13_the_profile_of_the_executor_has_the_final_say() -> None:
    """An Anthropic executor whose profile lacks the advisor tool gets the function tool."""
    provider = Provider(message(text('done')))
    model = provider.anthropic(profile={'supported_native_tools': frozenset()})
    await Agent(model, capabilities=[Advisor(f'anthropic:{OPUS}')]).run('Go.')
    assert provider.tools() == ['advisor']


async def test_a13_the_profile_can_add_the_advisor_tool() -> None:
    """An Anthropic executor that core does not list becomes native when its profile says so."""
    provider = Provider(message(text('done')))
    model = provider.anthropic('claude-of-tomorrow', profile={'supported_native_tools': frozenset({AdvisorTool})})
    await Agent(model, capabilities=[Advisor(f'anthropic:{OPUS}')]).run('Go.')
    assert provider.tools() == ['advisor_20260301']


async def test_a15_native_needs_the_same_provider_and_has_no_fallback() -> None:
    """`native` fails before a request is sent where another executor serves."""
    script = executor()
    with pytest.raises(UserError) as raised:
        await Agent(script.model(), capabilities=[Advisor(f'anthropic:{OPUS}', mode='native')]).run('Go.')
    assert raised.value.message == (
        "`Advisor(mode='native')` with advisor 'anthropic:claude-opus-4-8' cannot serve executor 'function:executor': "
        "they are not served by the same provider. Change one of the models, or use mode='auto', which consults "
        'locally here.'
    )
    assert script.requests == []


async def test_a16_local_is_always_a_separate_request() -> None:
    """`local` sends the function tool to an executor whose provider could consult."""
    provider = Provider(message(text('done')))
    await Agent(provider.anthropic(), capabilities=[Advisor(f'anthropic:{OPUS}', mode='local')]).run('Go.')
    assert provider.tools() == ['advisor']


async def test_a19_max_uses_makes_openrouter_local() -> None:
    """OpenRouter ignores `max_uses`, so `auto` goes local there and `native` is refused."""
    provider = Provider(completion())
    name = 'openrouter:anthropic/claude-opus-4.8'
    await Agent(provider.openrouter(), capabilities=[Advisor(name, max_uses=1)]).run('Go.')
    assert provider.tools() == ['advisor']
    with pytest.raises(ValueError, match=r"`Advisor\.max_uses` must be left out with mode='native' on OpenRouter"):
        Advisor(name, mode='native', max_uses=1)


async def test_a20_caching_is_for_the_native_anthropic_advisor_only() -> None:
    """`caching` changes neither OpenRouter's tool nor a local request."""
    router, own = Provider(completion()), Provider(message(text('Use a lock.'), model=OPUS))
    name = 'openrouter:anthropic/claude-opus-4.8'
    await Agent(router.openrouter(), capabilities=[Advisor(name, caching='1h')]).run('Go.')
    assert router.bodies[0]['tools'][0]['parameters'] == {
        'model': 'anthropic/claude-opus-4.8',
        'forward_transcript': False,
    }
    await consulted(Advisor(own.anthropic(OPUS), caching='1h'), asks('How?'))
    assert [key for key in own.bodies[0] if 'cach' in key] == []


@pytest.mark.parametrize('form', [True, 'transcript'])
async def test_a21_forward_history_never_changes_the_path(form: bool) -> None:
    """Forwarding the history is for local advisors; a native pair stays native, with the same body."""
    bodies: list[object] = []
    for option in (False, form):
        provider = Provider(message(text('done')))
        await Agent(provider.anthropic(), capabilities=[Advisor(f'anthropic:{OPUS}', forward_history=option)]).run(
            'Go.'
        )
        bodies.append(provider.bodies)
    assert bodies[0] == bodies[1]
    assert provider.tools() == ['advisor_20260301']


async def test_a31_compatibility_is_checked_when_the_request_is_prepared() -> None:
    """The pair is judged anew for each request, by the model that will serve it."""
    native, other = Provider(message(text('done'))), Provider(completion())
    agent = Agent(native.anthropic(), capabilities=[Advisor(f'anthropic:{OPUS}', mode='native')])
    await agent.run('Go.')
    assert native.tools() == ['advisor_20260301']
    with pytest.raises(UserError, match='they are not served by the same provider'):
        await agent.run('Go.', model=other.openrouter())
    assert other.requests == []


async def test_a31_an_executor_without_the_tool_is_named_before_sending() -> None:
    """`native` on an Anthropic model that has no advisor tool fails before a request is sent."""
    provider = Provider()
    model = AnthropicModel('claude-3-haiku', provider=AnthropicProvider(api_key=KEY, http_client=provider.client))
    with pytest.raises(UserError, match='this executor has no native advisor tool'):
        await Agent(model, capabilities=[Advisor(f'anthropic:{OPUS}', mode='native')]).run('Go.')
    assert provider.requests == []
