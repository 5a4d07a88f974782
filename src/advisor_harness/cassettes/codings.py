"""Content encodings, undone with httpx2's own decoders so that a file holds readable bodies."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import httpx2

__all__ = ['decode']


def decode(headers: Mapping[str, Sequence[str]], body: bytes) -> tuple[bytes, bool]:
    """Undo the content encodings that `headers` name.

    Returns:
        The body, and whether it is plain now. What cannot be decoded here, or is damaged, comes back as it is; a body
        that was cut short comes back as far as it goes.
    """
    names = [name.strip().lower() for value in headers.get('content-encoding', ()) for name in value.split(',')]
    if not _supported().issuperset(names):
        return body, False
    response = httpx2.Response(200, headers={'content-encoding': ', '.join(names)}, stream=httpx2.ByteStream(body))
    try:
        return response.read(), True
    except httpx2.DecodingError:
        return body, False


@functools.cache
def _supported() -> frozenset[str]:
    # Brotli and Zstandard are optional parts of httpx2; what it can decode is what its clients ask for.
    accepted = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200))).headers['accept-encoding']
    return frozenset({'identity', '', *(name.strip() for name in accepted.split(','))})
