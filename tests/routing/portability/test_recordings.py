"""What real providers answered, continued by every other provider in its shape and without opaque data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic_ai import direct
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model, ModelRequestParameters

from advisor_harness import Portability
from advisor_harness.cassettes.cassette import Cassette
from advisor_harness.cassettes.interaction import Interaction
from advisor_harness.routing.identity import identity
from advisor_harness.routing.portability import explain
from tests.cassettes.support import open_cassette
from tests.routing.portability.shapes import problems
from tests.routing.portability.wire import TARGETS, Wire, asked, need

pytestmark = pytest.mark.anyio

RULES = Portability(media='convert', uploaded_files='convert')
PLACES = {
    'api.anthropic.com': 'anthropic',
    'api.openai.com/v1/chat': 'chat',
    'api.openai.com/v1/responses': 'responses',
    'generativelanguage': 'google',
    'mistral.ai': 'mistral',
    'openrouter': 'openrouter',
}
MODELS = {
    'anthropic': ('anthropic', 'AnthropicModel', 'AnthropicProvider'),
    'chat': ('openai', 'OpenAIChatModel', 'OpenAIProvider'),
    'responses': ('openai', 'OpenAIResponsesModel', 'OpenAIProvider'),
    'google': ('google', 'GoogleModel', 'GoogleProvider'),
    'mistral': ('mistral', 'MistralModel', 'MistralProvider'),
    'openrouter': ('openrouter', 'OpenRouterModel', 'OpenRouterProvider'),
}
MODEL_NAMES = {
    'anthropic': 'claude-haiku-4-5',
    'google': 'gemini-3-pro-preview',
    'mistral': 'magistral-medium-latest',
    'openai': 'gpt-5.2',
    'openrouter': 'openai/gpt-4o-mini',
}
_READ: dict[str, tuple[list[ModelMessage], set[str]]] = {}

OPAQUE_KEYS = ('encrypted', 'signature', 'container_id')


@pytest.mark.parametrize('target', TARGETS)
async def test_recorded_turns_are_continued_by_every_provider(shared_cassettes: Path, target: str) -> None:
    """Thinking, tools and native tools of real answers reach every other API in its shape."""
    need(target)
    continued = 0
    for file, (history, writers) in (await recorded_histories(shared_cassettes)).items():
        wire = Wire()
        model = wire.model(target)
        if not writers or identity(model) in writers:
            continue
        foretold = explain([*history, asked('next?')], model, portability=RULES)
        body = await wire.body(model, history, portability=RULES)
        assert (file, problems(target, body)) == (file, [])
        sent = json.dumps(body)
        assert [secret for secret in opaque(history) if secret in sent] == []
        assert wire.reports == [foretold]
        continued += 1
    assert continued >= 8


async def recorded_histories(folder: Path) -> dict[str, tuple[list[ModelMessage], set[str]]]:
    """The conversations of all recordings by file name; they are read once per process."""
    if not _READ:
        for file, cassette in cassettes(folder).items():
            _READ[file] = await recorded_history(cassette)
    return _READ


def cassettes(folder: Path) -> dict[str, Cassette]:
    """All recordings by file name."""
    return {file.name: open_cassette(file) for file in sorted(folder.glob('*.yaml'))}


async def recorded_history(cassette: Cassette) -> tuple[list[ModelMessage], set[str]]:
    """The conversation that a recording holds, its calls answered, and the places that wrote it."""
    history: list[ModelMessage] = []
    writers: set[str] = set()
    for interaction in cassette.interactions:
        if interaction.response.status != 200 or (model := _writer(interaction)) is None:
            continue
        response = await _read(model, interaction)
        if response is None:
            continue
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        results = [ToolReturnPart(call.tool_name, 'Mexico', call.tool_call_id) for call in calls]
        history.extend([asked('q'), response, *([ModelRequest(parts=results)] if results else [])])
        writers.add(identity(model))
    return history, writers


async def _read(model: Model, interaction: Interaction) -> ModelResponse | None:
    """The recorded answer, read by the adapter of its provider."""
    parameters = ModelRequestParameters()
    with suppress(AgentRunError):
        if 'event-stream' in interaction.response.content_type:
            async with direct.model_request_stream(model, [asked('q')], model_request_parameters=parameters) as stream:
                _ = [event async for event in stream]
                return stream.get()
        return await direct.model_request(
            model, [asked('q')], model_settings={'max_tokens': 1000}, model_request_parameters=parameters
        )
    return None


def _writer(interaction: Interaction) -> Model | None:
    """The model of the provider that answered; its next request gets that answer."""
    url = interaction.request.url
    place = next((name for part, name in PLACES.items() if part in url), None)
    if place is None:
        return None
    model, answers = _model_of(place)
    answers[:] = [interaction]
    return model


@cache
def _model_of(place: str) -> tuple[Model, list[Interaction]]:
    answers: list[Interaction] = []

    def answer(_: httpx2.Request) -> httpx2.Response:
        recorded = answers[0].response
        return httpx2.Response(200, headers={'content-type': recorded.content_type}, content=recorded.body)

    keys: Any = {'api_key': 'k', 'http_client': httpx2.AsyncClient(transport=httpx2.MockTransport(answer))}
    name, model, provider = MODELS[place]
    classes = import_module(f'pydantic_ai.models.{name}'), import_module(f'pydantic_ai.providers.{name}')
    made = getattr(classes[0], model)(MODEL_NAMES[name], provider=getattr(classes[1], provider)(**keys))
    return made, answers


def opaque(history: list[ModelMessage]) -> set[str]:
    """Everything in the history that only its provider can read."""
    found: set[str] = set()
    for message in history:
        if not isinstance(message, ModelResponse):
            continue
        found.update(i for i in (message.provider_response_id,) if i)
        for part in message.parts:
            found.update(i for i in (getattr(part, 'id', None), getattr(part, 'signature', None)) if i and len(i) > 20)
            for held in (getattr(part, 'content', None), part.provider_details):
                found.update(_sealed(held))
    return found


def _sealed(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str) and any(word in key for word in OPAQUE_KEYS) and len(item) > 20:
                yield item
            yield from _sealed(item)
    elif isinstance(value, list):
        for item in value:
            yield from _sealed(item)
