"""Worked examples of the scorers of traces, and what all scorers have in common."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_evals.evaluators import EvaluationReason, Evaluator

from advisor_harness.evals import scorers
from tests.evals.spans import Trace
from tests.telemetry.checking import ValidatingProcessor


def test_own_spans_valid(span_vocabulary: ValidatingProcessor) -> None:
    """There is a span of the vocabulary, and every one keeps to it."""

    def outcome(trace: Trace) -> object:
        return scorers.OwnSpansValid().evaluate(trace.context())

    assert outcome(Trace().chat().consult()) == {'OwnSpansValid': EvaluationReason(value=True, reason=None)}
    assert outcome(Trace().chat()) == {
        'OwnSpansValid': EvaluationReason(value=False, reason='the trace has no span of the vocabulary')
    }
    assert span_vocabulary.problems == []
    assert outcome(Trace().consult('wonderful')) == {
        'OwnSpansValid': EvaluationReason(value=False, reason=span_vocabulary.problems[0])
    }
    span_vocabulary.problems.clear()


@pytest.mark.parametrize('scorer', scorers.ALL)
def test_scorers_have_a_version_and_can_be_named_in_a_file(scorer: type[Evaluator[Any, Any, Any]]) -> None:
    """A dataset may name any scorer, and a baseline notices when its definition changes."""
    needed = {'rubric': 'Clear?', 'model': 'openai-chat:gpt-5.4-mini'} if scorer is scorers.Judge else {}
    made = scorer(**needed)
    assert made.get_evaluator_version() == '1'
    assert made.as_spec().name == scorer.__name__
    assert scorer.__name__ in scorers.__all__
