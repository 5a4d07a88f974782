"""The decision of a path: the first rule that applies, for every input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability, SelectModel
from pydantic_ai.exceptions import UserError
from pydantic_ai.native_tools import AdvisorTool

from advisor_harness import Advisor
from advisor_harness.advisor.models import ModelName
from advisor_harness.advisor.selection import Selection, decide, effective, native_impossible, refusal
from advisor_harness.telemetry import conventions as names, read

from .conftest import Spans
from .scripts import (
    HAIKU,
    OPUS,
    SONNET,
    Provider,
    Script,
    client_call,
    completion,
    message,
    native_advice,
    native_error,
    text,
)

NAME = f'anthropic:{OPUS}'
ROUTER = 'openrouter:anthropic/claude-opus-4.8'
NATIVE_HAIKU = ModelName('anthropic', HAIKU, supports_native=True)
NATIVE_ROUTER = ModelName('openrouter', 'openai/gpt-4o-mini', supports_native=True)
GPT = ModelName('openai', 'gpt-5', supports_native=True)


def selection(*executors: ModelName, left: int | None = None, **options: Any) -> Callable[[], Selection]:
    """A decision, made when its test runs: a change of the rules meets the test, not its collection."""
    return lambda: decide(Advisor(**{'model': NAME, **options}).options, executors, run_remaining=left)


@pytest.mark.parametrize(
    ('chosen', 'expected'),
    [
        (selection(GPT, left=0, mode='local', model='openai:gpt-5', output_type=int), 'mode_local'),
        (selection(GPT, left=0, model=Script().model(), output_type=int), 'model_instance'),
        (selection(GPT, left=0, output_type=int), 'output_type'),
        (selection(GPT, left=0), 'provider_mismatch'),
        (selection(GPT, model='openai:gpt-5'), 'model_unsupported'),
        (selection(GPT, model='openai-chat:gpt-5'), 'model_unsupported'),
        (selection(GPT, model='gateway/openai:gpt-5'), 'provider_mismatch'),
        (selection(GPT, NATIVE_HAIKU, model='openai:gpt-5'), 'provider_mismatch'),
        (selection(NATIVE_HAIKU, model=f'gateway/{NAME}'), 'provider_mismatch'),
        (selection(NATIVE_HAIKU, model=OPUS), 'provider_mismatch'),
        (selection(ModelName('anthropic', OPUS), left=0, model=f'anthropic:{HAIKU}'), 'pair_invalid'),
        (selection(ModelName('anthropic', OPUS), left=0, model=f'anthropic:{SONNET}'), 'pair_invalid'),
        (selection(ModelName('openrouter', 'x'), left=0, model=ROUTER, max_uses=1), 'max_uses_unsupported'),
        (selection(NATIVE_HAIKU, GPT, left=0), 'executor_fallback'),
        (selection(NATIVE_HAIKU, ModelName('anthropic', HAIKU), left=0), 'executor_fallback'),
        (selection(ModelName('anthropic', HAIKU), left=0), 'model_unsupported'),
        (selection(NATIVE_HAIKU, left=0), 'run_limit'),
    ],
    ids=lambda value: value if isinstance(value, str) else '',
)
def test_the_first_rule_that_applies_is_the_reason(chosen: Callable[[], Selection], expected: str) -> None:
    """Each case also breaks rules further down, which are not what is reported."""
    assert chosen() == Selection('local', expected)


@pytest.mark.parametrize(
    ('chosen', 'expected'),
    [
        (selection(NATIVE_HAIKU), Selection('native', 'native_match')),
        (selection(NATIVE_HAIKU, left=1), Selection('native', 'native_match')),
        (selection(NATIVE_HAIKU, NATIVE_HAIKU, mode='native'), Selection('native', 'mode_native')),
        (selection(NATIVE_ROUTER, model=ROUTER), Selection('native', 'native_match')),
        (selection(GPT, mode='native'), Selection('none', 'provider_mismatch')),
        (selection(NATIVE_HAIKU, left=0, mode='native'), Selection('none', 'run_limit')),
    ],
)
def test_native_is_what_remains(chosen: Callable[[], Selection], expected: Selection) -> None:
    """A request without obstacle is native; with `mode='native'` an obstacle leaves no path."""
    assert chosen() == expected


@pytest.mark.parametrize(
    ('decided', 'offered', 'local', 'expected'),
    [
        (Selection('native', 'native_match'), True, True, Selection('native', 'native_match')),
        (Selection('native', 'native_match'), False, True, Selection('local', 'tool_withheld')),
        (Selection('local', 'provider_mismatch'), False, True, Selection('local', 'provider_mismatch')),
        (Selection('local', 'provider_mismatch'), False, False, Selection('none', 'tool_withheld')),
        (Selection('none', 'run_limit'), False, False, Selection('none', 'run_limit')),
        (Selection('local', 'run_limit'), True, True, Selection('native', 'run_limit')),
    ],
)
def test_other_capabilities_have_their_say(decided: Selection, offered: bool, local: bool, expected: Selection) -> None:
    """What is left in the request is the path; a tool that someone took out is withheld."""
    assert effective(decided, offered=offered, local=local) == expected


@pytest.mark.parametrize(
    ('executors', 'model', 'expected'),
    [
        (
            [GPT],
            NAME,
            "`Advisor(mode='native')` with advisor 'anthropic:claude-opus-4-8' cannot serve executor 'openai:gpt-5': "
            "they are not served by the same provider. Change one of the models, or use mode='auto', which consults "
            'locally here.',
        ),
        (
            [ModelName('anthropic', OPUS)],
            f'anthropic:{HAIKU}',
            "`Advisor(mode='native')` with advisor 'anthropic:claude-haiku-4-5' cannot serve executor "
            "'anthropic:claude-opus-4-8': Anthropic rejects this pair. Change one of the models, or use "
            "mode='auto', which consults locally here.",
        ),
        (
            [NATIVE_HAIKU, GPT, GPT],
            NAME,
            "`Advisor(mode='native')` with advisor 'anthropic:claude-opus-4-8' cannot serve executor "
            "'anthropic:claude-haiku-4-5 or openai:gpt-5': its candidates do not agree on a native advisor. Change "
            "one of the models, or use mode='auto', which consults locally here.",
        ),
        (
            [ModelName('anthropic', HAIKU)],
            NAME,
            "`Advisor(mode='native')` with advisor 'anthropic:claude-opus-4-8' cannot serve executor "
            "'anthropic:claude-haiku-4-5': this executor has no native advisor tool. Change one of the models, or use "
            "mode='auto', which consults locally here.",
        ),
    ],
    ids=['provider', 'pair', 'candidates', 'model'],
)
def test_a_refusal_names_both_models_and_the_way_out(executors: list[ModelName], model: str, expected: str) -> None:
    """What `mode='native'` raises says which models, why, and what to change."""
    options = Advisor(model, mode='native').options
    assert refusal(options, executors, decide(options, executors)) == expected


@pytest.mark.parametrize(
    ('options', 'impossible'),
    [
        ({}, False),
        ({'model': 'openai:gpt-5'}, False),
        ({'mode': 'native'}, False),
        ({'mode': 'local'}, True),
        ({'output_type': int}, True),
        ({'model': Script().model()}, True),
    ],
)
def test_some_options_rule_native_out_for_every_executor(options: dict[str, Any], impossible: bool) -> None:
    """`mode`, `output_type` and an instance decide alone; a name is left to the request."""
    assert native_impossible(Advisor(**{'model': NAME, **options}).options) is impossible


MODELS = st.sampled_from([NAME, ROUTER, OPUS, f'gateway/{NAME}', f'anthropic:{HAIKU}', 'anthropic:new', 'openai:gpt-5'])
EXECUTORS = st.builds(
    ModelName,
    st.sampled_from(['anthropic', 'openrouter', 'openai', 'function', None]),
    st.sampled_from([HAIKU, OPUS, 'claude-opus-5', 'gpt-5', None]),
    supports_native=st.booleans(),
)


@given(
    executors=st.lists(EXECUTORS, min_size=1, max_size=3),
    options=st.fixed_dictionaries(
        {
            'model': MODELS,
            'mode': st.sampled_from(['auto', 'local']),
            'output_type': st.sampled_from([str, int]),
            'max_uses': st.none() | st.integers(1, 3),
        }
    ),
    left=st.none() | st.integers(0, 2),
    offered=st.booleans(),
    local=st.booleans(),
)
def test_every_input_has_a_path_and_a_reason_of_the_vocabulary(
    executors: list[ModelName], options: dict[str, Any], left: int | None, offered: bool, local: bool
) -> None:
    """The decision is total, and repeats itself."""
    decided = decide(Advisor(**options).options, executors, run_remaining=left)
    assert decided == decide(Advisor(**options).options, executors, run_remaining=left)
    for chosen in (decided, effective(decided, offered=offered, local=local)):
        assert chosen.path in names.ATTRIBUTE_VALUES[names.ADVISOR_SELECTION_PATH]
        assert chosen.reason in names.ATTRIBUTE_VALUES[names.ADVISOR_SELECTION_REASON]
    assert (decided.path == 'native') == (decided.reason in ('native_match', 'mode_native'))


@pytest.mark.anyio
@pytest.mark.parametrize('path', ['local', 'none'])
async def test_a_tool_that_another_capability_takes_out_is_withheld(path: str, spans: Spans) -> None:
    """Without the native tool the local one takes over; without both there is no path."""

    class Without(AbstractCapability[Any]):
        async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
            parameters = request_context.model_request_parameters
            parameters.native_tools = [t for t in parameters.native_tools if not isinstance(t, AdvisorTool)]
            if path == 'none':
                parameters.function_tools = []
            return request_context

    provider = Provider(message(text('done')))
    await Agent(provider.anthropic(), capabilities=[spans.capability(), Without(), Advisor(NAME)]).run('Go.')
    (selected,) = read.selections(spans.finished)
    assert (selected.path, selected.reason, selected.native_offered) == (path, 'tool_withheld', False)


@pytest.mark.anyio
async def test_the_selection_is_recorded_first_and_when_it_changes(spans: Spans) -> None:
    """One span at the first request, another only when path or executor model differ from the last one."""
    second = Provider(completion('done'))
    first = Provider(
        message(client_call('look'), stop='tool_use'), message(client_call('look', 'toolu_2'), stop='tool_use')
    )
    served = iter([first.anthropic(), first.anthropic(), second.openrouter(), second.openrouter()])
    agent = Agent('test', capabilities=[spans.capability(), SelectModel(lambda ctx: next(served)), Advisor(NAME)])
    agent.tool_plain(lambda: 'a race', name='look')
    served = iter([first.anthropic(), *served])  # core asks twice for the first request
    await agent.run('Go.')
    assert [(s.path, s.reason, s.changed, s.executor_model) for s in read.selections(spans.finished)] == [
        ('native', 'native_match', False, HAIKU),
        ('local', 'provider_mismatch', True, 'openai/gpt-4o-mini'),
    ]


@pytest.mark.anyio
async def test_h11_a_pair_that_the_provider_rejects_goes_local_or_raises() -> None:
    """A known-invalid pair sends no native tool: `auto` goes local, `native` raises before sending."""
    provider = Provider(message(text('done')))
    await Agent(provider.anthropic('claude-opus-5'), capabilities=[Advisor(NAME)]).run('Go.')
    assert provider.tools() == ['advisor']
    with pytest.raises(UserError, match='Anthropic rejects this pair'):
        await Agent(provider.anthropic('claude-opus-5'), capabilities=[Advisor(NAME, mode='native')]).run('Go.')
    assert len(provider.requests) == 1


@pytest.mark.anyio
async def test_the_run_limit_withdraws_the_native_tool(spans: Spans) -> None:
    """Native consultations spend `max_uses_per_run`: what remains caps the next request, then the tool is gone."""
    provider = Provider(
        message(*native_advice('s1'), client_call('look'), stop='tool_use'),
        message(*native_advice('s2'), client_call('look', 'toolu_2'), stop='tool_use'),
        message(text('done')),
    )
    ours = Advisor(NAME, mode='native', max_uses=2, max_uses_per_run=2)
    agent = Agent(provider.anthropic(), capabilities=[spans.capability(), ours])
    agent.tool_plain(lambda: 'a race', name='look')
    await agent.run('Go.')
    sent = [[tool.get('max_uses') for tool in body['tools'] if 'type' in tool] for body in provider.bodies]
    assert sent == [[2], [1], []]
    assert [(s.path, s.reason) for s in read.selections(spans.finished)] == [
        ('native', 'mode_native'),
        ('none', 'run_limit'),
    ]


@pytest.mark.anyio
async def test_the_run_limit_turns_auto_to_the_local_tool_which_refuses() -> None:
    """In `auto` the local tool answers with the run's limit text once native consultations used it up."""
    provider = Provider(
        message(*native_advice(), client_call('look'), stop='tool_use'),
        message(client_call('advisor', 'toolu_2', prompt='How?'), stop='tool_use'),
        message(text('done')),
    )
    agent = Agent(provider.anthropic(), capabilities=[Advisor(NAME, max_uses_per_run=1)])
    agent.tool_plain(lambda: 'a race', name='look')
    result = await agent.run('Go.')
    assert [provider.tools(n) for n in range(3)] == [
        ['look', 'advisor_20260301'],
        ['look', 'advisor'],
        ['look', 'advisor'],
    ]
    assert 'Advisor consultation limit reached for this run.' in repr(result.all_messages())


@pytest.mark.anyio
async def test_a_pending_call_keeps_the_native_tool_when_the_run_limit_is_used_up() -> None:
    """A call that the provider has yet to run keeps its tool: without it the call and its advice would be lost."""
    pending = {'type': 'server_tool_use', 'id': 's2', 'name': 'advisor', 'input': {}}
    provider = Provider(
        message(*native_advice('s1'), pending, client_call('look'), stop='tool_use'),
        message(*native_error('max_uses_exceeded', 's2')[1:], text('done')),
    )
    agent = Agent(provider.anthropic(), capabilities=[Advisor(NAME, max_uses_per_run=1)])
    agent.tool_plain(lambda: 'a race', name='look')
    await agent.run('Go.')
    assert [tool.get('max_uses') for tool in provider.bodies[1]['tools'] if 'type' in tool] == [1]
    assert [block.get('id') for block in provider.bodies[1]['messages'][1]['content'] if 'id' in block] == [
        's1',
        's2',
        'toolu_1',
    ]
