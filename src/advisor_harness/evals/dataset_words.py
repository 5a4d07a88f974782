"""What is wrong with a dataset, in words of the file: no class of pydantic-evals and no phrase of pydantic."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

__all__ = ['reasons']

_MOST = 3
_UNKNOWN = re.compile(r"Evaluator '(?P<name>.+?)' is not in the provided .*?Valid choices: \[(?P<known>.*?)\]", re.S)
_FAILED = re.compile(r"Failed to instantiate evaluator '(?P<name>.+?)' (?P<place>for .+?|as .+?): (?P<why>.+)", re.S)
_EXTRA = re.compile(r"got an unexpected keyword argument '(?P<key>.+?)'")
_LACKING = re.compile(r'missing \d+ required .*?argument.*?: (?P<keys>.+)')
_DUPLICATE = re.compile(r"Duplicate case name: (?P<name>'.*')")

_KINDS = {
    'list_type': 'a list',
    'dict_type': 'a mapping',
    'model_type': 'a mapping',
    'string_type': 'text',
    'bool_type': 'true or false',
}


def reasons(error: BaseException) -> Iterator[str]:
    """One sentence for each of the first mistakes."""
    if isinstance(error, BaseExceptionGroup):
        for each in cast('BaseExceptionGroup[BaseException]', error).exceptions:
            yield from reasons(each)
    elif isinstance(cause := error if isinstance(error, ValidationError) else error.__cause__, ValidationError):
        said = list(dict.fromkeys(_reason(each) for each in cause.errors(include_url=False)))
        yield from said[:_MOST]
        if len(said) > _MOST:
            yield f'and {len(said) - _MOST} more'
    else:
        yield _plain(str(error))


def _reason(error: ErrorDetails) -> str:
    where, place = _place(error['loc'])
    if 'evaluators' in place[:-1]:
        # It may be written in three ways; whichever pydantic tried, the remedy is the same.
        return f'each entry of `evaluators` in {where} must be a name, or one name with its arguments: `Contains: text`'
    key = str(place[-1]) if place else ''
    if error['type'] == 'missing':
        return f'{where} has no `{key}`'
    if error['type'] == 'extra_forbidden':
        return f'{where} has an unknown key `{key}`'
    what = f'`{".".join(map(str, place))}` of {where}' if place else where
    kind = _KINDS.get(error['type'])
    return f'{what} must be {kind}; got {_got(error["input"])}' if kind else f'{what}: {error["msg"]}'


def _place(loc: tuple[int | str, ...]) -> tuple[str, tuple[int | str, ...]]:
    """The case, as people count, or the file, and what of it."""
    if len(loc) > 1 and loc[0] == 'cases' and isinstance(loc[1], int):
        return f'case {loc[1] + 1}', loc[2:]
    return 'the file', loc


def _plain(text: str) -> str:
    if found := _UNKNOWN.search(text):
        return _unknown(found['name'], re.findall(r"'(.+?)'", found['known']))
    if found := _DUPLICATE.search(text):
        return f'two cases are named {found["name"]}: every name must be used once'
    if found := _FAILED.search(text):
        return f'scorer {found["name"]!r} {found["place"]} {_argument(found["why"])}'
    return text


def _unknown(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    hint = f'did you mean {near[0]!r}? One' if near else 'one'
    return f'there is no scorer {name!r}: {hint} of your own goes into `Suite.scorer_types`'


def _argument(why: str) -> str:
    if found := _EXTRA.search(why):
        return f'has no argument `{found["key"]}`'
    if found := _LACKING.search(why):
        return f'needs {found["keys"]}'
    return f'cannot be made: {why}'


def _got(value: Any) -> str:
    text = 'nothing' if value is None else repr(value)
    return text if len(text) <= 60 else f'{text[:60]}...'
