"""Every defect that was measured, D1 to D17: on the body that is sent, or in the run where there is none."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    BinaryImage,
    CompactionPart,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
)
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from advisor_harness import Portability, PortableModel
from advisor_harness.routing import FailoverModel, PortabilityReport, Router
from advisor_harness.routing.portability import ServerSideHistoryError, explain, wrap
from tests.routing.portability.shapes import problems
from tests.routing.portability.wire import TARGETS, Wire, answered, asked

pytestmark = pytest.mark.anyio

PNG = BinaryImage(b'\x89PNG', media_type='image/png')


def searched(provider: str) -> list[Any]:
    """A web search that a provider ran."""
    found = [{'type': 'web_search_result', 'url': 'https://x.example', 'title': 'X', 'encrypted_content': 'SECRET'}]
    return [
        NativeToolCallPart('web_search', {'query': 'x'}, 's1', provider_name=provider),
        NativeToolReturnPart('web_search', found, 's1', provider_name=provider),
    ]


def called(provider: str, call_id: str, *before: Any) -> list[ModelMessage]:
    """A turn with one call and its result."""
    return [
        asked('q'),
        answered(provider, *before, ToolCallPart('get_weather', {}, call_id)),
        ModelRequest(parts=[ToolReturnPart('get_weather', 'ok', call_id)]),
    ]


async def test_d1_reasoning_of_responses_is_no_key_of_a_chat_message() -> None:
    """Thinking with an `rs_` id goes to Chat Completions as text, not as a key called by that id."""
    wire = Wire()
    thought = ThinkingPart('summary', id='rs_1', signature='ENC', provider_name='openai')
    body = await wire.body(wire.model('chat'), [asked('q'), answered('openai', thought, TextPart('hi'))])
    assert body['messages'][1] == {'role': 'assistant', 'content': '<think>\nsummary\n</think>\n\nhi'}


async def test_d2_a_chat_id_is_no_previous_response() -> None:
    """With `'auto'` a response of Chat Completions is sent in full, not named by its id."""
    wire = Wire()
    history = [asked('q1'), answered('openai', TextPart('a1'), provider_response_id='chatcmpl-1')]
    body = await wire.body(wire.model('responses'), history, model_settings={'openai_previous_response_id': 'auto'})
    assert 'previous_response_id' not in body
    assert [item['content'] for item in body['input']] == ['q1', 'a1', 'next?']


async def test_d2_a_responses_id_still_names_what_its_place_holds() -> None:
    """With `'auto'` a response of the same place is named by its id, and only what came after it is sent."""
    wire = Wire()
    url = 'https://api.openai.com/v1/'
    history = [asked('q1'), answered('openai', TextPart('a1'), provider_response_id='resp_1', provider_url=url)]
    body = await wire.body(wire.model('responses'), history, model_settings={'openai_previous_response_id': 'auto'})
    assert (body['previous_response_id'], body['input']) == ('resp_1', [{'role': 'user', 'content': 'next?'}])


@pytest.mark.parametrize('target', ['responses', 'anthropic', 'google', 'bedrock', 'openrouter'])
async def test_d3_opaque_data_stays_at_its_endpoint(target: str) -> None:
    """Ids, signatures, encrypted content and containers of another endpoint of the same name are not sent."""
    wire = Wire()
    model = wire.model(target)
    own: dict[str, Any] = {'provider_name': model.system}
    signature = {**own, 'provider_details': {'thought_signature': 'U0VDUkVU', 'extra_content': 'U0VDUkVU'}}
    history = called(
        model.system,
        'call_1',
        ThinkingPart('', id='rs_SECRET', signature='U0VDUkVU', **own),
        ThinkingPart('hm', id='rs_SECRET', signature='U0VDUkVU', **own),
        TextPart('hi', id='msg_SECRET', **signature),
    )
    call = replace(history[1].parts[3], id='fc_SECRET', **signature)
    details = {'container_id': 'container_SECRET', 'conversation_id': 'conv_SECRET'}
    history[1] = replace(
        history[1],
        parts=[*history[1].parts[:3], call],
        provider_url='https://elsewhere.example/v1',
        provider_details=details,
        provider_response_id='resp_SECRET',
    )
    body = json.dumps(await wire.body(model, history, model_settings={'openai_previous_response_id': 'auto'}))
    assert ('SECRET' in body, 'U0VDUkVU' in body, 'hi' in body) == (False, False, True)
    if target == 'google':
        assert 'c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=' in body  # skip_thought_signature_validator


async def test_d3_a_stamp_tells_places_apart_where_names_do_not() -> None:
    """The router's stamp decides, for and against: it names provider, endpoint and API."""
    wire = Wire()
    model = wire.model('responses')
    thought = ThinkingPart('', id='rs_1', signature='ENC', provider_name='openai')
    stamp = {'route': 'a', 'identity': 'openai|https://api.openai.com/v1|OpenAIResponsesModel', 'model': 'openai:gpt'}
    other = {**stamp, 'identity': 'openai|https://proxy.example/v1|OpenAIResponsesModel'}
    sent: list[list[str]] = []
    for metadata in ({'router': stamp}, {'router': other}):
        history = [asked('q'), answered('openai', thought, TextPart('hi'), metadata=metadata)]
        sent.append([item.get('type', 'message') for item in (await wire.body(model, history))['input']])
    assert sent == [['message', 'reasoning', 'message', 'message'], ['message', 'message', 'message']]


