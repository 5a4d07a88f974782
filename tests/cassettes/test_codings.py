from __future__ import annotations

import gzip
import zlib

import pytest

from advisor_harness.cassettes.codings import decode

BODY = b'{"answer": "caf\xc3\xa9"}' * 50


@pytest.mark.parametrize(
    ('encoding', 'encoded'),
    [
        ('gzip', gzip.compress(BODY)),
        ('GZIP', gzip.compress(BODY)),
        ('deflate', zlib.compress(BODY)),
        ('deflate, gzip', gzip.compress(zlib.compress(BODY))),
        ('identity', BODY),
    ],
    ids=['gzip', 'upper case', 'deflate', 'two layers', 'identity'],
)
def test_known_encodings_are_undone(encoding: str, encoded: bytes) -> None:
    """What httpx2 can decode here comes back plain, several layers included."""
    assert decode({'content-encoding': [encoding]}, encoded) == (BODY, True)


def test_no_encoding_is_plain() -> None:
    """A body without content encoding is plain already."""
    assert decode({}, BODY) == (BODY, True)


def test_unknown_encodings_stay() -> None:
    """What cannot be decoded here is kept as it is, and said so."""
    assert decode({'content-encoding': ['exi']}, BODY) == (BODY, False)


def test_damaged_bodies_stay() -> None:
    """A body that is not in the encoding it names is kept, so that a replay fails as the live answer did."""
    assert decode({'content-encoding': ['gzip']}, b'not gzip') == (b'not gzip', False)


def test_cut_bodies_come_back_as_far_as_they_go() -> None:
    """A stream that was closed early is readable up to that point."""
    plain, decoded = decode({'content-encoding': ['gzip']}, gzip.compress(BODY)[:-12])

    assert decoded
    assert plain
    assert BODY.startswith(plain)


@pytest.mark.parametrize(('encoding', 'module'), [('br', 'brotli'), ('zstd', 'backports.zstd')])
def test_optional_encodings_are_undone_where_they_are_installed(encoding: str, module: str) -> None:
    """C23: brotli and Zstandard work with the optional parts of httpx2."""
    library = pytest.importorskip(module)

    assert decode({'content-encoding': [encoding]}, library.compress(BODY)) == (BODY, True)
