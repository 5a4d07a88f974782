"""Options: every rule and the whole message of its breach."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from advisor_harness import Advisor

from .scripts import OPUS, Script

NAME = f'anthropic:{OPUS}'
ROUTER = 'openrouter:anthropic/claude-opus-4.8'


class Verdict(BaseModel):
    sound: bool


async def redact_later(text: str) -> str:
    return text


VALUES: list[tuple[dict[str, Any], str]] = [
    (
        {'model': ''},
        "`Advisor.model` must be a model name such as 'anthropic:claude-opus-4-8'; got '', in which a part is empty.",
    ),
    (
        {'model': 'anthropic:'},
        "`Advisor.model` must be a model name such as 'anthropic:claude-opus-4-8'; got 'anthropic:', "
        'in which a part is empty.',
    ),
    (
        {'model': ':x'},
        "`Advisor.model` must be a model name such as 'anthropic:claude-opus-4-8'; got ':x', in which a part is empty.",
    ),
    ({'mode': 'remote'}, "`Advisor.mode` must be one of 'auto', 'native', 'local'; got 'remote'."),
    (
        {'max_uses': 0},
        '`Advisor.max_uses` must be at least 1 consultations per executor request; got 0. Leave it out for no limit.',
    ),
    (
        {'max_uses_per_run': -1},
        '`Advisor.max_uses_per_run` must be at least 1 consultations per run; got -1. Leave it out for no limit.',
    ),
    (
        {'max_tokens': 1023},
        '`Advisor.max_tokens` must be at least 1024 output tokens; got 1023. Leave it out for no limit.',
    ),
    (
        {'max_transcript_chars': 0},
        '`Advisor.max_transcript_chars` must be at least 1 characters; got 0. Leave it out for 60000.',
    ),
    ({'caching': '9h'}, "`Advisor.caching` must be one of None, '5m', '1h'; got '9h'."),
    (
        {'forward_history': 'all'},
        "`Advisor.forward_history` must be one of False, True, 'transcript'; got 'all'.",
    ),
    ({'timeout': 0}, '`Advisor.timeout` must be more than 0 seconds; got 0. Leave it out to wait.'),
    ({'timeout': -0.5}, '`Advisor.timeout` must be more than 0 seconds; got -0.5. Leave it out to wait.'),
    ({'timeout': float('nan')}, '`Advisor.timeout` must be more than 0 seconds; got nan. Leave it out to wait.'),
    ({'on_error': 'ignore'}, "`Advisor.on_error` must be one of 'raise', 'continue'; got 'ignore'."),
]

TYPES: list[tuple[dict[str, Any], str]] = [
    ({'model': 5}, '`Advisor.model` must be a model name or a `Model`; got 5.'),
    ({'model': None}, '`Advisor.model` must be a model name or a `Model`; got None.'),
    ({'mode': None}, "`Advisor.mode` must be one of 'auto', 'native', 'local'; got None."),
    ({'mode': ['auto']}, "`Advisor.mode` must be one of 'auto', 'native', 'local'; got ['auto']."),
    (
        {'max_uses': 'two'},
        "`Advisor.max_uses` must be a whole number of consultations per executor request; got 'two'.",
    ),
    (
        {'max_uses': True},
        '`Advisor.max_uses` must be a whole number of consultations per executor request; got True.',
    ),
    (
        {'max_uses_per_run': 1.5},
        '`Advisor.max_uses_per_run` must be a whole number of consultations per run; got 1.5.',
    ),
    ({'max_tokens': '2048'}, "`Advisor.max_tokens` must be a whole number of output tokens; got '2048'."),
    (
        {'max_transcript_chars': None},
        '`Advisor.max_transcript_chars` must be a whole number of characters; got None.',
    ),
    ({'caching': 5}, "`Advisor.caching` must be one of None, '5m', '1h'; got 5."),
    ({'forward_history': 1}, "`Advisor.forward_history` must be one of False, True, 'transcript'; got 1."),
    ({'forward_history': None}, "`Advisor.forward_history` must be one of False, True, 'transcript'; got None."),
    ({'timeout': '1s'}, "`Advisor.timeout` must be a number of seconds; got '1s'."),
    ({'timeout': True}, '`Advisor.timeout` must be a number of seconds; got True.'),
    ({'on_error': None}, "`Advisor.on_error` must be one of 'raise', 'continue'; got None."),
    ({'on_consultation': 'log'}, "`Advisor.on_consultation` must be a callable; got 'log'."),
    ({'redact': 'all'}, "`Advisor.redact` must be a callable; got 'all'."),
    (
        {'redact': redact_later},
        f'`Advisor.redact` must be a plain function from text to text; got the coroutine {redact_later!r}.',
    ),
    (
        {'output_type': 'int'},
        "`Advisor.output_type` must be a type or another output specification; got 'int'.",
    ),
    ({'output_type': None}, '`Advisor.output_type` must be a type or another output specification; got None.'),
    ({'output_type': 5}, '`Advisor.output_type` must be a type or another output specification; got 5.'),
    ({'output_type': []}, '`Advisor.output_type` must be a type or another output specification; got [].'),
    ({'output_type': {'a': 1}}, "`Advisor.output_type` must be a type or another output specification; got {'a': 1}."),
]

INSTANCE = Script().model('advisor')

COMBINATIONS: list[tuple[dict[str, Any], str]] = [
    (
        {'model': NAME, 'output_type': Verdict},
        "`Advisor.output_type` must be left out with mode='native': a provider's advisor answers in text; "
        f"got {Verdict!r}. Use mode='local' for structured advice.",
    ),
    (
        {'model': INSTANCE},
        "`Advisor.model` must be 'anthropic:<model>' or 'openrouter:<model>' with mode='native'; "
        f"got {INSTANCE!r}. Use mode='auto' or 'local' for another advisor.",
    ),
    (
        {'model': OPUS},
        "`Advisor.model` must be 'anthropic:<model>' or 'openrouter:<model>' with mode='native'; "
        f"got {OPUS!r}. Use mode='auto' or 'local' for another advisor.",
    ),
    (
        {'model': 'openai:gpt-5'},
        "`Advisor.model` must be 'anthropic:<model>' or 'openrouter:<model>' with mode='native'; "
        "got 'openai:gpt-5'. Use mode='auto' or 'local' for another advisor.",
    ),
    (
        {'model': ROUTER, 'max_uses': 2},
        "`Advisor.max_uses` must be left out with mode='native' on OpenRouter, whose advisor ignores it; "
        "got 2. Use mode='auto' to keep the limit.",
    ),
]


def ids(cases: list[tuple[dict[str, Any], str]]) -> list[str]:
    """The options and their values, without addresses in memory."""
    return [
        f'{key}={getattr(value, "__name__", repr(value))}' for options, _ in cases for key, value in options.items()
    ]


@pytest.mark.parametrize(('options', 'text'), VALUES, ids=ids(VALUES))
def test_a_wrong_value_is_a_value_error(options: dict[str, Any], text: str) -> None:
    """A value out of range is refused at construction; the message names option, value and what is allowed."""
    with pytest.raises(ValueError, match='Advisor') as raised:
        Advisor(**{'model': NAME, **options})
    assert str(raised.value) == text


@pytest.mark.parametrize(('options', 'text'), TYPES, ids=ids(TYPES))
def test_a_wrong_type_is_a_type_error(options: dict[str, Any], text: str) -> None:
    """A value of another type is refused at construction, a `bool` or a number in another's place included."""
    with pytest.raises(TypeError, match='Advisor') as raised:
        Advisor(**{'model': NAME, **options})
    assert str(raised.value) == text


