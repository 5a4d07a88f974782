"""What a case used, each request once and unknown prices as unknown."""

from __future__ import annotations

import pytest

from advisor_harness.evals.usage import Usage, span_metrics, usage_of
from tests.evals.spans import Trace


def test_requests_tokens_and_cost_add_up() -> None:
    """Executor and local advisor are spans of pydantic-ai like any other."""
    trace = Trace().chat(input_tokens=10, output_tokens=2, cost=0.25).chat(input_tokens=5, output_tokens=1, cost=0.5)
    assert usage_of(trace.spans) == Usage(requests=2, input_tokens=15, output_tokens=3, cost_usd=0.75)


def test_a_case_without_requests_costs_nothing() -> None:
    """Nothing asked is nothing spent, which is known."""
    assert usage_of([]) == Usage(requests=0, input_tokens=0, output_tokens=0, cost_usd=0.0)


def test_spans_of_a_provider_sdk_are_not_counted_again() -> None:
    """The same request reported by the SDK itself is still one request."""
    trace = Trace().chat(input_tokens=10, cost=0.25).chat(input_tokens=10, scope='anthropic')
    assert usage_of(trace.spans) == Usage(requests=1, input_tokens=10, output_tokens=0, cost_usd=0.25)


def test_a_local_consultation_is_not_counted_again() -> None:
    """The tokens of a local consultation are those of its own requests."""
    trace = Trace().chat(input_tokens=10, cost=0.25).consult(usage__input_tokens=10, cost__usd=0.25)
    assert usage_of(trace.spans) == Usage(requests=1, input_tokens=10, output_tokens=0, cost_usd=0.25)


def test_a_native_consultation_is_added() -> None:
    """The tokens and cost of a native advisor are in no request's span."""
    facts = {'usage__input_tokens': 100, 'usage__output_tokens': 7, 'usage__requests': 1, 'cost__usd': 0.5}
    trace = Trace().chat(input_tokens=10, output_tokens=2, cost=0.25).consult(path='native', **facts)
    assert usage_of(trace.spans) == Usage(requests=2, input_tokens=110, output_tokens=9, cost_usd=0.75)


@pytest.mark.parametrize(
    'trace',
    [
        Trace().chat(input_tokens=1, cost=0.25).chat(input_tokens=1),
        Trace().chat(input_tokens=1, cost=0.25).chat(),
        Trace().chat(input_tokens=1, cost=0.25).consult(path='native', usage__requests=1),
        Trace().chat(input_tokens=1, cost=0.25).chat(input_tokens=1, error=True),
    ],
)
def test_one_unknown_price_makes_the_cost_unknown(trace: Trace) -> None:
    """Unknown is never 0, and never the sum of the rest."""
    assert usage_of(trace.spans).cost_usd is None


def test_a_request_that_failed_without_an_answer_is_free() -> None:
    """A refused request has no usage and no price."""
    trace = Trace().chat(input_tokens=1, cost=0.25).chat(error=True)
    assert usage_of(trace.spans) == Usage(requests=2, input_tokens=1, output_tokens=0, cost_usd=0.25)


def test_metrics_follow_the_rule_of_pydantic_evals() -> None:
    """The same keys and sums as pydantic-evals derives from a tree."""
    from pydantic_evals._task_run import TaskRun, extract_span_tree_metrics

    trace = Trace().chat(input_tokens=10, details=0, cost=0.25).chat(output_tokens=3)
    trace.add('chat x', {'gen_ai.request.model': 'x', 'gen_ai.usage.details.cached': 4, 'other': 'text', 'n': 3})
    trace.add('no request', {'gen_ai.usage.input_tokens': 99})
    theirs = TaskRun()
    extract_span_tree_metrics(theirs, trace.context().span_tree)
    assert span_metrics(span.attributes or {} for span in trace.spans) == theirs.metrics
    assert theirs.metrics == {'requests': 2, 'input_tokens': 10, 'cost': 0.25, 'output_tokens': 3, 'cached': 4}
