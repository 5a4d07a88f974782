"""The model that is to continue a history: what it can read, and which names and ids are its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast

from pydantic_ai.models import Model
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings, merge_model_settings

from advisor_harness.routing.identity import identity

__all__ = ['Family', 'IdRule', 'Target', 'target_of']

Family = Literal[
    'anthropic',
    'bedrock',
    'chat',
    'cohere',
    'google',
    'groq',
    'huggingface',
    'mistral',
    'openrouter',
    'other',
    'responses',
    'xai',
]
"""An API that has its own rules for a history."""

_FAMILIES: dict[str, Family] = {
    'AnthropicModel': 'anthropic',
    'BedrockConverseModel': 'bedrock',
    'CohereModel': 'cohere',
    'GoogleModel': 'google',
    'GroqModel': 'groq',
    'HuggingFaceModel': 'huggingface',
    'MistralModel': 'mistral',
    'OpenRouterModel': 'openrouter',
    'OpenAIResponsesModel': 'responses',
    'OpenAIChatModel': 'chat',
    'XaiModel': 'xai',
}

# Names that pydantic-ai's adapters accept as their own: those of a provider before it was renamed.
_ALIASES = [frozenset({'google', 'google-gla'}), frozenset({'google-cloud', 'google-vertex'})]

_LETTERS = re.compile(r'[a-zA-Z0-9_-]+')


@dataclass(frozen=True)
class IdRule:
    """Which ids of tool calls an API accepts."""

    max_length: int
    """Most characters."""
    exact: bool = False
    """Whether the length must be `max_length`, and every character a letter or a digit."""
    any_letters_of_its_own: bool = False
    """Whether ids that the place itself gave may hold any characters: some compatible APIs give ids with dots."""

    def accepts(self, call_id: str, *, own: bool) -> bool:
        """Whether the API takes the id as it is."""
        if self.exact:
            return len(call_id) == self.max_length and call_id.isascii() and call_id.isalnum()
        if own and self.any_letters_of_its_own:
            return 0 < len(call_id) <= self.max_length
        return len(call_id) <= self.max_length and _LETTERS.fullmatch(call_id) is not None


# Anthropic and Bedrock check the pattern; OpenAI refuses more than 40 characters in Chat Completions and more than 64
# in Responses, and compatible APIs follow it.
_ID_RULES: dict[Family, IdRule] = {
    'anthropic': IdRule(64),
    'bedrock': IdRule(64),
    'chat': IdRule(40, any_letters_of_its_own=True),
    'groq': IdRule(40, any_letters_of_its_own=True),
    'huggingface': IdRule(40, any_letters_of_its_own=True),
    'mistral': IdRule(9, exact=True),
    'openrouter': IdRule(40, any_letters_of_its_own=True),
    'responses': IdRule(64, any_letters_of_its_own=True),
    'xai': IdRule(64, any_letters_of_its_own=True),
}


@dataclass(frozen=True)
class Target:
    """The model that is to continue a history."""

    model: Model
    """The model; it is no wrapper."""
    settings: ModelSettings
    """Its own settings, under those of the request."""

    @cached_property
    def identity(self) -> str:
        """`provider|endpoint|API`."""
        return identity(self.model)

    @property
    def name(self) -> str:
        """Name of the model, for people."""
        return self.model.model_name

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the provider under which the model's adapter takes opaque data back."""
        system = self.model.system
        return next((names for names in _ALIASES if system in names), frozenset({system}))

    @cached_property
    def family(self) -> Family:
        """The API."""
        for kind in type(self.model).__mro__:
            if (family := _FAMILIES.get(kind.__name__)) is not None:
                return family
        return 'other'

    @cached_property
    def profile(self) -> ModelProfile:
        """What pydantic-ai knows of the model."""
        return self.model.profile

    def flag(self, name: str, default: Any = False) -> Any:
        """A value of the profile, also one of a provider's own."""
        return cast('dict[str, Any]', self.profile).get(name, default)

    @cached_property
    def id_rule(self) -> IdRule | None:
        """Which ids of tool calls it accepts; `None` for all."""
        if (length := self.profile.get('tool_call_id_length')) is not None:
            return IdRule(length, exact=True)
        return _ID_RULES.get(self.family)

    @cached_property
    def sends_item_ids(self) -> bool:
        """Whether OpenAI's Responses adapter sends items back by their id; without it, it sends their text at most."""
        default = self.flag('openai_supports_encrypted_reasoning_content')
        return bool(cast('dict[str, Any]', self.settings).get('openai_send_reasoning_ids', default))

    @property
    def carries_thinking_apart(self) -> bool:
        """Whether the adapter puts thinking that is not the model's own into a user turn, in tags of its own.

        It does for models that imitate what stands in their turns. For all others the thinking is text of the turn.
        """
        if not self.profile.get('mimics_assistant_message_formatting', False):
            return False
        if self.family in ('chat', 'openrouter'):
            return self.flag('openai_chat_send_back_thinking_parts', 'auto') in ('auto', 'tags')
        return self.family in ('anthropic', 'bedrock', 'responses')


def target_of(leaf: Model, settings: ModelSettings | None = None) -> Target:
    """The target that `leaf` is under the settings of a request."""
    return Target(leaf, merge_model_settings(leaf.settings, settings) or ModelSettings())
