"""What the facts ask of routing is numbered, R1 to R18; each number has its tests. These are the ones on the wire.

Routes are real adapters here, whose requests are kept and refused with status 400. The rules of conversion by
themselves are tested in `portability`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, BinaryContent, BinaryImage
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    CompactionPart,
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from advisor_harness.routing import (
    Portability,
    PortabilityError,
    PortabilityReport,
    Route,
    Router,
    RouteSwitch,
    ServerSideHistoryError,
)
from tests.routing.conftest import Recorded
from tests.routing.portability.shapes import problems
from tests.routing.portability.wire import TARGETS, Wire, answered, asked
from tests.routing.support import talker

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parent


def test_every_check_has_a_test() -> None:
    """The docstring of a test begins with the number of the check that it holds the room to."""
    texts = [path.read_text(encoding='utf-8') for path in TESTS.rglob('*.py')]
    assert {int(number) for text in texts for number in re.findall(r'"""R(\d+): ', text)} == set(range(1, 19))


@dataclass
class Sent:
    """What became of one request by a route."""

    body: Any
    header: dict[str, str]
    switches: list[RouteSwitch] = field(default_factory=list[RouteSwitch])
    explained: PortabilityReport = field(default_factory=PortabilityReport)


async def send(
    target: str, history: Sequence[ModelMessage], prompt: str | None = 'next?', *, recorded: Recorded, **run: Any
) -> Sent:
    """Continue a history that route `before` has served by a route to `target`; the history must stay as it is."""
    wire, told = Wire(), list[RouteSwitch]()
    route = Route(wire.model(target), run.pop('settings', None), run.pop('portability', None))
    router = Router({'before': talker('before'), 'next': route}, on_switch=told.append)
    messages = deepcopy(list(history))
    await router.set_active_route('c1', 'next')
    for message in messages:
        message.conversation_id = 'c1'
        if isinstance(message, ModelResponse):
            place = f'{message.provider_name}|{(message.provider_url or "").rstrip("/")}|'
            message.metadata = {'router': {'route': 'before', 'identity': place, 'model': 'm'}}
    before = deepcopy(messages)
    explained = router.explain([*messages, *([asked(prompt)] if prompt else [])], 'next')
    agent = Agent(capabilities=[router, recorded.instrumentation])
    with suppress(ModelHTTPError):
        await agent.run(prompt, message_history=messages, **run)
    assert messages == before
    return Sent(wire.bodies[-1], wire.headers[-1], told, explained)


def signed(provider: str, *parts: Any, **known: Any) -> list[ModelMessage]:
    thinking = ThinkingPart('because', id='rs_1', signature='SIGNED', provider_name=provider)
    return [
        asked('q'),
        answered(provider, thinking, TextPart('a', id='msg_1', provider_name=provider), *parts, **known),
    ]


async def test_another_api_of_the_provider_gets_no_foreign_keys(recorded: Recorded) -> None:
    """R9: from Responses to Chat, messages have the keys of Chat only (D1); from Chat, no id of it is chained (D2)."""
    chat = await send('chat', signed('openai'), recorded=recorded)
    assert {key for message in chat.body['messages'] for key in message} <= {'role', 'content', 'tool_calls'}
    history = [asked('q1'), answered('openai', TextPart('a1'), provider_response_id='chatcmpl-1')]
    settings: Any = {'openai_previous_response_id': 'auto'}
    responses = await send('responses', history, recorded=recorded, settings=settings)
    assert 'previous_response_id' not in responses.body
    assert [item['role'] for item in responses.body['input']] == ['user', 'assistant', 'user']


async def test_another_endpoint_gets_nothing_opaque(recorded: Recorded) -> None:
    """R9: what another account or endpoint of the same provider has signed or numbered is not sent (D3)."""
    sent = await send('responses', signed('openai', provider_url='https://other.example/v1'), recorded=recorded)
    assert not [word for word in ('rs_1', 'msg_1', 'SIGNED', 'encrypted_content') if word in str(sent.body['input'])]


async def test_nobody_asks_for_compaction_and_ids_stay_pairs(recorded: Recorded) -> None:
    """R10: a foreign compaction turns no feature on (D4); ids are valid, paired, stable and distinct (D5)."""
    compacted = [
        asked('old'),
        answered(
            'openai', CompactionPart(id='cmp_1', provider_name='openai', provider_details={'encrypted_content': 'E'})
        ),
        asked('and?'),
        answered('openai', TextPart('after')),
    ]
    sent = await send('anthropic', compacted, recorded=recorded)
    assert 'context_management' not in sent.body
    assert 'compact' not in sent.header.get('anthropic-beta', '')
    ids = ['functions.x:0', 'functions.x|0']
    calls = [ToolCallPart('x', {}, tool_call_id=i) for i in ids]
    returns = ModelRequest([ToolReturnPart('x', 'ok', tool_call_id=i) for i in ids])
    history = [asked('q'), answered('moonshotai', *calls), returns, answered('moonshotai', TextPart('done'))]
    bodies = [(await send('anthropic', history, recorded=recorded)).body for _ in range(2)]
    called = [block['id'] for block in bodies[0]['messages'][1]['content']]
    returned = [block['tool_use_id'] for block in bodies[0]['messages'][2]['content']]
    assert all(re.fullmatch('[a-zA-Z0-9_-]{1,64}', i) for i in called)
    assert (len(set(called)), called, bodies[0]) == (2, returned, bodies[1])


