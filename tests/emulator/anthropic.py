"""Anthropic Messages: bodies and streams, with the server tool `advisor_20260301`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from . import tokens
from .matching import Answer, NoReply
from .requests import BadRequest, Json, ProviderRequest
from .script import Advice, Part, Usage
from .sse import deltas, event

ADVISOR_TOOL = 'advisor_20260301'
ADVISOR_BETA = 'advisor-tool-2026-03-01'
ADVISOR_MIN_TOKENS = 1024

Block = dict[str, Any]


def check(request: ProviderRequest, betas: str) -> None:
    """Refuse what the provider refuses about the advisor tool.

    Raises:
        BadRequest: If the beta header or the tool is missing, `max_tokens` is too small, or a result has no call.
    """
    tool = _advisor_tool(request)
    if tool and ADVISOR_BETA not in betas:
        raise BadRequest(f'tools.0: {ADVISOR_TOOL!r} needs the header anthropic-beta: {ADVISOR_BETA}')
    if tool and (cap := tool.get('max_tokens')) is not None and cap < ADVISOR_MIN_TOKENS:
        raise BadRequest(f'tools.0.max_tokens: Input should be greater than or equal to {ADVISOR_MIN_TOKENS}')
    calls, results = _history(request)
    if orphans := [use for use in results if use not in calls]:
        raise BadRequest(f'messages: advisor_tool_result without its server_tool_use: {orphans[0]}')
    if not tool and _pending(request):
        raise BadRequest('tools: the advisor tool must stay in the request while a call of it is pending')


def body(answer: Answer) -> Json:
    """The message, as one JSON object."""
    content, usage = _content(answer)
    return {
        'model': answer.model,
        'id': answer.id('msg_01', 'message', length=22),
        'type': 'message',
        'role': 'assistant',
        'content': content,
        **_end(answer),
        'usage': usage,
    }


def events(answer: Answer) -> Iterator[str]:
    """The message, as a stream."""
    message = body(answer)
    usage, content = message['usage'], message['content']
    first = (usage.get('iterations') or [usage])[0]
    start = {key: usage[key] for key in ('cache_creation', 'service_tier', 'inference_geo')}
    read = {key: first[key] for key in ('input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens')}
    unfinished = {'content': [], 'stop_reason': None, 'usage': {**read, **start, 'output_tokens': 1}}
    yield _event('message_start', message={**message, **unfinished})
    for index, block in enumerate(content):
        yield from _block_events(index, block)
    end = {key: message[key] for key in ('stop_reason', 'stop_sequence', 'stop_details')}
    yield _event('message_delta', delta=end, usage={key: usage[key] for key in usage if key not in start})
    yield _event('message_stop')


def error_event(error: Json) -> str:
    """An error inside a stream."""
    return event(error, name='error')


def _event(name: str, **data: Any) -> str:
    return event({'type': name, **data}, name=name)


def _block_events(index: int, block: Block) -> Iterator[str]:
    if block['type'] == 'advisor_tool_result':
        yield _event('ping')  # the stream is silent while the advisor thinks
    start, pieces = _streamed(block)
    yield _event('content_block_start', index=index, content_block=start)
    if index == 0:
        yield _event('ping')
    for piece in pieces:
        yield _event('content_block_delta', index=index, delta=piece)
    yield _event('content_block_stop', index=index)


def _streamed(block: Block) -> tuple[Block, list[Block]]:
    """How a block starts, and the deltas that fill it; results of the advisor have none."""
    match block['type']:
        case 'text':
            return {**block, 'text': ''}, [{'type': 'text_delta', 'text': piece} for piece in deltas(block['text'])]
        case 'thinking':
            pieces = [{'type': 'thinking_delta', 'thinking': piece} for piece in deltas(block['thinking'])]
            signature = {'type': 'signature_delta', 'signature': block['signature']}
            return {**block, 'thinking': '', 'signature': ''}, [*pieces, signature]
        case 'tool_use':
            written = ['', *deltas(json.dumps(block['input'], ensure_ascii=False))]
            return {**block, 'input': {}}, [{'type': 'input_json_delta', 'partial_json': piece} for piece in written]
        case 'server_tool_use':
            return block, [{'type': 'input_json_delta', 'partial_json': ''}]
        case _:
            return block, []


def _content(answer: Answer) -> tuple[list[Block], Json]:
    """The blocks, and the usage that they cost."""
    writer = _Writer(answer, pending=_pending(answer.request))
    for part in answer.reply.content:
        writer.write(part)
    return writer.blocks, writer.usage()


@dataclass
class _Writer:
    """Writes blocks, and keeps the iterations of executor and advisor apart for the bill."""

    answer: Answer
    pending: list[str]
    """Ids of advisor calls in the history that wait for their result."""
    blocks: list[Block] = field(default_factory=list)
    iterations: list[list[Part] | Advice] = field(default_factory=list)

    def write(self, part: Part) -> None:
        if part.advice is not None:
            self._consult(part, part.advice)
            return
        self._say(part)
        if part.pending_advice:
            self._tool()
            self._call()
            return
        self.blocks.append(self._block(part))

    def _say(self, part: Part) -> None:
        if not self.iterations or isinstance(self.iterations[-1], Advice):
            self.iterations.append([])
        said = self.iterations[-1]
        assert isinstance(said, list)
        said.append(part)

    def _block(self, part: Part) -> Block:
        label = len(self.blocks)
        if part.thinking is not None:
            return {'type': 'thinking', 'thinking': part.thinking, 'signature': self.answer.blob('thinking', label)}
        if part.redacted_thinking is not None:
            return {'type': 'redacted_thinking', 'data': part.redacted_thinking}
        if part.tool_call is None:
            return {'type': 'text', 'text': part.text}
        call = part.tool_call
        if isinstance(call.args, str):
            raise NoReply(f'the arguments of {call.name!r} are a string, and Anthropic sends objects only')
        identifier = call.id or self.answer.id('toolu_01', label, length=22)
        return {'type': 'tool_use', 'id': identifier, 'name': call.name, 'input': call.args}

    def _call(self) -> str:
        identifier = self.answer.id('srvtoolu_01', len(self.blocks), length=22)
        self.blocks.append({'type': 'server_tool_use', 'id': identifier, 'name': 'advisor', 'input': {}})
        return identifier

    def _tool(self) -> Json:
        tool = _advisor_tool(self.answer.request)
        if tool is None:
            raise NoReply(f'the script asks the advisor, and the request does not offer {ADVISOR_TOOL!r}')
        return tool

    def _consult(self, part: Part, advice: Advice) -> None:
        tool = self._tool()
        if self.pending:
            identifier = self.pending.pop(0)
        else:
            self._say(part)
            identifier = self._call()
            self._check_uses(advice, tool.get('max_uses'))
        result = _result(self.answer, advice, tool.get('max_tokens'))
        self.blocks.append({'type': 'advisor_tool_result', 'tool_use_id': identifier, 'content': result})
        self.iterations.append(advice)

    def _check_uses(self, advice: Advice, limit: int | None) -> None:
        calls = sum(block['type'] == 'server_tool_use' for block in self.blocks)
        if limit is not None and calls > limit and advice.error != 'max_uses_exceeded':
            raise NoReply(f'the script advises {calls} times, and the request allows {limit} (`max_uses`)')

    def usage(self) -> Json:
        reply, tool = self.answer.reply, _advisor_tool(self.answer.request)
        if not self.iterations or isinstance(self.iterations[-1], Advice):
            self.iterations.append([])  # the executor reads the advice, even if it has nothing to add
        billed = self._billed(str(tool['model']) if tool else '')
        total = {key: sum(i[key] for i in billed if i['type'] == 'message') for key in _SUMMED}
        details = {'thinking_tokens': tokens.thought(reply.content, reply.usage)}
        searches = {'web_search_requests': 0, 'web_fetch_requests': 0}
        consulted = any(block['type'] == 'server_tool_use' for block in self.blocks)
        return {
            **total,
            'cache_creation': _NO_CACHE_WRITES,
            'output_tokens_details': details,
            **({'server_tool_use': searches} if consulted else {}),
            **({'iterations': billed} if tool else {}),
            'service_tier': 'standard',
            'inference_geo': 'global',
        }

    def _billed(self, advisor: str) -> list[dict[str, Any]]:
        usage = self.answer.reply.usage
        own = [said for said in self.iterations if isinstance(said, list)]
        written = iter(_spread(usage.output_tokens, [sum(map(tokens.of_part, said)) or 1 for said in own]))
        context = tokens.read(self.answer.request, Usage())
        billed: list[dict[str, Any]] = []
        for said in self.iterations:
            if isinstance(said, list):
                billed.append({**_counts(context, next(written)), 'type': 'message'})
                context += billed[-1]['output_tokens']
                continue
            if said.error is None or said.usage is not None:
                billed.append(_advisor_iteration(said, context, advisor))
            context += tokens.of_text(said.text or '')
        messages = [iteration for iteration in billed if iteration['type'] == 'message']
        reads = _spread(usage.input_tokens, [iteration['input_tokens'] for iteration in messages])
        for iteration, read in zip(messages, reads, strict=True):
            iteration['input_tokens'] = read
        messages[0]['cache_read_input_tokens'] = usage.cached_tokens
        return billed


_NO_CACHE_WRITES = {'ephemeral_5m_input_tokens': 0, 'ephemeral_1h_input_tokens': 0}
_SUMMED = ('input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens')


def _counts(read: int, written: int, cached: int = 0) -> dict[str, Any]:
    return {
        'input_tokens': read,
        'output_tokens': written,
        'cache_read_input_tokens': cached,
        'cache_creation_input_tokens': 0,
        'cache_creation': _NO_CACHE_WRITES,
    }


def _advisor_iteration(advice: Advice, context: int, model: str) -> dict[str, Any]:
    usage = advice.usage or Usage()
    read = usage.input_tokens if usage.input_tokens is not None else context
    written = usage.output_tokens if usage.output_tokens is not None else tokens.of_text(advice.text or '')
    return {**_counts(read, written, usage.cached_tokens), 'type': 'advisor_message', 'model': model}


def _spread(total: int | None, shares: list[int]) -> list[int]:
    """`total` over as many iterations as there are shares, the remainder on the first; the shares if it is unknown."""
    if total is None:
        return shares
    each = total // len(shares)
    return [total - each * (len(shares) - 1), *[each] * (len(shares) - 1)]


def _result(answer: Answer, advice: Advice, cap: int | None) -> Json:
    if advice.error is not None:
        return {'type': 'advisor_tool_result_error', 'error_code': advice.error}
    if advice.truncated and cap is None:
        raise NoReply('the advice is truncated, and the request sets no `max_tokens` for the advisor')
    # The provider tells why the advisor stopped only where the client set a cap.
    stop = {} if cap is None else {'stop_reason': 'max_tokens' if advice.truncated else 'end_turn'}
    if advice.redacted is not None:
        return {'type': 'advisor_redacted_result', 'encrypted_content': advice.redacted, **stop}
    note = f'\n\n[Advisor output truncated at max_tokens={cap}.]' if advice.truncated else ''
    return {'type': 'advisor_result', 'text': f'{advice.text}{note}', **stop}


def _end(answer: Answer) -> Json:
    reply = answer.reply
    kinds = {part.kind for part in reply.content}
    reason = 'tool_use' if 'tool_call' in kinds else 'pause_turn' if reply.pauses else 'end_turn'
    return {'stop_reason': reply.stop_reason or reason, 'stop_sequence': None, 'stop_details': None}


def _advisor_tool(request: ProviderRequest) -> Json | None:
    return next((tool for tool in request.body.get('tools') or () if tool.get('type') == ADVISOR_TOOL), None)


def _history(request: ProviderRequest) -> tuple[list[str], list[str]]:
    """Ids of the advisor calls in the history, and of the calls that have a result."""
    blocks = list(_history_blocks(request))
    calls = [b['id'] for b in blocks if b['type'] == 'server_tool_use' and b['name'] == 'advisor']
    return calls, [b['tool_use_id'] for b in blocks if b['type'] == 'advisor_tool_result']


def _pending(request: ProviderRequest) -> list[str]:
    calls, results = _history(request)
    return [call for call in calls if call not in results]


def _history_blocks(request: ProviderRequest) -> Iterable[Json]:
    for message in request.body['messages']:
        if message['role'] == 'assistant' and not isinstance(message['content'], str):
            yield from message['content']
