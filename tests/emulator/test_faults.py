"""Errors and faults, and the exception of pydantic-ai that each of them becomes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
)
from pydantic_ai.settings import ModelSettings

from . import refusing
from .clients import Clients, apis, ask, both, clients_of, conversation
from .script import Api

TEXT = 'one two three four five six seven eight nine ten'
ERRORS: dict[Any, type[Exception]] = {
    400: ModelRequestRejectedError,
    401: ModelAuthenticationError,
    403: ModelAuthenticationError,
    404: ModelNotFoundError,
    429: ModelRateLimitError,
    500: ModelServerError,
    503: ModelAPIError,
    529: ModelOverloadedError,
    'context_window': ModelContextWindowExceededError,
    'quota': ModelQuotaExceededError,
}
FAULTS: dict[str, dict[str, Any]] = {
    'late': {'delay_s': 30},
    'dripping': {'drip_s': 0.001},
    'zipped': {'gzip': True},
    'mislabelled': {'content_type': 'text/plain'},
    'reset': {'reset': True},
    'cut later': {'cut_after': 5},
    'ended at once': {'end_after': 0},
    'ended later': {'end_after': 5},
    'malformed': {'malformed': True},
    'failed at once': {'error_after': 0, 'error': 429},
    'failed later': {'error_after': 5, 'error': 529},
}

SCRIPT = {
    'name': 'faults',
    'conversations': [
        *(conversation(f'error {error}', {'error': error}) for error in ERRORS),
        *(conversation(name, {'text': TEXT, 'fault': fault}) for name, fault in FAULTS.items()),
        conversation('hint', {'error': {'status': 429, 'retry_after': 7, 'should_retry': False}}),
        conversation('recovers', {'attempts': [{'error': {'status': 500, 'retry_after_ms': 1}}, {'text': TEXT}]}),
        conversation('only reset', {'fault': {'reset': True}}),
        conversation('page', {'raw': {'body': '<html>busy</html>', 'content_type': 'text/html'}}),
        conversation('bad gateway', {'raw': {'body': '<html>', 'content_type': 'text/html', 'status': 502}}),
    ],
}


async def failure(clients: Clients, api: Api, name: str, *, streamed: bool) -> AgentRunError:
    with pytest.raises(AgentRunError) as caught:
        await ask(clients.model(api), f'[{name}]', streamed=streamed)
    return caught.value


@pytest.mark.anyio
@apis
@pytest.mark.parametrize('error', list(ERRORS))
async def test_errors_have_the_shape_that_clients_understand(clients: Clients, api: Api, error: Any) -> None:
    """Each status and kind of error is recognised for what it is, from each provider."""
    failed = await failure(clients, api, f'error {error}', streamed=False)
    assert isinstance(failed, ERRORS[error])
    assert isinstance(failed, ModelHTTPError)
    quota = {'anthropic': 400, 'openrouter': 402}.get(api, 429)
    assert failed.status_code == {'context_window': 400, 'quota': quota}.get(error, error)
    assert clients.attempts == 1


@pytest.mark.anyio
@apis
async def test_hints_for_a_retry(clients: Clients, api: Api) -> None:
    """Headers tell the client when to come back, and that it should not."""
    failed = await failure(clients, api, 'hint', streamed=False)
    assert isinstance(failed, ModelRateLimitError)
    assert failed.retry_after == 7


@pytest.mark.anyio
@apis
async def test_a_retry_of_the_sdk_gets_the_next_attempt(clients: Clients, api: Api) -> None:
    """An error that goes away is answered by the attempt that the SDK counts."""
    agent = Agent(clients.model(api), model_settings=ModelSettings(max_tokens=4096))
    assert (await agent.run('[recovers]')).output == TEXT
    assert clients.attempts == 2


@pytest.mark.anyio
@both
@apis
@pytest.mark.parametrize('name', ['dripping', 'zipped', 'mislabelled'])
async def test_harmless_oddities(clients: Clients, api: Api, name: str, streamed: bool) -> None:
    """A slow, a compressed and a mislabelled body are read in full."""
    [response] = await ask(clients.model(api), f'[{name}]', streamed=streamed)
    assert response.text == TEXT


@pytest.mark.anyio
@apis
async def test_a_late_answer_is_a_timeout(clients: Clients, api: Api) -> None:
    """A first byte that comes after the read timeout is a timeout of the client, which does not wait longer."""
    agent = Agent(clients.model(api), model_settings={'max_tokens': 4096, 'max_retries': 0, 'timeout': 0.05})
    with pytest.raises(ModelTimeoutError) as caught:
        await agent.run('[late]')
    assert caught.value.phase == 'read'


@pytest.mark.anyio
@both
@apis
@pytest.mark.parametrize('name', ['reset', 'only reset', 'cut later'])
async def test_broken_connections(clients: Clients, api: Api, name: str, streamed: bool) -> None:
    """A reset and a cut in the middle of a body or stream are connection errors while reading."""
    failed = await failure(clients, api, name, streamed=streamed)
    assert isinstance(failed, ModelConnectionError)
    assert failed.phase == 'read'


@pytest.mark.anyio
@apis
async def test_refused_connections(api: Api) -> None:
    """A port that nobody listens on is a connection error while connecting."""
    with refusing() as origin:
        async with clients_of(origin) as clients:
            failed = await failure(clients, api, 'any', streamed=False)
    assert isinstance(failed, ModelConnectionError)
    assert failed.phase == 'connect'


@pytest.mark.anyio
@apis
async def test_a_body_that_ends_early_is_no_json(clients: Clients, api: Api) -> None:
    """A JSON body without its end cannot be decoded."""
    failed = await failure(clients, api, 'ended later', streamed=False)
    assert isinstance(failed, ModelAPIError)
    assert str(failed).startswith('Failed to decode response as JSON: ')


@pytest.mark.anyio
@apis
async def test_a_stream_that_ends_early_looks_like_a_success(clients: Clients, api: Api) -> None:
    """The trap that recordings must not fall into: the text is short, and no client notices."""
    [response] = await ask(clients.model(api), '[ended later]', streamed=True)
    assert response.text is not None
    assert TEXT.startswith(response.text)


@pytest.mark.anyio
@apis
async def test_a_stream_without_any_event_is_no_answer(clients: Clients, api: Api) -> None:
    """A stream that ends before its first event is unexpected behaviour."""
    failed = await failure(clients, api, 'ended at once', streamed=True)
    assert isinstance(failed, UnexpectedModelBehavior)
    assert str(failed) == 'Streamed response ended without content or tool calls'


@pytest.mark.anyio
@both
@apis
async def test_malformed_json(clients: Clients, api: Api, streamed: bool) -> None:
    """Broken JSON in a body or in an event is told apart from a broken connection."""
    failed = await failure(clients, api, 'malformed', streamed=streamed)
    assert isinstance(failed, ModelAPIError)
    assert str(failed).startswith('Failed to decode response as JSON: ')


@pytest.mark.anyio
@apis
@pytest.mark.parametrize(
    ('name', 'expected'), [('failed at once', ModelRateLimitError), ('failed later', ModelHTTPError)]
)
async def test_errors_inside_a_stream(clients: Clients, api: Api, name: str, expected: type[Exception]) -> None:
    """A stream may report an error after it started well, in the provider's own way."""
    failed = await failure(clients, api, name, streamed=True)
    assert isinstance(failed, expected)
    assert isinstance(failed, ModelHTTPError)
    assert failed.in_stream


@pytest.mark.anyio
@both
@apis
async def test_a_page_instead_of_an_answer(clients: Clients, api: Api, streamed: bool) -> None:
    """An HTML page with status 200 is no answer, whatever the client calls that."""
    failed = await failure(clients, api, 'page', streamed=streamed)
    assert isinstance(failed, UnexpectedModelBehavior | ModelAPIError)
    assert not isinstance(failed, ModelHTTPError)


@pytest.mark.anyio
@apis
async def test_a_gateway_that_is_down(clients: Clients, api: Api) -> None:
    """An HTML page with status 502 is a server error."""
    failed = await failure(clients, api, 'bad gateway', streamed=False)
    assert isinstance(failed, ModelServerError)
    assert (failed.status_code, failed.body) == (502, '<html>')  # type: ignore[attr-defined]  # also a ModelHTTPError
