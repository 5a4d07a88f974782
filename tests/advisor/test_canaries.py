"""Canary secrets on every path, with every ending and policy: where they may be, and nowhere else."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import AsyncAnthropic
from pydantic import BaseModel
from pydantic_ai import Agent, SystemPromptPart, ToolReturnPart, UserPromptPart, capture_run_messages
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from advisor_harness import Advisor
from advisor_harness.cassettes import CassetteTransport, use_cassette
from advisor_harness.telemetry import conventions as names

from .conftest import Spans
from .scripts import (
    HAIKU,
    OPUS,
    Provider,
    Script,
    asks,
    client_call,
    completion,
    executor,
    executor_reads,
    message,
    native_advice,
    native_error,
    says,
    server_tool_usage,
    text,
)

pytestmark = pytest.mark.anyio

QUESTION, ADVICE, BODY, HEADER = 'CANARY-question', 'CANARY-advice', 'CANARY-body', 'CANARY-header'
SYSTEM, RESULT, TASK = 'CANARY-system', 'CANARY-result', 'CANARY-task'
NAME, ROUTER = f'anthropic:{OPUS}', 'openrouter:anthropic/claude-opus-4.8'
FAILED = {'x-secret': HEADER, 'request-id': HEADER}


class Verdict(BaseModel):
    why: str


def failing(status: int, kind: str) -> httpx2.Response:
    body = {'type': 'error', 'error': {'type': kind, 'message': BODY}, 'request_id': BODY}
    return httpx2.Response(status, json=body, headers=FAILED)


def structured() -> dict[str, Any]:
    return message(
        {'type': 'tool_use', 'id': 'toolu_9', 'name': 'final_result', 'input': {'why': ADVICE}}, stop='tool_use'
    )


def unfit() -> dict[str, Any]:
    return message(
        {'type': 'tool_use', 'id': 'toolu_9', 'name': 'final_result', 'input': {BODY: BODY}}, stop='tool_use'
    )


ENDINGS: dict[str, Callable[[], Any]] = {
    'advised': lambda: message(text(ADVICE)),
    'structured': structured,
    'invalid': unfit,
    'truncated': lambda: message(text(ADVICE), stop='max_tokens'),
    'filtered': lambda: {**message(stop='refusal'), 'stop_sequence': BODY},
    'empty': lambda: message(),
    'rate limit': lambda: failing(429, 'rate_limit_error'),
    'overloaded': lambda: failing(529, 'overloaded_error'),
    'too long': lambda: httpx2.Response(
        400,
        json={'type': 'error', 'error': {'type': 'invalid_request_error', 'message': f'prompt is too long: {BODY}'}},
        headers=FAILED,
    ),
    'unknown model': lambda: failing(404, 'not_found_error'),
    'credentials': lambda: failing(401, 'authentication_error'),
    'rejected': lambda: failing(400, 'invalid_request_error'),
    'no connection': lambda: httpx2.ConnectError(BODY),
    'no answer': lambda: httpx2.ReadTimeout(BODY),
    'garbage': lambda: httpx2.Response(200, text=BODY, headers=FAILED),
}
HISTORY: list[ModelMessage] = [
    ModelRequest(parts=[SystemPromptPart(SYSTEM), UserPromptPart(TASK)]),
    ModelResponse(parts=[TextPart('I look.'), ToolCallPart('look', {}, 'call-0')]),
    ModelRequest(parts=[ToolReturnPart('look', RESULT, 'call-0')]),
    ModelResponse(parts=[TextPart('Well.')]),
]


async def run(agent: Agent[Any, Any], *, streamed: bool) -> list[ModelMessage]:
    """Run to whatever end, and what was said until then."""
    with capture_run_messages() as messages:
        try:
            if streamed:
                async with agent.run_stream('Go.', message_history=HISTORY) as stream:
                    await stream.get_output()
            else:
                await agent.run('Go.', message_history=HISTORY)
        except (AgentRunError, ValueError):
            pass
    return messages


def exported(spans: Spans) -> str:
    return ''.join(span.to_json() for span in spans.finished)


LOCAL = [
    (*case, *how)
    for case in product(ENDINGS, ['raise', 'continue'])
    for how in ((False, False), (False, True), (True, 'transcript'))
]


@pytest.mark.parametrize(
    ('ending', 'on_error', 'streamed', 'history'), LOCAL, ids=['-'.join(map(str, case)) for case in LOCAL]
)
async def test_f31_local_consultations_leak_nothing(
    ending: str, on_error: Any, streamed: bool, history: Any, spans: Spans, caplog: pytest.LogCaptureFixture
) -> None:
    """With content off no canary is in a span or log of ours, and the executor reads no word of a failing provider."""
    caplog.set_level(logging.DEBUG)
    script = executor(asks(QUESTION))
    output: Any = Verdict if ending in ('structured', 'invalid') else str
    ours = Advisor[object](
        Provider(ENDINGS[ending]()).anthropic(OPUS), output_type=output, on_error=on_error, forward_history=history
    )
    await run(Agent(script.model(), capabilities=[spans.capability(), ours]), streamed=streamed)
    assert 'CANARY' not in exported(spans)
    assert [span.name for span in spans.finished].count('consult advisor') >= 1
    assert [(record.name, record.getMessage()) for record in caplog.records if 'advisor_harness' in record.name] == []
    read = executor_reads(script)
    assert (BODY in read, HEADER in read) == (False, False)
    assert (ADVICE in read) == (ending in ('advised', 'structured', 'truncated'))


NATIVE: dict[str, list[dict[str, Any]]] = {
    'advised': [message(*native_advice(type='advisor_result', text=ADVICE), text('done'))],
    'truncated': [message(*native_advice(type='advisor_result', text=ADVICE, stop_reason='max_tokens'), text('done'))],
    'redacted': [message(*native_advice(type='advisor_redacted_result', encrypted_content=ADVICE), text('done'))],
    'failed': [message(*native_error('overloaded'), text('done'))],
    'refused': [message(*native_error('max_uses_exceeded'), text('done'))],
    'with a tool': [
        message(*native_advice(type='advisor_result', text=ADVICE), client_call('look'), stop='tool_use'),
        message(text('done')),
    ],
}


def providers(path: str, ending: str) -> tuple[Any, str]:
    """The executor of a native path, and the advisor's name."""
    if path == 'openrouter':
        return Provider(completion('done', **server_tool_usage(1))).openrouter(), ROUTER
    return Provider(*NATIVE[ending]).anthropic(), NAME


