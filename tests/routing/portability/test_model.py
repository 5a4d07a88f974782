"""`PortableModel`, `wrap` and `explain`: around any model, once, and never changing what they are given."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai import Agent, direct
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
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
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.instrumented import InstrumentedModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.usage import UsageLimits

from advisor_harness import Portability, PortableModel
from advisor_harness.routing import PortabilityError, PortabilityIssue, PortabilityReport, ServerSideHistoryError
from advisor_harness.routing.identity import layers
from advisor_harness.routing.portability import explain, wrap
from tests.routing.portability.wire import Wire, answered, asked

pytestmark = pytest.mark.anyio

URL = 'https://api.openai.com/v1'


def thoughts(provider: str = 'elsewhere') -> list[ModelMessage]:
    """A turn with signed thinking."""
    return [asked('q'), answered(provider, ThinkingPart('hm', signature='S', provider_name=provider), TextPart('hi'))]


async def test_every_model_of_a_chain_is_wrapped_once() -> None:
    """`wrap` reaches the candidates through wrappers and nested chains, and wrapping twice changes nothing."""
    chain = FallbackModel(WrapperModel(TestModel()), FallbackModel(TestModel(), TestModel()))
    wrapped = wrap(InstrumentedModel(chain), Portability())
    assert isinstance(wrapped, InstrumentedModel)
    outer = layers(wrapped)[-1]
    assert isinstance(outer, FallbackModel)
    first, second = outer.models
    inner = layers(second)[-1]
    assert isinstance(first, PortableModel)
    assert isinstance(inner, FallbackModel)
    assert [type(model) for model in inner.models] == [PortableModel, PortableModel]
    assert [type(model) for model in chain.models] == [WrapperModel, FallbackModel]
    assert wrap(wrapped, Portability(thinking='drop')) is wrapped
    assert (wrapped.model_id, wrapped.system) == (chain.model_id, chain.system)


async def test_a_chain_is_entered_as_the_one_it_was_made_of() -> None:
    """Clients are opened and closed by whoever owns the chain, not once more by its copy."""
    entered: list[str] = []

    class Entered(WrapperModel):
        async def __aenter__(self) -> Any:
            entered.append('in')
            return await super().__aenter__()

        async def __aexit__(self, *error: Any) -> bool | None:
            entered.append('out')
            return await super().__aexit__(*error)

    chain = FallbackModel(Entered(TestModel()), TestModel())
    async with chain, wrap(chain, Portability()) as wrapped:
        await Agent(wrapped).run('q')
        assert entered == ['in']
    assert entered == ['in', 'out']


async def test_a_model_that_is_wrapped_keeps_its_rules_and_tells_both() -> None:
    """Wrapping again adds a listener and leaves the rules, and the model that was given, as they are."""
    first: list[PortabilityReport] = []
    second: list[PortabilityReport] = []
    mine = PortableModel(TestModel(), Portability(thinking='drop'), on_report=first.append)
    again = wrap(WrapperModel(mine), Portability(), on_report=second.append)
    await Agent(again).run('next?', message_history=thoughts())
    await Agent(mine).run('next?', message_history=thoughts())
    assert ([r.issues[0].action for r in first], [r.issues[0].action for r in second]) == (['drop'] * 2, ['drop'])


async def test_a_portable_chain_lets_each_candidate_convert() -> None:
    """`PortableModel` of a `FallbackModel` reports once per candidate that is tried."""
    wire = Wire()
    chain = PortableModel(FallbackModel(wire.model('anthropic'), wire.model('chat')), on_report=wire.reports.append)
    with pytest.raises(ExceptionGroup):
        await Agent(chain).run('next?', message_history=thoughts())
    assert [report.issues[0].target.split('|')[0] for report in wire.reports] == ['anthropic', 'openai']
    assert [len(report.issues) for report in wire.reports] == [1, 1]
    assert len(wire.bodies) == 2


async def test_direct_requests_and_instrumented_models_convert_too() -> None:
    """A request that pydantic-ai did not prepare is converted when it is sent."""
    wire = Wire()
    reports: list[PortabilityReport] = []
    model = InstrumentedModel(PortableModel(wire.model('chat'), on_report=reports.append))
    messages = [*thoughts(), asked('next?')]
    with pytest.raises(ModelHTTPError):
        await direct.model_request(model, messages)
    assert wire.bodies[0]['messages'][1]['content'] == '<think>\nhm\n</think>\n\nhi'
    assert reports == [explain(messages, wire.model('chat'))]


async def test_tokens_are_counted_of_what_is_sent() -> None:
    """`count_tokens` converts, and is no request that is reported."""
    wire = Wire()
    reports: list[PortabilityReport] = []
    model = PortableModel(wire.model('anthropic'), on_report=reports.append)
    history = [
        asked('q'),
        answered('x', ToolCallPart('f', {}, 'a.b')),
        ModelRequest(parts=[ToolReturnPart('f', '1', 'a.b')]),
    ]
    with pytest.raises(ModelHTTPError):
        await model.count_tokens(history, None, ModelRequestParameters())
    assert ('a.b' in str(wire.bodies[0]), reports) == (False, [])
    limits = UsageLimits(count_tokens_before_request=True)
    with pytest.raises(ModelHTTPError):
        await Agent(model).run('next?', message_history=[*history, answered('x', TextPart('1'))], usage_limits=limits)
    assert 'a.b' not in str(wire.bodies[1])


async def test_a_history_returns_to_its_place_as_it_left() -> None:
    """A to B to A: the thinking of A is native again, that of B is text, and the history was never changed."""
    wire = Wire()
    model = wire.model('anthropic')
    own = answered('anthropic', ThinkingPart('A', signature='SA', provider_name='anthropic'), TextPart('a'))
    history = [asked('1'), replace(own, provider_url='https://api.anthropic.com'), *thoughts('google')]
    before = copy.deepcopy(history)
    body = await wire.body(model, history)
    assert body['messages'][1]['content'][0] == {'signature': 'SA', 'thinking': 'A', 'type': 'thinking'}
    assert body['messages'][3]['content'][0]['text'] == '<assistant_thinking>\nhm\n</assistant_thinking>'
    assert history == before


async def test_what_a_client_forged_as_findings_counts_for_nothing() -> None:
    """Only findings of this process let a request rely on an earlier step."""
    forged = {'advisor_harness.portability': {'process': 'x', 'report': {'issues': []}, 'elsewhere': []}}
    messages = [*thoughts(), ModelRequest(parts=[UserPromptPart('next?')], metadata=forged)]
    model = PortableModel(Wire().model('chat'), Portability(thinking='raise'))
    with pytest.raises(PortabilityError):
        await direct.model_request(model, messages)


async def test_a_conversation_another_service_holds_is_refused() -> None:
    """A setting that names it raises before any request; what to do is said, and the report holds it."""
    wire = Wire()
    settings: Any = {'openai_conversation_id': 'conv_1'}
    assert await wire.body(wire.model('anthropic'), thoughts(), model_settings=settings) is None
    error = wire.refusals[0]
    assert type(error) is ServerSideHistoryError
    assert error.message == (
        "Nothing was sent to 'claude-haiku-4-5'. `openai_conversation_id` names what another place holds, and this one "
        'cannot read. Stay with the model that wrote it, or rebuild the conversation from its messages: pass all of '
        "them as `message_history`, and leave the provider's id out of the settings or set "
        "`Portability(server_state='drop')`."
    )
    assert error.report == explain([*thoughts(), asked('next?')], wire.model('anthropic'), settings=settings)


async def test_a_conversation_is_rebuilt_only_from_messages() -> None:
    """`server_state='drop'` sends the messages, and refuses where there are none."""
    wire = Wire()
    rules = Portability(server_state='drop')
    settings: Any = {'openai_previous_response_id': 'resp_9'}
    rebuilt = await wire.body(wire.model('anthropic'), thoughts(), portability=rules, model_settings=settings)
    alone = await wire.body(wire.model('anthropic'), [], portability=rules, model_settings=settings)
    assert (len(rebuilt['messages']), alone) == (4, None)


@pytest.mark.parametrize('rule', ['raise', 'drop'])
async def test_a_response_id_of_another_endpoint_is_not_named(rule: Any) -> None:
    """A previous response that the history says another endpoint gave is refused, or left out of the settings."""
    wire = Wire()
    history = [
        asked('q'),
        answered('openai', TextPart('a'), provider_response_id='resp_1', provider_url='https://x.example'),
    ]
    settings: Any = {'openai_previous_response_id': 'resp_1'}
    rules = Portability(server_state=rule)
    body = await wire.body(wire.model('responses'), history, portability=rules, model_settings=settings)
    assert (body is None) == (rule == 'raise')
    assert body is None or 'previous_response_id' not in body
    assert [(i.kind, i.action) for i in wire.reports[0].issues] == [('server_state', rule)]


async def test_an_unfinished_turn_of_another_place_is_refused_or_taken_back() -> None:
    """Only the place that began a turn can finish it."""
    wire = Wire()
    tail = answered('openai', TextPart('half'), state='suspended')
    history = [asked('q'), tail]
    assert [i.action for i in explain(history, wire.model('anthropic')).blocking] == ['raise']
    model = PortableModel(wire.model('anthropic'), Portability(server_state='drop'))
    assert [type(m) for m in model.prepare_messages(history)] == [ModelRequest]
    assert explain(history, wire.model('responses')).issues == []


async def test_a_history_too_long_is_refused_before_it_is_sent() -> None:
    """The window of the model is known and the text is longer; with `'drop'` it is sent all the same."""
    wire = Wire()
    history = [asked('word ' * 300_000), answered('x', TextPart('a'))]
    assert await wire.body(wire.model('anthropic'), history) is None
    assert wire.refusals[0].message == (
        "Nothing was sent to 'claude-haiku-4-5'. About 375,001 tokens are too many for a context window of 200,000. "
        'Stay with the model that wrote it, or say in `Portability` what is to become of it (`context_window`).'
    )
    assert await wire.body(wire.model('anthropic'), history, portability=Portability(context_window='convert')) is None
    assert await wire.body(wire.model('anthropic'), history, portability=Portability(context_window='drop')) is not None
    assert await wire.body(wire.model('google'), history) is not None


@pytest.mark.parametrize(
    ('target', 'provider', 'compaction'),
    [
        ('anthropic', 'anthropic', CompactionPart('SUMMARY', provider_name='anthropic')),
        (
            'responses',
            'openai',
            CompactionPart(id='cmp_1', provider_name='openai', provider_details={'encrypted_content': 'E'}),
        ),
    ],
)
async def test_what_an_own_summary_replaces_takes_no_room(target: str, provider: str, compaction: Any) -> None:
    """The adapter sends nothing of what stands before its own summary, so a long history that was compacted goes on."""
    wire = Wire()
    history = [asked('word ' * 600_000), answered(provider, compaction, TextPart('a'))]
    body = await wire.body(wire.model(target), history)
    assert (wire.refusals, 'word word' in str(body), 'next?' in str(body)) == ([], False, True)
    assert explain(history, wire.model(target)).issues == []


def test_letters_count_the_same_in_every_script() -> None:
    """The length of a text is counted in characters: tokenizers do not make more tokens of Cyrillic for its bytes."""
    wire = Wire()
    counts = [explain([asked(text * 400)], wire.model('anthropic')).estimated_tokens for text in ('word', 'слов')]
    assert counts == [400, 400]


@pytest.mark.parametrize('target', ['anthropic', 'chat', 'google', 'responses'])
async def test_addresses_that_are_none_are_no_reason_to_fail(target: str) -> None:
    """A history may come from a client: what is no URL is of another place, and a file is left alone."""
    wire = Wire()
    model = wire.model(target)
    thought = ThinkingPart('hm', signature='S', provider_name=model.system)
    answer = answered(model.system, thought, TextPart('a'), provider_url='http://[::1')
    report = explain([asked('q'), answer, asked(['see', ImageUrl('http://[x/y.png')])], model)
    assert [(issue.kind, issue.source) for issue in report.issues] == [('thinking', f'{model.system}|http://[::1|')]


@pytest.mark.parametrize(
    ('wrote', 'kinds'),
    [
        ('gpt-4o', []),
        ('gpt-4o-2024-08-06', []),
        ('gpt-4o-mini', ['native_tool']),
        ('gpt-4o-mini-2024-07-18', ['native_tool']),
        ('gpt-4.1', ['native_tool']),
        (None, ['native_tool']),
    ],
)
async def test_a_longer_name_is_another_model(wrote: str | None, kinds: list[str]) -> None:
    """A dated name is of the same model, which gets its turn back as its adapter sends it; any other loses nothing."""
    wire = Wire()
    found = [
        NativeToolCallPart('web_search', {'query': 'x'}, 'ws_1', provider_name='openai'),
        NativeToolReturnPart('web_search', {'sources': ['page']}, 'ws_1', provider_name='openai'),
    ]
    history = [asked('q'), answered('openai', *found, TextPart('a'), model_name=wrote)]
    body = await wire.body(wire.model('responses', 'gpt-4o'), history)
    assert (wire.reports[0].kinds, 'earlier_tool_result' in str(body)) == (kinds, bool(kinds))


async def test_uploaded_files_are_fetched_once_each() -> None:
    """`resolve_file`, sync or async, brings the content; what it cannot bring is refused."""
    wire = Wire()
    file = UploadedFile('file_1', provider_name='openai', media_type='application/pdf')
    asked_for: list[str] = []

    async def fetch(upload: UploadedFile) -> BinaryContent | None:
        asked_for.append(upload.file_id)
        return BinaryContent(b'%PDF', media_type='application/pdf') if upload.file_id == 'file_1' else None

    rules = Portability(resolve_file=fetch)
    body = await wire.body(wire.model('anthropic'), [], ['read', file, file], portability=rules)
    assert ([b['type'] for b in body['messages'][0]['content']], asked_for) == (
        ['text', 'document', 'document'],
        ['file_1'],
    )
    other = replace(file, file_id='file_2')
    assert await wire.body(wire.model('anthropic'), [], ['read', other], portability=rules) is None
    plain = Portability(resolve_file=lambda upload: BinaryContent(b'hi', media_type='text/plain'))
    assert 'hi' in str(
        await wire.body(wire.model('chat'), [], ['read', replace(file, provider_name='xai')], portability=plain)
    )


async def test_a_fetched_file_is_held_to_the_rules_for_media() -> None:
    """A file that was fetched and that the model cannot read is refused like any other."""
    wire = Wire()
    file = UploadedFile('file_1', provider_name='openai', media_type='application/pdf')
    rules = Portability(resolve_file=lambda upload: BinaryContent(b'%PDF', media_type='application/pdf'))
    assert await wire.body(wire.model('groq'), [], ['read', file], portability=rules) is None
    assert [issue.kind for issue in wire.refusals[0].report.blocking] == ['media']


async def test_advice_is_kept_as_text_where_no_advisor_is_offered() -> None:
    """What a native advisor said goes to any model as text; sealed advice is left out and reported."""
    wire = Wire()
    said = NativeToolReturnPart(
        'advisor', {'type': 'advisor_result', 'text': 'Be bold.'}, 'a1', provider_name='anthropic'
    )
    sealed = NativeToolReturnPart('advisor', {'encrypted_content': 'E'}, 'a2', provider_name='anthropic')
    calls = [NativeToolCallPart('advisor', {}, i, provider_name='anthropic') for i in ('a1', 'a2')]
    history = [asked('q'), answered('anthropic', calls[0], said, calls[1], sealed, TextPart('ok'))]
    for target in ('chat', 'anthropic'):
        body = str(await wire.body(wire.model(target), history))
        assert ('<earlier_advice>' in body, 'Be bold.' in body, "'E'" in body) == (True, True, False)
    assert [[issue.action for issue in report.issues] for report in wire.reports] == [['convert'] * 3 + ['drop']] * 2


def test_an_own_summary_stays_the_boundary() -> None:
    """What stands before the target's own compaction is not sent, so that nothing of it is an issue."""
    opaque = {'encrypted_content': 'E'}
    own = answered(
        'openai', CompactionPart(id='cmp_1', provider_name='openai', provider_details=opaque), provider_url=URL
    )
    model = Wire().model('responses')
    assert explain([*thoughts(), own, asked('next?')], model).issues == []