async def test_d4_a_foreign_compaction_asks_anthropic_for_none() -> None:
    """OpenAI's compaction in a history neither asks for compaction nor for its beta."""
    wire = Wire()
    compaction = CompactionPart(id='cmp_1', provider_name='openai', provider_details={'encrypted_content': 'E'})
    body = await wire.body(wire.model('anthropic'), [asked('q'), answered('openai', compaction, TextPart('after'))])
    assert ('context_management' in body, 'compact' in wire.headers[-1].get('anthropic-beta', '')) == (False, False)


@pytest.mark.parametrize('target', TARGETS)
@pytest.mark.parametrize('call_id', ['functions.get_weather:0', 'call_1|fc_1', 'x' * 80, 'resp_1:call_0', 'ü' * 70, ''])
async def test_d5_ids_of_calls_fit_every_target(target: str, call_id: str) -> None:
    """Ids get the form of the target's API, for the call and its result alike."""
    wire = Wire()
    model = wire.model(target)
    body = await wire.body(model, [*called('moonshotai', call_id), answered('moonshotai', TextPart('done'))])
    assert problems(target, body) == []


async def test_d5_ids_stay_apart_and_stay_the_same() -> None:
    """Ids that differ only in what is refused stay different, and every turn sends the ids of the one before."""
    wire = Wire()
    model = wire.model('anthropic')
    history = [*called('x', 'a.b'), answered('x', TextPart('1')), *called('x', 'a:b'), answered('x', TextPart('2'))]
    first = await wire.body(model, history)
    second = await wire.body(model, [*history, asked('q'), answered('x', TextPart('3'))])
    ids = [b['id'] for m in first['messages'] for b in m['content'] if b['type'] == 'tool_use']
    assert len(set(ids)) == 2
    assert second['messages'][: len(first['messages']) - 1] == first['messages'][:-1]


async def test_d5_an_id_that_repeats_is_told_apart() -> None:
    """A provider that counts within a response gives `call_0` again; each call keeps its own result."""
    wire = Wire()
    history = [
        *called('x', 'call_0'),
        answered('x', TextPart('1')),
        *called('x', 'call_0'),
        answered('x', TextPart('2')),
    ]
    body = await wire.body(wire.model('anthropic'), history)
    blocks = [block for message in body['messages'] for block in message['content']]
    used = [block['id'] for block in blocks if block['type'] == 'tool_use']
    assert used == [block['tool_use_id'] for block in blocks if block['type'] == 'tool_result']
    assert (used[0], len(set(used))) == ('call_0', 2)


