"""Error bodies and headers, worded and shaped as each provider does."""

from __future__ import annotations

from typing import Any

from .requests import Json
from .script import Api, Error, ErrorKind

_ANTHROPIC_TYPES = {
    400: 'invalid_request_error',
    401: 'authentication_error',
    402: 'billing_error',
    403: 'permission_error',
    404: 'not_found_error',
    413: 'request_too_large',
    429: 'rate_limit_error',
    500: 'api_error',
    504: 'timeout_error',
    529: 'overloaded_error',
}
_ANTHROPIC_MESSAGES = {
    401: 'invalid x-api-key',
    404: 'model: {model}',
    429: "This request would exceed your organization's rate limit. Please try again later.",
    500: 'Internal server error',
    529: 'Overloaded',
}
_ANTHROPIC_KINDS: dict[ErrorKind, str] = {
    'context_window': 'prompt is too long: 213462 tokens > 200000 maximum',
    'quota': 'Your credit balance is too low to access the Anthropic API.'
    ' Please go to Plans & Billing to upgrade or purchase credits.',
}

_OPENAI_ERRORS: dict[int | ErrorKind, tuple[str, str, str | None]] = {
    401: (
        'Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.',
        'invalid_request_error',
        'invalid_api_key',
    ),
    404: (
        'The model `{model}` does not exist or you do not have access to it.',
        'invalid_request_error',
        'model_not_found',
    ),
    429: ('Rate limit reached for {model} on requests per min (RPM).', 'requests', 'rate_limit_exceeded'),
    500: ('The server had an error while processing your request. Sorry about that!', 'server_error', None),
    503: ('The engine is currently overloaded, please try again later.', 'server_error', 'server_is_overloaded'),
    'context_window': (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 213462 tokens."
        ' Please reduce the length of the messages.',
        'invalid_request_error',
        'context_length_exceeded',
    ),
    'quota': (
        'You exceeded your current quota, please check your plan and billing details.',
        'insufficient_quota',
        'insufficient_quota',
    ),
}

_OPENROUTER_MESSAGES: dict[int | ErrorKind, str] = {
    401: 'User not found.',
    404: 'No endpoints found for {model}.',
    'context_window': "This endpoint's maximum context length is 128000 tokens. However, you requested about 213462"
    ' tokens. Please reduce the length of either one.',
    'quota': 'Insufficient credits. Add more using https://openrouter.ai/settings/credits',
}

_KIND_STATUSES: dict[ErrorKind, dict[Api, int]] = {'context_window': {}, 'quota': {'anthropic': 400, 'openrouter': 402}}
_OPENAI_KIND_STATUSES: dict[ErrorKind, int] = {'context_window': 400, 'quota': 429}


def status(api: Api, error: Error) -> int:
    """The status that the error stands for."""
    if error.status is not None:
        return error.status
    assert error.kind is not None
    return _KIND_STATUSES[error.kind].get(api, _OPENAI_KIND_STATUSES[error.kind])


def body(api: Api, error: Error, *, model: str, request_id: str) -> Json:
    """The error as the provider's JSON."""
    code = status(api, error)
    match api:
        case 'anthropic':
            return _anthropic(error, code, model, request_id)
        case 'openrouter':
            return _openrouter(error, code, model)
        case _:
            return _openai(error, code, model)


def headers(error: Error) -> dict[str, str]:
    """Headers that tell a client whether and when to try again."""
    values = {
        'retry-after': error.retry_after,
        'retry-after-ms': error.retry_after_ms,
        'x-should-retry': None if error.should_retry is None else str(error.should_retry).lower(),
    }
    return {
        name: f'{value:g}' if isinstance(value, float) else str(value)
        for name, value in values.items()
        if value is not None
    }


def _anthropic(error: Error, code: int, model: str, request_id: str) -> Json:
    worded = _ANTHROPIC_KINDS[error.kind] if error.kind else _ANTHROPIC_MESSAGES.get(code, 'Error')
    detail = {
        'type': error.type or _ANTHROPIC_TYPES.get(code, 'api_error' if code >= 500 else 'invalid_request_error'),
        'message': error.message or worded.format(model=model),
    }
    return {'type': 'error', 'error': detail, 'request_id': request_id}


def _openai(error: Error, code: int, model: str) -> Json:
    fallback = ('Error', 'invalid_request_error' if code < 500 else 'server_error', None)
    message, kind, name = _OPENAI_ERRORS.get(error.kind or code, fallback)
    detail = {
        'message': error.message or message.format(model=model),
        'type': error.type or kind,
        'param': None,
        'code': error.code or name,
    }
    return {'error': detail}


def _openrouter(error: Error, code: int, model: str) -> Json:
    worded = _OPENROUTER_MESSAGES.get(error.kind or code)
    own = error.message or (worded and worded.format(model=model))
    detail: dict[str, Any] = {'message': own or 'Provider returned error', 'code': code}
    if own is None:
        raw = f'{model} is temporarily rate-limited upstream. Please retry shortly.'
        detail['metadata'] = {'raw': raw, 'provider_name': model.lstrip('~').partition('/')[0].title()}
    return {'error': detail, 'user_id': 'user_emulated'}
