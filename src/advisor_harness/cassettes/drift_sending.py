"""What today's Pydantic AI sends for a recorded request, caught before it leaves the process.

The request is read back (`drift_reading.py`) and given to the same model class that made it. Turns of the model are not
read by us: they are handed to that class as answers, so that today's code reads them and sends them back.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast
from urllib.parse import urlsplit

import httpx2
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters, override_allow_model_requests
from pydantic_ai.native_tools import AbstractNativeTool
from pydantic_ai.settings import ModelSettings

from . import drift_anthropic, drift_chat, drift_google, drift_responses
from .active import activated
from .cassette import Cassette
from .drift_reading import Answered, Asked, Members, NotChecked
from .interaction import Interaction, RecordedRequest
from .matching import Matching
from .models import CassetteModels

__all__ = ['Sent', 'send_again']

_GOOGLE = re.compile(r'/v1(?:beta|alpha)?/models/(?P<model>[^/:]+):(?P<call>generateContent|streamGenerateContent)')

_Reader = Callable[[Any, bool], Asked]

_ENDPOINTS: dict[tuple[str, str], tuple[str, _Reader]] = {
    ('api.anthropic.com', '/v1/messages'): ('anthropic', drift_anthropic.read),
    ('api.openai.com', '/v1/chat/completions'): ('openai-chat', drift_chat.read),
    ('api.openai.com', '/v1/responses'): ('openai-responses', drift_responses.read),
    ('openrouter.ai', '/api/v1/chat/completions'): ('openrouter', drift_chat.read),
    ('api.groq.com', '/openai/v1/chat/completions'): ('groq', drift_chat.read),
    ('api.mistral.ai', '/v1/chat/completions'): ('mistral', drift_chat.read),
}


@dataclass(frozen=True)
class Sent:
    """A request as it would go over the wire."""

    method: str
    url: str
    content_type: str
    body: bytes


async def send_again(request: RecordedRequest, *, defaults: bool = False) -> Sent:
    """What today's Pydantic AI sends for a recorded request.

    Args:
        request: The request.
        defaults: Whether values that Pydantic AI has once sent by itself count as not given by the caller, so that
            today's take their place.

    Raises:
        NotChecked: the request cannot be made again; the text says why.
    """
    model_id, asked = _read(request, defaults=defaults)
    try:
        model = CassetteModels.model(model_id)
    except Exception as e:
        raise NotChecked(f'there is no model {model_id!r} here: {_said(e)}') from e
    if not asked.turns:
        raise NotChecked('it holds no message')
    # What an SDK has to say about a model of an old recording is no news for whoever checks it.
    with override_allow_model_requests(True), warnings.catch_warnings(action='ignore'):
        messages = [await _turn(model, turn, asked.parameters.native_tools) for turn in asked.turns]
        return await _caught(model, messages, asked)


def _read(request: RecordedRequest, *, defaults: bool) -> tuple[str, Asked]:
    parts = urlsplit(request.url)
    try:
        body = json.loads(request.body)
    except ValueError:
        raise NotChecked(f'{request.method} {parts.path} is no request to a model') from None
    try:
        if parts.hostname == 'generativelanguage.googleapis.com' and (found := _GOOGLE.fullmatch(parts.path)):
            asked = drift_google.read(body, stream=found['call'] == 'streamGenerateContent')
            return f'google:{found["model"]}', asked
        endpoint = _ENDPOINTS.get((parts.hostname or '', parts.path))
        if endpoint is None:
            raise NotChecked(f'no provider is known for {parts.hostname}{parts.path}')
        provider, reader = endpoint
        return f'{provider}:{Members(body).required("model")}', reader(body, defaults)
    except (AttributeError, KeyError, TypeError, ValueError) as e:
        # The readers take the shapes of the provider's schema for granted; others are no requests that were answered.
        raise NotChecked(f'its body is not of the shape that its provider takes: {_said(e)}') from e


async def _turn(model: Model, turn: ModelRequest | Answered, native_tools: list[AbstractNativeTool]) -> ModelMessage:
    if isinstance(turn, ModelRequest):
        return turn
    probe = _Probe(turn.body)
    ask = ModelRequest(parts=[UserPromptPart('check')])
    # Small enough for every provider to answer at once instead of as a stream.
    settings = ModelSettings(max_tokens=1_000)
    with activated(probe):
        try:
            # Without the provider's tools their calls would not be read.
            return await model.request([ask], settings, ModelRequestParameters(native_tools=native_tools))
        except Exception as e:
            raise NotChecked(f'a turn of the model is not readable: {_said(e)}') from e


async def _caught(model: Model, messages: list[ModelMessage], asked: Asked) -> Sent:
    probe = _Probe()
    settings = cast('ModelSettings', asked.settings)
    try:
        with activated(probe):
            if asked.stream:
                async with model.request_stream(messages, settings, asked.parameters):
                    pass
            else:
                await model.request(messages, settings, asked.parameters)
    except _Caught as caught:
        return caught.sent
    except Exception as e:
        raise NotChecked(f'today this request is refused before it is sent: {_said(e)}') from e
    raise NotChecked('today nothing is sent for this request')


class _Caught(BaseException):
    """Ends a request where it would leave; no SDK retries or hides what is not an `Exception`."""

    def __init__(self, sent: Sent) -> None:
        super().__init__()
        self.sent = sent


class _Probe(Cassette):
    """Stands where a cassette stands, and catches the request or answers it, whatever it is."""

    def __init__(self, answer: dict[str, Any] | None = None) -> None:
        super().__init__(Path('no file'), mode='replay', matching=Matching())
        self._answer = answer

    def take(self, request: httpx2.Request) -> tuple[Interaction, bool]:
        """Answer, or catch the request."""
        if self._answer is None:
            self._catch(request)
        mapping = {
            'request': {'method': request.method, 'uri': str(request.url)},
            'response': {
                'status': {'code': 200, 'message': 'OK'},
                'headers': {'content-type': ['application/json']},
                'parsed_body': self._answer,
            },
        }
        return Interaction.from_mapping(mapping), False

    def _catch(self, request: httpx2.Request) -> NoReturn:
        content_type = request.headers.get('content-type', '')
        raise _Caught(Sent(request.method, str(request.url), content_type, request.content))


def _said(error: Exception) -> str:
    return f'{type(error).__name__}: {" ".join(str(error).split())}'
