from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pydantic_ai.models
import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import UserError
from pydantic_ai.models.test import TestModel

from advisor_harness.cassettes import (
    CassetteError,
    CassetteModels,
    cassette_client,
    legacy_cassette_client,
    use_cassette,
)
from advisor_harness.cassettes.cassette import PLACEHOLDER_KEY

from .support import entry, openai_chat, write_cassette

VARIABLES = [
    'OPENAI_API_KEY',
    'OPENAI_BASE_URL',
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_BASE_URL',
    'OPENROUTER_API_KEY',
    'MISTRAL_API_KEY',
    'GROQ_API_KEY',
    'GROQ_BASE_URL',
    'GOOGLE_API_KEY',
    'GEMINI_API_KEY',
    'GOOGLE_GEMINI_BASE_URL',
]
URL = 'https://api.openai.com/v1/chat/completions'


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that names no provider."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def sync_loop() -> Iterator[None]:
    """A loop for `run_sync`, which would otherwise leave one open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.mark.parametrize(
    ('name', 'model_class', 'base_url'),
    [
        ('openai-chat:m', 'OpenAIChatModel', 'https://api.openai.com/v1/'),
        ('openai:m', 'OpenAIResponsesModel', 'https://api.openai.com/v1/'),
        ('openai-responses:m', 'OpenAIResponsesModel', 'https://api.openai.com/v1/'),
        ('anthropic:m', 'AnthropicModel', 'https://api.anthropic.com'),
        ('openrouter:a/m', 'OpenRouterModel', 'https://openrouter.ai/api/v1/'),
        ('google:m', 'GoogleModel', 'https://generativelanguage.googleapis.com'),
        ('mistral:m', 'MistralModel', 'https://api.mistral.ai'),
        ('groq:m', 'GroqModel', 'https://api.groq.com'),
        ('deepseek:m', 'OpenAIChatModel', 'https://api.deepseek.com'),
    ],
)
def test_names_become_models_without_keys(
    monkeypatch: pytest.MonkeyPatch, name: str, model_class: str, base_url: str
) -> None:
    """In a replay a model needs no key, and goes to its provider's own endpoint whatever the environment says."""
    for variable in ('OPENAI_BASE_URL', 'ANTHROPIC_BASE_URL', 'GROQ_BASE_URL', 'GOOGLE_GEMINI_BASE_URL'):
        monkeypatch.setenv(variable, 'https://elsewhere.test')

    model = CassetteModels.model(name)

    assert (type(model).__name__, str(model.base_url).rstrip('/')) == (model_class, base_url.rstrip('/'))


def test_models_use_the_shared_clients() -> None:
    """Providers get the client that follows the active cassette, each of the library that its SDK needs."""
    openai: Any = CassetteModels.model('openai-chat:m')
    groq: Any = CassetteModels.model('groq:m')

    assert openai.client._client is cassette_client()
    assert openai.client.api_key == PLACEHOLDER_KEY
    assert groq.client._client is legacy_cassette_client()


def test_a_real_key_stays_out_of_a_replay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A replay never reads the key of the environment; a recording does."""
    monkeypatch.setenv('OPENAI_API_KEY', 'environment-key')
    openai: Any
    with use_cassette(write_cassette(tmp_path / 'x.yaml')):
        openai = CassetteModels.model('openai-chat:m')
        assert openai.client.api_key == PLACEHOLDER_KEY
    with use_cassette(tmp_path / 'x.yaml', mode='live'):
        openai = CassetteModels.model('openai-chat:m')
        assert openai.client.api_key == 'environment-key'


@pytest.mark.parametrize(
    ('name', 'origin', 'variable'),
    [
        ('openai-chat:m', 'https://api.openai.com', 'OPENAI_API_KEY'),
        ('google:m', 'https://generativelanguage.googleapis.com', 'GEMINI_API_KEY'),
        ('openrouter:a/m', 'https://openrouter.ai', 'OPENROUTER_API_KEY'),
    ],
)
def test_rerouted_recordings_need_no_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, origin: str, variable: str
) -> None:
    """What answers instead of a provider gets the key of the environment, or a placeholder where there is none."""

    def key() -> str:
        model: Any = CassetteModels.model(name)
        client = model.client
        return client.api_key if hasattr(client, 'api_key') else client._api_client.api_key

    with use_cassette(tmp_path / 'x.yaml', mode='live', upstream={origin: 'http://127.0.0.1:9'}):
        without = key()
        monkeypatch.setenv(variable, 'environment-key')
        assert (without, key()) == (PLACEHOLDER_KEY, 'environment-key')


def test_a_recording_without_a_key_says_what_to_set(tmp_path: Path) -> None:
    """Towards the real provider the missing key is reported by the provider's own error."""
    with use_cassette(tmp_path / 'x.yaml', mode='live'), pytest.raises(UserError, match='OPENAI_API_KEY'):
        CassetteModels.model('openai-chat:m')


