"""What the emulator is for: recordings that can be made again, and replayed without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from advisor_harness.cassettes import cassette_client, use_cassette

from . import serve
from .clients import KEY, ask, conversation

LOOK = {'name': 'look', 'args': {'q': 'a b'}}
SCRIPT = {
    'name': 'recorded',
    'conversations': [
        conversation('tools', {'tool_calls': [LOOK, LOOK]}, {'text': 'Done.'}),
        conversation('cut', {'text': 'one two three four five', 'fault': {'cut_after': 2}}),
    ],
}


async def outcome(name: str, *, streamed: bool, path: Path, **options: Any) -> str | None:
    """The text of the last response of a run under a cassette."""
    model = OpenAIChatModel('gpt-4o-mini', provider=OpenAIProvider(api_key=KEY, http_client=cassette_client()))
    with use_cassette(path, **options):
        return (await ask(model, f'[{name}]', streamed=streamed))[-1].text


async def record(folder: Path, *, origin: str) -> list[Any]:
    """Record both conversations; what the files hold, except for the time that answers took."""
    options: dict[str, Any] = {'mode': 'record', 'upstream': {'https://api.openai.com': origin}}
    await outcome('tools', streamed=False, path=folder / 'tools.yaml', **options)
    with pytest.raises(ModelConnectionError):
        await outcome('cut', streamed=True, path=folder / 'cut.yaml', **options)
    files = [yaml.safe_load((folder / f'{name}.yaml').read_text(encoding='utf-8')) for name in ('tools', 'cut')]
    return [[(i['request'], i['response']) for i in file['interactions']] for file in files]


@pytest.mark.anyio
async def test_recording_again_changes_nothing(tmp_path: Path) -> None:
    """Two recordings from two servers hold the same requests and responses, at the provider's own address."""
    recorded: list[list[Any]] = []
    for run in ('first', 'second'):
        async with serve(SCRIPT) as origin:
            recorded.append(await record(tmp_path / run, origin=origin))
    first, second = recorded
    assert first == second
    assert [[request['uri'] for request, _ in file] for file in first] == [
        ['https://api.openai.com/v1/chat/completions'] * 2,
        ['https://api.openai.com/v1/chat/completions'],
    ]


@pytest.mark.anyio
async def test_a_recording_replays_without_the_emulator(tmp_path: Path) -> None:
    """Replies and faults come from the file alone once they are recorded."""
    async with serve(SCRIPT) as origin:
        await record(tmp_path, origin=origin)
    assert await outcome('tools', streamed=False, path=tmp_path / 'tools.yaml') == 'Done.'
    with pytest.raises(ModelConnectionError):
        await outcome('cut', streamed=True, path=tmp_path / 'cut.yaml')
