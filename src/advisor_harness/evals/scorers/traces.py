"""Scorers of the trace itself."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_evals.evaluators import EvaluatorOutput

from advisor_harness.evals.scorers._reading import AnyContext, Scorer
from advisor_harness.telemetry import conventions, validate

__all__ = ['OwnSpansValid']


@dataclass
class OwnSpansValid(Scorer):
    """Whether every decision of the case is in its trace as the vocabulary asks.

    True when the trace has a span of the vocabulary and every span keeps to it, False otherwise: an advisor that emits
    nothing cannot be judged.
    """

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Hold the spans to the vocabulary."""
        problems = [problem for node in ctx.span_tree for problem in validate.problems(node)]
        if problems:
            return self.result(False, problems[0])
        own = any(node.name in conventions.SPAN_ATTRIBUTES for node in ctx.span_tree)
        return self.result(own, None if own else 'the trace has no span of the vocabulary')
