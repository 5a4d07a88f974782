"""The emulator's replies have the shape of real recordings: the same JSON paths with the same types."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from . import serve
from .clients import script

TEXT = {'text': 'a b c d e f g'}
ADVICE = {'advice': {'text': '4.'}}
COUNTRY = {'tool_call': {'name': 'get_user_country', 'args': {}}}

THINKING_TOKENS = {'output_tokens_details', 'stop_details'}
"""What Anthropic added to every message between the older recordings and those of the advisor."""

COSTS = {'completion_tokens_details', 'cost', 'cost_details', 'prompt_tokens_details'}
"""What OpenRouter added to the usage of every completion between the recordings of 2025 and 2026."""

RESPONSES_2025 = {
    'background',
    'billing',
    'logprobs',
    'max_tool_calls',
    'prompt_cache_key',
    'prompt_cache_retention',
    'safety_identifier',
    'sequence_number',
    'service_tier',
    'summary',
    'top_logprobs',
    'verbosity',
}
"""What OpenAI added to Responses between the streamed recording of March 2025 and the other one of November."""


@dataclass
class Recorded:
    """One recorded interaction, what makes the emulator say the same, and where the two differ for good reasons."""

    file: str
    interaction: int
    parts: list[dict[str, Any]]
    newer: frozenset[str] = frozenset()
    """Fields that only the emulator has: the API got them after the recording."""
    older: frozenset[str] = frozenset()
    """Fields that only the recording has."""
    fault: dict[str, Any] | None = None


RECORDED = [
    Recorded('anthropic_advisor_tool', 0, [{'thinking': 'x y'}, TEXT, ADVICE, TEXT]),
    Recorded('anthropic_advisor_tool_message_replay', 0, [{'thinking': 'x'}, TEXT, ADVICE, TEXT]),
    Recorded('anthropic_advisor_tool_message_replay', 1, [TEXT]),
    Recorded('anthropic_advisor_tool_stream', 0, [{'thinking': ''}, TEXT, ADVICE, TEXT]),
    Recorded('anthropic_tool_with_thinking', 0, [{'thinking': 'x'}, TEXT, COUNTRY], newer=frozenset(THINKING_TOKENS)),
    Recorded('anthropic_tool_with_thinking', 1, [TEXT], newer=frozenset(THINKING_TOKENS)),
    Recorded(
        'anthropic_model_thinking_part_redacted_stream',
        0,
        [{'redacted_thinking': 'x'}, TEXT],
        newer=frozenset({*THINKING_TOKENS, 'inference_geo'}),
    ),
    Recorded('openai_tool_output', 0, [COUNTRY]),
    # A search model, which reports less than the others.
    Recorded('openai_web_search_tool', 0, [TEXT], newer=frozenset({'logprobs', 'service_tier'})),
    Recorded('openrouter_advisor_tool', 0, [ADVICE, TEXT]),
    Recorded(
        'openrouter_tool_calling',
        0,
        [{'tool_call': {'name': 'divide', 'args': {'numerator': 1}}}],
        newer=frozenset({*COSTS, 'service_tier', 'system_fingerprint'}),
    ),
    Recorded(
        'openrouter_stream_error',
        0,
        [{'thinking': 'We need'}, {'text': ''}],
        newer=frozenset({'audio_tokens', 'cache_write_tokens', 'upstream_inference_cost', 'video_tokens'}),
        # A free model: its inference cost is null, and it says who pays; null reasoning repeats in every chunk.
        older=frozenset({'is_byok', 'logprobs', 'reasoning', 'upstream_inference_cost'}),
        fault={'error_after': 4, 'error': {'status': 400, 'message': 'Token limit reached'}},
    ),
    Recorded(
        'openai_responses_stream',
        0,
        [{'tool_call': {'name': 'get_capital', 'args': {'country': 'France'}}}],
        newer=frozenset(RESPONSES_2025 - {'logprobs'}),
        older=frozenset({'generate_summary'}),
    ),
    Recorded(
        'openai_responses_stream', 1, [TEXT], newer=frozenset(RESPONSES_2025), older=frozenset({'generate_summary'})
    ),
    # The emulator does not fill in the defaults of a tool, nor of the reasoning effort.
    Recorded(
        'anthropic_server_tool_pass_history_to_another_provider',
        1,
        [TEXT],
        older=frozenset({'filters', 'user_location'}),
    ),
    Recorded(
        'thinking_with_tool_calls_from_other_model',
        0,
        [{'redacted_thinking': 'a'}, COUNTRY],
        newer=frozenset({'effort'}),
        older=frozenset({'effort'}),
    ),
]


@pytest.mark.anyio
@pytest.mark.parametrize('recorded', RECORDED, ids=lambda recorded: f'{recorded.file}-{recorded.interaction}')
async def test_replies_have_the_shape_of_recordings(recorded: Recorded, shared_cassettes: Path) -> None:
    """Asked what the provider was asked, the emulator answers in the same shape, apart from the named fields."""
    request, response = _interaction(shared_cassettes, recorded)
    reply = {'parts': recorded.parts, 'fault': recorded.fault or {}}
    answer = await _ask(request, reply)
    expected, actual = _recorded_shape(response), _shape_of(answer)
    assert answer.status_code == response['status']['code']
    assert answer.headers['content-type'].split(';')[0] == response['headers']['content-type'][0].split(';')[0]
    assert _fields(actual - expected, recorded.newer) == recorded.newer
    assert _fields(expected - actual, recorded.older) == recorded.older


@pytest.mark.anyio
async def test_errors_have_the_shape_of_recordings(shared_cassettes: Path) -> None:
    """An OpenRouter error has the recorded status, phrase and body."""
    request, response = _interaction(shared_cassettes, Recorded('openrouter_errors_raised', 0, []))
    answer = await _ask(request, {'error': 429})
    assert (answer.status_code, answer.reason_phrase) == (429, response['status']['message'])
    assert _shape_of(answer) == _recorded_shape(response)
    assert answer.json()['error']['message'] == response['parsed_body']['error']['message']


def _interaction(folder: Path, recorded: Recorded) -> tuple[dict[str, Any], dict[str, Any]]:
    content = yaml.safe_load((folder / f'{recorded.file}.yaml').read_text(encoding='utf-8'))
    interaction = content['interactions'][recorded.interaction]
    return interaction['request'], interaction['response']


async def _ask(request: dict[str, Any], reply: dict[str, Any]) -> httpx2.Response:
    """Send a recorded request to the emulator."""
    # The recordings hold no beta headers: they were dropped when they were made.
    headers = {'anthropic-beta': 'advisor-tool-2026-03-01'}
    source = script(reply, repeat=True)
    async with serve(source) as origin, httpx2.AsyncClient() as client:
        url = httpx2.URL(request['uri'])
        return await client.post(origin + url.path, params=url.params, json=request['parsed_body'], headers=headers)


def _shape_of(answer: httpx2.Response) -> set[str]:
    stream = answer.headers['content-type'].startswith('text/event-stream')
    return _events_shape(answer.text) if stream else _shape(answer.json())


def _recorded_shape(response: dict[str, Any]) -> set[str]:
    if 'parsed_body' in response:
        return _shape(response['parsed_body'])
    return _events_shape(response['body']['string'])


def _events_shape(text: str) -> set[str]:
    """The shape of all events, each under its type, and the lines that are not data."""
    shape: set[str] = set()
    for line in filter(None, text.splitlines()):
        if line.startswith('data: {'):
            event = json.loads(line.removeprefix('data: '))
            shape |= _shape(event, event.get('type') or event['object'])
        else:
            shape.add(line)
    return shape


def _shape(value: Any, path: str = '$') -> set[str]:
    """Every path in a JSON value with the type found there; items of an array are one path for each `type`."""
    match value:
        case dict():
            return {f'{path}: object'}.union(*(_shape(item, f'{path}.{key}') for key, item in value.items()))
        case list():
            kinds = ((item.get('type', '') if isinstance(item, dict) else '', item) for item in value)
            return {f'{path}: array'}.union(*(_shape(item, f'{path}[{kind}]') for kind, item in kinds))
        case _:
            names = {bool: 'boolean', int: 'number', float: 'number', str: 'string', type(None): 'null'}
            return {f'{path}: {names[type(value)]}'}


def _fields(paths: set[str], known: frozenset[str]) -> set[str]:
    """The known fields in which paths differ, and whole paths that no known field explains."""
    steps = {path: path.rpartition(': ')[0].replace('[', '.').split('.') for path in paths}
    return {next((field for field in known if field in steps[path]), path) for path in paths}