async def test_d5_calls_of_one_response_that_share_an_id_keep_their_results() -> None:
    """Results come in the order of the calls, so each gets the new id of its own call and none is lost."""
    wire = Wire()
    calls = [ToolCallPart('f', {'n': n}, 'f') for n in (1, 2, 3)]
    returns = ModelRequest(parts=[ToolReturnPart('f', f'result {n}', 'f') for n in (1, 2, 3)])
    body = await wire.body(wire.model('anthropic'), [asked('q'), answered('x', *calls), returns])
    blocks = [block for message in body['messages'] for block in message['content']]
    used = {block['id']: block['input']['n'] for block in blocks if block['type'] == 'tool_use'}
    results = [(used[b['tool_use_id']], b['content'][0]['text']) for b in blocks if b['type'] == 'tool_result']
    assert results == [(n, f'result {n}') for n in (1, 2, 3)]


async def test_d5_a_repeated_id_is_not_taken_for_another_one() -> None:
    """The new id of the second call `a` is of no other id, whatever that is."""
    wire = Wire()
    history: list[ModelMessage] = []
    for call_id in ('a', 'a', 'a#2', 'a\ud800'):
        history.extend([*called('x', call_id), answered('x', TextPart('ok'))])
    body = await wire.body(wire.model('anthropic'), history)
    used = [b['id'] for message in body['messages'] for b in message['content'] if b['type'] == 'tool_use']
    assert (len(used), len(set(used))) == (4, 4)


async def test_d5_renaming_can_be_refused() -> None:
    """With `tool_call_ids='raise'` nothing is renamed and nothing sent."""
    wire = Wire()
    rules = Portability(tool_call_ids='raise')
    assert await wire.body(wire.model('anthropic'), called('x', 'a.b'), portability=rules) is None
    assert [issue.kind for issue in wire.refusals[0].report.blocking] == ['tool_call_id']


@pytest.mark.parametrize('target', TARGETS)
async def test_d6_encrypted_thinking_makes_no_noise(target: str) -> None:
    """Thinking that holds no text is left out and reported, and no empty tags are sent."""
    wire = Wire()
    hidden = ThinkingPart('', id='redacted_thinking', signature='SECRET', provider_name='elsewhere')
    body = await wire.body(wire.model(target), [asked('q'), answered('elsewhere', hidden, TextPart('hi'))])
    assert problems(target, body) == []
    assert 'SECRET' not in json.dumps(body)
    assert [(issue.kind, issue.action) for issue in wire.reports[0].issues] == [('thinking', 'drop')]


@pytest.mark.parametrize('target', TARGETS)
@pytest.mark.parametrize('rule', ['convert', 'drop'])
async def test_d7_no_target_gets_an_empty_assistant_message(target: str, rule: Any) -> None:
    """A turn of provider tools alone is sent as text or left out, and so is a response that holds nothing."""
    wire = Wire()
    history = [asked('q'), answered('x', *searched('x')), asked('r'), answered('x'), asked('s'), answered(None)]
    body = await wire.body(wire.model(target), history, portability=Portability(native_tools=rule))
    assert problems(target, body) == []
    assert ('https://x.example' in json.dumps(body)) == (rule == 'convert')


@pytest.mark.parametrize('target', ['mistral', 'google', 'openrouter', 'groq'])
async def test_d8_foreign_thinking_is_never_native_thinking(target: str) -> None:
    """A model that cannot reason refuses reasoning, so that another's goes as text."""
    wire = Wire()
    thought = ThinkingPart('let me think', signature='S', provider_name='elsewhere')
    body = json.dumps(await wire.body(wire.model(target), [asked('q'), answered('elsewhere', thought, TextPart('hi'))]))
    assert ('"thinking"' in body, '"thought"' in body, '"reasoning"' in body) == (False, False, False)
    assert 'let me think' in body


async def test_d8_a_model_of_the_same_place_that_cannot_reason_gets_text() -> None:
    """Magistral's thinking goes to Mistral Large as text, and back to Magistral as it came."""
    wire = Wire()
    thought = ThinkingPart('let me think', provider_name='mistral')
    history = [asked('q'), answered('mistral', thought, TextPart('hi'), model_name='magistral-medium-latest')]
    large = await wire.body(wire.model('mistral'), history)
    magistral = await wire.body(wire.model('mistral', 'magistral-medium-latest'), history)
    kinds = [[chunk['type'] for chunk in body['messages'][1]['content']] for body in (large, magistral)]
    assert kinds == [['text', 'text'], ['thinking', 'text']]


