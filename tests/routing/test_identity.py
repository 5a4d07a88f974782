"""Which model answered, and who can read what it left behind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pydantic_ai.messages import ModelRequestAttempt, ModelResponse, TextPart
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.models.openrouter import OpenRouterModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openrouter import OpenRouterProvider

from advisor_harness.routing.identity import identity, leaves, serving_leaf
from tests.routing.support import talker


class House(OpenAIChatModel):
    """An application's own subclass of an adapter."""


def chat(name: str = 'gpt-5-mini', url: str = 'https://api.openai.com/v1') -> OpenAIChatModel:
    return OpenAIChatModel(name, provider=OpenAIProvider(base_url=url, api_key='k'))


def claude(name: str = 'claude-haiku-4-5') -> AnthropicModel:
    return AnthropicModel(name, provider=AnthropicProvider(api_key='k'))


def attempt(provider: str, model: str) -> ModelRequestAttempt:
    return ModelRequestAttempt(
        provider_name=provider,
        model_name=model,
        outcome='error',
        timestamp=datetime(2026, 1, 1, tzinfo=UTC),
        duration=timedelta(seconds=1),
    )


@pytest.mark.parametrize(
    ('model', 'expected'),
    [
        (chat(), 'openai|https://api.openai.com/v1|OpenAIChatModel'),
        (
            OpenAIResponsesModel('gpt-5-mini', provider=OpenAIProvider(api_key='k')),
            'openai|https://api.openai.com/v1|OpenAIResponsesModel',
        ),
        (
            House('gpt-5-mini', provider=OpenAIProvider(api_key='k')),
            'openai|https://api.openai.com/v1|OpenAIChatModel',
        ),
        (
            chat(url='https://user:secret@Proxy.Example:8443/v1/?key=s'),
            'openai|https://proxy.example:8443/v1|OpenAIChatModel',
        ),
        (claude(), 'anthropic|https://api.anthropic.com|AnthropicModel'),
        (
            GoogleModel('gemini-3-pro-preview', provider=GoogleProvider(api_key='k')),
            'google|https://generativelanguage.googleapis.com|GoogleModel',
        ),
        (
            OpenRouterModel('openai/gpt-5-mini', provider=OpenRouterProvider(api_key='k')),
            'openrouter|https://openrouter.ai/api/v1|OpenRouterModel',
        ),
        (TestModel(), 'test||TestModel'),
    ],
    ids=['chat', 'responses', 'subclass', 'proxy', 'anthropic', 'google', 'openrouter', 'test'],
)
def test_a_place_is_provider_endpoint_and_api(model: Model, expected: str) -> None:
    """APIs and endpoints of one provider differ; names do not matter; no credential and no trailing slash is kept."""
    assert identity(model) == expected


def test_leaves_are_found_behind_wrappers_and_in_nested_chains() -> None:
    """Every model that may serve is listed in the order in which it is tried."""
    one, two, three = talker('one'), talker('two'), talker('three')
    chain = FallbackModel(WrapperModel(one), FallbackModel(two, WrapperModel(WrapperModel(three))))
    assert leaves(WrapperModel(chain)) == [one, two, three]


def test_a_single_model_serves_whatever_it_says() -> None:
    """Behind wrappers there is nothing to choose, before and after an answer."""
    model = chat()
    answer = ModelResponse([TextPart('a')], model_name='something-else', provider_name='other')
    assert [serving_leaf(WrapperModel(model), said) for said in (None, answer)] == [model, model]


def test_nobody_has_served_before_an_answer() -> None:
    """While none of several has answered, the whole chain stands for them."""
    chain = FallbackModel(chat(), claude())
    assert serving_leaf(chain, None) is chain


MINI, FULL, HAIKU, PROXY = chat('gpt-5-mini'), chat('gpt-5'), claude(), chat('gpt-5', url='https://proxy.example/v1/')


@pytest.mark.parametrize(
    ('answer', 'expected'),
    [
        ({'provider_name': 'anthropic', 'model_name': 'claude-haiku-4-5-20251001'}, HAIKU),
        ({'provider_name': 'openai', 'model_name': 'gpt-5-mini-2025-08-07'}, MINI),
        ({'provider_name': 'openai', 'model_name': 'gpt-5-2025-08-07'}, FULL),
        ({'provider_name': 'openai', 'provider_url': 'https://proxy.example/v1', 'model_name': 'gpt-5'}, PROXY),
        ({'provider_name': 'openai', 'model_name': None}, FULL),
        (
            {'provider_name': 'openai', 'model_name': 'renamed', 'failed_attempts': [attempt('openai', 'gpt-5')]},
            MINI,
        ),
    ],
    ids=['provider', 'longest-name', 'dated-name', 'endpoint', 'first-of-equals', 'not-the-failed-one'],
)
def test_the_candidate_most_like_the_answer_served(answer: dict[str, object], expected: Model) -> None:
    """Provider, endpoint, name and failed attempts tell the candidates of a chain apart."""
    chain = FallbackModel(FULL, MINI, HAIKU, PROXY)
    response = ModelResponse([TextPart('a')], **answer)  # pyright: ignore[reportArgumentType]  # parametrised
    assert serving_leaf(chain, response) is expected
