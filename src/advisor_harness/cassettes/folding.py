"""A streamed answer as the one that it adds up to: server-sent events folded into a JSON value."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

from .streams import split_events

__all__ = ['fold']

_DELTAS = {
    'text_delta': ('text', 'text'),
    'thinking_delta': ('thinking', 'thinking'),
    'signature_delta': ('signature', 'signature'),
    'input_json_delta': ('partial_json', 'input'),
}
"""Anthropic's deltas: the member that comes, and the member of the block that it goes on."""

_Event = dict[str, Any]


def _objects(value: Any) -> list[_Event]:
    """The objects of a list; none where there is no list."""
    members = cast('list[Any]', value) if isinstance(value, list) else []
    return [member for member in members if isinstance(member, dict)]


def _object(value: Any) -> _Event:
    return cast('_Event', value) if isinstance(value, dict) else {}


_WHOLE = ('role', 'id', 'type', 'name', 'format')
"""Members of a chat delta that come once, or again as they were."""


def fold(body: bytes) -> Any:
    """The answer that a stream adds up to, in the provider's shape for answers that are not streamed.

    Streams of Anthropic, OpenAI (both APIs), those that follow them, and Google are known; of others, and of events
    that are no JSON objects, the list of what the events hold.
    """
    data = [value for event in split_events(body) if (value := _data(event)) is not None]
    events = [cast('_Event', value) for value in data if isinstance(value, dict)]
    if not events or len(events) < len([value for value in data if value != '[DONE]']):
        return data
    for is_known, folded in _KNOWN:
        if any(map(is_known, events)):
            return folded(events)
    return data


def _data(event: bytes) -> Any:
    lines = [
        line[5:].removeprefix(' ') for line in event.decode('utf-8', 'replace').splitlines() if line[:5] == 'data:'
    ]
    text = '\n'.join(lines)
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return text


def _anthropic(events: list[_Event]) -> _Event:
    message: _Event = {}
    blocks: dict[int, _Event] = {}
    for event in events:
        kind = event.get('type')
        if kind == 'message_start':
            message |= _object(event.get('message'))
        elif kind == 'content_block_start':
            blocks[event.get('index', 0)] = dict(_object(event.get('content_block')))
        elif kind == 'content_block_delta':
            _block_delta(blocks.setdefault(event.get('index', 0), {}), _object(event.get('delta')))
        elif kind == 'message_delta':
            message |= _object(event.get('delta'))
            message['usage'] = _object(message.get('usage')) | _object(event.get('usage'))
        elif kind == 'error':
            message['error'] = event.get('error')
    for block in blocks.values():
        if isinstance(block.get('input'), str):
            block['input'] = _json(block['input'])
    return {**message, 'content': [blocks[index] for index in sorted(blocks)]}


def _block_delta(block: _Event, delta: _Event) -> None:
    came, whole = _DELTAS.get(str(delta.get('type')), ('', ''))
    if came in delta:
        before = block.get(whole)
        block[whole] = (before if isinstance(before, str) else '') + delta[came]
    elif 'citation' in delta:
        block['citations'] = [*_objects(block.get('citations')), delta['citation']]
    else:
        block.setdefault('deltas', []).append(delta)


def _json(text: str) -> Any:
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return text


def _responses(events: list[_Event]) -> Any:
    finished = [event['response'] for event in events if 'response' in event]
    last = dict(_object(finished[-1])) if finished else dict[str, Any]()
    if not last.get('output'):
        items = [event.get('item') for event in events if event.get('type') == 'response.output_item.done']
        texts = [str(event.get('delta')) for event in events if event.get('type') == 'response.output_text.delta']
        last['output'] = items or ''.join(texts)
    return last


def _chat(events: list[_Event]) -> _Event:
    answer: _Event = {}
    choices: dict[int, _Event] = {}
    for event in events:
        answer |= {name: value for name, value in event.items() if name != 'choices' and value is not None}
        for part in _objects(event.get('choices')):
            choice = choices.setdefault(part.get('index', 0), {'message': {}})
            _merge(choice['message'], _object(part.get('delta')))
            choice |= {n: v for n, v in part.items() if n not in ('delta', 'index') and v is not None}
    return {**answer, 'choices': [choices[index] for index in sorted(choices)]}


def _merge(message: _Event, delta: _Event) -> None:
    """Add a delta: texts go on, lists of numbered parts go on part by part, everything else is replaced."""
    for name, value in delta.items():
        before = message.get(name)
        if isinstance(value, str) and isinstance(before, str) and name not in _WHOLE:
            message[name] = before + value
        elif isinstance(value, dict) and isinstance(before, dict):
            _merge(cast('_Event', before), cast('_Event', value))
        elif isinstance(value, list):
            earlier = cast('list[Any]', before) if isinstance(before, list) else []
            message[name] = _merged_parts(earlier, cast('list[Any]', value))
        elif value is not None or name not in message:
            message[name] = value


def _merged_parts(before: list[Any], parts: list[Any]) -> list[Any]:
    merged = list(before)
    for part in parts:
        index = _object(part).get('index')
        place = next((p for p in _objects(merged) if index is not None and p.get('index') == index), None)
        if place is None:
            merged.append(dict(_object(part)) if isinstance(part, dict) else part)
        else:
            _merge(place, _object(part))
    return merged


def _google(events: list[_Event]) -> _Event:
    answer: _Event = {}
    parts: list[_Event] = []
    last: _Event = {}
    for event in events:
        answer |= {name: value for name, value in event.items() if name != 'candidates'}
        for candidate in _objects(event.get('candidates')):
            last |= candidate
            for part in _objects(_object(candidate.get('content')).get('parts')):
                _google_part(parts, part)
    return {**answer, 'candidates': [{**last, 'content': {'role': 'model', 'parts': parts}}]}


def _google_part(parts: list[_Event], part: _Event) -> None:
    goes_on = parts and set(part) <= {'text', 'thought'} and 'text' in parts[-1]
    if goes_on and parts[-1].get('thought') == part.get('thought') and 'thoughtSignature' not in parts[-1]:
        parts[-1]['text'] += part['text']
    else:
        parts.append(dict(part))


_KNOWN: list[tuple[Callable[[_Event], bool], Callable[[list[_Event]], Any]]] = [
    (lambda event: event.get('type') == 'message_start', _anthropic),
    (lambda event: str(event.get('type', '')).startswith('response.'), _responses),
    (lambda event: 'choices' in event, _chat),
    (lambda event: 'candidates' in event, _google),
]
