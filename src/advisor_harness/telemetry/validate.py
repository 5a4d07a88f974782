"""Holds a span to the vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, cast

from advisor_harness.telemetry import conventions as names
from advisor_harness.telemetry.spans import view

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.sdk.trace import ReadableSpan
    from pydantic_evals.otel import SpanNode

    from advisor_harness.telemetry.spans import SpanView

__all__ = ['SCRUB_PATTERNS', 'problems', 'type_problem']

SCRUB_PATTERNS: Final = (
    'password',
    'passwd',
    'mysql_pwd',
    'secret',
    r'auth(?!ors?\b)',
    'credential',
    'private[._ -]?key',
    'passphrase',
    '(?:signing|hmac)[._ -]?key',
    'api[._ -]?key',
    'session',
    'cookie',
    'social[._ -]?security',
    'credit[._ -]?card',
    'logfire[._ -]?token',
    r'(?:access|refresh|bearer|(?:\b|_)id)[._ -]?token',
    r'pylf_v\d+_',
    r'(?:\b|_)csrf(?:\b|_)',
    r'(?:\b|_)xsrf(?:\b|_)',
    r'(?:\b|_)jwt(?:\b|_)',
    r'(?:\b|_)ssn(?:\b|_)',
)
"""Logfire blanks what matches one of these, keys as well as values (a test compares them with Logfire's)."""

_SCRUBBED: Final = re.compile('|'.join(SCRUB_PATTERNS), re.IGNORECASE | re.DOTALL)
_KEY: Final = re.compile(r'[a-z][a-z0-9_]*(\.[a-z0-9_]+)+')
_OWN: Final = ('advisor.', 'model_routing.')
# pydantic-evals adds these up over all spans that have them, and viewers take the span for a model call or a tool.
_FORBIDDEN: Final = ('gen_ai.request.model', 'gen_ai.usage.', 'gen_ai.operation.name', 'gen_ai.tool.', 'operation.cost')
# Put on every span by Logfire's SDK, whoever emits it.
_FOREIGN: Final = ('logfire.', 'baggage_conflict.', 'code.')
_CODES: Final = frozenset({*names.ATTRIBUTE_VALUES, names.ADVISOR_CONSULTATION_NATIVE_ERROR})
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    'string': (str,),
    'boolean': (bool,),
    'int': (int,),
    'double': (float, int),
    'string[]': (tuple,),
}


def problems(span: ReadableSpan | SpanNode | SpanView) -> list[str]:
    """What is wrong with a span, a sentence for each; empty for a span that keeps to the vocabulary or is not ours.

    Args:
        span: A span that has ended, of any kind that `read` knows.
    """
    seen = view(span)
    if seen.attributes.get('logfire.span_type') == 'pending_span':
        return []
    found = _of_own(seen) if seen.name in names.SPAN_ATTRIBUTES else _of_other(seen)
    return [f'span {seen.name!r}: {problem}' for problem in found]


def type_problem(key: str, value: object) -> str | None:
    """What is wrong with the value of an attribute of the vocabulary, or `None`."""
    kind = names.ATTRIBUTE_TYPES[key]
    fits = isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind == 'boolean')
    if not fits or (
        kind == 'string[]' and not all(isinstance(item, str) for item in cast('tuple[object, ...]', value))
    ):
        return f'{key} is {value!r}; it must be of type {kind}'
    allowed = names.ATTRIBUTE_VALUES.get(key)
    if allowed and value not in allowed:
        return f'{key} is {value!r}; it must be one of {", ".join(map(str, allowed))}'
    return None


def _of_other(span: SpanView) -> Iterator[str]:
    for key in sorted(span.attributes):
        on_chat = key == names.ADVISOR_SELECTION_PATH and span.name.startswith('chat ')
        if key.startswith(_OWN) and not on_chat:
            yield f'{key} belongs on our own spans only; those are {", ".join(names.SPAN_ATTRIBUTES)}'


def _of_own(span: SpanView) -> Iterator[str]:
    yield from _missing(span)
    for key, value in sorted(span.attributes.items()):
        if key in names.SPAN_ATTRIBUTES[span.name]:
            yield from filter(None, [type_problem(key, value), _scrub_problem(key, value)])
        elif not key.startswith(_FOREIGN):
            yield _misplaced(key)
    yield from _frame(span)


def _missing(span: SpanView) -> Iterator[str]:
    for key, level in names.SPAN_ATTRIBUTES[span.name].items():
        if level == 'required' and key not in span.attributes:
            yield f'{key} is missing; it is required'
    for key, values in names.SPAN_CONDITIONS.get(span.name, {}).items():
        applies = all(span.attributes.get(other) == value for other, value in values.items())
        if applies and key not in span.attributes:
            yield f'{key} is missing; it is required when {_spelled(values)}'
    if span.status == 'error' and names.ERROR_TYPE not in span.attributes:
        yield f'{names.ERROR_TYPE} is missing; it is required when the status is an error'


def _spelled(values: Mapping[str, object]) -> str:
    return ' and '.join(f'{key} is {value!r}' for key, value in values.items())


def _misplaced(key: str) -> str:
    if key.startswith(_FORBIDDEN):
        return f'{key} is not allowed on our own spans, because totals of usage and cost would count it twice'
    if not _KEY.fullmatch(key):
        return f'{key!r} is no attribute name; use lower case, digits and _, in two or more parts separated by dots'
    if match := _SCRUBBED.search(key):
        return f'{key} contains {match[0]!r}, which Logfire blanks'
    return f'{key} is not in the vocabulary of this span; add it to conventions.yaml'


def _scrub_problem(key: str, value: object) -> str | None:
    match = _SCRUBBED.search(value) if key in _CODES and isinstance(value, str) else None
    if match is None or match[0] == value:  # Logfire keeps a value that is such a word and nothing more
        return None
    return f'{key} is {value!r}, which contains {match[0]!r}: Logfire blanks it'


def _frame(span: SpanView) -> Iterator[str]:
    if span.kind not in (None, 'internal'):
        yield f'its kind is {span.kind!r}; it must be internal'
    if span.events:
        yield f'it has {span.events} span events; it must have none'
    if span.description:
        yield 'its status has a description; it must have none, as that may be the text of an exception'
