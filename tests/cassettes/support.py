"""What the tests of this room share: a scripted server, clients over a cassette, and bodies in provider shapes."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import yaml

from advisor_harness.cassettes import Cassette, CassetteTransport
from advisor_harness.cassettes.cassette import Mode

URL = 'https://api.example.com/v1/chat'


def entry(
    sent: Any = None,
    answer: Any = None,
    *,
    status: int = 200,
    url: str = URL,
    headers: dict[str, list[str]] | None = None,
    **response: Any,
) -> dict[str, Any]:
    """One interaction as it stands in a file: JSON on both sides; keywords go into the response."""
    request: dict[str, Any] = {'headers': {'content-type': ['application/json']}, 'method': 'POST', 'uri': url}
    reply: dict[str, Any] = {
        'headers': headers or {'content-type': ['application/json']},
        'status': {'code': status, 'message': ''},
    }
    if sent is not None:
        request['parsed_body'] = sent
    if answer is not None:
        reply['parsed_body'] = answer
    return {'request': request, 'response': {**reply, **response}}


def write_cassette(path: Path, *entries: dict[str, Any], **top: Any) -> Path:
    """A cassette file with these interactions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({'interactions': list(entries), 'version': 1, **top}, sort_keys=False))
    return path


def read_yaml(path: Path) -> Any:
    """A file, as any YAML reader sees it."""
    return yaml.safe_load(path.read_text())


def client_of(cassette: Cassette, inner: Callable[[], httpx2.AsyncBaseTransport] | None = None) -> httpx2.AsyncClient:
    """A client that uses one cassette everywhere."""
    return httpx2.AsyncClient(transport=CassetteTransport(inner or no_inner, cassette=cassette))


def no_inner() -> httpx2.AsyncBaseTransport:
    """The network of a test that must not need one."""
    raise AssertionError('the network transport was made')


def answering(*answers: httpx2.Response | Exception) -> Callable[[], httpx2.AsyncBaseTransport]:
    """A network that gives these answers in order."""
    remaining = list(answers)

    def handler(request: httpx2.Request) -> httpx2.Response:
        answer = remaining.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return lambda: httpx2.MockTransport(handler)


def open_cassette(path: Path, mode: Mode = 'replay', **options: Any) -> Cassette:
    """A cassette without a session around it."""
    return Cassette.open(path, mode=mode, **options)


def sse(*events: str) -> bytes:
    """A body of server-sent events."""
    return ''.join(f'data: {event}\n\n' for event in events).encode()


class Chunks(httpx2.AsyncByteStream):
    """A body that arrives in these pieces; an exception among them is raised."""

    def __init__(self, *chunks: bytes | Exception) -> None:
        self.chunks = chunks
        self.sent = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            if isinstance(chunk, Exception):
                raise chunk
            self.sent += 1
            yield chunk

    async def aclose(self) -> None:
        self.closed = True


def streamed(*chunks: bytes | Exception, status: int = 200, content_type: str = 'text/event-stream') -> httpx2.Response:
    """A response of the network whose body was not read."""
    return httpx2.Response(status, headers={'content-type': content_type}, stream=Chunks(*chunks))


@dataclass(frozen=True)
class ServerRequest:
    """What reached the scripted server."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Handler = Callable[[ServerRequest, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class ScriptedServer:
    """A real HTTP/1.1 server on loopback that hands every request to one function; `requests` is what reached it."""

    handler: Handler
    requests: list[ServerRequest]
    origin: str = ''

    @classmethod
    @contextlib.asynccontextmanager
    async def run(cls, handler: Handler) -> AsyncIterator[ScriptedServer]:
        """Serve until the block is left."""
        this = cls(handler, [])
        server = await asyncio.start_server(this._connection, '127.0.0.1', 0)
        this.origin = f'http://127.0.0.1:{server.sockets[0].getsockname()[1]}'
        try:
            yield this
        finally:
            server.close()
            await server.wait_closed()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read_request(reader)
            self.requests.append(request)
            await self.handler(request, writer)
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


async def _read_request(reader: asyncio.StreamReader) -> ServerRequest:
    head = (await reader.readuntil(b'\r\n\r\n')).decode('latin-1').split('\r\n')
    method, target, _ = head[0].split(' ')
    pairs = (line.partition(':') for line in head[1:] if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get('content-length', '0')))
    return ServerRequest(method, target, headers, body)


def head(status: str = '200 OK', **headers: str) -> bytes:
    """A response's head; underscores in names are dashes. The body ends with the connection."""
    lines = [f'{name.replace("_", "-")}: {value}' for name, value in headers.items()]
    return ('\r\n'.join([f'HTTP/1.1 {status}', 'connection: close', *lines]) + '\r\n\r\n').encode()


def json_reply(value: Any, status: str = '200 OK', **headers: str) -> bytes:
    """A whole JSON response."""
    body = json.dumps(value, ensure_ascii=False).encode()
    return head(status, content_type='application/json', content_length=str(len(body)), **headers) + body


def openai_chat(text: str = 'four', **message: Any) -> dict[str, Any]:
    """A chat completion as OpenAI and OpenRouter send it."""
    return {
        'id': 'chatcmpl-1',
        'object': 'chat.completion',
        'created': 1,
        'model': 'gpt-test',
        'provider': 'OpenAI',
        'choices': [
            {
                'index': 0,
                'message': {'role': 'assistant', 'content': text, **message},
                'finish_reason': 'stop',
                'native_finish_reason': 'stop',
            }
        ],
        'usage': {'prompt_tokens': 3, 'completion_tokens': 2, 'total_tokens': 5},
    }


def openai_chunks(*texts: str) -> list[str]:
    """The events of a streamed chat completion, with `[DONE]`."""
    base = {
        'id': 'chatcmpl-1',
        'object': 'chat.completion.chunk',
        'created': 1,
        'model': 'gpt-test',
        'provider': 'OpenAI',
    }
    deltas = [{'index': 0, 'delta': {'role': 'assistant', 'content': text}, 'finish_reason': None} for text in texts]
    last = {'index': 0, 'delta': {}, 'finish_reason': 'stop'}
    return [*(json.dumps({**base, 'choices': [choice]}) for choice in [*deltas, last]), '[DONE]']


def anthropic_message(text: str = 'four') -> dict[str, Any]:
    """A message as Anthropic sends it."""
    return {
        'id': 'msg_1',
        'type': 'message',
        'role': 'assistant',
        'model': 'claude-test',
        'content': [{'type': 'text', 'text': text}],
        'stop_reason': 'end_turn',
        'stop_sequence': None,
        'usage': {'input_tokens': 3, 'output_tokens': 2},
    }


def anthropic_events(*texts: str) -> bytes:
    """The events of a streamed Anthropic message."""
    message = {**anthropic_message(), 'content': [], 'stop_reason': None}
    block = {'type': 'text', 'text': ''}
    events: Sequence[dict[str, Any]] = [
        {'type': 'message_start', 'message': message},
        {'type': 'content_block_start', 'index': 0, 'content_block': block},
        *({'type': 'content_block_delta', 'index': 0, 'delta': {'type': 'text_delta', 'text': t}} for t in texts),
        {'type': 'content_block_stop', 'index': 0},
        {'type': 'message_delta', 'delta': {'stop_reason': 'end_turn'}, 'usage': {'output_tokens': 2}},
        {'type': 'message_stop'},
    ]
    return ''.join(f'event: {event["type"]}\ndata: {json.dumps(event)}\n\n' for event in events).encode()
