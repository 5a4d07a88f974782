"""OpenRouter Chat Completions: bodies and streams, with the server tool `openrouter:advisor`.

The advisor works out of sight: only counts and costs show that it was consulted, whatever it said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from . import openai_chat, tokens
from .matching import CREATED, Answer, NoReply
from .requests import Json
from .script import Advice, Part
from .sse import DONE, comment, event

ADVISOR_TOOL = 'openrouter:advisor'
PROVIDERS = {'anthropic': 'Anthropic', 'google': 'Google', 'mistralai': 'Mistral', 'openai': 'OpenAI'}

# US dollars a token, read and written, of a small executor and a large advisor.
EXECUTOR_PRICES = (0.15e-6, 0.6e-6)
ADVISOR_PRICES = (5e-6, 25e-6)

WAITING_COMMENTS = 2
WAITING_COMMENTS_PER_CONSULTATION = 10


def body(answer: Answer) -> Json:
    """The completion, as one JSON object."""
    visible, reasoning = _visible(answer)
    text, calls = openai_chat.content(visible)
    message: dict[str, Any] = {'role': 'assistant', 'content': text if calls == [] else text or '', 'refusal': None}
    message |= {'reasoning': _reasoning_text(reasoning)}
    if reasoning:
        message['reasoning_details'] = reasoning
    message |= openai_chat.called([{'index': index, **call} for index, call in enumerate(calls)])
    choice = {'index': 0, 'logprobs': None, **_finish(answer), 'message': message}
    head = _head(answer, 'chat.completion')
    return {**head, 'choices': [choice], 'service_tier': None, 'system_fingerprint': None, 'usage': _usage(answer)}


def events(answer: Answer) -> Iterator[str]:
    """The completion, as a stream, which starts with comments while the model (and the advisor) think."""
    consultations = len(_advice(answer))
    for _ in range(WAITING_COMMENTS + WAITING_COMMENTS_PER_CONSULTATION * consultations):
        yield comment('OPENROUTER PROCESSING')
    visible, reasoning = _visible(answer)
    text, calls = openai_chat.content(visible)
    chunk = _head(answer, 'chat.completion.chunk')
    thinking = ({'content': '', 'reasoning': d.get('text'), 'reasoning_details': [d]} for d in reasoning)
    for delta in [*thinking, *openai_chat.text_deltas(text), *openai_chat.call_deltas(calls)]:
        yield event({**chunk, 'choices': [_choice(delta, _UNFINISHED)]})
    end = {**chunk, 'choices': [_choice({'content': ''}, _finish(answer))]}
    yield event(end)
    yield event({**end, 'service_tier': None, 'usage': _usage(answer)})
    yield DONE


def error_event(answer: Answer, error: Json) -> str:
    """An error inside a stream, in a chunk of its own, and the end of the stream."""
    chunk = {**_head(answer, 'chat.completion.chunk'), 'error': error['error']}
    return event({**chunk, 'choices': [_choice({'content': ''}, _UNFINISHED)], 'usage': _usage(answer)}) + DONE


_UNFINISHED = {'finish_reason': None, 'native_finish_reason': None}


def _visible(answer: Answer) -> tuple[Answer, list[dict[str, Any]]]:
    """The answer without what only OpenRouter has, and its reasoning."""
    if _advice(answer) and ADVISOR_TOOL not in answer.request.tools:
        raise NoReply(f'the script asks the advisor, and the request does not offer {ADVISOR_TOOL!r}')
    thoughts = [part for part in answer.reply.content if part.kind in ('thinking', 'redacted_thinking')]
    hidden = {'thinking', 'redacted_thinking', 'advice'}
    parts = [part for part in answer.reply.content if part.kind not in hidden]
    shorthand = {'thinking': None, 'advice': (), 'text': None, 'tool_calls': (), 'parts': parts}
    details = [_detail(part, index) for index, part in enumerate(thoughts)]
    return replace(answer, reply=answer.reply.model_copy(update=shorthand)), details


def _detail(part: Part, index: int) -> dict[str, Any]:
    if part.redacted_thinking is not None:
        return {'type': 'reasoning.encrypted', 'data': part.redacted_thinking, 'index': index, 'format': None}
    return {'type': 'reasoning.text', 'text': part.thinking, 'index': index, 'format': None}


def _reasoning_text(details: list[dict[str, Any]]) -> str | None:
    return ''.join(detail.get('text', '') for detail in details) or None


def _advice(answer: Answer) -> list[Advice]:
    return [part.advice for part in answer.reply.content if part.advice is not None]


def _usage(answer: Answer) -> Json:
    counts = openai_chat.usage(answer)
    advice = _advice(answer)
    prices = zip(EXECUTOR_PRICES, (counts['prompt_tokens'], counts['completion_tokens']), strict=True)
    read, written = (_dollars(price * count) for price, count in prices)
    own = answer.reply.cost_usd if answer.reply.cost_usd is not None else _dollars(read + written)
    total = _dollars(own + sum(_advice_cost(item, counts['prompt_tokens']) for item in advice))
    executed = {'tool_calls_requested': len(advice), 'tool_calls_executed': sum(a.error is None for a in advice)}
    return {
        **{key: counts[key] for key in ('prompt_tokens', 'completion_tokens', 'total_tokens')},
        'cost': total,
        'prompt_tokens_details': {**counts['prompt_tokens_details'], 'cache_write_tokens': 0, 'video_tokens': 0},
        'completion_tokens_details': {
            'reasoning_tokens': counts['completion_tokens_details']['reasoning_tokens'],
            'image_tokens': 0,
            'audio_tokens': 0,
        },
        'cost_details': {
            'upstream_inference_cost': own,
            'upstream_inference_prompt_cost': read,
            'upstream_inference_completions_cost': written,
        },
        **({'server_tool_use_details': executed} if advice else {}),
    }


def _advice_cost(advice: Advice, read: int) -> float:
    if advice.cost_usd is not None:
        return advice.cost_usd
    if advice.error is not None:
        return 0.0
    price_read, price_written = ADVISOR_PRICES
    return price_read * read + price_written * tokens.of_text(advice.text or advice.redacted or '')


def _dollars(amount: float) -> float:
    return round(amount, 10)


def _head(answer: Answer, kind: str) -> Json:
    maker = answer.request.model.lstrip('~').partition('/')[0]
    return {
        'id': answer.id(f'gen-{CREATED}-', 'completion', length=20),
        'object': kind,
        'created': CREATED,
        'model': answer.model,
        'provider': PROVIDERS.get(maker, maker.title()),
    }


def _finish(answer: Answer) -> Json:
    reason = openai_chat.finish_reason(answer)
    return {'finish_reason': reason, 'native_finish_reason': reason}


def _choice(delta: Json, finish: Json) -> Json:
    return {'index': 0, 'delta': {'role': 'assistant', **delta}, **finish}
