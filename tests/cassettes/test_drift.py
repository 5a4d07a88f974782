from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, ImageUrl, NativeOutput
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.native_tools import AdvisorTool, CodeExecutionTool, WebSearchTool

from advisor_harness.cassettes import Cassette, CassetteModels, Interaction, Matching, UnmatchedRequest, cassette_client
from advisor_harness.cassettes.active import activated
from advisor_harness.cassettes.diff import Change
from advisor_harness.cassettes.drift import FileCheck, check_file, render
from advisor_harness.cassettes.drift_replay import TolerantCassette
from advisor_harness.cassettes.drift_sending import Sent

from .support import URL, anthropic_message, entry, openai_chat, write_cassette

pytestmark = pytest.mark.anyio

CLAUDE = 'https://api.anthropic.com/v1/messages'
CHAT = 'https://api.openai.com/v1/chat/completions'
PIXEL = BinaryContent(b'\x89PNG', media_type='image/png')


def recordings_in(folder: Path) -> list[Path]:
    return sorted(folder.glob('*.yaml'))


def told(check: FileCheck) -> tuple[list[str], dict[int, str]]:
    return list(map(str, check.changes)), check.not_checked


# What is known of recordings that an older Pydantic AI made.


@pytest.mark.parametrize(
    ('file', 'interactions', 'changes'),
    [
        ('anthropic_advisor_tool', 1, {'- ?beta: "true"', '~ max_tokens: 4096 -> 128000', '~ stream: false -> true'}),
        (
            'anthropic_advisor_tool_message_replay',
            2,
            {'- ?beta: "true"', '~ max_tokens: 4096 -> 128000', '~ stream: false -> true'},
        ),
        ('anthropic_advisor_tool_stream', 1, {'- ?beta: "true"', '~ max_tokens: 4096 -> 128000'}),
        ('openrouter_advisor_tool', 1, set[str]()),
        ('openrouter_tool_calling', 1, set[str]()),
        ('openrouter_errors_raised', 3, set[str]()),
        ('openai_web_search_tool', 1, set[str]()),
        ('openai_responses_model_web_search_tool', 2, {'- previous_response_id: null'}),
        ('tool_use_failed_error', 3, set[str]()),
    ],
)
async def test_the_documented_drift_of_shared_recordings(
    shared_cassettes: Path, file: str, interactions: int, changes: set[str]
) -> None:
    """Exactly what is known to have changed is told, and every interaction was made again."""
    check = await check_file(shared_cassettes / f'{file}.yaml')
    assert (set(map(str, check.changes)), len(check.sent), check.not_checked) == (changes, interactions, {})


async def test_every_shared_recording_is_checked(shared_cassettes: Path) -> None:
    """No recording of a real provider is out of reach, second turns and other providers' histories included."""
    checks = [await check_file(file) for file in recordings_in(shared_cassettes)]
    assert [(check.path.name, check.not_checked) for check in checks if check.not_checked] == []
    assert [check.path.name for check in checks if len(check.sent) != check.interactions] == []


# What today's Pydantic AI sends is made again without a difference.


class Scripted(Cassette):
    """Answers every request in order, and keeps what was sent."""

    def __init__(self, answers: list[Any]) -> None:
        super().__init__(Path('no file'), mode='replay', matching=Matching())
        self.answers = answers
        self.entries: list[dict[str, Any]] = []

    def take(self, request: httpx2.Request) -> tuple[Interaction, bool]:
        exchange = entry(json.loads(request.content), self.answers.pop(0), url=str(request.url))
        self.entries.append(exchange)
        return Interaction.from_mapping(exchange), False


class City(BaseModel):
    """A city."""

    name: str


async def check_of_today(agent: Agent[None, Any], prompt: Any, answers: list[Any], tmp_path: Path) -> FileCheck:
    script = Scripted(answers)
    with activated(script):
        await agent.run(prompt)
    assert not script.answers
    path = write_cassette(tmp_path / 'today.yaml', *script.entries, recorded_with={'by': 'emulator'})
    return await check_file(path)


