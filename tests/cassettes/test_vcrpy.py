"""Files are exchanged with vcrpy, the tool that made the format; its own layout and the one with JSON as YAML."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
import yaml

from advisor_harness.cassettes import CassetteTransport

from .support import ScriptedServer, ServerRequest, client_of, head, json_reply, open_cassette, sse

vcr = pytest.importorskip('vcr', reason='vcrpy is not installed')
pytestmark = pytest.mark.anyio

JSON = {'z': 'naïve', 'a': [1, 2.5, None, True]}
EVENTS = sse('{"delta": "4"}', '[DONE]')


async def provider(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
    """JSON, compressed JSON or a stream, as the request asks."""
    match request.json['want']:
        case 'json':
            writer.write(json_reply(JSON))
        case 'gzip':
            body = gzip.compress(json.dumps(JSON).encode())
            length = str(len(body))
            writer.write(head(content_type='application/json', content_encoding='gzip', content_length=length) + body)
        case _:
            writer.write(head(content_type='text/event-stream') + EVENTS)


async def ask_all(client: httpx2.AsyncClient, origin: str) -> list[Any]:
    answers = [await client.post(f'{origin}/v1/chat', json={'want': want}) for want in ('json', 'gzip', 'stream')]
    return [answers[0].json(), answers[1].json(), answers[2].content]


def load(text: str) -> Any:
    """JSON that stands as YAML becomes the text that vcrpy expects."""
    document = yaml.safe_load(text)
    for interaction in document['interactions']:
        for side, data in interaction.items():
            if (value := data.pop('parsed_body', None)) is not None:
                data['body'] = {'string': json.dumps(value)} if side == 'response' else json.dumps(value)
    return document


def save(document: Any) -> str:
    """JSON text becomes YAML, the layout of recordings with `parsed_body`."""
    for interaction in document['interactions']:
        for data in interaction.values():
            body = data['body']['string'] if isinstance(data['body'], dict) else data['body']
            kind = next((v for k, v in data['headers'].items() if k.lower() == 'content-type'), [''])
            if kind[0].startswith('application/json'):
                data['parsed_body'] = json.loads(body)
                del data['body']
    return yaml.safe_dump(document, allow_unicode=True)


@pytest.mark.parametrize('layout', ['its own', 'JSON as YAML'])
async def test_its_recordings_replay_here(tmp_path: Path, layout: str) -> None:
    """C7: what vcrpy recorded, compressed or not, in either layout, is replayed."""
    path = tmp_path / 'x.yaml'
    recorder = vcr.VCR(record_mode='all', decode_compressed_response=layout != 'its own')
    recorder.register_serializer('with-yaml', SimpleNamespace(deserialize=load, serialize=save))
    serializer = 'yaml' if layout == 'its own' else 'with-yaml'

    async with ScriptedServer.run(provider) as server, httpx2.AsyncClient(trust_env=False) as client:
        with recorder.use_cassette(str(path), serializer=serializer):
            recorded = await ask_all(client, server.origin)
    cassette = open_cassette(path)
    async with client_of(cassette) as client:
        replayed = await ask_all(client, server.origin)

    cassette.check()
    assert replayed == recorded == [JSON, JSON, EVENTS]


async def test_our_recordings_replay_there(tmp_path: Path) -> None:
    """C7: what is recorded here, provenance and latency included, is replayed by vcrpy with that layout's loader."""
    path = tmp_path / 'x.yaml'
    async with ScriptedServer.run(provider) as server:
        cassette = open_cassette(path, 'record', recorded_with={'by': 'emulator'})
        async with httpx2.AsyncClient(transport=CassetteTransport(cassette=cassette)) as client:
            recorded = await ask_all(client, server.origin)
        cassette.save()

    player = vcr.VCR(record_mode='none')
    player.register_serializer('with-yaml', SimpleNamespace(deserialize=load, serialize=save))
    async with httpx2.AsyncClient(trust_env=False) as client:
        with player.use_cassette(str(path), serializer='with-yaml', match_on=['method', 'uri', 'body']):
            replayed = await ask_all(client, server.origin)

    assert replayed == recorded == [JSON, JSON, EVENTS]
