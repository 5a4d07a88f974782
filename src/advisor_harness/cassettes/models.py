"""`CassetteModels`: model names of an agent, resolved to models whose requests go through the active cassette."""

from __future__ import annotations

import functools
import inspect
import os
from dataclasses import dataclass
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import KnownModelName, Model, ModelResolutionContext, infer_model, parse_model_id
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.tools import AgentDepsT

from .active import active_cassette
from .cassette import PLACEHOLDER_KEY
from .errors import CassetteError
from .session import cassette_client, legacy_cassette_client

__all__ = ['CassetteModels']

_LEGACY = frozenset({'groq', 'cohere', 'github'})
_IGNORES_CLIENT = frozenset({'huggingface'})


# The endpoints that an environment variable can move. A replay must not depend on the machine it runs on.
_OPENAI = ('https://api.openai.com/v1', 'OPENAI_BASE_URL')
_MOVABLE = {
    'openai': _OPENAI,
    'openai-chat': _OPENAI,
    'openai-responses': _OPENAI,
    'anthropic': ('https://api.anthropic.com', 'ANTHROPIC_BASE_URL'),
    'google': ('https://generativelanguage.googleapis.com', 'GOOGLE_GEMINI_BASE_URL'),
    'groq': ('https://api.groq.com', 'GROQ_BASE_URL'),
}
_KEY_VARIABLES = {
    'openai-chat': ('OPENAI_API_KEY',),
    'openai-responses': ('OPENAI_API_KEY',),
    'google': ('GOOGLE_API_KEY', 'GEMINI_API_KEY'),
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
        provider_name, _ = parse_model_id(model_id)
        if provider_name is None or not _is_known(provider_name):
            return infer_model(model_id)
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
    standard = _replaying_provider(name, provider_class, client)
    if cassette is None or cassette.mode == 'replay':
        return standard
    if cassette.rerouting.covers(standard.base_url):
        # What answers there instead may want a key, or not.
        key = _key_of_environment(name)
        return provider_class(http_client=client, api_key=key, **_base_url(name)) if key else standard
    _refuse_moved_endpoint(name)
    return provider_class(http_client=client)


@functools.lru_cache(maxsize=32)
def _replaying_provider(name: str, provider_class: Any, client: Any) -> Provider[Any]:
    # Some SDKs take 50 ms to start; a provider with a placeholder key is the same for every replay.
    return provider_class(http_client=client, api_key=PLACEHOLDER_KEY, **_base_url(name))


def _base_url(name: str) -> dict[str, str]:
    return {'base_url': _MOVABLE[name][0]} if name in _MOVABLE else {}


def _key_of_environment(name: str) -> str | None:
    variables = _KEY_VARIABLES.get(name, (f'{name.upper().replace("-", "_")}_API_KEY',))
    return next((os.environ[variable] for variable in variables if os.environ.get(variable)), None)


def _refuse_moved_endpoint(name: str) -> None:
    base_url, variable = _MOVABLE.get(name, ('', ''))
    if elsewhere := os.environ.get(variable):
        raise CassetteError(
            f'{variable} is set to {elsewhere!r}, so a recording would depend on this machine. Unset it, or name the '
            f'way in `use_cassette(upstream=...)`, from the origin of {base_url}.'
        )
