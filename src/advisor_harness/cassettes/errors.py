"""What can go wrong with a cassette: one tree, a class per cause.

CassetteError
  UnmatchedRequest       no recorded answer
  UnusedInteractions     recorded answers that nobody asked for
  SecretLeak             a credential would have reached the file
  CassetteFormatError    the file is not a cassette of HTTP traffic
  NetworkRefused         a connection while `no_network` is active
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any, Literal, Self

__all__ = [
    'CassetteError',
    'CassetteFormatError',
    'NetworkRefused',
    'SecretLeak',
    'UnmatchedRequest',
    'UnusedInteractions',
]

MissReason = Literal['different', 'exhausted', 'empty', 'truncated', 'abandoned']


class CassetteError(Exception):
    """Base of everything this room raises; its text says what, where and what to do.

    Where the `anthropic` SDK is imported, instances are also `anthropic.AnthropicError`: that SDK retries every other
    exception of a transport and hides it as a connection error.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Create the error, as one that the provider SDKs in this process let through."""
        return super().__new__(_passing_sdks(cls))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (_public_class(type(self)), self.args, self.__dict__)


class UnmatchedRequest(CassetteError):
    """A request has no recorded answer."""

    def __init__(
        self,
        message: str,
        *,
        method: str = '',
        url: str = '',
        reason: MissReason = 'different',
        path: str | None = None,
    ) -> None:
        super().__init__(message)
        self.method = method
        """The request's method, such as `POST`."""
        self.url = url
        """The request's URL, without secrets."""
        self.reason: MissReason = reason
        """Why nothing answers: `different` from all recorded requests, `exhausted` answers, an `empty` file, or an
        answer that was `truncated` or `abandoned` when it was recorded."""
        self.path = path
        """First place where the nearest recorded request differs, such as `$.messages[0].content`, or `None`."""


class UnusedInteractions(CassetteError):
    """Recorded answers were left over when the cassette was checked."""

    def __init__(self, path: Path, unused: list[str], recorded: int) -> None:
        self.path = path
        """The cassette's file."""
        self.unused = unused
        """One line per interaction that was not played: its number, method and URL."""
        listed = ''.join(f'\n  {line}' for line in unused[:10])
        more = f'\n  and {len(unused) - 10} more' if len(unused) > 10 else ''
        super().__init__(
            f'{path}: {len(unused)} of {recorded} recorded interactions were not played:{listed}{more}\n'
            'The run sent fewer requests than the recording holds. Record it again, or remove what is no longer sent.'
        )


class SecretLeak(CassetteError):
    """A credential was about to be written; nothing was."""

    def __init__(self, path: Path, findings: list[str]) -> None:
        self.path = path
        """The file that was not written."""
        self.findings = findings
        """Which credential stands where, without its value."""
        listed = ''.join(f'\n  {finding}' for finding in findings[:10])
        super().__init__(
            f'{path} was not written: it would hold a credential of this run.{listed}\n'
            'Keep the credential out of prompts and answers, or use another one for recording. If it is a JSON value '
            'that is no secret, name its path in `Matching.keep`.'
        )


class CassetteFormatError(CassetteError):
    """A file cannot be read as a cassette of HTTP traffic."""

    def __init__(self, path: Path, problem: str, *, line: int | None = None) -> None:
        self.path = path
        """The file."""
        self.problem = problem
        """What is wrong with it."""
        self.line = line
        """The line of the file where that stands, from 1; `None` when there is none."""
        where = '' if line is None else f'line {line}: '
        super().__init__(f'{path} is not a cassette of HTTP traffic (VCR YAML, version 1): {where}{problem}')


class NetworkRefused(CassetteError):
    """A connection or a name look-up was attempted while `no_network` is active."""

    def __init__(self, action: str, host: str) -> None:
        self.host = host
        """The host name or address that was refused."""
        super().__init__(
            f'{action} {host!r} was refused: a replay is running and uses no network. '
            f'Name the host in `allow_hosts` of `use_cassette`, or in `allow` of `no_network`, if it must be reached.'
        )


def _restore(cls: type[CassetteError], args: tuple[Any, ...], state: dict[str, Any]) -> CassetteError:
    # Not `cls(*args)`: constructors take facts, `args` holds the finished text.
    error = CassetteError.__new__(cls)
    error.args = args
    error.__dict__.update(state)
    return error


def _public_class(cls: type[CassetteError]) -> type[CassetteError]:
    return cls.__mro__[1] if cls.__dict__.get('_passes_sdks') else cls


def _passing_sdks(cls: type[Any]) -> type[Any]:
    # Only what is already imported can hide an error; importing an SDK for this would be slow and may fail.
    anthropic = sys.modules.get('anthropic')
    sdk_error = getattr(anthropic, 'AnthropicError', None)
    if sdk_error is None or issubclass(cls, sdk_error):
        return cls
    return _mixed(cls, sdk_error)


@functools.cache
def _mixed(cls: type[Any], sdk_error: type[Exception]) -> type[Any]:
    namespace = {
        '__module__': cls.__module__,
        '__qualname__': cls.__qualname__,
        '__doc__': cls.__doc__,
        '_passes_sdks': True,
    }
    return type(cls.__name__, (cls, sdk_error), namespace)
