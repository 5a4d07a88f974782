"""`CassetteModels`: model names of an agent, resolved to models whose requests go through the active cassette."""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import KnownModelName, Model, ModelResolutionContext, infer_model, parse_model_id
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.tools import AgentDepsT

from .active import active_cassette
from .cassette import PLACEHOLDER_KEY, Cassette
from .errors import CassetteError
from .session import cassette_client, legacy_cassette_client

__all__ = ['CassetteModels']

_LEGACY = frozenset({'groq', 'cohere', 'github'})
_IGNORES_CLIENT = frozenset({'huggingface'})


@dataclass(frozen=True)
class _Endpoint:
    """Where a provider's own requests go, so that a replay does not depend on the environment."""

    base_url: str
    keys: tuple[str, ...]
    base_url_variable: str


_OPENAI = _Endpoint('https://api.openai.com/v1', ('OPENAI_API_KEY',), 'OPENAI_BASE_URL')
_ENDPOINTS = {
    'openai': _OPENAI,
    'openai-chat': _OPENAI,
    'openai-responses': _OPENAI,
    'anthropic': _Endpoint('https://api.anthropic.com', ('ANTHROPIC_API_KEY',), 'ANTHROPIC_BASE_URL'),
    'google': _Endpoint(
        'https://generativelanguage.googleapis.com', ('GOOGLE_API_KEY', 'GEMINI_API_KEY'), 'GOOGLE_GEMINI_BASE_URL'
    ),
    'groq': _Endpoint('https://api.groq.com', ('GROQ_API_KEY',), 'GROQ_BASE_URL'),
}


@dataclass
class CassetteModels(AbstractCapability[AgentDepsT]):
    """Lets an agent's model names, its advisor's included, play and record through the active cassette.

    Give it to an `Agent` whose models are named by strings, `'provider:name'`. In a replay, and outside of any
    cassette, providers get a placeholder instead of a key and their standard endpoint; while recording they read their
    key as always. Only the SDK of the provider that is named must be installed.
    `pydantic_ai.models.ALLOW_MODEL_REQUESTS` stays in force.
    """

    async def resolve_model_id(
        self, ctx: ModelResolutionContext[AgentDepsT], *, model_id: KnownModelName | str
    ) -> Model | None:
        """Resolve a name as `model` does; names without a known provider are left to others."""
        provider_name, _ = parse_model_id(model_id)
        if provider_name is None or not _is_known(provider_name):
            return None
        return self.model(model_id)

    @staticmethod
    def model(model_id: str) -> Model:
        """The model of a name such as `openai:gpt-5`, for places that take a `Model`: judges, fallbacks, settings.

        Raises:
            CassetteError: the provider does not speak HTTP through a client of ours, or the environment sends its
                requests elsewhere while recording.
            UserError: unknown name, or no key while recording.
            ImportError: the provider's SDK is not installed.
        """
        return infer_model(model_id, provider_factory=_provider)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Agent specs do not name it: it belongs to tests and evals."""
        return None


def _is_known(provider_name: str) -> bool:
    try:
        infer_provider_class(provider_name)
    except ValueError:
        return False
    return True


def _provider(name: str) -> Provider[Any]:
    cassette = active_cassette()
    provider_class: Any = infer_provider_class(name)
    accepted = inspect.signature(provider_class.__init__).parameters
    if name.startswith('gateway/') or name in _IGNORES_CLIENT or not {'api_key', 'http_client'} <= accepted.keys():
        raise CassetteError(
            f'Models of {name!r} cannot be recorded or replayed by name: they need more than a key and a client. '
            'Use another provider, or give the agent a `Model` whose provider uses `cassette_client()`.'
        )
    client = legacy_cassette_client() if name in _LEGACY else cassette_client()
    return provider_class(http_client=client, **_credentials(name, cassette))


def _credentials(name: str, cassette: Cassette | None) -> dict[str, str]:
    endpoint = _ENDPOINTS.get(name)
    base_url = {'base_url': endpoint.base_url} if endpoint else {}
    if cassette is None or cassette.mode == 'replay':
        return {'api_key': PLACEHOLDER_KEY, **base_url}
    if endpoint is None:
        return {}
    key = next((os.environ[variable] for variable in endpoint.keys if os.environ.get(variable)), None)
    if cassette.rerouting.covers(endpoint.base_url):
        return {'api_key': key or PLACEHOLDER_KEY, **base_url}
    _refuse_other_endpoint(endpoint)
    # Without a key the provider's own error says what to set.
    return {'api_key': key, **base_url} if key else {}


def _refuse_other_endpoint(endpoint: _Endpoint) -> None:
    if elsewhere := os.environ.get(endpoint.base_url_variable):
        raise CassetteError(
            f'{endpoint.base_url_variable} is set to {elsewhere!r}, so a recording would depend on this machine. '
            f'Unset it, or name the way in `use_cassette(upstream=...)`, from the origin of {endpoint.base_url}.'
        )
