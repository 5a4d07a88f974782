"""How a replayed failure answers the retry policy of the provider SDKs.

Recorded waiting times would really be waited for, and a policy of today would send more or fewer requests than the
recording holds. So the recording decides: a failure that the SDK itself sent again is retried at once, any other is
final. The SDKs of OpenAI, Anthropic and Groq number their attempts in a header, and a recording keeps that number;
where it is not known, a further recorded answer stands for a retry, unless a recorded `x-should-retry: false` says that
it was a higher layer that asked again.

No header shortens the wait after a *connection* error, 0.5 s and more. So where the recording shows that the SDK
retried one, the SDK gets an answer that makes it retry at once instead; the last one, which the caller sees, is raised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .interaction import Interaction

__all__ = ['RETRY_NOW', 'attempt_of', 'retry_headers', 'which_were_retried']

_ATTEMPT = 'x-stainless-retry-count'
_RETRIED = frozenset({408, 409, 429})
_TIMES = ('retry-after', 'retry-after-ms')

# One millisecond: the SDKs take zero for "not set".
RETRY_NOW = {'retry-after-ms': ['1'], 'retry-after': ['0'], 'x-should-retry': ['true']}
"""Headers that make an SDK retry without waiting."""
_NEVER = {'x-should-retry': ['false']}


def attempt_of(headers: Mapping[str, str]) -> int | None:
    """Which attempt of an SDK a request is, from 0; `None` when its client does not say."""
    said = headers.get(_ATTEMPT, '')
    return int(said) if said.isascii() and said.isdigit() else None


def which_were_retried(same: Sequence[Interaction]) -> list[bool | None]:
    """Which of the recorded answers to one request made the SDK send it again; `None` where that is not known.

    Several callers may have sent the request at the same time, so a retry belongs to the oldest failure of the attempt
    before it.
    """
    found = [None if interaction.attempt is None else False for interaction in same]
    open_failures: dict[int, list[int]] = {}
    for index, interaction in enumerate(same):
        if (attempt := interaction.attempt) is None:
            continue
        if before := open_failures.get(attempt - 1):
            found[before.pop(0)] = True
        if interaction.response.is_failure:
            open_failures.setdefault(attempt, []).append(index)
    return found


def retry_headers(
    status: int, headers: Mapping[str, list[str]], *, answered_later: bool, retried: bool | None = None
) -> dict[str, list[str]]:
    """The headers of a replayed response, by lower-case name.

    Args:
        status: Recorded HTTP status.
        headers: Recorded headers.
        answered_later: Whether the recording holds another answer to the same request.
        retried: Whether the SDK sent it again by itself when it was recorded; `None` when that is not known.
    """
    said = ', '.join(headers.get('x-should-retry', ())).strip().lower()
    if not (status in _RETRIED or status >= 500 or (said and status >= 400)):
        return dict(headers)
    kept = {name: values for name, values in headers.items() if name not in _TIMES}
    if retried is None:
        retried = answered_later and said != 'false' and (said == 'true' or status in _RETRIED or status >= 500)
    return {**kept, **(RETRY_NOW if retried else _NEVER)}
