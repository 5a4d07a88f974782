"""What is wrong with a policy file, in words of the file: no class of this package and no phrase of pydantic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from difflib import get_close_matches
from typing import Any, TypeAlias

from pydantic import ValidationError
from pydantic_core import ErrorDetails

__all__ = ['reasons']

_KEYS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    (): ('preconditions', 'must_pass', 'metrics', 'budgets', 'quarantine'),
    ('preconditions',): ('cassettes', 'traces', 'scored'),
    ('metrics', '*'): (
        'metric',
        'arm',
        'tag',
        'of',
        'against',
        'min',
        'max',
        'max_regression',
        'test',
        'alpha',
        'min_n',
        'direction',
        'severity',
        'on_missing',
    ),
    ('budgets',): ('cost_usd', 'input_tokens', 'output_tokens', 'p95_recorded_latency_s'),
    ('quarantine', '*'): ('case', 'reason', 'expires'),
}
"""The keys of each part of the file; `*` stands for a name or a position."""

_MAPPINGS: Mapping[str, str] = {
    'preconditions': 'preconditions: {cassettes: 1.0}',
    'metrics': 'metrics: {accuracy: {min: 0.9}}',
    'budgets': 'budgets: {cost_usd: 1.0}',
    'quarantine': 'quarantine: [{case: name, reason: text, expires: 2027-01-31}]',
}
_LISTS: Mapping[str, str] = {
    'must_pass': 'must_pass: [one-case, another]',
    'quarantine': 'quarantine: [{case: name, reason: text, expires: 2027-01-31}]',
}

_Say: TypeAlias = Callable[[ErrorDetails], str]


def reasons(error: ValidationError) -> list[str]:
    """One sentence for every mistake, with its place in the file."""
    return [_reason(each) for each in error.errors(include_url=False)]


def _reason(error: ErrorDetails) -> str:
    place = tuple(map(str, error['loc']))
    where = _place(error['loc'])
    if error['type'] == 'extra_forbidden':
        return f'unknown key {where}{_allowed(place)}'
    if error['type'] == 'missing':
        return f'{where} is missing'
    if error['type'] == 'value_error':
        return f'{where}: {str(error["msg"]).removeprefix("Value error, ")}'
    return f'{where} must be {_SAY.get(error["type"], _unknown)(error)}; got {_got(error["input"])}'


def _place(place: tuple[int | str, ...]) -> str:
    """Where in the file; entries of lists are counted as people do."""
    if not place:
        return 'the file'
    if place[-1] == '[key]':
        return f'the name of each entry of `{place[0]}`'
    if len(place) > 1 and isinstance(place[1], int):
        entry = f'entry {place[1] + 1} of `{place[0]}`'
        return f'`{place[2]}` in {entry}' if len(place) > 2 else entry
    return f'`{".".join(map(str, place))}`'


def _allowed(place: tuple[str, ...]) -> str:
    parent = place[:-1]
    if len(parent) == 2:
        parent = (parent[0], '*')
    known = _KEYS.get(parent, ())
    if not known:
        return ''
    near = get_close_matches(place[-1], known, n=1)
    return f': did you mean `{near[0]}`?' if near else f': there is {", ".join(known)}'


def _mapping(error: ErrorDetails) -> str:
    place = error['loc']
    if not place:
        return f'a mapping with keys such as {", ".join(_KEYS[()])}'
    example = _MAPPINGS.get(str(place[0]), '')
    return f'a mapping, as in `{example}`'


def _list(error: ErrorDetails) -> str:
    example = _LISTS.get(str(error['loc'][0]), '')
    return f'a list, as in `{example}`'


def _limit(words: str, key: str) -> _Say:
    return lambda error: f'{words} {error.get("ctx", {}).get(key, 0):g}'


def _one_of(error: ErrorDetails) -> str:
    return str(error.get('ctx', {}).get('expected', '')).replace("'", '')


def _unknown(error: ErrorDetails) -> str:
    # Only reached for kinds of mistakes that no rule of the file can make today.
    return f'something else ({error["msg"]})'


_SAY: Mapping[str, _Say] = {
    'float_type': lambda _: 'a number',
    'float_parsing': lambda _: 'a number',
    'int_type': lambda _: 'a whole number',
    'int_from_float': lambda _: 'a whole number',
    'int_parsing': lambda _: 'a whole number',
    'finite_number': lambda _: 'a number that is finite',
    'string_type': lambda _: 'a name; put it in quotes if YAML reads it as something else',
    'string_too_short': lambda _: 'a name that is not empty',
    'greater_than_equal': _limit('at least', 'ge'),
    'less_than_equal': _limit('at most', 'le'),
    'greater_than': _limit('greater than', 'gt'),
    'less_than': _limit('less than', 'lt'),
    'literal_error': _one_of,
    'dict_type': _mapping,
    'model_type': _mapping,
    'tuple_type': _list,
    'date_type': lambda _: 'a date, such as 2027-01-31',
    'date_parsing': lambda _: 'a date, such as 2027-01-31',
    'date_from_datetime_parsing': lambda _: 'a date, such as 2027-01-31',
    'date_from_datetime_inexact': lambda _: 'a date without a time, such as 2027-01-31',
}


def _got(value: Any) -> str:
    if value is None:
        return 'nothing'
    text = str(value) if isinstance(value, date) else repr(value)
    return text if len(text) <= 60 else f'{text[:60]}...'
