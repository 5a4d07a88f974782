"""Calls and results of tools that a provider ran itself, as text that any model reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from pydantic_ai.messages import (
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    UserContent,
)
from pydantic_ai.native_tools import AdvisorTool
from pydantic_core import to_jsonable_python

from advisor_harness.routing.portability.draft import Draft, Entry
from advisor_harness.routing.portability.target import Target

__all__ = ['convert_native', 'is_advice', 'is_tool_search', 'replays_native']

NativePart = NativeToolCallPart[Any] | NativeToolReturnPart[Any]

_OPAQUE = ('encrypted_', 'signature', 'thought_signature', 'container_id')


def is_tool_search(part: NativePart) -> bool:
    """Whether the part is a search for tools: pydantic-ai turns it into calls of its own tool for any other model."""
    return part.tool_name == 'tool_search' or part.tool_kind == 'tool-search'


def is_advice(part: NativePart) -> bool:
    """Whether the part belongs to a consultation of a native advisor."""
    return part.tool_name == AdvisorTool.kind


def replays_native(target: Target) -> bool:
    """Whether the target's adapter sends such parts of its own place back."""
    if target.family == 'responses':
        return target.sends_item_ids
    return target.family in ('anthropic', 'bedrock', 'google', 'xai')


def convert_native(
    draft: Draft, entry: Entry, n: int, part: NativePart, shown: list[UserContent]
) -> list[ModelResponsePart]:
    """A part of such a call as text of the turn; files in its result are added to `shown`, for the user's next turn."""
    action = draft.portability.native_tools
    text = _advice(part) if is_advice(part) else _text(part, shown if action == 'convert' else [])
    if action == 'convert' and text is None and isinstance(part, NativeToolReturnPart):
        draft.report(entry, n, 'native_tool', 'drop', f'The result of tool {part.tool_name!r} is unreadable.')
        return []
    draft.report(entry, n, 'native_tool', action, _detail(part, action))
    return [TextPart(text)] if action == 'convert' and text else []


def _detail(part: NativePart, action: Literal['convert', 'drop', 'raise']) -> str:
    what = 'result' if isinstance(part, NativeToolReturnPart) else 'call'
    done = {'convert': 'is sent as text', 'drop': 'is left out', 'raise': 'cannot be sent to another place'}[action]
    return f'The {what} of tool {part.tool_name!r}, which a provider ran, {done}.'


def _advice(part: NativePart) -> str | None:
    """The advice, if the part holds it in readable form."""
    if isinstance(part, NativeToolCallPart):
        return None
    content: Any = part.content
    match content:
        case {'text': str(text)} if text.strip() and 'encrypted_content' not in content:
            return _framed('earlier_advice', None, text)
        case _:
            return None


def _text(part: NativePart, shown: list[UserContent]) -> str | None:
    if isinstance(part, NativeToolCallPart):
        args = _readable(_parsed(part.args))
        return _framed('earlier_tool_call', part.tool_name, _json(args)) if args else None
    text, files = part.model_response_str_and_user_content()
    shown.extend(files)
    if not files:
        result = _readable(to_jsonable_python(part.content, serialize_unknown=True))
        text = result if isinstance(result, str) else _json(result) if result else ''
    return _framed('earlier_tool_result', part.tool_name, text) if text.strip() else None


def _parsed(args: str | Mapping[str, Any] | None) -> Any:
    if not isinstance(args, str):
        return args
    try:
        return json.loads(args)
    except ValueError:
        return args


def _readable(value: Any) -> Any:
    """The value without what only its provider can read, and without what holds nothing else."""
    if isinstance(value, Mapping):
        found = {k: _readable(v) for k, v in cast('Mapping[str, Any]', value).items() if not k.startswith(_OPAQUE)}
        kept = {k: v for k, v in found.items() if v not in (None, '', [], {})}
        return {} if kept.keys() <= {'type'} else kept
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [kept for v in cast('Sequence[Any]', value) if (kept := _readable(v)) not in (None, '', [], {})]
    return value


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _framed(tag: str, tool: str | None, text: str) -> str:
    # What a tool brought may hold the closing tag, and would seem to end the frame.
    held = text.replace(f'</{tag}', f'&lt;/{tag}')
    name = f' tool={json.dumps(tool)}' if tool else ''
    return f'<{tag}{name}>\n{held}\n</{tag}>'
