"""Worked examples of the scorers of advice."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_evals.evaluators import EvaluationReason

from advisor_harness.evals.scorers import AdviceWithinBounds, NotAnEcho, NotTruncated, StructuredAdviceValid
from tests.evals.spans import Trace


def outcome(scorer: Any, trace: Trace, **case: Any) -> tuple[Any, str | None] | None:
    """Value and reason of a scorer's one result, `None` when it gives none."""
    results = scorer.evaluate(trace.context(**case))
    if not results:
        return None
    ((name, result),) = results.items()
    assert name == type(scorer).__name__
    assert isinstance(result, EvaluationReason)
    return result.value, result.reason


def sized(tokens: int, chars: int, outcome: str = 'advised') -> Trace:
    return Trace().consult(outcome, usage__output_tokens=tokens, consultation__advice__length=chars)


@pytest.mark.parametrize(
    ('trace', 'expected'),
    [
        (sized(100, 400), (True, None)),
        (sized(100, 400, 'truncated'), (True, None)),
        (sized(500, 400), (True, None)),
        (sized(501, 400), (False, '501 tokens, asked for 10 to 500')),
        (sized(9, 400), (False, '9 tokens, asked for 10 to 500')),
        (sized(100, 1), (False, '1 character, asked for 2 to 1000')),
        (Trace().consult('empty'), (False, 'no advice: empty')),
        (Trace().consult('advised'), (True, None)),
        (Trace().consult('redacted', usage__output_tokens=600), (False, '600 tokens, asked for 10 to 500')),
        (Trace().consult('redacted'), None),
        (Trace(), None),
    ],
)
def test_advice_within_bounds(trace: Trace, expected: tuple[bool, str | None] | None) -> None:
    """Tokens and characters lie within the bounds, limits included; advice that did not come is out of them."""
    assert outcome(AdviceWithinBounds(10, 500, 2, 1000), trace) == expected


def test_every_consultation_must_be_within_bounds() -> None:
    """One bad advice of two is one too many."""
    trace = Trace().consult(usage__output_tokens=100).consult(usage__output_tokens=5000)
    assert outcome(AdviceWithinBounds(), trace) == (False, '5000 tokens, asked for 1 to 2000')


@pytest.mark.parametrize(
    ('truncated', 'expected'),
    [
        ([False, False], (True, None)),
        ([False, True], (False, '1 of 2 consultations cut')),
        ([None, False], (True, None)),
        ([None], None),
        ([], None),
    ],
)
def test_not_truncated(truncated: list[bool | None], expected: tuple[bool, str | None] | None) -> None:
    """No consultation says that its advice was cut, and at least one says that it was not."""
    trace = Trace()
    for cut in truncated:
        trace.consult(**({} if cut is None else {'consultation__truncated': cut}))
    assert outcome(NotTruncated(), trace) == expected


def test_the_outcome_truncated_says_it_too() -> None:
    """An outcome `truncated` is cut advice, whatever else the span says."""
    assert outcome(NotTruncated(), Trace().consult('truncated')) == (False, '1 of 1 consultation cut')


QUESTION = 'Should we add an index, or a cache first?'


@pytest.mark.parametrize(
    ('advice', 'expected'),
    [
        (
            'Measure the query, then add an index.',
            (True, '20% of the sequences of 3 words of the advice are in the question'),
        ),
        (
            'should we add AN INDEX or a cache first',
            (False, '100% of the sequences of 3 words of the advice are in the question'),
        ),
        ('index', (False, '100% of the words of the advice are in the question')),
        ('Yes.', (True, '0% of the words of the advice are in the question')),
        ('', None),
        (None, None),
    ],
)
def test_not_an_echo(advice: str | None, expected: tuple[bool, str] | None) -> None:
    """The share of the advice's different sequences of three words that stand in the question is at most one half."""
    assert outcome(NotAnEcho(), Trace(), inputs={'question': QUESTION}, output={'advice': advice}) == expected


def test_not_an_echo_of_plain_inputs_and_structured_advice() -> None:
    """Inputs and output may be texts themselves; structured advice is compared as its JSON."""
    plain = outcome(NotAnEcho(), Trace(), inputs='a b c d', output='a b c d')
    assert plain == (False, '100% of the sequences of 3 words of the advice are in the question')
    structured = outcome(NotAnEcho(words=1), Trace(), inputs='why', output={'advice': {'reason': 'why not'}})
    assert structured == (True, '33% of the words of the advice are in the question')


def test_not_an_echo_needs_a_question() -> None:
    """Without a question there is nothing to compare with, which is a mistake in the suite."""
    with pytest.raises(ValueError) as caught:
        NotAnEcho().evaluate(Trace().context(inputs={'prompt': 'x'}, output='y'))
    assert str(caught.value) == "the inputs have no field 'question': name the one with the question"


STRUCTURED = {'consultation__advice__form': 'structured'}


@pytest.mark.parametrize(
    ('trace', 'risk', 'expected'),
    [
        (Trace().consult(**STRUCTURED), 50, (True, None)),
        (Trace().consult('invalid_output').consult(**STRUCTURED), 50, (True, None)),
        (Trace().consult(**STRUCTURED).consult('invalid_output'), 50, (False, 'invalid_output, form unknown')),
        (Trace().consult(consultation__advice__form='text'), 50, (False, 'advised, form text')),
        (Trace().consult(**STRUCTURED), 101, (False, 'risk is 101, asked for 0 to 100')),
        (Trace().consult(**STRUCTURED), None, (False, 'risk is None, asked for 0 to 100')),
        (Trace(), 50, None),
    ],
)
def test_structured_advice_valid(trace: Trace, risk: int | None, expected: tuple[bool, str | None] | None) -> None:
    """The last consultation gave structured advice, and its numbers are in range."""
    scorer = StructuredAdviceValid(ranges={'risk': (0, 100)})
    assert outcome(scorer, trace, output={'advice': {'risk': risk}}) == expected


def test_structured_advice_valid_on_the_first_attempt() -> None:
    """A wrong format that was repaired is a failure where the first attempt must be right."""
    trace = Trace().consult('invalid_output').consult(**STRUCTURED)
    assert outcome(StructuredAdviceValid(first_attempt=True), trace) == (False, 'invalid_output, form unknown')


def test_structured_advice_without_the_advice_in_the_output() -> None:
    """A range of a field that is not there does not hold."""
    scorer = StructuredAdviceValid(ranges={'risk': (0, 100)})
    assert outcome(scorer, Trace().consult(**STRUCTURED), output='x') == (False, 'risk is absent, asked for 0 to 100')


def test_structured_advice_of_tagged_cases_only() -> None:
    """Cases without the tag get no result."""
    scorer, trace = StructuredAdviceValid(tag='structured'), Trace().consult(**STRUCTURED)
    assert outcome(scorer, trace, metadata={'tags': ['text']}) is None
    assert outcome(scorer, trace) is None
    assert outcome(scorer, trace, metadata={'tags': ['structured']}) == (True, None)