@pytest.mark.parametrize(('options', 'text'), COMBINATIONS, ids=['type', 'instance', 'bare', 'other', 'OpenRouter'])
def test_a_combination_that_native_cannot_have_is_a_value_error(options: dict[str, Any], text: str) -> None:
    """What no provider could do natively is refused at construction, with the mode that can."""
    with pytest.raises(ValueError, match='Advisor') as raised:
        Advisor(**options, mode='native')
    assert str(raised.value) == text


@pytest.mark.parametrize(
    'options',
    [
        {'mode': 'auto'},
        {'mode': 'native'},
        {'mode': 'local'},
        {'max_uses': 1},
        {'max_uses_per_run': 1},
        {'max_tokens': 1024},
        {'max_transcript_chars': 1},
        {'caching': '5m'},
        {'caching': '1h'},
        {'forward_history': True},
        {'forward_history': 'transcript'},
        {'timeout': 1},
        {'timeout': float('inf')},
        {'on_error': 'continue'},
        {'on_consultation': print},
        {'redact': str.upper},
        {'output_type': [Verdict, None]},
    ],
    ids=repr,
)
def test_every_allowed_value_is_taken_as_it_is(options: dict[str, Any]) -> None:
    """What the rules allow stands in the options unchanged."""
    ((option, value),) = options.items()
    assert getattr(Advisor(NAME, **options).options, option) == value


def test_the_cause_of_an_unusable_output_type_is_kept() -> None:
    """The error of the library that could not use the specification is the cause."""
    with pytest.raises(TypeError) as raised:
        Advisor(NAME, output_type=[])
    assert str(raised.value.__cause__) == 'At least one output type must be provided.'
