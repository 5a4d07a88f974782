"""One recorded request with its answer, as a typed view of the mapping that stands in the file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2

from .bodies import is_json, json_length, parse_json, request_body, response_body, scrub_body
from .codings import decode
from .scrubbing import Scrubber
from .yamlfile import survives

__all__ = ['Interaction', 'RecordedRequest', 'RecordedResponse']

Headers = dict[str, list[str]]


@dataclass(frozen=True)
class RecordedRequest:
    """What was sent, without secrets."""

    method: str
    url: str
    headers: Headers
    """Values by lower-case name; only what the allow-list lets into a file."""
    body: bytes

    @property
    def content_type(self) -> str:
        """The content type, `''` when none was recorded."""
        return ', '.join(self.headers.get('content-type', ()))


@dataclass(frozen=True)
class RecordedResponse:
    """What came back."""

    status: int
    """HTTP status; 0 when the connection failed before one arrived."""
    reason: str
    headers: Headers
    body: bytes
    """The decoded body: content encodings are undone."""
    truncated: bool = False
    """Whether the stream was closed before its end: how it goes on is not known."""
    network_error: str | None = None
    """Name of the `httpx2` exception that ended the exchange, such as `ReadTimeout`; `None` when none did."""
    abandoned: bool = False
    """Whether the caller was cancelled while it waited, for the response (status 0) or for more of its body."""

    @property
    def content_type(self) -> str:
        """The content type, `''` when none was recorded."""
        return ', '.join(self.headers.get('content-type', ()))

    @property
    def is_failure(self) -> bool:
        """Whether the exchange failed: by its status, or because the connection did."""
        return self.status >= 400 or self.network_error is not None

    @property
    def is_whole(self) -> bool:
        """Whether the body ends where the recording ends."""
        return not (self.truncated or self.abandoned or self.network_error)


@dataclass(frozen=True, eq=False)
class Interaction:
    """One recorded request with its answer."""

    mapping: Mapping[str, Any]
    """The interaction as it stands in the file; unknown keys are kept."""
    request: RecordedRequest
    response: RecordedResponse
    latency_s: float | None = None
    """Seconds from sending the request to the end of the answer when it was recorded; `None` when unknown."""
    attempt: int | None = None
    """Which attempt of its SDK the request was, from 0; `None` when unknown."""

    @classmethod
    def from_mapping(cls, mapping: Any) -> Interaction:
        """Read one element of a cassette's `interactions`.

        Raises:
            ValueError: it is not an HTTP exchange; the text says what is wrong.
        """
        parts = _mapping(mapping, 'the interaction')
        request, response = _mapping(parts.get('request'), 'request'), _mapping(parts.get('response'), 'response')
        return cls(
            mapping=parts,
            request=RecordedRequest(
                method=_text(request.get('method'), 'request.method').upper(),
                url=_url(request.get('uri'), 'request.uri'),
                headers=_headers(request.get('headers'), 'request.headers'),
                body=_in('request', request_body, request),
            ),
            response=_response(response),
            latency_s=_latency(parts.get('recorded')),
            attempt=_attempt(parts.get('recorded')),
        )

    @classmethod
    def record(
        cls,
        request: httpx2.Request,
        response: RecordedResponse,
        scrubber: Scrubber,
        recorded: Mapping[str, Any],
    ) -> Interaction:
        """Turn live traffic into an interaction without secrets, whose mapping a file holds exactly."""
        mapping: dict[str, Any] = {
            'recorded': dict(recorded),
            'request': _request_mapping(request, scrubber),
            'response': _response_mapping(response, scrubber),
        }
        return cls.from_mapping(mapping)


def _request_mapping(request: httpx2.Request, scrubber: Scrubber) -> dict[str, Any]:
    headers = scrubber.headers(request.headers.multi_items())
    method, uri = {'method': request.method}, {'uri': scrubber.url(str(request.url))}
    content_type = request.headers.get('content-type', '')
    if (value := _json_or_none(request.content, content_type, scrubber)) is not None:
        _set_length(headers, json_length(value))
        mapping = {'headers': headers, **method, 'parsed_body': value, **uri}
        if survives(mapping):
            return mapping
    body = scrub_body(request.content, content_type, scrubber)
    _set_length(headers, len(body))
    return {'body': _text_or_bytes(body), 'headers': headers, **method, **uri}


def _response_mapping(response: RecordedResponse, scrubber: Scrubber) -> dict[str, Any]:
    headers = scrubber.headers((name, value) for name, values in response.headers.items() for value in values)
    end: dict[str, Any] = {'truncated': True} if response.truncated else {}
    error: dict[str, Any] = {'network_error': response.network_error} if response.network_error else {}
    first: dict[str, Any] = {'abandoned': True} if response.abandoned else {}
    status = {'status': {'code': response.status, 'message': response.reason}}
    if (value := _json_or_none(response.body, response.content_type, scrubber)) is not None:
        _set_length(headers, json_length(value))
        mapping = {**first, 'headers': headers, **error, 'parsed_body': value, **status, **end}
        if survives(mapping):
            return mapping
    body = scrub_body(response.body, response.content_type, scrubber)
    _set_length(headers, len(body))
    return {**first, 'body': {'string': _text_or_bytes(body)}, 'headers': headers, **error, **status, **end}


def _json_or_none(body: bytes, content_type: str, scrubber: Scrubber) -> Any:
    # `null` would read as "no body", so it stays text.
    if not is_json(content_type):
        return None
    try:
        return scrubber.json(parse_json(body))
    except ValueError:
        return None


def _text_or_bytes(body: bytes) -> str | bytes:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return body
    return text if survives({'body': text}) else body


def _set_length(headers: Headers, length: int) -> None:
    if 'content-length' in headers:
        headers['content-length'] = [str(length)]


def _response(mapping: Mapping[str, Any]) -> RecordedResponse:
    status = _mapping(mapping.get('status', {}), 'response.status')
    headers = _headers(mapping.get('headers'), 'response.headers')
    error = mapping.get('network_error')
    abandoned = mapping.get('abandoned') is True
    code = status.get('code', 0 if error or abandoned else None)
    if isinstance(code, bool) or not isinstance(code, int):
        raise ValueError(f'response.status.code is {code!r}; it must be a number')
    if not (100 <= code <= 999 or (code == 0 and (error or abandoned))):
        raise ValueError(f'response.status.code is {code}; HTTP has 100 to 999')
    if error is not None and not _is_network_error(error):
        raise ValueError(f'response.network_error is {error!r}; it must name a transport error of httpx2')
    body = _in('response', response_body, mapping)
    if 'content-encoding' in headers and _is_plain(mapping):
        del headers['content-encoding']
    elif 'content-encoding' in headers:
        body, plain = decode(headers, body)
        headers = {name: values for name, values in headers.items() if not (plain and name == 'content-encoding')}
    return RecordedResponse(
        status=code,
        reason=str(status.get('message') or ''),
        headers=headers,
        body=body,
        truncated=mapping.get('truncated') is True,
        network_error=error,
        abandoned=abandoned,
    )


def _is_plain(response: Mapping[str, Any]) -> bool:
    # Whoever wrote text or JSON has decoded it, whatever the header still says.
    body = response.get('body')
    stored = cast('dict[str, Any]', body).get('string') if isinstance(body, dict) else body
    return not isinstance(stored, bytes)


def _is_network_error(name: object) -> bool:
    error = getattr(httpx2, name, None) if isinstance(name, str) else None
    return isinstance(error, type) and issubclass(error, httpx2.RequestError)


def _headers(headers: Any, where: str) -> Headers:
    named = _mapping(headers if headers is not None else {}, where)
    return {
        str(name).lower(): [_value(v, f'{where}.{name}') for v in _listed(values)] for name, values in named.items()
    }


def _listed(values: Any) -> list[Any]:
    return cast('list[Any]', values) if isinstance(values, list) else [values]


def _value(value: Any, where: str) -> str:
    if isinstance(value, bytes):
        return value.decode('latin-1')
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f'{where} is {value!r}; a header value must be text')


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f'{where} is {"missing" if value is None else type(value).__name__}; it must be a mapping')
    return cast('dict[str, Any]', value)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f'{where} is {value!r}; it must be text')
    return value


def _url(value: Any, where: str) -> str:
    url = _text(value, where)
    try:
        _ = urlsplit(url).port
    except ValueError as e:
        raise ValueError(f'{where} is {url!r}, which is no URL: {e}') from e
    return url


def _latency(recorded: Any) -> float | None:
    latency = cast('dict[str, Any]', recorded).get('latency_s') if isinstance(recorded, dict) else None
    if latency is None:
        return None
    if isinstance(latency, bool) or not isinstance(latency, int | float) or not 0 <= latency < math.inf:
        raise ValueError(f'recorded.latency_s is {latency!r}; it must be seconds, 0 or more')
    return float(latency)


def _attempt(recorded: Any) -> int | None:
    attempt = cast('dict[str, Any]', recorded).get('attempt') if isinstance(recorded, dict) else None
    if attempt is None or (isinstance(attempt, int) and not isinstance(attempt, bool) and attempt >= 0):
        return attempt
    raise ValueError(f'recorded.attempt is {attempt!r}; it must be a number from 0')


def _in(side: str, read: Any, mapping: Mapping[str, Any]) -> bytes:
    try:
        return read(mapping)
    except ValueError as e:
        raise ValueError(f'{side}.{e}') from e