def chat_call(name: str, arguments: str) -> dict[str, Any]:
    call = {'id': 'call_1', 'type': 'function', 'function': {'name': name, 'arguments': arguments}}
    return openai_chat('', content=None, tool_calls=[call])


def claude_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    thought = {'type': 'thinking', 'thinking': 'Hm.', 'signature': 'S' * 40}
    call = {'type': 'tool_use', 'id': 'toolu_1', 'name': name, 'input': arguments}
    return {**anthropic_message(), 'content': [thought, call], 'stop_reason': 'tool_use'}


def response_call(name: str, arguments: str) -> dict[str, Any]:
    thought = {'type': 'reasoning', 'id': 'rs_1', 'summary': [], 'encrypted_content': 'E'}
    call = {'type': 'function_call', 'id': 'fc_1', 'call_id': 'call_1', 'name': name, 'arguments': arguments}
    return response([thought, {**call, 'status': 'completed'}])


def response(output: list[Any]) -> dict[str, Any]:
    base = {'id': 'resp_1', 'object': 'response', 'created_at': 1, 'status': 'completed', 'model': 'gpt-5'}
    return {**base, 'output': output, 'parallel_tool_calls': True, 'tool_choice': 'auto', 'tools': []}


def response_text(text: str) -> dict[str, Any]:
    content = [{'type': 'output_text', 'text': text, 'annotations': []}]
    return response(
        [{'type': 'message', 'id': 'msg_1', 'role': 'assistant', 'status': 'completed', 'content': content}]
    )


def gemini(*parts: dict[str, Any]) -> dict[str, Any]:
    content = {'role': 'model', 'parts': list(parts)}
    usage = {'promptTokenCount': 3, 'candidatesTokenCount': 2, 'totalTokenCount': 5}
    candidate = {'content': content, 'finishReason': 'STOP', 'index': 0}
    return {'candidates': [candidate], 'usageMetadata': usage, 'modelVersion': 'g', 'responseId': 'r'}


ANSWERS: dict[str, tuple[list[Any], list[Any]]] = {
    'openai-chat:gpt-5': ([chat_call('weather', '{"city": "Rome"}'), openai_chat('Sunny')], [openai_chat('Sunny')]),
    'openrouter:openai/gpt-5': ([chat_call('weather', '{"city": "Rome"}'), openai_chat()], [openai_chat()]),
    'groq:llama-3.3': ([chat_call('weather', '{"city": "Rome"}'), openai_chat('Sunny')], [openai_chat('Sunny')]),
    'mistral:mistral-large': ([chat_call('weather', '{"city": "Rome"}'), openai_chat('Sunny')], [openai_chat('Sunny')]),
    'openai-responses:gpt-5': (
        [response_call('weather', '{"city": "Rome"}'), response_text('Sunny')],
        [response_text('Sunny')],
    ),
    'anthropic:claude-sonnet-4-6': (
        [claude_call('weather', {'city': 'Rome'}), anthropic_message()],
        [anthropic_message()],
    ),
    'google:gemini-3-pro-preview': (
        [
            gemini({'functionCall': {'name': 'weather', 'args': {'city': 'Rome'}}, 'thoughtSignature': 'Uw=='}),
            gemini({'text': 'Sunny'}),
        ],
        [gemini({'text': 'Sunny'})],
    ),
}
MODELS = list(ANSWERS)


def weather(city: str) -> str:
    """The weather of a city."""
    return f'Sunny in {city}'


@pytest.mark.parametrize('model', MODELS)
async def test_a_conversation_with_tools_of_today_shows_no_drift(model: str, tmp_path: Path) -> None:
    """Instructions, a system prompt, a tool, its call with thoughts, and its result."""
    agent = Agent(
        model,
        capabilities=[CassetteModels()],
        instructions='Be brief.',
        system_prompt='You know the weather.',
        tools=[weather],
        # Small enough that no provider insists on a stream.
        model_settings={'max_tokens': 2_000},
    )
    check = await check_of_today(agent, 'How is Rome?', list(ANSWERS[model][0]), tmp_path)
    assert (told(check), len(check.sent)) == (([], {}), 2)