async def test_d9_a_fallback_takes_what_the_first_model_cannot() -> None:
    """A refusal is a `ModelAPIError`, so that a `FallbackModel` tries its next model."""
    wire = Wire()
    foreign = UploadedFile('file_1', provider_name='openai', media_type='application/pdf')
    rules = Portability(uploaded_files='drop')
    chain = FallbackModel(PortableModel(wire.model('anthropic')), PortableModel(TestModel(), rules))
    result = await Agent(chain).run(['read', foreign])
    assert (result.output, wire.bodies) == ('success (no tool calls)', [])


async def test_d9_google_takes_no_address_that_holds_the_file_itself() -> None:
    """Gemini's adapter downloads addresses and ends at `data:`; it is refused or named as any file it cannot read."""
    wire = Wire()
    prompt = ['look', ImageUrl('data:image/png;base64,iVBORw0KGgo=')]
    assert await wire.body(wire.model('google'), [], prompt) is None
    assert [(issue.kind, issue.action) for issue in wire.refusals[0].report.issues] == [('media', 'raise')]
    body = await wire.body(wire.model('google'), [], prompt, portability=Portability(media='convert'))
    assert '[A file was here (A file at a data:// address) that this model cannot read.]' in json.dumps(body)


@pytest.mark.parametrize('target', [target for target in TARGETS if target != 'anthropic'])
async def test_d12_a_call_before_the_summary_keeps_its_result(target: str) -> None:
    """A turn that calls a tool and is summarised then has the result after the summary: the call stays with it."""
    wire = Wire()
    summary = CompactionPart('SUMMARY', provider_name='anthropic')
    turn = answered('anthropic', ToolCallPart('f', {}, 'toolu_1'), summary, TextPart('so far'))
    result = ModelRequest(parts=[ToolReturnPart('f', 'RESULT', 'toolu_1')])
    body = await wire.body(wire.model(target), [asked('old'), turn, result, answered('anthropic', TextPart('a'))])
    assert problems(target, body) == []
    found = [text in json.dumps(body) for text in ('SUMMARY', 'RESULT', 'so far', 'old')]
    assert found == [True, True, True, False]


async def test_d12_issues_beside_a_summary_name_the_parts_of_the_history() -> None:
    """A part is named by where it stands in the message, whether or not parts before it are left out."""
    wire = Wire()
    summary = CompactionPart('SUMMARY', provider_name='anthropic')
    thought = ThinkingPart('hm', signature='S', provider_name='anthropic')
    history = [asked('q'), answered('anthropic', TextPart('old'), summary, TextPart('a'), thought)]
    body = await wire.body(wire.model('chat'), history)
    assert [(issue.message_index, issue.part_index, issue.kind) for issue in wire.reports[0].issues] == [
        (1, 1, 'compaction'),
        (1, 3, 'thinking'),
    ]
    assert (problems('chat', body), 'old' in json.dumps(body)) == ([], False)


@pytest.mark.parametrize('target', TARGETS)
async def test_d10_results_of_provider_tools_and_images_reach_every_model(target: str) -> None:
    """What a provider searched is sent as text and what a model painted as the user's image, or in words."""
    wire = Wire()
    history = [asked('q'), answered('elsewhere', *searched('elsewhere'), FilePart(PNG), TextPart('Found it'))]
    body = json.dumps(await wire.body(wire.model(target), history))
    assert ('https://x.example' in body, 'SECRET' in body, 'Found it' in body) == (True, False, True)
    assert 'iVBORw' in body
    assert [(issue.part_index, issue.kind, issue.action) for issue in wire.reports[0].issues] == [
        (0, 'native_tool', 'convert'),
        (1, 'native_tool', 'convert'),
        (2, 'model_file', 'convert'),
    ]


