"""A cassette as text for a reader: `advisor-harness cassette show`."""

from __future__ import annotations

import json
import re
from os import PathLike
from typing import Any, cast

import yaml

from .cassette import Cassette
from .folding import fold
from .interaction import Interaction, RecordedResponse
from .matching import Matching, matcher_for
from .streams import split_events

__all__ = ['show']

_LONGEST_WORD = 60
"""Characters shown of what has no spaces: a signature, an image."""

_WORD = re.compile(rf'\S{{{_LONGEST_WORD + 1},}}')
_INDENT = ' ' * 4

# Nothing is exempt here, whatever a suite keeps in its files.
_scrubber = matcher_for(Matching()).scrubber


def show(path: str | PathLike[str]) -> str:
    """Describe a cassette: where it came from, and each interaction with its bodies.

    JSON is shown member by member, a stream as the answer that it adds up to. Secrets are hidden, also those that the
    file itself holds; what has no spaces is cut.

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
    lines = [f'{number}. {request.method} {_scrubber.url(request.url)}{took}']
    if request.body:
        lines += [f'  request   {_size(request.body)}', *_body(request.body)]
    lines.append(f'  response  {_status(response)}{_size(response.body)}{_events(response)}')
    if response.body:
        lines += _body(response.body, stream=_is_stream(response))
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


def _is_stream(response: RecordedResponse) -> bool:
    return response.content_type.lower().startswith('text/event-stream')


def _events(response: RecordedResponse) -> str:
    return f' in {len(split_events(response.body))} events' if _is_stream(response) else ''


def _body(body: bytes, *, stream: bool = False) -> list[str]:
    if not stream and b'\0' in body:
        return [f'{_INDENT}no text']
    try:
        value = fold(body) if stream else json.loads(body)
    except (ValueError, RecursionError):
        value = body.decode('utf-8', 'replace')
    return [f'{_INDENT}{line}'.rstrip() for line in _text(_cut(_scrubber.json(value))).splitlines()]


def _text(value: Any) -> str:
    if not isinstance(value, dict | list):
        return str(value)
    return yaml.dump(value, Dumper=_Dumper, allow_unicode=True, width=110, sort_keys=False)


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return _WORD.sub(lambda word: f'{word[0][:_LONGEST_WORD]}… ({len(word[0]):,} characters)', value)
    if isinstance(value, dict):
        return {key: _cut(member) for key, member in cast('dict[str, Any]', value).items()}
    if isinstance(value, list):
        return [_cut(member) for member in cast('list[Any]', value)]
    return value


class _Dumper(yaml.SafeDumper):
    """Writes text with line breaks as it reads."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: Any, text: str) -> Any:
    # Spaces before a line break would force YAML to quote the whole text.
    readable = '\n'.join(line.rstrip() for line in text.split('\n')) if '\n' in text else text
    return dumper.represent_scalar('tag:yaml.org,2002:str', readable, style='|' if '\n' in text else None)


_Dumper.add_representer(str, _represent_text)
