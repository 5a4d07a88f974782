"""Which advisors an Anthropic executor may pair with, as data.

Source: the compatibility table in Anthropic's documentation of the advisor tool (`advisor_20260301`), as of
2026-09-26. An advisor must be at least as capable as its executor; equals may advise each other. Models that the table
does not know are left to the provider, which answers an invalid pair with HTTP 400.
"""

from __future__ import annotations

import re
from typing import Literal

__all__ = ['Pairing', 'anthropic_pairing']

Pairing = Literal['valid', 'invalid', 'unknown']

_TOP = frozenset({'claude-fable-5-1', 'claude-mythos-5-1'})
_OPUS_5 = _TOP | {'claude-fable-5', 'claude-mythos-5', 'claude-opus-5'}
_OPUS_4_7 = _OPUS_5 | {'claude-opus-4-8', 'claude-opus-4-7'}
_SONNET_5 = _OPUS_4_7 | {'claude-sonnet-5'}
_OPUS_4_6 = _SONNET_5 | {'claude-opus-4-6'}
_ALL = _OPUS_4_6 | {'claude-sonnet-4-6'}

_ADVISORS_OF: dict[str, frozenset[str]] = {
    'claude-haiku-4-5': _ALL,
    'claude-sonnet-4-6': _ALL,
    'claude-sonnet-5': _SONNET_5,
    'claude-opus-4-6': _OPUS_4_6,
    'claude-opus-4-7': _OPUS_4_7,
    'claude-opus-4-8': _OPUS_4_7,
    'claude-opus-5': _OPUS_5,
    'claude-fable-5': _OPUS_5,
    'claude-mythos-5': _OPUS_5,
    'claude-fable-5-1': _TOP,
    'claude-mythos-5-1': _TOP,
}

# A snapshot of a model is the model's name and a date: `claude-haiku-4-5-20251001`.
_SNAPSHOT = re.compile(r'-\d{8}$')


def anthropic_pairing(executor: str, advisor: str) -> Pairing:
    """Whether Anthropic accepts `advisor` for `executor`; `unknown` when either is not in the table."""
    executor, advisor = _SNAPSHOT.sub('', executor), _SNAPSHOT.sub('', advisor)
    if executor not in _ADVISORS_OF or advisor not in _ADVISORS_OF:
        return 'unknown'
    return 'valid' if advisor in _ADVISORS_OF[executor] else 'invalid'
