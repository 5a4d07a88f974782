"""A cassette as text for a reader: `advisor-harness cassette show`."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any, cast

from .cassette import Cassette
from .interaction import Interaction, RecordedResponse
from .streams import split_events

__all__ = ['show']

_PREVIEW = 100
"""Characters shown of a body."""


def show(path: str | PathLike[str]) -> str:
    """Describe a cassette: where it came from, and each interaction in a few lines.

    Raises:
        CassetteError: no such file.
        CassetteFormatError: the file is not a cassette of HTTP traffic.
    """
    cassette = Cassette.open(path)
    count = len(cassette.interactions)
    head = [f'{cassette.path}: {count} interaction{"" if count == 1 else "s"}', f'  recorded with  {_source(cassette)}']
    if latency := _latency(cassette.interactions):
        head.append(f'  latency        {latency}')
    blocks = [_interaction(number, interaction) for number, interaction in enumerate(cassette.interactions, start=1)]
    return '\n\n'.join(['\n'.join(head), *blocks]) + '\n'


def _source(cassette: Cassette) -> str:
    block = dict(cassette.recorded_with)
    if not block:
        return 'unknown: the file does not say who answered'
    by = block.pop('by', 'unknown')
    return ', '.join([by, *(f'{name} {value}' for name, value in block.items())])


def _latency(interactions: list[Interaction]) -> str | None:
    known = [i.latency_s for i in interactions if i.latency_s is not None]
    if not known:
        return None
    missing = len(interactions) - len(known)
    return f'{sum(known):.3f} s' + (f' ({missing} of {len(interactions)} do not say)' if missing else '')


def _interaction(number: int, interaction: Interaction) -> str:
    request, response = interaction.request, interaction.response
    took = '' if interaction.latency_s is None else f', {interaction.latency_s:.3f} s'
    lines = [f'{number}. {request.method} {request.url}{took}']
    if request.body:
        lines.append(f'  request   {_size(request.body)} {_request_summary(request.body)}')
    lines.append(f'  response  {_status(response)}{_size(response.body)} {_response_summary(response)}'.rstrip())
    if response.truncated:
        lines.append('            the stream was closed here; how it went on is not known')
    if response.abandoned:
        lines.append('            the caller went away here; what would have come is not known')
    return '\n'.join(lines)


def _status(response: RecordedResponse) -> str:
    status = f'{response.status} {response.reason}'.rstrip() + ', ' if response.status else ''
    return f'{status}{response.network_error}, ' if response.network_error else status


def _size(body: bytes) -> str:
    return f'{len(body):,} bytes'


def _request_summary(body: bytes) -> str:
    value = _json(body)
    if not isinstance(value, dict):
        return _clip(body.decode('utf-8', 'replace'))
    members = cast('dict[str, Any]', value)
    facts = [f'model {members["model"]}'] if isinstance(members.get('model'), str) else []
    facts += [f'{name} {json.dumps(members[name])}' for name in ('max_tokens', 'stream') if name in members]
    for name in ('messages', 'input', 'contents', 'tools'):
        if isinstance(members.get(name), list):
            facts.append(f'{name} [{len(members[name])}]')
    return ', '.join(facts) or _clip(json.dumps(value, ensure_ascii=False))


def _response_summary(response: RecordedResponse) -> str:
    if response.content_type.lower().startswith('text/event-stream'):
        return f'{len(split_events(response.body))} events'
    if _json(response.body) is None and b'\0' in response.body:
        return response.content_type
    return _clip(response.body.decode('utf-8', 'replace'))


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _clip(text: str) -> str:
    line = ' '.join(text.split())
    return line if len(line) <= _PREVIEW else f'{line[:_PREVIEW]}…'
