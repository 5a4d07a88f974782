"""Documented behaviour A14, A23, A30, A37-A38 and A44: setting an advisor up (numbers of `facts/advisor.md`)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.exceptions import UserError

from advisor_harness import Advisor

from .scripts import OPUS, Provider, Script, answers, asks, executor, message, says, text

pytestmark = pytest.mark.anyio

SPEC = {
    'model': f'anthropic:{OPUS}',
    'mode': 'auto',
    'max_uses': 2,
    'max_tokens': 2048,
    'caching': '1h',
    'forward_history': 'transcript',
    'max_uses_per_run': 3,
    'timeout': 1.5,
    'on_error': 'continue',
    'max_transcript_chars': 1000,
}


def test_a14_defaults_and_minimums() -> None:
    """Without options there are no limits; the least allowed ones are accepted."""
    options = Advisor('openai:gpt-5').options
    assert (options.mode, options.output_type, options.forward_history, options.on_error) == (
        'auto',
        str,
        False,
        'raise',
    )
    assert (options.max_uses, options.max_tokens, options.caching, options.timeout) == (None, None, None, None)
    least = Advisor('openai:gpt-5', max_uses=1, max_tokens=1024, max_uses_per_run=1, timeout=0.001).options
    assert (least.max_uses, least.max_tokens, least.max_uses_per_run, least.timeout) == (1, 1024, 1, 0.001)


@pytest.mark.parametrize('form', ['yaml', 'json'])
def test_a23_a_spec_file_sets_every_option(form: str, tmp_path: Any) -> None:
    """An agent read from YAML or JSON has the same advisor as one written in Python."""
    spec = {'model': 'test', 'capabilities': [{'Advisor': SPEC}]}
    path = tmp_path / f'agent.{form}'
    path.write_text(json.dumps(spec))  # JSON is YAML
    agent = Agent.from_file(path, custom_capability_types=[Advisor])
    found: list[Any] = []
    agent.root_capability.apply(found.append)
    options: Any = SPEC
    assert [capability for capability in found if isinstance(capability, Advisor)] == [Advisor(**options)]


@pytest.mark.parametrize(
    ('wrong', 'message_of'),
    [
        ({'caching': '9h'}, "`Advisor.caching` must be one of None, '5m', '1h'; got '9h'."),
        ({'output_type': 'int'}, "`Advisor.output_type` must be a type or another output specification; got 'int'."),
        ({'timeout': 0}, '`Advisor.timeout` must be more than 0 seconds; got 0. Leave it out to wait.'),
    ],
)
def test_a23_a_spec_is_held_to_the_same_rules(wrong: dict[str, Any], message_of: str) -> None:
    """What the constructor refuses a spec is refused too, in the same words."""
    spec = {'model': 'test', 'capabilities': [{'Advisor': {'model': 'openai:gpt-5', **wrong}}]}
    with pytest.raises(ValueError, match='Failed to instantiate capability') as raised:
        Agent.from_spec(spec, custom_capability_types=[Advisor])
    assert str(raised.value) == f"Failed to instantiate capability 'Advisor': {message_of}"


@pytest.mark.parametrize(
    'options',
    [
        {'model': 'openai:gpt-5'},
        {'model': OPUS},
        {'model': Script().model()},
        {'model': f'anthropic:{OPUS}', 'output_type': int},
        {'model': 'openrouter:anthropic/claude-opus-4.8', 'max_uses': 1},
    ],
    ids=['other provider', 'unqualified', 'instance', 'output_type', 'OpenRouter with max_uses'],
)
def test_a30_a_combination_that_native_cannot_have_fails_at_construction(options: dict[str, Any]) -> None:
    """`native` refuses at once what no request could ever do."""
    with pytest.raises(ValueError, match='with mode='):
        Advisor(**options, mode='native')


async def test_a37_tool_search_does_not_hide_the_advisor() -> None:
    """Beside deferred tools the advisor is sent and callable from the first request on."""
    deferred: FunctionToolset[Any] = FunctionToolset()
    deferred.add_function(lambda: 'x', name='hidden', defer_loading=True)
    script = executor(asks('How?'))
    agent = Agent(script.model(), toolsets=[deferred], capabilities=[Advisor(Script(says('Use a lock.')).model())])
    result = await agent.run('Go.')
    visible = [[tool.name for tool in info.function_tools if not tool.defer_loading] for info in script.infos]
    assert ('advisor' in visible[0], answers(result.all_messages())) == (True, ['Use a lock.'])


async def test_a38_the_tool_name_is_reserved() -> None:
    """A tool of the user's own under the name `advisor` is a conflict, reported before the first request."""
    script = executor()
    agent = Agent(script.model(), capabilities=[Advisor('test')])
    agent.tool_plain(lambda: 'x', name='advisor')
    with pytest.raises(UserError, match=r"conflicts with existing tool from .*: 'advisor'"):
        await agent.run('Go.')
    assert script.requests == []


def test_a38_the_toolset_id_is_reserved() -> None:
    """The local tool lives in a toolset of id `advisor`, wherever a wrapper puts it."""
    ids: list[str | None] = []
    for ours in (Advisor('test', mode='local'), Advisor(f'anthropic:{OPUS}')):
        toolset = ours.get_toolset()
        assert toolset is not None
        toolset.apply(lambda leaf: ids.append(leaf.id))
    assert ids == ['advisor', 'advisor']


async def test_a38_an_agent_has_one_advisor() -> None:
    """Two advisors of an agent become one tool."""
    provider = Provider(message(text('done')))
    name = f'anthropic:{OPUS}'
    await Agent(provider.anthropic(), capabilities=[Advisor(name, max_uses=2), Advisor(name)]).run('Go.')
    assert [tool.get('max_uses') for tool in provider.bodies[0]['tools']] == [2]


def test_a44_the_id_is_fixed() -> None:
    """Every advisor has the id `advisor`."""
    assert (Advisor('test').id, Advisor(f'anthropic:{OPUS}', mode='native').id) == ('advisor', 'advisor')
