"""Who wrote a response, and whether the next model can read its opaque data.

A router's stamp says it exactly. Without one the provider's name and URL must do, and for the two APIs that share a
name, the form of the ids.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from pydantic_ai.messages import ModelResponse, ModelResponsePart, ThinkingPart

from advisor_harness.routing.identity import endpoint
from advisor_harness.routing.portability.target import Target
from advisor_harness.routing.stamp import Stamp

__all__ = ['is_own', 'is_own_part', 'same_model', 'source_of']

_CHAT_FIELDS = ('content', 'reasoning', 'reasoning_content', 'reasoning_details')
# What a provider adds to a model's name when it answers; `gpt-4o-mini` is another model than `gpt-4o`.
_RELEASE = re.compile(r'(?:[-@]\d{3,}(?:-\d+)*(?:-v\d+(?::\d+)?)?|-preview(?:-\d+)*)?')
_ITEM_IDS = ('cmp_', 'fc_', 'ig_', 'msg_', 'rs_', 'ws_', 'ci_')


def is_own(response: ModelResponse, target: Target) -> bool:
    """Whether the place that the target is wrote the response, so that it can read all of it.

    A response without a provider's name is not, unless a part of it has the name.
    """
    if (stamped := _stamped_identity(response)) is not None:
        return stamped == target.identity
    if response.provider_name is not None and response.provider_name not in target.names:
        return False
    if response.provider_name is None and not any(_named(part, target) for part in response.parts):
        return False
    if response.provider_url and endpoint(response.provider_url) != endpoint(target.model.base_url):
        return False
    return _api_agrees(response, target)


def is_own_part(part: ModelResponsePart, response: ModelResponse, target: Target) -> bool:
    """Whether a part of an own response is of the same place. One that names no provider is the response's."""
    name = cast('str | None', getattr(part, 'provider_name', None))
    return name in target.names if name is not None else response.provider_name in target.names


def same_model(response: ModelResponse, target: Target) -> bool:
    """Whether the very model wrote the response; a provider may answer with a dated name."""
    name = response.model_name or ''
    return name.startswith(target.name) and _RELEASE.fullmatch(name, len(target.name)) is not None


def source_of(response: ModelResponse) -> str:
    """`provider|endpoint|API` of what wrote the response, as far as it is known."""
    if (stamped := _stamped_identity(response)) is not None:
        return stamped
    named = (getattr(part, 'provider_name', None) for part in response.parts)
    provider = response.provider_name or next((name for name in named if name), None) or 'unknown'
    return f'{provider}|{endpoint(response.provider_url)}|'


def _stamped_identity(response: ModelResponse) -> str | None:
    stamps = (Stamp.read(value) for value in (response.metadata or {}).values())
    return next((stamp.identity for stamp in stamps if stamp is not None), None)


def _named(part: ModelResponsePart, target: Target) -> bool:
    return getattr(part, 'provider_name', None) in target.names


def _api_agrees(response: ModelResponse, target: Target) -> bool:
    """Whether the ids of the response are of the target's API, where one name stands for OpenAI's two."""
    if target.family == 'responses':
        return not _looks_like_chat(response)
    if target.family in ('chat', 'openrouter', 'groq'):
        return not _looks_like_responses(response)
    return True


def _looks_like_responses(response: ModelResponse) -> bool:
    ids = (cast('str | None', getattr(part, 'id', None)) for part in response.parts)
    return (response.provider_response_id or '').startswith('resp_') or any(
        (i or '').startswith(_ITEM_IDS) for i in ids
    )


def _looks_like_chat(response: ModelResponse) -> bool:
    if (response.provider_response_id or '').startswith('chatcmpl-'):
        return True
    return any(
        isinstance(part, ThinkingPart) and part.id in _CHAT_FIELDS and not part.signature and not _raw(part)
        for part in response.parts
    )


def _raw(part: ThinkingPart) -> bool:
    details: Mapping[str, Any] = part.provider_details or {}
    return bool(details.get('raw_content'))
