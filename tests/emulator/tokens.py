"""Token counts where the script gives none: about four characters a token, and never zero for a text."""

from __future__ import annotations

import json
from collections.abc import Iterable

from .requests import ProviderRequest
from .script import Part, Usage

CHARACTERS_PER_TOKEN = 4


def of_text(text: str) -> int:
    """Tokens of a text, at least 1."""
    return max(1, len(text) // CHARACTERS_PER_TOKEN)


def of_part(part: Part) -> int:
    """Tokens that the executor writes for a part; a call of the advisor costs a few."""
    if part.tool_call is not None:
        args = part.tool_call.args
        return of_text(part.tool_call.name + (args if isinstance(args, str) else json.dumps(args)))
    return of_text(part.text or part.thinking or part.redacted_thinking or '')


def read(request: ProviderRequest, usage: Usage) -> int:
    """Tokens that the executor reads."""
    return usage.input_tokens if usage.input_tokens is not None else max(1, request.size // CHARACTERS_PER_TOKEN)


def written(parts: Iterable[Part], usage: Usage) -> int:
    """Tokens that the executor writes, thinking included."""
    return usage.output_tokens if usage.output_tokens is not None else sum(of_part(part) for part in parts) or 1


def thought(parts: Iterable[Part], usage: Usage) -> int:
    """Tokens of thinking among those written."""
    if usage.thinking_tokens is not None:
        return usage.thinking_tokens
    return sum(of_part(part) for part in parts if part.kind in ('thinking', 'redacted_thinking'))