@pytest.mark.parametrize('target', ['chat', 'responses', 'groq', 'mistral', 'anthropic'])
async def test_nothing_empty_is_sent_for_what_cannot_be(target: str, recorded: Recorded) -> None:
    """R11: no empty think tags (D6), no bare assistant message (D7), and no native thinking it cannot do (D8)."""
    redacted = ThinkingPart('', id='redacted_thinking', signature='S', provider_name='other')
    thought = ThinkingPart('let me think', signature='S', provider_name='other')
    history = [asked('q'), answered('other', redacted), asked('q'), answered('other', thought, TextPart('hi'))]
    sent = await send(target, history, recorded=recorded)
    assert problems(target, sent.body) == []
    assert "'type': 'thinking'" not in str(sent.body)
    assert recorded.routes[-1].issues == ('thinking',)


async def test_a_tool_loop_moves_to_a_thinking_model(recorded: Recorded) -> None:
    """R11: in the middle of a tool loop thinking is off for that step, and the issue is recorded (D11)."""
    thought = ThinkingPart('t', signature='S', provider_name='bedrock')
    returned = ModelRequest([ToolReturnPart('x', 'ok', tool_call_id='tooluse_1')])
    history = [asked('q'), answered('bedrock', thought, ToolCallPart('x', {}, tool_call_id='tooluse_1')), returned]
    settings: Any = {'anthropic_thinking': {'type': 'enabled', 'budget_tokens': 1024}}
    sent = await send('anthropic', history, None, recorded=recorded, settings=settings)
    assert sent.body.get('thinking', {'type': 'disabled'}) == {'type': 'disabled'}
    assert 'thinking' in recorded.routes[-1].issues


SEARCHED = [
    asked('q'),
    answered(
        'anthropic',
        NativeToolCallPart('web_search', {'query': 'moon'}, tool_call_id='s1', provider_name='anthropic'),
        NativeToolReturnPart('web_search', [{'title': 'Moon rises'}], tool_call_id='s1', provider_name='anthropic'),
        FilePart(BinaryImage(b'\x89PNG', media_type='image/png')),
        TextPart('Found it'),
    ),
]


async def test_results_and_files_move_as_text_and_images(recorded: Recorded) -> None:
    """R12: search results and made images reach the new model, and each has an issue (D10)."""
    sent = await send('chat', SEARCHED, recorded=recorded)
    assert 'Moon rises' in str(sent.body['messages'])
    assert 'data:image/png;base64' in str(sent.body['messages'])
    assert recorded.routes[-1].issues == ('model_file', 'native_tool')
    assert (recorded.routes[-1].history_action, recorded.routes[-1].history_portable) == ('converted', True)


async def test_what_is_not_to_be_lost_stops_the_request(recorded: Recorded) -> None:
    """R12: with `raise` nothing is sent; a route's own rules win over the router's."""
    wire = Wire()
    strict = Portability(native_tools='raise', model_files='raise')
    for router in (
        Router({'next': Route(wire.model('chat'), portability=strict)}),
        Router({'next': wire.model('chat')}, portability=strict),
    ):
        agent = Agent(capabilities=[router, recorded.instrumentation])
        with pytest.raises(PortabilityError) as error:
            await agent.run('next?', message_history=SEARCHED)
        assert {issue.kind for issue in error.value.report.blocking} == {'native_tool', 'model_file'}
        facts = recorded.routes[-1]
        assert (facts.reason, facts.history_action, facts.history_portable) == (
            'history_incompatible',
            'blocked',
            False,
        )
    assert wire.bodies == []


async def test_dropped_parts_are_counted_on_the_span(recorded: Recorded) -> None:
    """R12: what a policy leaves out is named with its kind and number."""
    sent = await send(
        'chat', SEARCHED, recorded=recorded, portability=Portability(native_tools='drop', model_files='drop')
    )
    facts = recorded.routes[-1]
    assert (facts.history_action, facts.dropped_kinds) == ('dropped_parts', ('model_file', 'native_tool'))
    assert facts.parts_dropped == len(sent.explained.issues)


@pytest.mark.parametrize('target', ['anthropic', 'chat', 'google'])
async def test_a_conversation_that_a_service_holds_does_not_vanish(target: str, recorded: Recorded) -> None:
    """R13: settings that name a server-side conversation, and a history of an opaque compaction only, are refused.

    Nothing is sent, and the error names both ways out.
    """
    wire = Wire()
    held: Any = {'openai_conversation_id': 'conv_1'}
    opaque = CompactionPart(
        id='cmp_1', provider_name='openai', provider_details={'encrypted_content': 'E', 'compaction': True}
    )
    agent = Agent(capabilities=[Router({'next': wire.model(target)}), recorded.instrumentation])
    for history, settings in (([], held), ([answered('openai', opaque)], None)):
        with pytest.raises(PortabilityError) as error:
            await agent.run('what did we decide?', message_history=history, model_settings=settings)
        assert recorded.routes[-1].reason == 'history_incompatible'
        if settings:
            assert isinstance(error.value, ServerSideHistoryError)
            assert 'Stay with the model that wrote it' in str(error.value)
            assert 'rebuild the conversation from its messages' in str(error.value)
    assert wire.bodies == []


