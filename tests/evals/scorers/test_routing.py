"""Worked examples of the scorers of routing."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_evals.evaluators import EvaluationReason

from advisor_harness.evals.scorers import (
    ExpectedDecisions,
    ExpectedIssues,
    ExpectedRoutes,
    FactsReached,
    LossesReported,
)
from advisor_harness.telemetry import conventions as names
from tests.evals.spans import COMMON, Trace


def route(
    trace: Trace, name: str | None, model: str, decision: str, reason: str, *, dropped: tuple[str, ...] = ()
) -> Trace:
    """A request served by a route."""
    attributes: dict[str, Any] = {
        **COMMON,
        names.MODEL_ROUTING_REQUEST_STEP: 1,
        names.MODEL_ROUTING_SCHEMA_VERSION: 1,
        names.MODEL_ROUTING_REASON: reason,
        names.MODEL_ROUTING_DECISION: decision,
        names.MODEL_ROUTING_PROVIDER: 'p',
        names.MODEL_ROUTING_MODEL: model,
        names.MODEL_ROUTING_SWITCHED: decision == 'switch',
        names.MODEL_ROUTING_HISTORY_PORTABLE: True,
        names.MODEL_ROUTING_HISTORY_ACTION: 'dropped_parts' if dropped else 'kept',
    }
    if name is not None:
        attributes[names.MODEL_ROUTING_ROUTE] = name
    if dropped:
        attributes[names.MODEL_ROUTING_HISTORY_PARTS_DROPPED] = len(dropped)
        attributes[names.MODEL_ROUTING_HISTORY_DROPPED_KINDS] = dropped
        attributes[names.MODEL_ROUTING_ISSUES] = dropped
    return trace.add(names.ROUTE_MODEL_REQUEST, attributes)


def moved(*dropped: str) -> Trace:
    """Two requests: the route changes, and the second leaves something out."""
    trace = route(Trace(), 'fast', 'a', 'initialize', 'default')
    return route(trace, 'smart', 'b', 'switch', 'rule', dropped=dropped)


@pytest.mark.parametrize(
    ('scorer', 'expected', 'value', 'reason'),
    [
        (ExpectedRoutes(), {'routes': ['fast/a', 'smart/b']}, True, None),
        (ExpectedRoutes(), {'routes': ['fast/a']}, False, "['fast/a', 'smart/b'], expected ['fast/a']"),
        (ExpectedRoutes(routes=('fast/a', 'smart/b')), {'routes': []}, True, None),
        (ExpectedDecisions(), {'decisions': ['initialize/default', 'switch/rule']}, True, None),
        (
            ExpectedDecisions(),
            {'decisions': ['switch/rule', 'initialize/default']},
            False,
            "['initialize/default', 'switch/rule'], expected ['switch/rule', 'initialize/default']",
        ),
        (ExpectedIssues(), {'issues': [[], ['thinking']]}, True, None),
        (ExpectedIssues(), {'issues': [[], []]}, False, "[[], ['thinking']], expected [[], []]"),
    ],
)
def test_what_the_spans_say_is_compared_with_the_expectation(
    scorer: Any, expected: Any, value: bool, reason: str | None
) -> None:
    """Every request counts, in order; the scorer's own expectation goes first."""
    name = type(scorer).__name__
    result = scorer.evaluate(moved('thinking').context(expected=expected))
    assert result == {name: EvaluationReason(value=value, reason=reason)}


def test_a_model_without_a_route_has_no_name_before_it() -> None:
    """A model that was given to the run is written without a route."""
    trace = route(Trace(), None, 'given', 'retain', 'override')
    result = ExpectedRoutes().evaluate(trace.context(expected={'routes': ['/given']}))
    assert result == {'ExpectedRoutes': EvaluationReason(value=True, reason=None)}


@pytest.mark.parametrize('scorer', [ExpectedRoutes(), ExpectedDecisions(), ExpectedIssues(), FactsReached()])
def test_a_case_that_expects_nothing_gets_no_result(scorer: Any) -> None:
    """There is nothing to compare."""
    assert scorer.evaluate(moved().context(output={'reached': []}, expected={'other': 1})) == {}


@pytest.mark.parametrize(
    ('output', 'value', 'reason'),
    [
        ({'reached': ['Ada']}, True, None),
        ({'reached': []}, False, "[], expected ['Ada']"),
        ({}, False, "[], expected ['Ada']"),
    ],
)
def test_facts_reached(output: Any, value: bool, reason: str | None) -> None:
    """What the model had to know was in its last request; an output that does not say so is none."""
    result = FactsReached().evaluate(moved().context(output=output, expected={'reached': ['Ada']}))
    assert result == {'FactsReached': EvaluationReason(value=value, reason=reason)}


@pytest.mark.parametrize(
    ('dropped', 'lost', 'value', 'reason'),
    [
        ((), [], True, None),
        (('thinking',), ['thinking', 'thinking'], True, None),
        ((), ['thinking'], False, "['thinking'] did not arrive, [] was reported"),
        (('thinking',), [], False, "[] did not arrive, ['thinking'] was reported"),
        (
            ('native_tool',),
            ['thinking'],
            False,
            "['thinking'] did not arrive, ['native_tool'] was reported",
        ),
    ],
)
def test_losses_reported(dropped: tuple[str, ...], lost: list[str], value: bool, reason: str | None) -> None:
    """Neither a silent loss nor a reported one that did not happen passes."""
    result = LossesReported().evaluate(moved(*dropped).context(output={'lost': lost}))
    assert result == {'LossesReported': EvaluationReason(value=value, reason=reason)}


def test_losses_are_not_judged_where_nobody_looked() -> None:
    """An output without the field gets no result; without any span every loss is a silent one."""
    assert LossesReported().evaluate(moved().context(output='text')) == {}
    assert LossesReported().evaluate(Trace().context(output={'lost': ['media']})) == {
        'LossesReported': EvaluationReason(value=False, reason="['media'] did not arrive, [] was reported")
    }