@pytest.mark.parametrize('model', MODELS)
async def test_settings_of_today_show_no_drift(model: str, tmp_path: Path) -> None:
    """Settings that the recording shows are taken as they are."""
    settings: Any = {'max_tokens': 4096, 'temperature': 0.5, 'top_p': 0.9, 'seed': 7, 'stop_sequences': ['END']}
    if model.startswith('openai-responses'):
        del settings['stop_sequences'], settings['seed']
    agent = Agent(model.replace('gpt-5', 'gpt-4o'), capabilities=[CassetteModels()], model_settings=settings)
    check = await check_of_today(agent, 'Hello', list(ANSWERS[model][1]), tmp_path)
    assert (told(check), len(check.sent)) == (([], {}), 1)


@pytest.mark.parametrize('model', [model for model in MODELS if not model.startswith(('groq', 'openai-resp'))])
async def test_pictures_of_today_show_no_drift(model: str, tmp_path: Path) -> None:
    """A picture in the request itself, and one by its address where the provider fetches it."""
    pictures: list[Any] = [PIXEL] if model.startswith('google') else [PIXEL, ImageUrl('https://example.com/a.png')]
    agent = Agent(model, capabilities=[CassetteModels()], model_settings={'max_tokens': 2_000})
    check = await check_of_today(agent, ['What is this?', *pictures], list(ANSWERS[model][1]), tmp_path)
    assert told(check) == ([], {})


@pytest.mark.parametrize('model', ['openai-chat:gpt-5', 'openai-responses:gpt-5'])
async def test_structured_output_of_today_shows_no_drift(model: str, tmp_path: Path) -> None:
    """A schema for the answer is part of the request."""
    agent = Agent(model, capabilities=[CassetteModels()], output_type=NativeOutput(City))
    text = '{"name": "Rome"}'
    answer = openai_chat(text) if 'chat' in model else response_text(text)
    assert told(await check_of_today(agent, 'Which city?', [answer], tmp_path)) == ([], {})


@pytest.mark.parametrize(
    ('model', 'answer'),
    [
        ('openai-chat:gpt-5', chat_call('final_result', '{"name": "Rome"}')),
        ('openrouter:openai/gpt-5', chat_call('final_result', '{"name": "Rome"}')),
        ('mistral:mistral-large', chat_call('final_result', '{"name": "Rome"}')),
        ('anthropic:claude-sonnet-4-6', claude_call('final_result', {'name': 'Rome'})),
        ('openai-responses:gpt-5', response_call('final_result', '{"name": "Rome"}')),
        ('google:gemini-3-pro-preview', gemini({'functionCall': {'name': 'final_result', 'args': {'name': 'Rome'}}})),
    ],
)
async def test_an_output_tool_of_today_shows_no_drift(model: str, answer: Any, tmp_path: Path) -> None:
    """A tool that must be called to end the run is told by its name and the choice of tools."""
    agent = Agent(model, capabilities=[CassetteModels()], output_type=City, model_settings={'max_tokens': 2_000})
    assert told(await check_of_today(agent, 'Which city?', [answer], tmp_path)) == ([], {})


@pytest.mark.parametrize(
    ('model', 'tool'),
    [
        ('anthropic:claude-sonnet-5', AdvisorTool(model='claude-opus-4-8', max_uses=2, max_tokens=1024, caching='5m')),
        ('anthropic:claude-sonnet-5', WebSearchTool(max_uses=3, allowed_domains=['example.com'])),
        ('anthropic:claude-sonnet-5', CodeExecutionTool()),
        ('openrouter:openai/gpt-5', AdvisorTool(model='anthropic/claude-opus-4', max_tokens=1024)),
        ('openai-responses:gpt-5', WebSearchTool(search_context_size='low')),
        ('google:gemini-3-pro-preview', WebSearchTool()),
    ],
)
async def test_native_tools_of_today_show_no_drift(model: str, tool: Any, tmp_path: Path) -> None:
    """Tools that the provider runs, with their options."""
    agent = Agent(model, capabilities=[CassetteModels(), NativeTool(tool)], model_settings={'max_tokens': 2_000})
    answers = ANSWERS.get(model, ANSWERS['anthropic:claude-sonnet-4-6'])[1]
    assert told(await check_of_today(agent, 'Hello', list(answers), tmp_path)) == ([], {})


