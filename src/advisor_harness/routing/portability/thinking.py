"""Thinking: a place's own goes back as it came, another's as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_ai.messages import ModelResponse, ModelResponsePart, TextPart, ThinkingPart
from pydantic_ai.profiles import DEFAULT_THINKING_TAGS

from advisor_harness.routing.portability.draft import Draft, Entry
from advisor_harness.routing.portability.origin import same_model
from advisor_harness.routing.portability.target import Target

__all__ = ['convert_thinking', 'replays_thinking']


def convert_thinking(draft: Draft, entry: Entry, n: int, part: ThinkingPart) -> list[ModelResponsePart]:
    """Thinking that the target's API cannot take back, as what it can read.

    It never stays the API's own kind of thinking: a model that does not think refuses it, and one that does would take
    it for signed.
    """
    action = draft.portability.thinking
    if not part.content.strip():
        if part.signature or part.provider_details:
            held = 'raise' if action == 'raise' else 'drop'
            draft.report(entry, n, 'thinking', held, 'Encrypted thinking cannot be read by another place.')
        return []
    bare = ThinkingPart(part.content)
    apart = draft.target.carries_thinking_apart
    if action != 'convert' or not apart or part != bare:
        draft.report(entry, n, 'thinking', action, _DETAILS[action])
    if action == 'drop':
        return []
    return [bare if apart else TextPart(_tagged(part.content, draft.target))]


def replays_thinking(part: ThinkingPart, response: ModelResponse, target: Target) -> bool:
    """Whether the target's adapter sends thinking of the target's place back so that nothing of it is lost."""
    if part.content.strip() and same_model(response, target):
        return True
    details: Mapping[str, Any] = part.provider_details or {}
    match target.family:
        case 'anthropic':
            return bool(part.signature)
        case 'bedrock':
            return bool(part.signature) and bool(target.flag('bedrock_send_back_thinking_parts'))
        case 'responses':
            raw = bool(details.get('raw_content'))
            return raw or (bool(part.id and (part.signature or part.content)) and target.sends_item_ids)
        case 'google' | 'openrouter' | 'xai':
            return bool(part.signature or details or part.content.strip())
        case 'mistral' | 'cohere':
            return bool(part.content.strip()) and bool(target.flag('supports_thinking'))
        case _:
            return bool(part.content.strip())


def _tagged(content: str, target: Target) -> str:
    start, end = target.profile.get('thinking_tags', DEFAULT_THINKING_TAGS)
    return f'{start}\n{content}\n{end}'


_DETAILS = {
    'convert': 'Thinking is sent as text, without its signature.',
    'drop': 'Thinking is left out.',
    'raise': 'Thinking of another place cannot be sent as thinking.',
}
