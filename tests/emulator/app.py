"""The emulated endpoints, as one application."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from . import anthropic, errors, openai_chat, openai_responses, openrouter
from .matching import Answer, NoReply, choose
from .requests import BadRequest, Json, read_request
from .script import Api, Error, Fault, Script
from .wire import EVENT_STREAM, Connections, FaultyResponse, damaged, json_units, text_units

PATHS: dict[str, Api] = {
    '/v1/messages': 'anthropic',
    '/v1/chat/completions': 'openai-chat',
    '/v1/responses': 'openai-responses',
    '/api/v1/chat/completions': 'openrouter',
}

NO_REPLY_STATUS = 418
"""The status of a request that the script does not answer: one that no provider uses and no SDK retries."""

REQUEST_ID_HEADERS: dict[Api, str] = {
    'anthropic': 'request-id',
    'openai-chat': 'x-request-id',
    'openai-responses': 'x-request-id',
    'openrouter': 'x-generation-id',
}

_RENDERERS = {
    'anthropic': anthropic,
    'openai-chat': openai_chat,
    'openai-responses': openai_responses,
    'openrouter': openrouter,
}


@dataclass
class Emulator:
    """Answers requests from scripts, and remembers which it could not answer."""

    scripts: Sequence[Script]
    connections: Connections
    unanswered: list[str] = field(default_factory=list)
    """What is wrong with each request that got no reply, in the order in which they came."""

    def application(self) -> Starlette:
        """The application to serve."""
        routes = [Route(path, self._endpoint(api), methods=['POST']) for path, api in PATHS.items()]
        return Starlette(routes=[*routes, Route('/{path:path}', self._unknown)])

    def _endpoint(self, api: Api) -> Callable[[Request], Awaitable[FaultyResponse]]:
        async def answer(request: Request) -> FaultyResponse:
            try:
                return self.respond(api, await request.body(), dict(request.headers))
            except Exception as e:
                # The client sees error 500, which a recording could take for the provider's.
                self.unanswered.append(f'the emulator failed: {e!r}')
                raise

        return answer

    def respond(self, api: Api, content: bytes, headers: dict[str, str]) -> FaultyResponse:
        """Answer one request; what the script or the provider refuses becomes an error of the provider's shape."""
        try:
            body = json.loads(content)
            request = read_request(api, body, attempt=int(headers.get('x-stainless-retry-count', 0)))
            if api == 'anthropic':
                anthropic.check(request, headers.get('anthropic-beta', ''))
            return self._reply(choose(self.scripts, request))
        except json.JSONDecodeError as e:
            return self._refusal(api, Error(status=400, message=f'The request body is not valid JSON: {e}'))
        except BadRequest as e:
            return self._refusal(api, Error(status=400, message=str(e)))
        except NoReply as e:
            self.unanswered.append(str(e))
            return self._refusal(api, Error(status=NO_REPLY_STATUS, message=f'emulator: {e}', should_retry=False))

    async def _unknown(self, request: Request) -> FaultyResponse:
        problem = f'{request.method} {request.url.path} is not emulated; there are: {", ".join(PATHS)}'
        self.unanswered.append(problem)
        return self._send(NO_REPLY_STATUS, json_units({'error': {'message': f'emulator: {problem}'}}))

    def _refusal(self, api: Api, error: Error) -> FaultyResponse:
        body = errors.body(api, error, model='', request_id='req_emulator')
        return self._send(errors.status(api, error), json_units(body), headers=errors.headers(error))

    def _reply(self, answer: Answer) -> FaultyResponse:
        reply, api = answer.reply, answer.request.api
        request_id = answer.id('req_011', 'request', length=21)
        headers = {REQUEST_ID_HEADERS[api]: request_id}
        status, streaming = 200, False
        if reply.raw is not None:
            status, units = reply.raw.status, text_units(reply.raw.body)
            headers['content-type'] = reply.raw.content_type
        elif reply.error is not None:
            body = errors.body(api, reply.error, model=answer.request.model, request_id=request_id)
            status, units = reply.error.http_status or errors.status(api, reply.error), json_units(body)
            headers |= errors.headers(reply.error)
        elif reply.fault.reset:
            units = []
        elif answer.request.streaming:
            streaming, units = True, _stream(answer, request_id)
            headers |= {'content-type': EVENT_STREAM, 'cache-control': 'no-cache'}
        else:
            units = _whole(answer)
        if reply.fault.malformed:
            units = damaged(units, stream=streaming)
        return self._send(status, units, headers=headers, fault=reply.fault)

    def _send(
        self, status: int, units: list[bytes], *, headers: dict[str, str] | None = None, fault: Fault | None = None
    ) -> FaultyResponse:
        full = {'content-type': 'application/json', **(headers or {})}
        return FaultyResponse(units, status, full, fault or Fault(), self.connections)


def _whole(answer: Answer) -> list[bytes]:
    if answer.reply.fault.error_after is not None:
        raise NoReply('the script breaks a stream (`error_after`), and the request is not streamed')
    return json_units(_RENDERERS[answer.request.api].body(answer))


def _stream(answer: Answer, request_id: str) -> list[bytes]:
    fault, api = answer.reply.fault, answer.request.api
    events = list(_RENDERERS[api].events(answer))
    if fault.error_after is not None and fault.error is not None:
        error = errors.body(api, fault.error, model=answer.request.model, request_id=request_id)
        events = [*events[: fault.error_after], _error_event(answer, error, fault.error_after)]
    return [text.encode() for text in events]


def _error_event(answer: Answer, error: Json, number: int) -> str:
    match answer.request.api:
        case 'anthropic':
            return anthropic.error_event(error)
        case 'openai-responses':
            return openai_responses.error_event(answer, error, number)
        case 'openrouter':
            return openrouter.error_event(answer, error)
        case 'openai-chat':
            return openai_chat.error_event(error)