@pytest.mark.parametrize('option', ['native_tools', 'model_files'])
async def test_d10_what_would_be_lost_can_be_refused(option: str) -> None:
    """With `'raise'` a turn that holds such content stops the request."""
    wire = Wire()
    history = [asked('q'), answered('elsewhere', *searched('elsewhere'), FilePart(PNG), TextPart('Found it'))]
    rules: dict[str, Any] = {option: 'raise'}
    assert await wire.body(wire.model('chat'), history, portability=Portability(**rules)) is None
    assert {issue.kind for issue in wire.refusals[0].report.blocking} == {option.removesuffix('s')}


@pytest.mark.parametrize(
    ('target', 'settings'),
    [
        ('anthropic', {'anthropic_thinking': {'type': 'enabled', 'budget_tokens': 1024}}),
        ('anthropic', {'thinking': 'high'}),
        (
            'bedrock',
            {'bedrock_additional_model_requests_fields': {'thinking': {'type': 'enabled'}}},
        ),
        ('bedrock', {'thinking': 'high'}),
    ],
)
async def test_d11_thinking_is_off_in_a_loop_that_another_model_began(target: str, settings: Any) -> None:
    """Claude refuses to think in such a loop: thinking is turned off for the step, and said to be."""
    wire = Wire()
    model = wire.model(target)
    history = called('elsewhere', 'tooluse_1', ThinkingPart('t', signature='S', provider_name='elsewhere'))
    foretold = explain(history, model, settings=settings)
    body = await wire.body(model, history, None, model_settings=settings)
    assert '"enabled"' not in json.dumps(body)
    assert [(issue.kind, issue.action) for issue in foretold.issues] == [('thinking', 'convert'), ('thinking', 'drop')]
    assert wire.reports == [foretold]


async def test_d11_a_loop_of_its_own_keeps_thinking() -> None:
    """Anthropic goes on thinking in a loop that it began, and in a new turn after another model's."""
    wire = Wire()
    model = wire.model('anthropic')
    settings: Any = {'anthropic_thinking': {'type': 'enabled', 'budget_tokens': 1024}}
    own = called('anthropic', 'toolu_1', ThinkingPart('t', signature='S', provider_name='anthropic'))
    other = [*called('elsewhere', 'call_1'), answered('elsewhere', TextPart('done'))]
    sent = [
        await wire.body(model, own, None, model_settings=settings),
        await wire.body(model, other, model_settings=settings),
    ]
    assert [body['thinking']['type'] for body in sent] == ['enabled', 'enabled']
    assert [report.issues for report in wire.reports] == [[], []]


@pytest.mark.parametrize('target', TARGETS)
async def test_d12_a_history_only_another_place_can_read_is_not_sent(target: str) -> None:
    """A compaction in place of the whole history is refused before any request, whatever the rules."""
    wire = Wire()
    opaque = {'encrypted_content': 'E', 'compaction': True}
    compaction = CompactionPart(id='cmp', provider_name='openai', provider_details=opaque)
    url = 'https://elsewhere.example/v1'
    history = [answered('openai', compaction, provider_url=url), asked('q'), answered('openai', TextPart('a'))]
    for rule in ('convert', 'drop', 'raise'):
        rules = Portability(compaction=rule)
        assert await wire.body(wire.model(target), history, portability=rules) is None
    assert [type(error) for error in wire.refusals] == [ServerSideHistoryError] * 3


@pytest.mark.parametrize('target', TARGETS)
async def test_d12_a_readable_summary_takes_the_place_of_what_it_stands_for(target: str) -> None:
    """A summary by another place is sent instead of the older messages, and only once."""
    wire = Wire()
    summary = CompactionPart('SUMMARY', provider_name='elsewhere')
    history = [
        asked('old'),
        answered('elsewhere', TextPart('older')),
        asked('q'),
        answered('elsewhere', summary, TextPart('after')),
    ]
    body = json.dumps(await wire.body(wire.model(target), history))
    assert [word in body for word in ('old', 'older', '"q"', 'SUMMARY', 'after')] == [False, False, False, True, True]
    assert [(issue.kind, issue.action) for issue in wire.reports[0].issues] == [('compaction', 'convert')]


