"""OpenRouter as the real SDK and pydantic-ai read it, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.exceptions import ModelHTTPError, ModelRateLimitError
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.native_tools import AdvisorTool

from .clients import Clients, ask, both, conversation, refused, told

LOOK = {'name': 'look', 'args': {'q': 'a b'}}
USAGE = {'input_tokens': 900, 'output_tokens': 69}

SCRIPT = {
    'name': 'openrouter',
    'conversations': [
        conversation('text', {'text': 'It is Paris, in France.', 'usage': USAGE, 'cost_usd': 0.5}),
        conversation('tools', {'text': 'Looking.', 'tool_calls': [LOOK, LOOK]}, {'text': 'Done.'}),
        conversation('thinking', {'parts': [{'thinking': 'Hm, hm.'}, {'redacted_thinking': 'blob'}, {'text': 'Yes.'}]}),
        conversation(
            'advice', {'advice': {'text': 'Say 4.', 'cost_usd': 0.015885}, 'text': 'It is 4.', 'usage': USAGE}
        ),
        conversation(
            'two', {'advice': [{'text': 'x' * 400}, {'error': 'overloaded'}], 'text': 'Fine.', 'usage': USAGE}
        ),
        conversation('in body', {'error': {'status': 429, 'http_status': 200}}),
    ],
}


async def responses(clients: Clients, name: str, *, streamed: bool, advised: bool = False) -> list[ModelResponse]:
    """The responses of a run, with the advisor tool if `advised`."""
    tool = AdvisorTool(model='~anthropic/claude-opus-latest', max_tokens=1024)
    capabilities = [NativeTool(tool)] if advised else []
    return await ask(clients.model('openrouter'), f'[{name}]', streamed=streamed, capabilities=capabilities)


def details(response: ModelResponse, *names: str) -> list[Any]:
    """Some provider details of a response, `None` where absent."""
    return [(response.provider_details or {}).get(name) for name in names]


@pytest.mark.anyio
@both
async def test_text(clients: Clients, streamed: bool) -> None:
    """A plain answer has the text, usage and cost of the script, and deterministic ids."""
    [response] = await responses(clients, 'text', streamed=streamed)
    assert list(map(told, response.parts)) == [('text', 'It is Paris, in France.')]
    assert (response.usage.input_tokens, response.usage.output_tokens) == (900, 69)
    assert details(response, 'cost', 'upstream_inference_cost', 'downstream_provider') == [0.5, 0.5, 'OpenAI']
    assert details(response, 'server_tool_use') == [None]
    assert response.provider_response_id == 'gen-1767225600-kcnQkempqSyTkRrNOG6A'


@pytest.mark.anyio
@both
async def test_parallel_tool_calls(clients: Clients, streamed: bool) -> None:
    """Calls of one turn have ids of their own, and the next reply comes when their results are in."""
    first, last = await responses(clients, 'tools', streamed=streamed)
    call = ('look', {'q': 'a b'})
    assert list(map(told, first.parts)) == [('text', 'Looking.'), call, call]
    assert list(map(told, last.parts)) == [('text', 'Done.')]
    assert len({part.tool_call_id for part in first.parts if isinstance(part, ToolCallPart)}) == 2


@pytest.mark.anyio
@both
async def test_thinking(clients: Clients, streamed: bool) -> None:
    """Thinking comes as reasoning details, redacted thinking as encrypted ones."""
    [response] = await responses(clients, 'thinking', streamed=streamed)
    assert list(map(told, response.parts)) == [('thinking', 'Hm, hm.'), ('thinking', ''), ('text', 'Yes.')]
    assert response.parts[1].signature == 'blob'  # type: ignore[union-attr]  # told apart above


@pytest.mark.anyio
@both
async def test_advice_shows_in_counts_and_cost_only(clients: Clients, streamed: bool) -> None:
    """The advisor's cost is the difference of the two costs, and its text stays with the provider."""
    [response] = await responses(clients, 'advice', streamed=streamed, advised=True)
    assert list(map(told, response.parts)) == [('text', 'It is 4.')]
    assert details(response, 'cost', 'upstream_inference_cost') == [0.0160614, 0.0001764]
    assert details(response, 'server_tool_use') == [{'tool_calls_requested': 1, 'tool_calls_executed': 1}]


@pytest.mark.anyio
@both
async def test_a_failed_consultation_was_requested_and_not_executed(clients: Clients, streamed: bool) -> None:
    """Costs that the script leaves open follow from the tokens; a failure is free."""
    [response] = await responses(clients, 'two', streamed=streamed, advised=True)
    assert details(response, 'cost', 'upstream_inference_cost') == [0.0071764, 0.0001764]
    assert details(response, 'server_tool_use') == [{'tool_calls_requested': 2, 'tool_calls_executed': 1}]


@pytest.mark.anyio
async def test_a_stream_waits_in_comments(clients: Clients) -> None:
    """While the model and its advisor work, the stream has comments and no events."""
    tools = [{'type': 'openrouter:advisor', 'parameters': {'model': 'm'}}]
    body = {'model': 'm', 'messages': [{'role': 'user', 'content': '[advice]'}], 'stream': True, 'tools': tools}
    response = await clients.http.post('https://openrouter.ai/api/v1/chat/completions', json=body)
    events = response.text.split('\n\n')
    assert events[:12] == [': OPENROUTER PROCESSING'] * 12
    assert events[12].startswith('data: {"id":"gen-1767225600-')


@pytest.mark.anyio
async def test_an_error_inside_a_good_response(clients: Clients) -> None:
    """OpenRouter may report an error of its provider with status 200."""
    with pytest.raises(ModelRateLimitError) as caught:
        await responses(clients, 'in body', streamed=False)
    assert isinstance(caught.value, ModelHTTPError)
    assert (caught.value.status_code, caught.value.body) == (429, 'Provider returned error')


@pytest.mark.anyio
@pytest.mark.parametrize(
    ('reply', 'problem'),
    [
        (
            {'advice': {'text': 'a'}, 'text': 'x'},
            "the script asks the advisor, and the request does not offer 'openrouter:advisor'",
        ),
        ({'parts': [{'pending_advice': True}]}, 'openrouter has no `pending_advice`'),
    ],
)
async def test_replies_that_the_api_cannot_express(reply: dict[str, Any], problem: str) -> None:
    """A script that the provider could not follow is an error of the script, told to client and author."""
    told_author, told_client = await refused('openrouter', reply)
    assert told_author == f'requests without a reply in the scripts: 1\n{problem}'
    assert (told_client.status_code, told_client.body) == (418, {'message': f'emulator: {problem}', 'code': 418})
