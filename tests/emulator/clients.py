"""Real models of pydantic-ai whose requests to their providers go to the emulator, as a recorder sends them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.models.openrouter import OpenRouterModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openrouter import OpenRouterProvider

from .script import Api
from .server import EmulatorError, Source, serve

KEY = 'not-a-key'

MODELS: dict[Api, str] = {
    'anthropic': 'claude-haiku-4-5',
    'openai-chat': 'gpt-4o-mini',
    'openai-responses': 'gpt-4o-mini',
    'openrouter': 'openai/gpt-4o-mini',
}

both = pytest.mark.parametrize('streamed', [False, True], ids=['run', 'stream'])
apis = pytest.mark.parametrize('api', list(MODELS))


@dataclass
class Upstream(httpx2.AsyncBaseTransport):
    """Sends every request to one origin, whatever its own; paths stay as they are."""

    origin: str
    inner: httpx2.AsyncHTTPTransport = field(default_factory=httpx2.AsyncHTTPTransport)
    sent: list[httpx2.Request] = field(default_factory=list)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(request)
        target = httpx2.URL(self.origin)
        request.url = request.url.copy_with(scheme=target.scheme, host=target.host, port=target.port)
        return await self.inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self.inner.aclose()


@dataclass
class Clients:
    """Models over one client."""

    http: httpx2.AsyncClient
    upstream: Upstream

    def model(self, api: Api, name: str | None = None) -> Model[Any]:
        """A model that speaks `api`."""
        name = name or MODELS[api]
        match api:
            case 'anthropic':
                return AnthropicModel(name, provider=AnthropicProvider(api_key=KEY, http_client=self.http))
            case 'openai-chat':
                return OpenAIChatModel(name, provider=OpenAIProvider(api_key=KEY, http_client=self.http))
            case 'openai-responses':
                return OpenAIResponsesModel(name, provider=OpenAIProvider(api_key=KEY, http_client=self.http))
            case 'openrouter':
                return OpenRouterModel(name, provider=OpenRouterProvider(api_key=KEY, http_client=self.http))

    @property
    def attempts(self) -> int:
        """Requests sent so far, retries of the SDKs included."""
        return len(self.upstream.sent)


@asynccontextmanager
async def clients_of(origin: str) -> AsyncGenerator[Clients]:
    """Clients of a server that runs."""
    upstream = Upstream(origin)
    async with httpx2.AsyncClient(transport=upstream, timeout=10) as http:
        yield Clients(http, upstream)


@asynccontextmanager
async def emulating(*scripts: Source) -> AsyncGenerator[Clients]:
    """Serve scripts for as long as the block runs, and give clients of them."""
    async with serve(*scripts) as origin, clients_of(origin) as clients:
        yield clients


def script(*replies: Any, when: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A script of one conversation, which answers everything."""
    return {
        'name': 'test',
        'conversations': [{'name': 'only', 'when': when or {'user': ''}, 'replies': replies, **more}],
    }


def conversation(name: str, *replies: Any) -> dict[str, Any]:
    """A conversation that answers prompts which contain its name in brackets."""
    return {'name': name, 'when': {'user': f'[{name}]'}, 'replies': list(replies)}


async def ask(model: Model[Any], prompt: str, *, streamed: bool, **options: Any) -> list[ModelResponse]:
    """The responses of a run of an agent with the tool `look`; the run is the same, streamed or not."""
    # From 21,334 tokens on Anthropic's SDK streams by itself.
    agent = Agent(model, model_settings={'max_tokens': 4096, 'max_retries': 0}, **options)

    @agent.tool_plain
    def look(q: str) -> str:
        return f'found {q}'

    result = await agent.run(prompt, event_stream_handler=_drain if streamed else None)
    return [message for message in result.all_messages() if isinstance(message, ModelResponse)]


async def refused(api: Api, reply: dict[str, Any], **options: Any) -> tuple[str, ModelHTTPError]:
    """Ask for a reply that the API cannot express: what the server says at its end, and what the client got."""
    errors: list[ModelHTTPError] = []

    async def run() -> None:
        async with emulating(script(reply)) as clients:
            with pytest.raises(ModelHTTPError) as caught:
                await ask(clients.model(api), 'hi', streamed=False, **options)
            errors.append(caught.value)

    with pytest.raises(EmulatorError) as caught:
        await run()
    return str(caught.value), errors[0]


def told(part: Any) -> tuple[Any, ...]:
    """What a part says, without ids and times."""
    match part:
        case TextPart() | ThinkingPart():
            return part.part_kind, part.content
        case ToolCallPart():
            return part.tool_name, part.args_as_dict()
        case NativeToolCallPart():
            return 'consult', part.args_as_dict()
        case NativeToolReturnPart():
            return 'advice', part.content
    raise AssertionError(part)


async def _drain(_: Any, events: AsyncIterable[Any]) -> None:
    async for _event in events:
        pass
