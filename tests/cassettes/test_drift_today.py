"""What today's Pydantic AI sends is made again from its recording without a difference: no drift is told by mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, ImageUrl, NativeOutput
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.native_tools import AdvisorTool, CodeExecutionTool, WebSearchTool
from pydantic_ai.tools import ToolDefinition

from advisor_harness.cassettes import Cassette, CassetteModels, Interaction, Matching
from advisor_harness.cassettes.active import activated
from advisor_harness.cassettes.drift import FileCheck, check_file

from .support import anthropic_message, entry, openai_chat, write_cassette

pytestmark = pytest.mark.anyio

PIXEL = BinaryContent(b'\x89PNG', media_type='image/png')


def told(check: FileCheck) -> tuple[list[str], dict[int, str]]:
    return list(map(str, check.changes)), check.not_checked


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


CHOICES = [
    ('openai-chat:gpt-5', 'none'),
    ('openai-chat:gpt-5', ['weather']),
    ('openai-responses:gpt-5', 'none'),
    ('openai-responses:gpt-5', ['weather']),
    ('anthropic:claude-sonnet-4-6', 'none'),
    ('anthropic:claude-sonnet-4-6', ['weather']),
]


@pytest.mark.parametrize(('model', 'choice'), CHOICES)
async def test_a_choice_of_tools_of_today_shows_no_drift(model: str, choice: Any, tmp_path: Path) -> None:
    """No tool, or this one, one call at a time."""
    chosen: Any = {'max_tokens': 2_000, 'tool_choice': choice, 'parallel_tool_calls': False}
    script = Scripted(list(ANSWERS[model][1]))
    request = ModelRequest(parts=[UserPromptPart('Hi')])
    tool = ToolDefinition(name='weather', parameters_json_schema={'type': 'object', 'properties': {}})
    with activated(script):
        await CassetteModels.model(model).request([request], chosen, ModelRequestParameters(function_tools=[tool]))
    path = write_cassette(tmp_path / 'today.yaml', *script.entries, recorded_with={'by': 'emulator'})
    assert told(await check_file(path)) == ([], {})