async def test_a_readable_compaction_is_sent_in_place_of_what_it_sums_up(recorded: Recorded) -> None:
    """R13: a provider's summary that can be read stands for the older messages (D12)."""
    history = [
        asked('old'),
        answered('anthropic', TextPart('old answer')),
        asked('q'),
        answered('anthropic', CompactionPart('SUMMARY', provider_name='anthropic'), TextPart('after')),
    ]
    sent = await send('chat', history, recorded=recorded)
    assert 'SUMMARY' in str(sent.body['messages'])
    assert 'old answer' not in str(sent.body['messages'])


class Small(FunctionModel):
    """A model with a context window of a hundred tokens."""

    @property
    def context_window(self) -> int | None:
        return 100


async def test_a_history_that_is_too_long_is_not_sent(recorded: Recorded) -> None:
    """R14: over a known window nothing is sent; an unknown window raises no alarm."""
    history = [asked('word ' * 1000), answered('other', TextPart('a'))]

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([TextPart('never')])

    router = Router({'small': Small(answer), 'any': talker('any')})
    agent = Agent(capabilities=[router, recorded.instrumentation])
    with pytest.raises(PortabilityError) as error:
        await agent.run('next?', message_history=history)
    assert [issue.kind for issue in error.value.report.blocking] == ['context_window']
    assert (recorded.routes[-1].reason, recorded.routes[-1].issues) == ('context_window', ('context_window',))
    await router.set_active_route('c2', 'any')
    assert (await agent.run('next?', message_history=history, conversation_id='c2')).output == 'any'


async def test_a_conversation_returns_to_what_it_can_read(recorded: Recorded) -> None:
    """R17: back on the first provider its own signature is native again, and the other's turn is converted."""
    wire = Wire()
    router = Router({'a': wire.model('anthropic'), 'b': wire.model('chat')})
    identity = 'anthropic|https://api.anthropic.com|AnthropicModel'
    own = answered('anthropic', ThinkingPart('mine', signature='MINE', provider_name='anthropic'), TextPart('one'))
    own.metadata = {'router': {'route': 'a', 'identity': identity, 'model': 'anthropic:claude-sonnet-4-5'}}
    other = answered('openai', ThinkingPart('theirs', id='reasoning_content', provider_name='openai'), TextPart('two'))
    other.metadata = {
        'router': {'route': 'b', 'identity': 'openai|https://api.openai.com/v1|OpenAIChatModel', 'model': 'm'}
    }
    history = [asked('1'), own, asked('2'), other]
    await router.set_active_route('c1', 'a')
    settings: Any = {'max_tokens': 4096, 'anthropic_thinking': {'type': 'enabled', 'budget_tokens': 1024}}
    with suppress(ModelHTTPError):
        await Agent(capabilities=[router]).run(
            '3', message_history=history, conversation_id='c1', model_settings=settings
        )
    blocks = [block for message in wire.bodies[0]['messages'] for block in message['content']]
    assert [block for block in blocks if block['type'] == 'thinking'] == [
        {'type': 'thinking', 'thinking': 'mine', 'signature': 'MINE'}
    ]
    assert any('theirs' in block.get('text', '') for block in blocks)


@pytest.mark.parametrize('target', TARGETS)
async def test_explain_is_what_the_switch_reports_and_the_body_is_well_formed(target: str, recorded: Recorded) -> None:
    """R18: dry run, `RouteSwitch` and span say the same, and the body passes the shape check of its provider."""
    history: list[ModelMessage] = [
        *SEARCHED,
        asked('look', BinaryContent(b'\x89PNG', media_type='image/png')),
        *signed('other')[1:],
        asked('call'),
        answered('other', ToolCallPart('x', {}, tool_call_id='functions.x:0')),
        ModelRequest([ToolReturnPart('x', 'ok', tool_call_id='functions.x:0')]),
        answered('other', TextPart('done')),
    ]
    sent = await send(target, history, recorded=recorded, portability=Portability(media='convert'))
    assert problems(target, sent.body) == []
    assert [switch.report for switch in sent.switches] == [sent.explained]
    assert recorded.routes[-1].issues == tuple(sent.explained.kinds)
    assert sent.explained.blocking == []
    assert sent.explained.issues != []


async def test_the_settings_of_a_route_are_known_to_explain() -> None:
    """R18: a conversation that the route's own settings name is seen by the dry run."""
    wire = Wire()
    settings: Any = {'openai_conversation_id': 'conv_1'}
    router = Router({'next': Route(wire.model('anthropic'), settings)})
    assert [issue.kind for issue in router.explain([], 'next').blocking] == ['server_state']
