"""Which advisors an Anthropic executor may pair with, as data.

Source: the compatibility table in Anthropic's documentation of the advisor tool (`advisor_20260301`), as of
2026-09-26. An advisor must be at least as capable as its executor; equals may advise each other. Models that the table
does not know are left to the provider, which answers an invalid pair with HTTP 400.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Literal

from pydantic_ai.exceptions import ModelHTTPError, ModelRequestRejectedError, UserError

from advisor_harness.advisor.models import ModelName

__all__ = ['PairRejectedError', 'Pairing', 'anthropic_pairing', 'pair_rejected']

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

_PAIR = re.compile(r'\bexecutor\b|\bpair|compatib|valid advisor|as an advisor')
_OTHER = re.compile(r'max_tokens|max_uses|caching|cache_control|tool_choice|tool_use_id')


def anthropic_pairing(executor: str, advisor: str) -> Pairing:
    """Whether Anthropic accepts `advisor` for `executor`; `unknown` when either is not in the table."""
    executor, advisor = _SNAPSHOT.sub('', executor), _SNAPSHOT.sub('', advisor)
    if executor not in _ADVISORS_OF or advisor not in _ADVISORS_OF:
        return 'unknown'
    return 'valid' if advisor in _ADVISORS_OF[executor] else 'invalid'


class PairRejectedError(UserError, ModelRequestRejectedError, ModelHTTPError):
    """A provider rejected the pair of executor and advisor, and answered the executor's request with HTTP 400.

    For the developer to settle, hence a `UserError`; and still the provider's answer, for handlers of those. What the
    provider wrote is in `__cause__` only.
    """

    def __init__(self, executor: str, advisor: str) -> None:
        ModelHTTPError.__init__(self, 400, executor)
        self.executor, self.advisor = executor, advisor
        self.message = (
            f'The provider rejected advisor {advisor!r} for executor {executor!r} (HTTP 400). '
            f'Change `Advisor.model`{_known_advisors(executor)}, change the executor, '
            "or set `Advisor.mode` to 'local', which consults in a request of its own."
        )
        self.args = (self.message,)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[type[PairRejectedError], tuple[str, str]]:
        return type(self), (self.executor, self.advisor)


def pair_rejected(error: BaseException, executors: Sequence[ModelName], advisor: ModelName) -> PairRejectedError | None:
    """The error to raise in the place of `error`, if that is a provider's 400 that names the pair.

    `executors` are the models that may have served the last request with the native tool in it; of several none is
    blamed.

    A provider does not promise its words. The pair counts as named where the answer speaks of an advisor and of both
    models, or of an executor, a pair or compatibility, and of no other parameter of the tool.
    """
    if not isinstance(error, ModelHTTPError) or error.status_code != 400 or len(executors) != 1:
        return None
    if error.model_name != executors[0].name:
        return None  # of another model's request, such as one that a tool makes
    said = json.dumps(error.body, default=str).lower()
    both = all(str(model.name).lower() in said for model in (executors[0], advisor))
    if 'advisor' not in said or _OTHER.search(said) or not (both or _PAIR.search(said)):
        return None
    return PairRejectedError(str(executors[0]), str(advisor))


def _known_advisors(executor: str) -> str:
    """The advisors that the table allows an executor, as a remark; nothing for one that it does not know."""
    provider, _, name = executor.partition(':')
    advisors = _ADVISORS_OF.get(_SNAPSHOT.sub('', name)) if provider == 'anthropic' else None
    return f' (known to be valid: {", ".join(sorted(advisors))})' if advisors else ''