def test_a_recording_does_not_depend_on_a_moved_endpoint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An endpoint that the environment moves would be in the file, so it has to be named instead."""
    monkeypatch.setenv('OPENAI_API_KEY', 'environment-key')
    monkeypatch.setenv('OPENAI_BASE_URL', 'https://gateway.test/v1')

    with use_cassette(tmp_path / 'x.yaml', mode='live'), pytest.raises(CassetteError) as caught:
        CassetteModels.model('openai-chat:m')

    assert str(caught.value) == (
        "OPENAI_BASE_URL is set to 'https://gateway.test/v1', so a recording would depend on this machine. Unset it, "
        'or name the way in `use_cassette(upstream=...)`, from the origin of https://api.openai.com/v1.'
    )


@pytest.mark.parametrize('name', ['openai-codex', 'gateway/openai'])
def test_unreachable_providers_are_refused(name: str) -> None:
    """A provider whose requests would not go through the cassette is refused with a way out."""
    with pytest.raises(CassetteError) as caught:
        CassetteModels.model(f'{name}:m')
    assert str(caught.value) == (
        f'Models of {name!r} cannot be recorded or replayed by name: they need more than a key and a client. '
        'Use another provider, or give the agent a `Model` whose provider uses `cassette_client()`.'
    )


@pytest.mark.usefixtures('sync_loop')
def test_unknown_names_are_left_to_others() -> None:
    """A name without a known provider gets the error, or the model, that it always gets."""
    with pytest.raises(UserError, match='Unknown model: nobody:m'):
        CassetteModels.model('nobody:m')
    assert isinstance(CassetteModels.model('test'), TestModel)
    assert Agent('test', capabilities=[CassetteModels()]).run_sync('x').output == 'success (no tool calls)'


@pytest.mark.usefixtures('sync_loop')
def test_an_agent_resolves_its_names(tmp_path: Path) -> None:
    """C15: with the capability, an agent whose model is a name is answered by the cassette, in sync code too."""
    asked = {'model': 'm', 'stream': False, 'messages': [{'role': 'user', 'content': '2+2?'}]}
    path = write_cassette(tmp_path / 'x.yaml', entry(asked, openai_chat('four'), url=URL))
    agent = Agent('openai-chat:m', capabilities=[CassetteModels()])

    with use_cassette(path) as cassette:
        assert agent.run_sync('2+2?').output == 'four'
        cassette.check()


def test_requests_stay_forbidden_where_they_are(tmp_path: Path) -> None:
    """`ALLOW_MODEL_REQUESTS` is the caller's; a replay neither lifts nor needs to know it."""
    agent = Agent('openai-chat:m', capabilities=[CassetteModels()])

    with (
        use_cassette(write_cassette(tmp_path / 'x.yaml')) as cassette,
        pydantic_ai.models.override_allow_model_requests(False),
        pytest.raises(RuntimeError, match='ALLOW_MODEL_REQUESTS is False'),
    ):
        asyncio.run(agent.run('2+2?'))

    assert cassette.misses == []