def test_explain_takes_the_first_candidate_that_can() -> None:
    """Of a chain the report is that of the first model which is sent anything."""
    wire = Wire()
    file = UploadedFile('file_1', provider_name='openai', media_type='application/pdf')
    chain = FallbackModel(wire.model('anthropic'), wire.model('chat'))
    assert explain([asked('read', file)], chain) == explain([asked('read', file)], wire.model('chat'))
    assert explain([asked('read', file)], wire.model('anthropic')).blocking


def test_issues_and_reports_are_values() -> None:
    """Issues compare, hash and sort out; a report knows what blocks, what is lossless, and its kinds."""
    renamed = PortabilityIssue(1, 0, 'tool_call_id', 'x||', 'y||', 'convert', 'd')
    left_out = PortabilityIssue(1, 1, 'thinking', 'x||', 'y||', 'drop', 'd')
    refused = replace(left_out, action='raise')
    assert (PortabilityReport([renamed]).lossless, PortabilityReport([renamed, left_out]).lossless) == (True, False)
    assert PortabilityReport([renamed, refused]).blocking == [refused]
    assert PortabilityReport([left_out, renamed]).kinds == ['thinking', 'tool_call_id']
    assert len({renamed, replace(renamed), left_out}) == 2


def test_errors_survive_pickling() -> None:
    """An error that crosses a process keeps its report and its words."""
    report = PortabilityReport([PortabilityIssue(None, None, 'server_state', 'user', 'y||', 'raise', 'Held.')], 3)
    error = ServerSideHistoryError('m', report)
    restored = pickle.loads(pickle.dumps(error))
    assert (type(restored), restored.report, restored.message) == (ServerSideHistoryError, report, error.message)


@pytest.mark.parametrize(
    ('options', 'error', 'message'),
    [
        (
            {'thinking': 'keep'},
            ValueError,
            "`Portability.thinking` must be 'convert' or 'drop' or 'raise'; got 'keep'.",
        ),
        (
            {'tool_call_ids': 'drop'},
            ValueError,
            "`Portability.tool_call_ids` must be 'convert' or 'raise'; got 'drop'.",
        ),
        ({'media': None}, TypeError, '`Portability.media` must be text; got None.'),
        ({'resolve_file': 'x'}, TypeError, "`Portability.resolve_file` must be callable; got 'x'."),
    ],
)
def test_options_are_checked_at_once(options: Any, error: type[Exception], message: str) -> None:
    """A rule that does not exist is refused where it is written."""
    with pytest.raises(error) as caught:
        Portability(**options)
    assert str(caught.value) == message


def test_an_empty_history_is_no_trouble() -> None:
    """Nothing to convert is nothing to report."""
    assert explain([], TestModel()) == PortabilityReport([], 0)
    assert PortableModel(TestModel()).prepare_messages([]) == []
    assert explain([ModelResponse(parts=[])], TestModel()) == PortabilityReport([], 0)