async def test_d12_a_summary_that_is_dropped_leaves_the_older_messages() -> None:
    """With `compaction='drop'` all of the messages are sent."""
    wire = Wire()
    summary = CompactionPart('SUMMARY', provider_name='elsewhere')
    history = [asked('old'), answered('elsewhere', summary, TextPart('after'))]
    body = await wire.body(wire.model('chat'), history, portability=Portability(compaction='drop'))
    assert [message['content'] for message in body['messages']] == ['old', 'after', 'next?']


async def test_d13_an_unfinished_turn_is_resumed_by_its_route() -> None:
    """A history that ends in a suspended response goes on with the model of the route that began it."""
    router = Router({'a': TestModel(custom_output_text='a'), 'b': TestModel(custom_output_text='b')})
    stamp = {'route': 'b', 'identity': 'test||TestModel', 'model': 'test:test'}
    tail = answered('test', TextPart('half'), state='suspended', metadata={'router': stamp})
    history = [asked('q'), tail]
    model = router.resume_model(history)
    assert model is router.routes['b'].model
    assert explain(history, model).issues == []


async def test_d14_a_dead_model_is_not_asked_every_turn() -> None:
    """With a cooldown a model that was down is not called again in the next turn."""
    calls: list[int] = []

    async def down(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        calls.append(len(messages))
        raise ModelHTTPError(503, 'down')

    chain = FailoverModel(FunctionModel(down), TestModel(custom_output_text='ok'), cooldown=60)
    agent = Agent(wrap(chain, Portability()))
    first = await agent.run('one')
    second = await agent.run('two', message_history=first.all_messages())
    assert (first.output, second.output, calls) == ('ok', 'ok', [1])


async def test_d15_chains_of_portable_models_nest() -> None:
    """An inner chain whose models all refuse the history leaves it to the outer chain's next model."""
    wire = Wire()
    file = UploadedFile('file_1', provider_name='xai', media_type='application/pdf')
    inner = FailoverModel(wire.model('anthropic'), wire.model('chat'))
    lenient = PortableModel(TestModel(custom_output_text='read'), Portability(uploaded_files='convert'))
    result = await Agent(wrap(FailoverModel(inner, lenient), Portability())).run(['read', file])
    assert (result.output, wire.bodies) == ('read', [])


async def test_d16_every_way_to_run_converts_and_reports_alike() -> None:
    """`run`, `run_stream`, `iter` and events send the same messages and report the same."""
    seen: list[list[Any]] = []

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append([part for message in messages for part in message.parts][:2])
        return ModelResponse(parts=[TextPart('ok')])

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> Any:
        seen.append([part for message in messages for part in message.parts][:2])
        yield 'ok'

    reports: list[PortabilityReport] = []
    model = PortableModel(FunctionModel(answer, stream_function=stream), on_report=reports.append)
    agent = Agent(model)
    history = [asked('q'), answered('elsewhere', ThinkingPart('hm', signature='S', provider_name='elsewhere'))]
    await agent.run('a', message_history=history)
    async with agent.run_stream('a', message_history=history) as run:
        await run.get_output()
    async with agent.run_stream_events('a', message_history=history) as events:
        _ = [event async for event in events]
    async with agent.iter('a', message_history=history) as steps:
        _ = [step async for step in steps]
    assert seen == [[history[0].parts[0], TextPart('<think>\nhm\n</think>')]] * 4
    assert [[(issue.kind, issue.action) for issue in report.issues] for report in reports] == [
        [('thinking', 'convert')]
    ] * 4


async def test_d17_a_hook_that_swaps_the_model_gets_a_converted_history() -> None:
    """A portable model that a hook puts in another's place converts like any other."""
    wire = Wire()
    portable = PortableModel(wire.model('anthropic'), on_report=wire.reports.append)

    class Swap(AbstractCapability[Any]):
        async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
            return replace(request_context, model=portable)

    agent = Agent(TestModel(), capabilities=[Swap()])
    with pytest.raises(Exception, match='captured'):
        await agent.run('next?', message_history=[*called('x', 'a.b'), answered('x', TextPart('done'))])
    assert problems('anthropic', wire.bodies[0]) == []
    assert [report.kinds for report in wire.reports] == [['tool_call_id']]
