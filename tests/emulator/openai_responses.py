"""OpenAI Responses: bodies and streams of messages, function calls and reasoning."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from . import tokens
from .matching import CREATED, Answer, NoReply
from .requests import Json
from .script import Part
from .sse import deltas, event

Item = dict[str, Any]


def body(answer: Answer) -> Json:
    """The response, as one JSON object."""
    if answer.request.body.get('previous_response_id'):
        raise NoReply('the emulator keeps no responses; send the history instead of `previous_response_id`')
    reason = answer.reply.stop_reason
    return {
        **_echo(answer),
        'status': 'incomplete' if reason else 'completed',
        'incomplete_details': {'reason': reason} if reason else None,
        'output': _items(answer),
        'usage': _usage(answer),
    }


def events(answer: Answer) -> Iterator[str]:
    """The response, as a stream of numbered events."""
    for number, (name, data) in enumerate(_events(answer)):
        yield event({'type': name, **data, 'sequence_number': number}, name=name)


def error_event(answer: Answer, error: Json, number: int) -> str:
    """A response that failed while it was streamed."""
    failure = {'code': error['error']['code'] or error['error']['type'], 'message': error['error']['message']}
    failed = {**_echo(answer), 'status': 'failed', 'error': failure}
    data = {'type': 'response.failed', 'response': failed, 'sequence_number': number}
    return event(data, name='response.failed')


def _events(answer: Answer) -> Iterator[tuple[str, Json]]:
    final = body(answer)
    started = {**final, 'status': 'in_progress', 'incomplete_details': None, 'output': [], 'usage': None}
    yield 'response.created', {'response': started}
    yield 'response.in_progress', {'response': started}
    for index, item in enumerate(final['output']):
        place = {'item_id': item['id'], 'output_index': index}
        yield 'response.output_item.added', {'output_index': index, 'item': _opened(item)}
        yield from _CONTENT_EVENTS[item['type']](item, place)
        yield 'response.output_item.done', {'output_index': index, 'item': item}
    yield f'response.{final["status"]}', {'response': final}


def _opened(item: Item) -> Item:
    match item['type']:
        case 'message':
            return {**item, 'status': 'in_progress', 'content': []}
        case 'function_call':
            return {**item, 'status': 'in_progress', 'arguments': ''}
        case _:
            return {**item, 'summary': []}


def _message_events(item: Item, place: Json) -> Iterator[tuple[str, Json]]:
    for index, part in enumerate(item['content']):
        at = {**place, 'content_index': index}
        yield 'response.content_part.added', {**at, 'part': {**part, 'text': ''}}
        for piece in deltas(part['text']):
            yield 'response.output_text.delta', {**at, 'delta': piece, 'logprobs': []}
        yield 'response.output_text.done', {**at, 'text': part['text'], 'logprobs': []}
        yield 'response.content_part.done', {**at, 'part': part}


def _call_events(item: Item, place: Json) -> Iterator[tuple[str, Json]]:
    for piece in deltas(item['arguments']):
        yield 'response.function_call_arguments.delta', {**place, 'delta': piece}
    yield 'response.function_call_arguments.done', {**place, 'arguments': item['arguments']}


def _reasoning_events(item: Item, place: Json) -> Iterator[tuple[str, Json]]:
    for index, part in enumerate(item['summary']):
        at = {**place, 'summary_index': index}
        yield 'response.reasoning_summary_part.added', {**at, 'part': {**part, 'text': ''}}
        for piece in deltas(part['text']):
            yield 'response.reasoning_summary_text.delta', {**at, 'delta': piece}
        yield 'response.reasoning_summary_text.done', {**at, 'text': part['text']}
        yield 'response.reasoning_summary_part.done', {**at, 'part': part}


_CONTENT_EVENTS = {'message': _message_events, 'function_call': _call_events, 'reasoning': _reasoning_events}


def _items(answer: Answer) -> list[Item]:
    return [_item(answer, part, index) for index, part in enumerate(answer.reply.content)]


def _item(answer: Answer, part: Part, index: int) -> Item:
    if part.text is not None:
        text = {'type': 'output_text', 'text': part.text, 'annotations': [], 'logprobs': []}
        status = 'incomplete' if answer.reply.stop_reason else 'completed'
        head = {'id': answer.hex_id('msg_', index), 'type': 'message', 'status': status, 'role': 'assistant'}
        return {**head, 'content': [text]}
    if part.tool_call is not None:
        call = part.tool_call
        return {
            'id': answer.hex_id('fc_', index),
            'type': 'function_call',
            'status': 'completed',
            'call_id': call.id or answer.id('call_', index),
            'name': call.name,
            'arguments': call.args if isinstance(call.args, str) else json.dumps(call.args, ensure_ascii=False),
        }
    if part.thinking is not None or part.redacted_thinking is not None:
        return _reasoning(answer, part, index)
    raise NoReply(f'{answer.request.api} has no `{part.kind}`')


def _reasoning(answer: Answer, part: Part, index: int) -> Item:
    summary = [] if part.thinking is None else [{'type': 'summary_text', 'text': part.thinking}]
    item: Item = {'id': answer.hex_id('rs_', index), 'type': 'reasoning', 'summary': summary}
    if 'reasoning.encrypted_content' in (answer.request.body.get('include') or ()):
        item['encrypted_content'] = part.redacted_thinking or answer.blob('reasoning', index)
    return item


def _usage(answer: Answer) -> Json:
    reply = answer.reply
    read, written = tokens.read(answer.request, reply.usage), tokens.written(reply.content, reply.usage)
    return {
        'input_tokens': read,
        'input_tokens_details': {'cached_tokens': reply.usage.cached_tokens},
        'output_tokens': written,
        'output_tokens_details': {'reasoning_tokens': tokens.thought(reply.content, reply.usage)},
        'total_tokens': read + written,
    }


def _echo(answer: Answer) -> dict[str, Any]:
    """The fields of a response that repeat the request, or the provider's defaults."""
    request = answer.request.body
    text = request.get('text') or {}
    return {
        'id': answer.hex_id('resp_', 'response'),
        'object': 'response',
        'created_at': CREATED,
        'status': 'completed',
        'background': False,
        'billing': {'payer': 'developer'},
        'error': None,
        'incomplete_details': None,
        'instructions': request.get('instructions'),
        'max_output_tokens': request.get('max_output_tokens'),
        'max_tool_calls': None,
        'model': answer.model,
        'output': [],
        'parallel_tool_calls': request.get('parallel_tool_calls', True),
        'previous_response_id': None,
        'prompt_cache_key': request.get('prompt_cache_key'),
        'prompt_cache_retention': None,
        'reasoning': {'effort': None, 'summary': None, **(request.get('reasoning') or {})},
        'safety_identifier': None,
        'service_tier': 'default',
        'store': request.get('store', True),
        'temperature': request.get('temperature', 1.0),
        'text': {'format': text.get('format') or {'type': 'text'}, 'verbosity': text.get('verbosity') or 'medium'},
        'tool_choice': request.get('tool_choice', 'auto'),
        'tools': [_echoed_tool(tool) for tool in request.get('tools') or ()],
        'top_logprobs': 0,
        'top_p': request.get('top_p', 1.0),
        'truncation': 'disabled',
        'usage': None,
        'user': None,
        'metadata': {},
    }


def _echoed_tool(tool: Json) -> Json:
    return {**tool, 'description': tool['description'] or None} if 'description' in tool else tool
