from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from advisor_harness.cassettes import (
    CassetteError,
    CassetteFormatError,
    SecretLeak,
    UnmatchedRequest,
    UnusedInteractions,
)
from advisor_harness.cassettes.errors import NetworkRefused

PATH = Path('cassettes/advice/refund.advised.yaml')
ERRORS = [
    CassetteError('no cassette'),
    UnmatchedRequest('no answer', method='POST', url='https://x/', reason='exhausted', path='$.a'),
    UnusedInteractions(PATH, ['2: POST https://x/'], 2),
    SecretLeak(PATH, ['somewhere']),
    CassetteFormatError(PATH, 'it is empty'),
    NetworkRefused('A connection to', '10.0.0.1'),
]


@pytest.mark.parametrize('error', ERRORS, ids=lambda error: type(error).__name__)
def test_the_anthropic_sdk_lets_cassette_errors_through(error: CassetteError) -> None:
    """With the `anthropic` SDK imported, every new cassette error is also one of its own."""
    anthropic = pytest.importorskip('anthropic')
    again = type(error).__mro__[1] if hasattr(type(error), '_passes_sdks') else type(error)

    created = again.__new__(again)

    assert isinstance(created, anthropic.AnthropicError)
    assert isinstance(created, again)
    assert type(created).__name__ == again.__name__


def test_without_the_sdk_errors_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `anthropic` is not imported, nothing is mixed in and nothing is imported."""
    monkeypatch.delitem(sys.modules, 'anthropic', raising=False)

    assert type(CassetteError('x')) is CassetteError
    assert 'anthropic' not in sys.modules


@pytest.mark.parametrize('error', ERRORS, ids=lambda error: type(error).__name__)
def test_errors_survive_pickling(error: CassetteError) -> None:
    """Errors cross process borders with their text and their facts."""
    again = pickle.loads(pickle.dumps(error))

    assert str(again) == str(error)
    assert vars(again) == vars(error)
    assert isinstance(again, CassetteError)


def test_unused_interactions_are_listed() -> None:
    """The error names the file, how many are left over, and the first ten of them."""
    error = UnusedInteractions(PATH, [f'{n}: POST https://x/' for n in range(1, 13)], 14)

    assert str(error) == (
        'cassettes/advice/refund.advised.yaml: 12 of 14 recorded interactions were not played:'
        + ''.join(f'\n  {n}: POST https://x/' for n in range(1, 11))
        + '\n  and 2 more\nThe run sent fewer requests than the recording holds. '
        'Record it again, or remove what is no longer sent.'
    )


def test_a_leak_says_where_and_not_what() -> None:
    """The error tells which credential stands where, and what to do."""
    assert str(SecretLeak(PATH, ["the credential of header 'x-api-key' in $.a"])) == (
        'cassettes/advice/refund.advised.yaml was not written: it would hold a credential of this run.\n'
        "  the credential of header 'x-api-key' in $.a\n"
        'Keep the credential out of prompts and answers, or use another one for recording. If it is a JSON value '
        'that is no secret, name its path in `Matching.keep`.'
    )


def test_format_errors_name_file_and_problem() -> None:
    """The error names the file, what it should be, and what is wrong with it."""
    assert str(CassetteFormatError(PATH, 'it is empty')) == (
        'cassettes/advice/refund.advised.yaml is not a cassette of HTTP traffic (VCR YAML, version 1): it is empty'
    )


def test_refusals_name_the_host_and_the_way_out() -> None:
    """The error names what was tried, the host, and the two places that can allow it."""
    assert str(NetworkRefused('Looking up', 'api.example.com')) == (
        "Looking up 'api.example.com' was refused: a replay is running and uses no network. Name the host in "
        '`allow_hosts` of `use_cassette`, or in `allow` of `no_network`, if it must be reached.'
    )
