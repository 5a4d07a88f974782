from __future__ import annotations

from pathlib import Path

import pytest

from advisor_harness.cassettes.provenance import checked_provenance, record_command


@pytest.mark.parametrize('by', ['provider', 'local model', 'emulator'])
def test_known_sources_are_accepted(by: str) -> None:
    """A block says who answered, or nothing about it."""
    assert checked_provenance({'by': by, 'model': 'm'}) == {'by': by, 'model': 'm'}
    assert checked_provenance(None) == {}


def test_unknown_sources_are_refused() -> None:
    """Reports count three kinds of sources, so a fourth is a mistake."""
    with pytest.raises(ValueError) as caught:
        checked_provenance({'by': 'mock'})
    assert str(caught.value) == (
        "`recorded_with` says by='mock'; it must be one of 'provider', 'local model', 'emulator'."
    )


@pytest.mark.parametrize(
    ('path', 'command'),
    [
        ('cassettes/advice/refund.advised.yaml', '`advisor-harness record advice --case refund`'),
        ('cassettes/advice/refund.advised.2.yaml', '`advisor-harness record advice --case refund`'),
        ('/x/cassettes/advice/v1.2 beta.solo.yaml', "`advisor-harness record advice --case 'v1.2 beta'`"),
        ('cassettes/advice/a%2Fb.advised.yaml', '`advisor-harness record advice --case a/b`'),
        ('cassettes/refund.yaml', "`use_cassette('cassettes/refund.yaml', mode='record')`"),
        ('refund.advised.yaml', "`use_cassette('refund.advised.yaml', mode='record')`"),
    ],
)
def test_a_file_says_how_to_record_it(path: str, command: str) -> None:
    """A case of a suite has a command, any other file a call."""
    assert record_command(Path(path)) == command
