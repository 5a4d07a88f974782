"""How a replayed failure answers the retry policy of the provider SDKs.

Recorded waiting times would really be waited for, and a policy of today would send more or fewer requests than the
recording holds. So the recording decides: a failure that has a further recorded answer is retried at once, any other is
final. A recorded `x-should-retry: false` stays, because then it was a higher layer that asked again.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ['retry_headers']

_RETRIED = frozenset({408, 409, 429})
_TIMES = ('retry-after', 'retry-after-ms')

# One millisecond: the SDKs take zero for "not set".
_AT_ONCE = {'retry-after-ms': ['1'], 'retry-after': ['0'], 'x-should-retry': ['true']}
_NEVER = {'x-should-retry': ['false']}


def retry_headers(status: int, headers: Mapping[str, list[str]], *, answered_later: bool) -> dict[str, list[str]]:
    """The headers of a replayed response, by lower-case name.

    Args:
        status: Recorded HTTP status.
        headers: Recorded headers.
        answered_later: Whether the recording holds another answer to the same request.
    """
    said = ', '.join(headers.get('x-should-retry', ())).strip().lower()
    if not (status in _RETRIED or status >= 500 or (said and status >= 400)):
        return dict(headers)
    kept = {name: values for name, values in headers.items() if name not in _TIMES}
    retried = answered_later and said != 'false' and (said == 'true' or status in _RETRIED or status >= 500)
    return {**kept, **(_AT_ONCE if retried else _NEVER)}
