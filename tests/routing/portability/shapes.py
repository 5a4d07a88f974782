"""The shape that each API demands of a body, as far as a history can break it: one list of problems per body."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ['problems']

_ID = re.compile(r'[a-zA-Z0-9_-]{1,64}')
_MISTRAL_ID = re.compile(r'[a-zA-Z0-9]{9}')
_EMPTY_THINKING = re.compile(r'<(think|thinking|assistant_thinking)>\s*</\1>')

_CHAT_KEYS = {
    'system': {'role', 'content', 'name'},
    'developer': {'role', 'content', 'name'},
    'user': {'role', 'content', 'name'},
    'assistant': {'role', 'content', 'tool_calls', 'name', 'refusal'},
    'tool': {'role', 'content', 'tool_call_id'},
}
_ANTHROPIC_BLOCKS = {
    'user': {'text', 'image', 'document', 'tool_result', 'container_upload'},
    'assistant': {
        'text',
        'thinking',
        'redacted_thinking',
        'tool_use',
        'server_tool_use',
        'mcp_tool_use',
        'mcp_tool_result',
        'web_search_tool_result',
        'web_fetch_tool_result',
        'code_execution_tool_result',
        'bash_code_execution_tool_result',
        'text_editor_code_execution_tool_result',
        'advisor_tool_result',
        'tool_search_tool_result',
        'compaction',
    },
}
_RESPONSES_ITEMS = {
    'message': {'type', 'role', 'content', 'id', 'status', 'phase'},
    'reasoning': {'type', 'id', 'summary', 'content', 'encrypted_content', 'status'},
    'function_call': {'type', 'id', 'call_id', 'name', 'arguments', 'status', 'namespace'},
    'function_call_output': {'type', 'id', 'call_id', 'output', 'status'},
    'web_search_call': {'type', 'id', 'action', 'status'},
    'code_interpreter_call': {'type', 'id', 'code', 'container_id', 'outputs', 'status'},
    'image_generation_call': {'type', 'id', 'result', 'status'},
    'file_search_call': {'type', 'id', 'queries', 'results', 'status'},
    'compaction': {'type', 'id', 'encrypted_content'},
    'tool_search_call': {'type', 'id', 'call_id', 'arguments', 'execution', 'status'},
    'tool_search_output': {'type', 'id', 'call_id', 'tools', 'execution', 'status'},
}
_GOOGLE_PARTS = {
    'text',
    'thought',
    'thoughtSignature',
    'inlineData',
    'fileData',
    'functionCall',
    'functionResponse',
    'executableCode',
    'codeExecutionResult',
    'toolCall',
    'toolResponse',
    'videoMetadata',
    'mediaResolution',
}
_BEDROCK_BLOCKS = {
    'text',
    'image',
    'document',
    'video',
    'toolUse',
    'toolResult',
    'reasoningContent',
    'cachePoint',
    'citationsContent',
}


def problems(target: str, body: Any) -> list[str]:
    """What the API of `target` would refuse in `body`, or take for something that it is not."""
    return [*_everywhere(body), *_CHECKS[target](body)]


def _everywhere(value: Any) -> Iterator[str]:
    if isinstance(value, str) and _EMPTY_THINKING.search(value):
        yield f'empty think tags: {value!r}'
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        yield from _everywhere(item)


def _chat(body: Any, extra: frozenset[str] = frozenset()) -> Iterator[str]:
    open_calls: list[str] = []
    for n, message in enumerate(body['messages']):
        role = message['role']
        allowed = _CHAT_KEYS[role] | (extra if role == 'assistant' else frozenset())
        if more := message.keys() - allowed:
            yield f'message {n} ({role}) has keys {sorted(more)}'
        if role == 'tool':
            if message['tool_call_id'] not in open_calls:
                yield f'message {n} answers no call'
            else:
                open_calls.remove(message['tool_call_id'])
            continue
        if open_calls:
            yield f'message {n} comes before the results of {open_calls}'
        if role == 'assistant':
            open_calls = [call['id'] for call in message.get('tool_calls') or ()]
            yield from (f'id {i!r} has {len(i)} characters' for i in open_calls if not 0 < len(i) <= 40)
            if not _blank_free(message.get('content')) and not open_calls:
                yield f'message {n} is an empty assistant message'
        elif not message.get('content'):
            yield f'message {n} ({role}) is empty'
    if open_calls:
        yield f'no results of {open_calls}'


def _openrouter(body: Any) -> Iterator[str]:
    yield from _chat(body, frozenset({'reasoning', 'reasoning_details'}))


def _mistral(body: Any) -> Iterator[str]:
    plain = [{k: v for k, v in m.items() if k != 'prefix' and v != []} for m in body['messages']]
    yield from _chat({'messages': plain})
    for message in plain:
        for call in message.get('tool_calls') or ():
            if not _MISTRAL_ID.fullmatch(call['id']):
                yield f'id {call["id"]!r} is not of 9 letters and digits'


def _responses(body: Any) -> Iterator[str]:
    calls: dict[str, bool] = {}
    for n, item in enumerate(body['input']):
        kind = item.get('type', 'message')
        if more := item.keys() - _RESPONSES_ITEMS[kind]:
            yield f'item {n} ({kind}) has keys {sorted(more)}'
        if kind == 'message' and not _blank_free(item['content']):
            yield f'item {n} is an empty message'
        if kind == 'function_call':
            calls[item['call_id']] = False
            if not 0 < len(item['call_id']) <= 64:
                yield f'id {item["call_id"]!r} has {len(item["call_id"])} characters'
        if kind == 'function_call_output':
            if calls.get(item['call_id'], True):
                yield f'item {n} answers no call'
            calls[item['call_id']] = True
    yield from (f'no result of {i!r}' for i, done in calls.items() if not done)
    if (previous := body.get('previous_response_id')) and not previous.startswith('resp_'):
        yield f'previous_response_id is {previous!r}'


def _anthropic(body: Any) -> Iterator[str]:
    open_calls: list[str] = []
    first = body['messages'][0]
    if first['role'] != 'user' and first['content'][0]['type'] != 'compaction':
        yield 'the first message is not the user'
    for n, message in enumerate(body['messages']):
        blocks = message['content']
        if not blocks:
            yield f'message {n} is empty'
        kinds = {block['type'] for block in blocks}
        if more := kinds - _ANTHROPIC_BLOCKS[message['role']]:
            yield f'message {n} ({message["role"]}) has blocks {sorted(more)}'
        yield from (f'message {n} has blank text' for b in blocks if b['type'] == 'text' and not b['text'].strip())
        for call in [b['tool_use_id'] for b in blocks if b['type'] == 'tool_result']:
            if call not in open_calls:
                yield f'message {n} answers no call'
            else:
                open_calls.remove(call)
        if open_calls:
            yield f'message {n} comes without results of {open_calls}'
        open_calls = [b['id'] for b in blocks if b['type'] == 'tool_use']
        yield from (f'id {i!r} breaks the pattern' for i in open_calls if not _ID.fullmatch(i))
    thinking = (body.get('thinking') or {}).get('type')
    if thinking == 'enabled' and not _begins_thinking(body['messages']):
        yield 'thinking is enabled in a loop that does not begin with thinking'


def _begins_thinking(messages: list[Any]) -> bool:
    if not any(block['type'] == 'tool_result' for block in messages[-1]['content']):
        return True
    last = [message for message in messages if message['role'] == 'assistant'][-1]
    return last['content'][0]['type'] in ('thinking', 'redacted_thinking')


def _google(body: Any) -> Iterator[str]:
    open_calls: list[str] = []
    for n, content in enumerate(body['contents']):
        if not content.get('parts'):
            yield f'content {n} is empty'
        for part in content['parts']:
            if more := part.keys() - _GOOGLE_PARTS:
                yield f'content {n} has {sorted(more)}'
            if not part.get('text', 'text').strip():
                yield f'content {n} has blank text'
        calls = [part for part in content['parts'] if 'functionCall' in part]
        if calls and content['role'] == 'model' and 'thoughtSignature' not in calls[0]:
            yield f'content {n} has a first call without signature'
        for part in content['parts']:
            if 'functionResponse' in part:
                if part['functionResponse'].get('id') not in open_calls:
                    yield f'content {n} answers no call'
                else:
                    open_calls.remove(part['functionResponse'].get('id'))
        open_calls.extend(part['functionCall'].get('id') for part in calls)
    if open_calls:
        yield f'no results of {open_calls}'


def _bedrock(body: Any) -> Iterator[str]:
    open_calls: list[str] = []
    role = None
    for n, message in enumerate(body['messages']):
        if message['role'] == role:
            yield f'message {n} has the role of the one before'
        role = message['role']
        if not message['content']:
            yield f'message {n} is empty'
        for block in message['content']:
            if more := block.keys() - _BEDROCK_BLOCKS:
                yield f'message {n} has blocks {sorted(more)}'
            if 'text' in block and not block['text'].strip():
                yield f'message {n} has blank text'
            if 'toolResult' in block:
                if block['toolResult']['toolUseId'] not in open_calls:
                    yield f'message {n} answers no call'
                else:
                    open_calls.remove(block['toolResult']['toolUseId'])
        if open_calls:
            yield f'message {n} comes without results of {open_calls}'
        open_calls = [block['toolUse']['toolUseId'] for block in message['content'] if 'toolUse' in block]
        yield from (f'id {i!r} breaks the pattern' for i in open_calls if not _ID.fullmatch(i))


def _blank_free(content: Any) -> bool:
    """Whether there is content, and none of it is blank text."""
    if isinstance(content, str):
        return bool(content.strip())
    return bool(content) and all(not isinstance(c.get('text'), str) or c['text'].strip() for c in content)


_CHECKS: dict[str, Callable[[Any], Iterator[str]]] = {
    'anthropic': _anthropic,
    'bedrock': _bedrock,
    'chat': _chat,
    'google': _google,
    'groq': _chat,
    'mistral': _mistral,
    'openrouter': _openrouter,
    'responses': _responses,
}
