"""Keys of every provider's shape, planted wherever traffic can hold one: none of them reaches a file."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from advisor_harness.cassettes import SecretLeak, cassette_client, use_cassette

from .support import ScriptedServer, ServerRequest, head, json_reply, read_yaml, sse

pytestmark = pytest.mark.anyio

ORIGIN = 'https://api.example.com'
BODY = 'Zq7Wx2Rt9Yp4Lk8Mn3Vb6Ds1Hf5Gj0Ac2Ue7Io4'  # 40 characters without any meaning
KEYS = {
    'openai': f'sk-proj-{BODY}',
    'anthropic': f'sk-ant-api03-{BODY}-AA',
    'openrouter': f'sk-or-v1-{BODY}',
    'deepseek': f'sk-{BODY}',
    'google': f'AIzaSy{BODY[:33]}',
    'google token': f'ya29.{BODY}',
    'groq': f'gsk_{BODY}',
    'xai': f'xai-{BODY}',
    'huggingface': f'hf_{BODY[:34]}',
    'cerebras': f'csk-{BODY}',
    'fireworks': f'fw_{BODY[:24]}',
    'perplexity': f'pplx-{BODY}',
    'replicate': f'r8_{BODY[:37]}',
    'aws': f'AKIA{BODY[:16].upper()}',
    'aws session': f'ASIA{BODY[:16].upper()}',
    'github': f'ghp_{BODY[:36]}',
    'github fine': f'github_pat_{BODY}_{BODY}',
    'logfire': f'pylf_v1_us_{BODY}',
}
SHAPELESS = {'mistral': BODY[:32], 'cohere': BODY, 'azure': BODY[:32].lower()}
"""Keys that look like any other text: known by the place where they stand only."""


def multipart(**fields: str) -> dict[str, Any]:
    """A request's body as a form with parts."""
    parts = ''.join(
        f'--b0\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{v}\r\n' for name, v in fields.items()
    )
    return {'content': f'{parts}--b0--\r\n', 'headers': {'content-type': 'multipart/form-data; boundary=b0'}}


def requests_of(key: str) -> list[dict[str, Any]]:
    """One request for each place that can hold a key by its name: none of them repeats it elsewhere."""
    return [
        {'headers': {'authorization': f'Bearer {key}', 'x-other': key}, 'json': {}},
        {'headers': {'x-api-key': key, 'api-key': key, 'x-goog-api-key': key, 'cookie': f'sid={key}'}, 'json': {}},
        {'url': f'{ORIGIN}/v1?key={key}&alt=sse', 'json': {}},
        {'url': f'https://user:{key}@api.example.com/v1?X-Amz-Signature={key}', 'json': {}},
        {'json': {'deep': [{'api_key': key, 'arguments': json.dumps({'password': key})}]}},
        {'data': {'client_secret': key, 'grant': 'x'}},
        multipart(purpose='x', api_key=key),
        multipart(file=json.dumps({'access_token': key})),
    ]


def texts_of(key: str) -> list[dict[str, Any]]:
    """One request for each place where a key is known by its shape."""
    return [
        {'url': f'{ORIGIN}/v1/{key}/x', 'json': {}},
        {'json': {'messages': [{'content': f'my key is {key}, is it safe?'}], key: 1}},
        {'content': f'plain {key}', 'headers': {'content-type': 'text/plain'}},
        multipart(prompt=f'use {key}.'),
    ]


