"""Every text that the executor or the advisor reads. Fixed words: no error text, provider body or run id gets in."""

from __future__ import annotations

from typing import Final

__all__ = [
    'REQUEST_LIMIT_REACHED',
    'RUN_LIMIT_REACHED',
    'SKIPPED',
    'advisor_instructions',
    'no_usable_answer',
    'tool_description',
    'truncation_marker',
    'unavailable',
]

REQUEST_LIMIT_REACHED: Final = (
    'Advisor consultation limit reached for this model request. Continue without further advice.'
)
RUN_LIMIT_REACHED: Final = 'Advisor consultation limit reached for this run. Continue without further advice.'
SKIPPED: Final = 'Advisor consultation skipped: this response already gives the final output.'


def advisor_instructions(*, structured: bool) -> str:
    """What the local advisor is told to do."""
    task = (
        'Answer its question in the requested output format.'
        if structured
        else 'Reply with short, concrete advice that it can act on.'
    )
    return (
        f'You advise another model that is working on a task and asks for your judgement. {task} '
        'Write to that model, never to the end user.'
    )


def tool_description(*, structured: bool) -> str:
    """What the executor reads about the local tool."""
    result = ' The result is a validated object in a fixed format.' if structured else ''
    return (
        'Ask a stronger model for advice before a difficult or consequential decision.'
        f'{result} Put the whole question and everything needed to answer it into `prompt`: '
        'the advisor may not see this conversation.'
    )


def truncation_marker(max_tokens: int | None) -> str:
    """The line that ends text advice which was cut at the token limit; without a number where no limit was set."""
    limit = '' if max_tokens is None else f' at max_tokens={max_tokens}'
    return f'[Advisor output truncated{limit}.]'


def unavailable(code: str) -> str:
    """The failed tool result of a consultation that may be done without (`on_error='continue'`)."""
    return f'Advisor unavailable ({code}). Continue without advice.'


def no_usable_answer(code: str) -> str:
    """The retry text of an answer that cannot be used (`on_error='raise'`)."""
    return f'The advisor gave no usable answer ({code}). Ask again, or continue without advice.'
