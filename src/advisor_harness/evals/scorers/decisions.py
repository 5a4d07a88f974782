"""Scorers of decisions: which way consultations went, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_evals.evaluators import EvaluatorOutput

from advisor_harness.evals.scorers._reading import ABSENT, AnyContext, Scorer, expected
from advisor_harness.telemetry import SelectionFacts, read

__all__ = ['ExpectedSelection']


@dataclass
class ExpectedSelection(Scorer):
    """Whether every `select advisor` span of the case has the path and the reason that the case expects.

    What is expected stands in the scorer's arguments, or in the fields `path` and `reason` of the case's
    `expected_output`; what is named in neither is not compared. False when no selection was made. No result for a case
    that expects neither.
    """

    path: str | None = None
    """`native`, `local` or `none`."""
    reason: str | None = None
    """A value of `advisor.selection.reason`."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Compare the selections."""
        wanted = {'path': expected(ctx, 'path', self.path), 'reason': expected(ctx, 'reason', self.reason)}
        wanted = {name: value for name, value in wanted.items() if value is not ABSENT}
        if not wanted:
            return {}
        selections = read.selections(ctx.span_tree)
        if not selections:
            return self.result(False, 'no selection was made')
        differing = [each for each in selections if not _is(each, wanted)]
        return self.result(not differing, _difference(differing[0], wanted) if differing else None)


def _is(selection: SelectionFacts, wanted: Mapping[str, Any]) -> bool:
    return all(getattr(selection, name) == value for name, value in wanted.items())


def _difference(selection: SelectionFacts, wanted: Mapping[str, Any]) -> str:
    asked = ', '.join(f'{name} {value}' for name, value in wanted.items())
    return f'path {selection.path}, reason {selection.reason}; expected {asked}'
