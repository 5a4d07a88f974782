"""A tool loop that another model began: Claude refuses to go on thinking in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ThinkingPart, ToolReturnPart, UserPromptPart

from advisor_harness.routing.portability.draft import USER, Draft
from advisor_harness.routing.portability.state import Overrides
from advisor_harness.routing.portability.target import Target

__all__ = ['settle_thinking']

_BEDROCK_FIELDS = 'bedrock_additional_model_requests_fields'


def settle_thinking(draft: Draft, messages: Sequence[ModelMessage]) -> Overrides:
    """Turn thinking off for a request that returns the results of calls which another model made.

    With thinking enabled, Anthropic wants the last response before the results to begin with its own signed thinking,
    and another model's cannot be that. Adaptive thinking makes no such demand.

    Args:
        draft: What the issue is added to.
        messages: The converted history.

    Returns:
        The settings that turn thinking off.
    """
    if not (overrides := _thinking_off(draft.target)) or not _begun_elsewhere(messages, draft.target):
        return {}
    action = 'raise' if draft.portability.thinking == 'raise' else 'drop'
    draft.report_from(USER, None, None, 'thinking', action, _DETAIL)
    return overrides


def _thinking_off(target: Target) -> Overrides:
    """What turns thinking off, if the request asks for the kind that makes the demand."""
    settings = cast('Mapping[str, Any]', target.settings)
    config: Mapping[str, Any] = settings.get('anthropic_thinking') or {}
    if target.family == 'anthropic' and config:
        return {'anthropic_thinking': {'type': 'disabled'}} if config.get('type') == 'enabled' else {}
    fields: Mapping[str, Any] = settings.get(_BEDROCK_FIELDS) or {}
    if target.family == 'bedrock' and _type(fields.get('thinking')) == 'enabled':
        return {_BEDROCK_FIELDS: {**fields, 'thinking': {'type': 'disabled'}}}
    adaptive = target.flag('anthropic_supports_adaptive_thinking') or not target.flag('supports_thinking')
    if target.family in ('anthropic', 'bedrock') and settings.get('thinking') and not adaptive:
        return {'thinking': False}
    return {}


def _type(config: Mapping[str, Any] | None) -> Any:
    return (config or {}).get('type')


def _begun_elsewhere(messages: Sequence[ModelMessage], target: Target) -> bool:
    last = messages[-1] if messages else None
    if not isinstance(last, ModelRequest) or not any(isinstance(part, ToolReturnPart) for part in last.parts):
        return False
    responses: list[ModelResponse] = []
    for message in reversed(messages[:-1]):
        if isinstance(message, ModelResponse):
            responses.append(message)
        elif any(isinstance(part, UserPromptPart) for part in message.parts):
            break
    if not responses or _begins_with_thinking(responses[0], target):
        return False
    return any(response.provider_name not in target.names for response in responses)


def _begins_with_thinking(response: ModelResponse, target: Target) -> bool:
    first = response.parts[0] if response.parts else None
    return isinstance(first, ThinkingPart) and bool(first.signature) and first.provider_name in target.names


_DETAIL = 'Thinking is turned off until the calls that another model made are answered.'
