"""Scorers of routing: which route and which model served, what became of the history, and what of it arrived.

Decisions are read from the spans `route model request`. What was sent is what the task says in its output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_evals.evaluators import EvaluatorOutput

from advisor_harness.evals.scorers._reading import ABSENT, AnyContext, Scorer, expected, field_of
from advisor_harness.telemetry import RouteFacts, read

__all__ = ['ExpectedDecisions', 'ExpectedIssues', 'ExpectedRoutes', 'FactsReached', 'LossesReported']


@dataclass
class ExpectedRoutes(Scorer):
    """Whether the requests were served as the case expects (`routes`), in their order.

    Each is written `route/model`, or `/model` for a model that served without a route. No result for a case that
    expects none.
    """

    routes: Sequence[str] | None = None
    """`None` takes the case's `expected_output`."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Compare routes and models."""
        return _compare(self, ctx, 'routes', self.routes, [f'{each.route or ""}/{each.model}' for each in _routes(ctx)])


@dataclass
class ExpectedDecisions(Scorer):
    """Whether the conversation's route began, stayed and changed as the case expects (`decisions`).

    Each is written `decision/reason`: values of `model_routing.decision` and `model_routing.reason`.
    """

    decisions: Sequence[str] | None = None
    """`None` takes the case's `expected_output`."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Compare decisions and reasons."""
        found = [f'{each.decision}/{each.reason}' for each in _routes(ctx)]
        return _compare(self, ctx, 'decisions', self.decisions, found)


@dataclass
class ExpectedIssues(Scorer):
    """Whether the history moved with the issues that the case expects (`issues`): one list of kinds per request."""

    issues: Sequence[Sequence[str]] | None = None
    """`None` takes the case's `expected_output`."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Compare the kinds of issues."""
        return _compare(self, ctx, 'issues', self.issues, [list(each.issues) for each in _routes(ctx)])


@dataclass
class FactsReached(Scorer):
    """Whether the last request held what the case expects the model to know (`reached`).

    The task lists in field `reached` of its output which of the facts it looked for were in the request's body.
    """

    reached: Sequence[str] | None = None
    """`None` takes the case's `expected_output`."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Compare the facts."""
        found = field_of(ctx.output, 'reached')
        return _compare(self, ctx, 'reached', self.reached, [] if found is ABSENT else found)


@dataclass
class LossesReported(Scorer):
    """Whether the kinds of content that did not arrive are exactly those that a span says were left out.

    The task lists in field `lost` of its output the kinds of the facts that were in no body of the last request.
    False too for a loss that is only reported: what a span calls lost must be missing. No result for an output without
    that field.
    """

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Compare what is missing with what was reported."""
        lost = field_of(ctx.output, 'lost')
        if lost is ABSENT:
            return {}
        routes = _routes(ctx)
        reported = sorted(routes[-1].dropped_kinds) if routes else []
        same = sorted(set(lost)) == reported
        return self.result(same, None if same else f'{sorted(set(lost))!r} did not arrive, {reported!r} was reported')


def _routes(ctx: AnyContext) -> list[RouteFacts]:
    return read.routes(ctx.span_tree)


def _compare(scorer: Scorer, ctx: AnyContext, name: str, own: Any, found: list[Any]) -> EvaluatorOutput:
    wanted = expected(ctx, name, own)
    if wanted is ABSENT:
        return {}
    same = found == list(wanted)
    return scorer.result(same, None if same else f'{found!r}, expected {wanted!r}')
