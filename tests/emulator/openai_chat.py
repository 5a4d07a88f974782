"""OpenAI Chat Completions: bodies and streams; OpenRouter builds on them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from . import tokens
from .matching import CREATED, Answer, NoReply
from .requests import Json
from .script import Part
from .sse import DONE, deltas, event


def body(answer: Answer) -> Json:
    """The completion, as one JSON object."""
    text, calls = content(answer)
    message = {'role': 'assistant', 'content': text, 'refusal': None, 'annotations': []}
    choice = {'index': 0, 'message': {**message, **called(calls)}, 'logprobs': None}
    choices = [{**choice, 'finish_reason': finish_reason(answer)}]
    return {**_head(answer, 'chat.completion'), 'choices': choices, 'usage': usage(answer), **_tail(answer)}


def events(answer: Answer) -> Iterator[str]:
    """The completion, as a stream."""
    counted = bool((answer.request.body.get('stream_options') or {}).get('include_usage'))
    chunk = {**_head(answer, 'chat.completion.chunk'), **_tail(answer)}
    more = {'usage': None} if counted else {}
    text, calls = content(answer)
    first = {'role': 'assistant', 'content': None if text is None else '', 'refusal': None}
    for delta in [first, *text_deltas(text), *call_deltas(calls)]:
        yield event({**chunk, 'choices': [_choice(delta, None)], **more})
    yield event({**chunk, 'choices': [_choice({}, finish_reason(answer))], **more})
    if counted:
        yield event({**chunk, 'choices': [], 'usage': usage(answer)})
    yield DONE


def error_event(error: Json) -> str:
    """An error inside a stream."""
    return event(error)


def content(answer: Answer) -> tuple[str | None, list[dict[str, Any]]]:
    """The text, `None` if there is none, and the tool calls.

    Raises:
        NoReply: If a part has no place in a chat completion.
    """
    texts: list[str] = []
    calls: list[dict[str, Any]] = []
    for part in answer.reply.content:
        if part.text is not None:
            texts.append(part.text)
        elif part.tool_call is not None:
            calls.append(_call(answer, part, len(calls)))
        else:
            raise NoReply(f'{answer.request.api} has no `{part.kind}`')
    return (''.join(texts) if texts else None), calls


def called(calls: list[dict[str, Any]]) -> Json:
    """The field `tool_calls`, absent if nothing is called."""
    return {'tool_calls': calls} if calls else {}


def text_deltas(text: str | None) -> Iterator[Json]:
    """The text, piece by piece."""
    return ({'content': piece} for piece in deltas(text or ''))


def call_deltas(calls: list[dict[str, Any]]) -> Iterator[Json]:
    """The tool calls: each starts with id and name, then come the pieces of its arguments."""
    for index, call in enumerate(calls):
        function = {'name': call['function']['name'], 'arguments': ''}
        yield {'tool_calls': [{'index': index, 'id': call['id'], 'type': 'function', 'function': function}]}
        for piece in deltas(call['function']['arguments']):
            yield {'tool_calls': [{'index': index, 'function': {'arguments': piece}}]}


def finish_reason(answer: Answer) -> str:
    """Why the completion ended."""
    calls = any(part.kind == 'tool_call' for part in answer.reply.content)
    return answer.reply.stop_reason or ('tool_calls' if calls else 'stop')


def usage(answer: Answer) -> dict[str, Any]:
    """What the completion cost, in tokens."""
    reply = answer.reply
    read, written = tokens.read(answer.request, reply.usage), tokens.written(reply.content, reply.usage)
    return {
        'prompt_tokens': read,
        'completion_tokens': written,
        'total_tokens': read + written,
        'prompt_tokens_details': {'cached_tokens': reply.usage.cached_tokens, 'audio_tokens': 0},
        'completion_tokens_details': {
            'reasoning_tokens': tokens.thought(reply.content, reply.usage),
            'audio_tokens': 0,
            'accepted_prediction_tokens': 0,
            'rejected_prediction_tokens': 0,
        },
    }


def _call(answer: Answer, part: Part, index: int) -> dict[str, Any]:
    assert part.tool_call is not None
    call = part.tool_call
    arguments = call.args if isinstance(call.args, str) else json.dumps(call.args, ensure_ascii=False)
    identifier = call.id or answer.id('call_', index)
    return {'id': identifier, 'type': 'function', 'function': {'name': call.name, 'arguments': arguments}}


def _head(answer: Answer, kind: str) -> Json:
    return {
        'id': answer.id('chatcmpl-', 'completion', length=29),
        'object': kind,
        'created': CREATED,
        'model': answer.model,
    }


def _tail(answer: Answer) -> Json:
    return {'service_tier': 'default', 'system_fingerprint': answer.hex_id('fp_', answer.model, length=10)}


def _choice(delta: Json, reason: str | None) -> Json:
    return {'index': 0, 'delta': delta, 'logprobs': None, 'finish_reason': reason}