@pytest.mark.parametrize(('path', 'ending'), [*(('anthropic', ending) for ending in NATIVE), ('openrouter', 'advised')])
@pytest.mark.parametrize('on_error', ['raise', 'continue'])
@pytest.mark.parametrize('streamed', [False, True])
async def test_f31_native_consultations_leak_nothing(
    path: str, ending: str, on_error: Any, streamed: bool, spans: Spans, caplog: pytest.LogCaptureFixture
) -> None:
    """With content off no canary is in any span, event or status, nor in a log of ours."""
    caplog.set_level(logging.DEBUG)
    model, name = providers(path, ending)
    agent = Agent(model, capabilities=[spans.capability(), Advisor[object](name, on_error=on_error)])

    @agent.tool_plain
    def look() -> str:
        return RESULT

    await run(agent, streamed=streamed)
    assert 'CANARY' not in exported(spans)
    assert [span.name for span in spans.finished if span.name in names.SPAN_ATTRIBUTES] != []
    assert [record for record in caplog.records if 'advisor_harness' in record.name] == []


@pytest.mark.parametrize('ending', ['rate limit', 'rejected', 'credentials', 'garbage'])
@pytest.mark.parametrize('streamed', [False, True])
async def test_f31_an_executor_whose_provider_fails_leaks_nothing(ending: str, streamed: bool, spans: Spans) -> None:
    """The same for errors of the provider that would consult natively: spans say what kind of error it was."""
    agent = Agent(Provider(ENDINGS[ending]()).anthropic(), capabilities=[spans.capability(), Advisor[object](NAME)])
    await run(agent, streamed=streamed)
    assert 'CANARY' not in exported(spans)


@pytest.mark.parametrize('ending', ENDINGS)
async def test_f31_own_spans_carry_no_text_with_content_on(ending: str, spans: Spans) -> None:
    """With content on core's spans have it, ours still have lengths only."""
    output: Any = Verdict if ending in ('structured', 'invalid') else str
    ours = Advisor[object](
        Provider(ENDINGS[ending]()).anthropic(OPUS), output_type=output, forward_history='transcript', max_uses=1
    )
    agent = Agent(executor(asks(QUESTION)).model(), capabilities=[spans.capability(include_content=True), ours])
    await run(agent, streamed=False)
    own = [span for span in spans.finished if span.name in names.SPAN_ATTRIBUTES]
    assert len(own) >= 3
    assert 'CANARY' not in ''.join(span.to_json() for span in own)
    assert QUESTION in exported(spans), 'the canary would be found'


async def test_notes_in_messages_hold_no_text() -> None:
    """What is left in the metadata of messages, for `spend`, are numbers and ids."""
    ours = Advisor[object](Provider(message(text(ADVICE))).anthropic(OPUS), forward_history='transcript')
    messages = await run(Agent(executor(asks(QUESTION)).model(), capabilities=[ours]), streamed=False)
    notes = [message.metadata for message in messages if isinstance(message, ModelResponse) and message.metadata]
    assert (len(notes), 'CANARY' in repr(notes)) == (1, False)


@pytest.mark.parametrize('status', [200, 429])
async def test_a_recorded_consultation_holds_no_credentials(status: int, tmp_path: Path) -> None:
    """Keys and headers of both sides stay out of the cassette; the bodies are what it is for."""
    body = message(text('Use a lock.')) if status == 200 else {'type': 'error', 'error': {'type': 'x', 'message': 'no'}}
    headers = {**FAILED, 'set-cookie': f'session={HEADER}', 'x-request-id': HEADER}

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, json=body, headers=headers)

    path = tmp_path / 'consultation.yaml'
    transport = CassetteTransport(lambda: httpx2.MockTransport(answer))
    key = 'sk-ant-CANARY-key-0123456789abcdef'
    with use_cassette(path, mode='record'):
        async with httpx2.AsyncClient(transport=transport) as http_client:
            client = AsyncAnthropic(api_key=key, http_client=http_client, max_retries=0)
            advisor = AnthropicModel(HAIKU, provider=AnthropicProvider(anthropic_client=client))
            ours = Advisor[object](advisor, on_error='continue')
            await run(Agent(Script(asks('How?'), says('done')).model(), capabilities=[ours]), streamed=False)
    recorded = path.read_text()
    assert ('How?' in recorded, 'CANARY' in recorded) == (True, False)