# What cannot be made again is said, never guessed.

PROMPT = [{'role': 'user', 'content': 'Hi'}]
CHOICE = {'type': 'function', 'function': {'name': 'no tool'}}
MESSAGE: dict[str, Any] = {'model': 'claude-sonnet-5', 'max_tokens': 9, 'messages': PROMPT}


@pytest.mark.parametrize(
    ('url', 'body', 'why'),
    [
        (URL, {'model': 'm'}, 'no provider is known for api.example.com/v1/chat'),
        (CHAT, None, 'POST /v1/chat/completions is no request to a model'),
        (CHAT, {'model': 'm', 'messages': PROMPT, 'new': 1}, 'it is not known what made `new`'),
        (CHAT, {'model': 'm'}, 'it holds no message'),
        (
            CHAT,
            {'model': 'm', 'messages': PROMPT, 'tool_choice': CHOICE},
            'today this request is refused before it is sent: ',
        ),
        (CHAT, {'model': 'm', 'messages': [{'role': 'x'}]}, "the role 'x' is not understood"),
        (CLAUDE, {**MESSAGE, 'messages': 3}, '`messages` is no list'),
        (CLAUDE, {**MESSAGE, 'messages': [3]}, 'messages[0] is no JSON object'),
        (CLAUDE, {**MESSAGE, 'cache_control': {'type': 'x'}}, 'it is not known what made `cache_control`'),
        (CLAUDE, {**MESSAGE, 'tools': [{'type': 'bash_1', 'name': 'b'}]}, "the native tool 'bash_1' is not understood"),
        (CLAUDE, {**MESSAGE, 'tools': [{'type': 'custom'}]}, 'it has no `tools[0].name`'),
        (
            CLAUDE,
            {**MESSAGE, 'messages': [{'role': 'user', 'content': [{'type': 'tool_result', 'tool_use_id': 'a'}]}]},
            "the result of tool call 'a' belongs to no call",
        ),
        (
            CLAUDE,
            {**MESSAGE, 'messages': [{'role': 'user', 'content': [{'type': 'text', 'text': 'a', 'cache_control': 1}]}]},
            'it is not known what made `messages[0].content[0].cache_control`',
        ),
    ],
)
async def test_what_is_not_understood_is_named(url: str, body: Any, why: str, tmp_path: Path) -> None:
    """Nothing about the request is compared then."""
    check = await check_file(write_cassette(tmp_path / 'a.yaml', entry(body, {}, url=url)))
    assert (check.changes, check.sent) == ([], {})
    assert check.not_checked[1].startswith(why)


@pytest.mark.parametrize(
    ('provenance', 'changes'),
    [({}, ['~ max_tokens: 4096 -> 128000', '~ stream: false -> true']), ({'by': 'provider'}, [])],
)
async def test_a_former_default_counts_only_in_files_of_others(
    provenance: dict[str, str], changes: list[str], tmp_path: Path
) -> None:
    """This package never sent the default of an older Pydantic AI, so there it was given on purpose."""
    content = [{'type': 'text', 'text': 'Hi'}]
    body = {**MESSAGE, 'max_tokens': 4096, 'stream': False, 'messages': [{'role': 'user', 'content': content}]}
    top = {'recorded_with': provenance} if provenance else {}
    path = write_cassette(tmp_path / 'a.yaml', entry(body, anthropic_message(), url=CLAUDE), **top)
    assert told(await check_file(path)) == (changes, {})


# The report.


