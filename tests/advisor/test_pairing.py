"""The table of Anthropic pairs."""

from __future__ import annotations

import pytest

from advisor_harness.advisor.pairing import anthropic_pairing

MODELS = [
    'claude-haiku-4-5',
    'claude-sonnet-4-6',
    'claude-sonnet-5',
    'claude-opus-4-6',
    'claude-opus-4-7',
    'claude-opus-4-8',
    'claude-opus-5',
    'claude-fable-5',
    'claude-mythos-5',
    'claude-fable-5-1',
    'claude-mythos-5-1',
]


@pytest.mark.parametrize('model', MODELS[1:])
def test_equals_may_advise_each_other(model: str) -> None:
    """A model that is an advisor at all may advise itself."""
    assert anthropic_pairing(model, model) == 'valid'


@pytest.mark.parametrize(
    ('executor', 'rejected'),
    [
        ('claude-haiku-4-5', {'claude-haiku-4-5'}),
        ('claude-sonnet-4-6', {'claude-haiku-4-5'}),
        ('claude-sonnet-5', {'claude-haiku-4-5', 'claude-sonnet-4-6', 'claude-opus-4-6'}),
        ('claude-opus-4-6', {'claude-haiku-4-5', 'claude-sonnet-4-6'}),
        ('claude-opus-4-8', {'claude-haiku-4-5', 'claude-sonnet-4-6', 'claude-sonnet-5', 'claude-opus-4-6'}),
        ('claude-opus-5', set(MODELS[:6])),
        ('claude-fable-5', set(MODELS[:6])),
        ('claude-fable-5-1', set(MODELS[:9])),
    ],
)
def test_an_executor_rejects_weaker_advisors(executor: str, rejected: set[str]) -> None:
    """Of the models in the table an executor may not pair with those below it."""
    pairs = {advisor: anthropic_pairing(executor, advisor) for advisor in MODELS}
    assert {advisor for advisor, pairing in pairs.items() if pairing != 'valid'} == rejected


@pytest.mark.parametrize(
    ('executor', 'advisor'), [('claude-opus-5', 'claude-new'), ('claude-new', 'claude-opus-4-8'), ('', '')]
)
def test_what_the_table_does_not_know_is_left_to_the_provider(executor: str, advisor: str) -> None:
    """A model of a later time is neither valid nor invalid."""
    assert anthropic_pairing(executor, advisor) == 'unknown'


def test_a_snapshot_is_the_model_that_it_is_of() -> None:
    """A dated name pairs as the name without its date."""
    assert anthropic_pairing('claude-haiku-4-5-20251001', 'claude-opus-4-8-20260301') == 'valid'
    assert anthropic_pairing('claude-opus-5-20260801', 'claude-opus-4-8') == 'invalid'
