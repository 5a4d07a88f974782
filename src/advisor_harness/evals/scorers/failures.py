"""Scorers of what happens when advice fails or is refused: outcomes, refusals, errors and how often a model was asked.

What a case expects stands in the scorer's argument, or in a field of the case's `expected_output`; a case that says
nothing gets no result. A task puts an error that is expected to reach the caller into its output instead of raising
it: a task that raises is a failed case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_evals.evaluators import EvaluatorOutput

from advisor_harness.evals.scorers._reading import ABSENT, AnyContext, Scorer, about, expected, field_of
from advisor_harness.telemetry import read

__all__ = ['ExpectedError', 'ExpectedErrorCode', 'ExpectedOutcomes', 'ExpectedRefusals', 'RequestCount']


@dataclass
class ExpectedError(Scorer):
    """Whether the task ended with the error that the case expects, or with none.

    Field `error` of the output, the name of an exception's class or `None`, equals the expectation's `error`. An output
    without that field ended without an error.
    """

    error: str | None = None
    """Name of the exception's class; `None` takes the case's `expected_output`."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Compare the errors."""
        wanted = expected(ctx, 'error', self.error)
        if wanted is ABSENT:
            return {}
        found = field_of(ctx.output, 'error')
        return _same(self, None if found is ABSENT else found, wanted)


@dataclass
class ExpectedErrorCode(Scorer):
    """Whether the last consultation has the error code that the case expects (`error_code`), or none.

    False when there was no consultation.
    """

    error_code: str | None = None
    """A code of `error.type`; `None` takes the case's `expected_output`."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Compare the codes."""
        wanted = expected(ctx, 'error_code', self.error_code)
        if wanted is ABSENT:
            return {}
        consultations = read.consultations(ctx.span_tree)
        if not consultations:
            return self.result(False, f'no consultation; expected {wanted!r}')
        return _same(self, consultations[-1].error_code, wanted)


@dataclass
class ExpectedOutcomes(Scorer):
    """Whether the consultations ended as the case expects (`outcomes`), in the order in which they started.

    Refused calls make no consultation and are not in the list: `ExpectedRefusals` counts them.
    """

    outcomes: Sequence[str] | None = None
    """Values of `Outcome`; `None` takes the case's `expected_output`."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Compare the outcomes."""
        wanted = expected(ctx, 'outcomes', self.outcomes)
        if wanted is ABSENT:
            return {}
        return _same(self, [each.outcome for each in read.consultations(ctx.span_tree)], list(wanted))


@dataclass
class ExpectedRefusals(Scorer):
    """Whether as many consultations were refused by a limit as the case expects (`refusals`)."""

    refusals: int | None = None
    """Number of claims that were not granted; `None` takes the case's `expected_output`."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Count the refusals."""
        wanted = expected(ctx, 'refusals', self.refusals)
        if wanted is ABSENT:
            return {}
        refused = sum(not claim.granted for claim in read.claims(ctx.span_tree))
        return _same(self, refused, wanted)


@dataclass
class RequestCount(Scorer):
    """Whether the case made as many model requests, the advisor's included, as it expects (`requests`).

    Counted are the requests that left a span, so that a replay of one recording counts the same whoever answered it.
    """

    requests: int | None = None
    """Number of requests; `None` takes the case's `expected_output`."""
    tolerance: int = 0
    """How many more or fewer are as good."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Count the requests."""
        wanted = expected(ctx, 'requests', self.requests)
        if wanted is ABSENT:
            return {}
        found = int(ctx.metrics.get('requests', 0))
        within = abs(found - wanted) <= self.tolerance
        return self.result(within, None if within else f'{about(found, "request")}, expected {wanted}')


def _same(scorer: Scorer, found: Any, wanted: Any) -> EvaluatorOutput:
    same = found == wanted
    return scorer.result(same, None if same else f'{found!r}, expected {wanted!r}')