async def record(path: Path, requests: list[dict[str, Any]], answer: bytes = b'') -> None:
    async def handler(request: ServerRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(answer or json_reply({'ok': True}))

    async with ScriptedServer.run(handler) as server:
        with use_cassette(path, mode='record', upstream={ORIGIN: server.origin}):
            await send(requests)
    assert len(server.requests) == len(requests)


async def send(requests: list[dict[str, Any]]) -> None:
    for request in requests:
        await cassette_client().post(**{'url': f'{ORIGIN}/v1', **request})


@pytest.mark.parametrize('provider', [*KEYS, *SHAPELESS])
async def test_keys_do_not_reach_the_file(tmp_path: Path, provider: str) -> None:
    """C25: in headers, URLs, JSON, forms and parts keys are scrubbed, and requests that hold them still match."""
    path, key = tmp_path / 'x.yaml', {**KEYS, **SHAPELESS}[provider]
    requests = [*requests_of(key), *(texts_of(key) if provider in KEYS else [])]

    await record(path, requests)
    with use_cassette(path) as cassette:
        await send(requests)
        cassette.check()

    text = path.read_text()
    assert key not in text
    assert key[8:] not in text
    assert all(set(i['request']['headers']) <= NEEDED for i in read_yaml(path)['interactions'])


NEEDED = {'accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host'}


@pytest.mark.parametrize('provider', KEYS)
@pytest.mark.parametrize('place', ['json', 'stream', 'pieces', 'text', 'bytes'])
async def test_keys_in_answers_do_not_reach_the_file(tmp_path: Path, provider: str, place: str) -> None:
    """C25: what an answer holds is scrubbed too, in whichever body it comes, and in pieces."""
    path, key = tmp_path / 'x.yaml', KEYS[provider]
    answers = {
        'json': json_reply({'content': [{'text': f'Take {key}.'}]}),
        'stream': head(content_type='text/event-stream') + sse(json.dumps({'delta': {'text': f'Take {key}.'}})),
        'pieces': head(content_type='text/event-stream')
        + sse(*(json.dumps({'delta': {'text': piece}}) for piece in ('Take ', key[:6], key[6:20], key[20:] + ' .'))),
        'text': head(content_type='text/plain') + f'Take {key}.'.encode(),
        'bytes': head(content_type='application/octet-stream') + b'\xff\x00 ' + key.encode() + b' \xfe',
    }
    await record(path, [{'json': {}}], answers[place])

    stored = read_yaml(path)['interactions'][0]['response']
    assert key.encode() not in repr(stored).encode()
    assert key[8:20] not in repr(stored)
    assert 'scrubbed' in repr(stored)


@pytest.mark.parametrize('provider', SHAPELESS)
@pytest.mark.parametrize('place', ['json', 'escaped', 'stream', 'pieces', 'text', 'bytes'])
async def test_an_echo_stops_the_recording(tmp_path: Path, provider: str, place: str) -> None:
    """C26: a key without a shape that comes back stops the save: no file, none half done, and the key is not told."""
    key = SHAPELESS[provider]
    answers = {
        'json': json_reply({'you_sent': [key]}),
        'escaped': json_reply({'arguments': json.dumps({'header': key})}),
        'stream': head(content_type='text/event-stream') + sse(json.dumps({'delta': key})),
        'pieces': head(content_type='text/event-stream')
        + sse(*(json.dumps({'choices': [{'delta': {'content': piece}}]}) for piece in (key[:9], key[9:15], key[15:]))),
        'text': head(content_type='text/plain') + key.encode(),
        'bytes': head(content_type='image/png') + b'\xff' + key.encode(),
    }

    with pytest.raises(SecretLeak) as caught:
        await record(tmp_path / 'x.yaml', [{'json': {}, 'headers': {'x-api-key': key}}], answers[place])

    assert os.listdir(tmp_path) == []
    assert "the credential of header 'x-api-key' in $.interactions[0].response" in str(caught.value)
    assert key not in str(caught.value)


async def test_a_credential_in_the_url_is_sought_too(tmp_path: Path) -> None:
    """C26: the password of a URL is a credential of the run like that of a header."""
    path = tmp_path / 'x.yaml'
    cassette_url = 'https://ann:long-password@api.example.com/v1'

    with pytest.raises(SecretLeak, match='the credential of'):
        await record(path, [{'url': cassette_url, 'json': {}}], json_reply({'hint': 'long-password'}))

    assert not path.exists()
