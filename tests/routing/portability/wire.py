"""Models of every provider whose SDK is installed, and the bodies that they send."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx
import httpx2
import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ModelResponsePart, UserPromptPart
from pydantic_ai.models import Model

from advisor_harness import Portability, PortableModel
from advisor_harness.routing import PortabilityError, PortabilityReport

__all__ = ['TARGETS', 'Wire', 'answered', 'asked', 'installed', 'need']

TARGETS = ('anthropic', 'bedrock', 'chat', 'google', 'groq', 'mistral', 'openrouter', 'responses')
_SDKS = {'bedrock': 'boto3', 'google': 'google.genai', 'groq': 'groq', 'mistral': 'mistralai', 'anthropic': 'anthropic'}


@dataclass
class Wire:
    """What was sent, and what was reported about it."""

    bodies: list[Any] = field(default_factory=list[Any])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    reports: list[PortabilityReport] = field(default_factory=list[PortabilityReport])
    refusals: list[PortabilityError] = field(default_factory=list[PortabilityError])

    def model(self, target: str, name: str | None = None, base_url: str | None = None) -> Model:
        """A model of a provider; its requests are kept here, until another wire asks for it, and refused with 400."""
        need(target)
        line, model = _made(target, name, base_url)
        line.wire = self
        return model

    async def body(
        self,
        model: Model,
        history: Sequence[ModelMessage],
        prompt: Any = 'next?',
        *,
        portability: Portability | None = None,
        **run: Any,
    ) -> Any:
        """The body of the request that continues `history`; `None` if it was refused."""
        portable = PortableModel(model, portability, on_report=self.reports.append)
        agent = Agent(portable, capabilities=run.pop('capabilities', ()), tools=run.pop('tools', ()))
        before = len(self.bodies)
        with suppress(ModelHTTPError):
            try:
                await agent.run(prompt, message_history=list(history), **run)
            except PortabilityError as error:
                self.refusals.append(error)
        sent = self.bodies[before:]
        assert len(sent) <= 1
        return sent[0] if sent else None


@dataclass
class Line:
    """Leads the requests of one model to the wire that asked for it last: making a model takes longer than using it."""

    wire: Wire = field(default_factory=Wire)

    def keep(self, request: httpx2.Request | httpx.Request) -> None:
        self.wire.bodies.append(json.loads(request.content))
        self.wire.headers.append(dict(request.headers))

    @property
    def http2(self) -> httpx2.AsyncClient:
        """A client of the kind that most SDKs take."""

        def refuse(request: httpx2.Request) -> httpx2.Response:
            self.keep(request)
            return httpx2.Response(400, json={'error': {'message': 'captured'}})

        return httpx2.AsyncClient(transport=httpx2.MockTransport(refuse))

    @property
    def http(self) -> httpx.AsyncClient:
        """A client of the kind that Groq's SDK takes."""

        def refuse(request: httpx.Request) -> httpx.Response:
            self.keep(request)
            return httpx.Response(400, json={'error': {'message': 'captured'}})

        return httpx.AsyncClient(transport=httpx.MockTransport(refuse))


@cache
def _made(target: str, name: str | None, base_url: str | None) -> tuple[Line, Model]:
    line = Line()
    return line, _MODELS[target](line, name, base_url)


def installed(target: str) -> bool:
    """Whether the SDK of a provider is there."""
    sdk = _SDKS.get(target, 'openai')
    return importlib.util.find_spec(sdk.partition('.')[0]) is not None and importlib.util.find_spec(sdk) is not None


def need(target: str) -> None:
    """Skip the test where the SDK of a provider is not installed."""
    if not installed(target):
        pytest.skip(f'{target} needs {_SDKS.get(target, "openai")}, which is not installed')


def asked(*content: Any) -> ModelRequest:
    """A user's turn."""
    return ModelRequest(parts=[UserPromptPart(content[0] if len(content) == 1 else list(content))])


def answered(provider: str | None, *parts: ModelResponsePart, **known: Any) -> ModelResponse:
    """A response of a provider."""
    return ModelResponse(parts=list(parts), provider_name=provider, **known)


def _anthropic(line: Line, name: str | None, base_url: str | None) -> Model:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    provider = AnthropicProvider(api_key='k', http_client=line.http2)
    return AnthropicModel(name or 'claude-haiku-4-5', provider=provider)


def _bedrock(line: Line, name: str | None, base_url: str | None) -> Model:
    import boto3
    from botocore.awsrequest import AWSResponse
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    class Raw:
        def stream(self) -> Any:
            yield b'{"message": "captured"}'

    def refuse(request: Any, **_: Any) -> AWSResponse:
        line.wire.bodies.append(json.loads(request.body))
        line.wire.headers.append({})
        headers = {'x-amzn-errortype': 'ValidationException'}
        return AWSResponse(request.url, 400, headers, Raw())

    keys = {'aws_access_key_id': 'k', 'aws_secret_access_key': 'k'}
    client = boto3.client('bedrock-runtime', region_name='us-east-1', **keys)
    client.meta.events.register('before-send.bedrock-runtime', refuse)
    provider = BedrockProvider(bedrock_client=client)
    return BedrockConverseModel(name or 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', provider=provider)


def _chat(line: Line, name: str | None, base_url: str | None) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel(name or 'gpt-5.2', provider=OpenAIProvider(base_url, api_key='k', http_client=line.http2))


def _responses(line: Line, name: str | None, base_url: str | None) -> Model:
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url, api_key='k', http_client=line.http2)
    return OpenAIResponsesModel(name or 'gpt-5.2', provider=provider)


def _google(line: Line, name: str | None, base_url: str | None) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(name or 'gemini-3-pro-preview', provider=GoogleProvider(api_key='k', http_client=line.http2))


def _groq(line: Line, name: str | None, base_url: str | None) -> Model:
    from pydantic_ai.models.groq import GroqModel
    from pydantic_ai.providers.groq import GroqProvider

    return GroqModel(name or 'llama-3.3-70b-versatile', provider=GroqProvider(api_key='k', http_client=line.http))


def _mistral(line: Line, name: str | None, base_url: str | None) -> Model:
    from pydantic_ai.models.mistral import MistralModel
    from pydantic_ai.providers.mistral import MistralProvider

    return MistralModel(name or 'mistral-large-latest', provider=MistralProvider(api_key='k', http_client=line.http2))


def _openrouter(line: Line, name: str | None, base_url: str | None) -> Model:
    from pydantic_ai.models.openrouter import OpenRouterModel
    from pydantic_ai.providers.openrouter import OpenRouterProvider

    provider = OpenRouterProvider(api_key='k', http_client=line.http2)
    return OpenRouterModel(name or 'anthropic/claude-sonnet-4.5', provider=provider)


_MODELS: dict[str, Callable[[Line, str | None, str | None], Model]] = {
    'anthropic': _anthropic,
    'bedrock': _bedrock,
    'chat': _chat,
    'google': _google,
    'groq': _groq,
    'mistral': _mistral,
    'openrouter': _openrouter,
    'responses': _responses,
}