def test_the_report_groups_by_kind_of_difference() -> None:
    """Kinds in most files first, few file names, and many values of one place in one line."""
    kind, rare = Change('max_tokens', '~', '4096 -> 128000'), Change('?beta', '-', '"true"')
    checks = [FileCheck(Path(f'{n}.yaml'), 1, {1: SENT}, [kind]) for n in range(5)]
    checks[0].changes += [rare, rare]
    for n, check in enumerate(checks):
        check.changes.append(Change('messages.*.content', '~', f'"a" -> "{n}"'))
    checks.append(FileCheck(Path('x.yaml'), 3, {3: SENT}, [], {1: 'no idea', 2: 'no idea'}))
    checks.append(FileCheck(Path('y.yaml'), 0, {}, [], {0: 'there is no recording of this case'}))
    files = '    0.yaml\n    1.yaml\n    2.yaml\n    and 2 more\n'
    head = f'~ max_tokens: 4096 -> 128000 in 5 files\n{files}'
    rest = (
        '- ?beta: "true" in 1 file\n'
        '    0.yaml\n'
        'not checked\n'
        '    x.yaml: no idea (interaction 1, 2)\n'
        '    y.yaml: there is no recording of this case\n'
        f'5 of 6 recordings differ from what pydantic-ai {version("pydantic-ai-slim")} sends, '
        '2 not checked or not completely\n'
    )
    many = '~ messages.*.content: 5 different changes, such as "a" -> "0", in 5 files\n'
    assert render(checks) == f'{head}{many}{files}{rest}'
    assert '    3.yaml\n    4.yaml\n' in render(checks, every_file=True)


def test_the_report_of_nothing_to_tell() -> None:
    """One line."""
    text = f'0 of 1 recordings differ from what pydantic-ai {version("pydantic-ai-slim")} sends\n'
    assert render([FileCheck(Path('a.yaml'), 1, {1: SENT})]) == text


SENT = Sent('POST', URL, 'application/json', b'{}')


# A recording that goes on after a difference.


def tolerant(path: Path) -> TolerantCassette:
    cassette = TolerantCassette.open(path)
    assert isinstance(cassette, TolerantCassette)
    return cassette


async def post(body: Any, url: str = URL) -> Any:
    return (await cassette_client().post(url, json=body)).json()


async def test_a_changed_request_is_answered_by_the_nearest_one(tmp_path: Path) -> None:
    """Later requests are compared too, also those that are as they were."""
    path = write_cassette(tmp_path / 'a.yaml', *(entry({'n': n, 'k': 1}, {'answer': n}) for n in range(3)))
    cassette = tolerant(path)
    with activated(cassette):
        answers = [await post({'n': n, 'k': k}) for n, k in ((0, 2), (1, 1), (2, 3))]
    check = cassette.finished(None)
    assert answers == [{'answer': 0}, {'answer': 1}, {'answer': 2}]
    assert (told(check), sorted(check.sent)) == ((['~ k: 1 -> 2', '~ k: 1 -> 3'], {}), [1, 2, 3])


async def test_a_request_that_asks_for_a_stream_now_ends_the_case(tmp_path: Path) -> None:
    """An answer of the wrong kind is not given; what comes later is not checked."""
    bodies: list[dict[str, Any]] = [{'n': 1, 'stream': False}, {'n': 2, 'stream': False}]
    cassette = tolerant(write_cassette(tmp_path / 'a.yaml', *(entry(body, {}) for body in bodies)))
    with activated(cassette), pytest.raises(UnmatchedRequest):
        await post({'n': 1, 'stream': True})
    assert told(cassette.finished(None)) == (
        ['~ stream: false -> true'],
        {2: 'the case ended before, at a request that no recorded answer fits'},
    )


async def test_requests_that_only_one_side_has(tmp_path: Path) -> None:
    """A new request has no counterpart at its endpoint; one that is no longer sent is told when the case ended well."""
    path = write_cassette(tmp_path / 'a.yaml', entry({'n': 1}, {}))
    cassette = tolerant(path)
    assert told(cassette.finished(None)) == ([f'- request: POST {URL}'], {})

    cassette = tolerant(path)
    with activated(cassette), pytest.raises(UnmatchedRequest):
        await post({'n': 1}, 'https://api.example.com/v2?key=secret')
    assert told(cassette.finished('the task failed')) == (
        ['+ request: POST https://api.example.com/v2'],
        {1: 'the task failed'},
    )
