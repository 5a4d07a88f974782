"""What the emulator needs to know of a request, whichever provider's format it comes in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .script import Api

Role = Literal['user', 'assistant', 'tool', 'feedback']
Json = Mapping[str, Any]


class BadRequest(Exception):
    """A request that the provider itself would refuse with HTTP 400."""


@dataclass(frozen=True)
class Turn:
    """What one side said before the other side spoke."""

    role: Role
    """`feedback` is the client's complaint about an answer, which is not the user's own text."""
    texts: tuple[str, ...] = ()
    consultations: int = 0
    """Advisor calls that an assistant turn contains."""


@dataclass(frozen=True)
class ProviderRequest:
    """A request to one of the emulated providers."""

    api: Api
    body: Json
    model: str
    system: str
    turns: tuple[Turn, ...]
    tools: frozenset[str]
    """Names of the tools on offer; of server tools without a name, the type."""
    streaming: bool
    attempt: int
    """Which attempt of the SDK this is, from 0."""

    @property
    def size(self) -> int:
        """Characters of everything that the model reads."""
        read = [self.body.get(key) for key in ('system', 'instructions', 'messages', 'input', 'tools')]
        return len(json.dumps([part for part in read if part], sort_keys=True, ensure_ascii=False))


def read_request(api: Api, body: Any, *, attempt: int) -> ProviderRequest:
    """Read the body of a request.

    Raises:
        BadRequest: If the body is not an object with a model and messages.
    """
    key = 'input' if api == 'openai-responses' else 'messages'
    if not isinstance(body, Mapping):
        raise BadRequest('The request body must be a JSON object.')
    for name in ('model', key):
        if not body.get(name):
            raise BadRequest(f'{name}: Field required')
    try:
        system, turns = _READERS[api](body)
        tools = frozenset(_tool_name(tool) for tool in body.get('tools') or ())
    except (KeyError, TypeError, AttributeError) as e:
        raise BadRequest(f'{key}: not in the format of the API ({e!r})') from e
    return ProviderRequest(
        api=api,
        body=body,
        model=str(body['model']),
        system=system,
        turns=tuple(_merge(turns)),
        tools=tools,
        streaming=bool(body.get('stream')),
        attempt=attempt,
    )


def _read_anthropic(body: Json) -> tuple[str, list[Turn]]:
    turns: list[Turn] = []
    for message in body['messages']:
        blocks = _blocks(message['content'])
        if message['role'] == 'assistant':
            turns.append(Turn('assistant', consultations=sum(_is_consultation(block) for block in blocks)))
            continue
        texts = tuple(block['text'] for block in blocks if block['type'] == 'text')
        # Anthropic has no system messages between turns, so clients wrap their complaints in a tag.
        complains = bool(texts) and all(text.startswith('<system>') for text in texts)
        if any(block['type'] == 'tool_result' for block in blocks):
            turns.append(Turn('tool'))
        elif complains:
            turns.append(Turn('feedback', texts))
        if texts and not complains:
            turns.append(Turn('user', texts))
    return _joined(_blocks(body.get('system') or '')), turns


def _read_chat(body: Json) -> tuple[str, list[Turn]]:
    return _read_messages(body['messages'], '')


def _read_responses(body: Json) -> tuple[str, list[Turn]]:
    items = body['input']
    if isinstance(items, str):
        items = [{'role': 'user', 'content': items}]
    return _read_messages(items, str(body.get('instructions') or ''))


def _read_messages(messages: Iterable[Json], instructions: str) -> tuple[str, list[Turn]]:
    system, turns = [instructions], list[Turn]()
    for message in messages:
        match message.get('role') or message.get('type'):
            case 'system' | 'developer':
                text = _joined(_blocks(message['content']))
                turns.append(Turn('feedback', (text,))) if turns else system.append(text)
            case 'user':
                turns.append(Turn('user', tuple(_text(block) for block in _blocks(message['content']))))
            case 'tool' | 'function_call_output':
                turns.append(Turn('tool'))
            case _:
                turns.append(Turn('assistant'))
    return '\n'.join(text for text in system if text), turns


_READERS = {
    'anthropic': _read_anthropic,
    'openai-chat': _read_chat,
    'openrouter': _read_chat,
    'openai-responses': _read_responses,
}


def _merge(turns: Iterable[Turn]) -> list[Turn]:
    """One assistant turn for all that the assistant said in a row: items, or the segments of a paused turn."""
    merged: list[Turn] = []
    for turn in turns:
        if turn.role == 'assistant' and merged and merged[-1].role == 'assistant':
            merged[-1] = Turn('assistant', consultations=merged[-1].consultations + turn.consultations)
        else:
            merged.append(turn)
    return merged


def _blocks(content: Any) -> list[Json]:
    return [{'type': 'text', 'text': content}] if isinstance(content, str) else list(content or ())


def _text(block: Json) -> str:
    return str(block.get('text', ''))


def _joined(blocks: Iterable[Json]) -> str:
    return '\n'.join(text for block in blocks if (text := _text(block)))


def _is_consultation(block: Json) -> bool:
    return block['type'] == 'server_tool_use' and block['name'] == 'advisor'


def _tool_name(tool: Json) -> str:
    return str(tool.get('name') or (tool.get('function') or {}).get('name') or tool['type'])
