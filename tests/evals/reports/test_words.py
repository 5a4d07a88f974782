from __future__ import annotations

import pytest

from advisor_harness.evals.reports.words import clip, number, one_line, share_met, visible
from advisor_harness.evals.verdict import Precondition


@pytest.mark.parametrize(
    ('value', 'text'),
    [
        (None, 'not measured'),
        (0.0, '0'),
        (1.0, '1'),
        (0.5, '0.500'),
        (-0.0476, '-0.0476'),
        (123456.0, '123456'),
        (1234.5, '1234.500'),
        (0.99996, '0.99996'),
        (0.00351, '0.00351'),
        (0.0002134, '0.000213'),
        (0.00002134, '0.0000213'),
    ],
)
def test_no_number_is_rounded_to_a_whole_one_it_is_not(value: float | None, text: str) -> None:
    """A value just below 1 never prints as 1, nor a small one as 0."""
    assert number(value) == text


def test_a_clipped_text_says_what_is_missing() -> None:
    """Texts are cut only with the number of characters that were left out."""
    assert [clip('abcdef', 6), clip('abcdef', 4)] == ['abcdef', 'abcd... (2 more characters)']


def test_control_characters_are_shown_as_escapes() -> None:
    """Nothing a model wrote can move the cursor or break an encoder."""
    assert visible('a\x1b[31mb\x00\r\n\tc\ud800\x85') == 'a\\x1b[31mb\\x00\\r\n\tc\\ud800\\x85'
    assert one_line('a\n  b\tc\x07') == 'a b c\\x07'


@pytest.mark.parametrize(
    ('value', 'met', 'of', 'text'),
    [(1.0, None, None, 'none'), (0.5, None, None, 'share 0.500'), (0.5, 1, 2, '1/2')],
)
def test_a_precondition_is_told_with_its_denominator(value: float, met: int | None, of: int | None, text: str) -> None:
    """Without counts there was nothing to ask for, or a share is all that is known."""
    condition = Precondition(name='cassettes', value=value, expected=1.0, ok=value == 1.0, n_met=met, n_expected=of)
    assert share_met(condition) == text
