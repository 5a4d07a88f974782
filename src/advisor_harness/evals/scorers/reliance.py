"""Scorers of answers and of what was made of the advice: is the answer right, was the advice, was it followed.

They read fields of the task's output, so a task says what the executor decided (`decision`), what it was advised
(`advice`, one piece or a list of them, each with a `decision` of its own), and, if it has one, a `confidence`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, cast

from pydantic_evals.evaluators import EvaluatorOutput

from advisor_harness.evals.scorers._answers import listed, matches, same_answer
from advisor_harness.evals.scorers._reading import ABSENT, AnyContext, Scorer, expected, field_of
from advisor_harness.evals.scorers._trace import Trace, arguments, tool_name

__all__ = ['Adherence', 'AdviceCorrectness', 'Confidence', 'ExpectedDecision']


@dataclass
class ExpectedDecision(Scorer):
    """Whether the task decided as the case expects: its deterministic grade.

    Field `decision` of the output equals that of the case's `expected_output`, or one of a list there. Numbers are
    compared by value, texts without capitals and spaces around them. No result for a case that expects nothing.
    """

    accept: Any = None
    """The right decision, or a list of them; `None` takes the case's `expected_output`."""
    decision: str = 'decision'
    """Name of the field, in the output and in `expected_output`."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Compare the decisions."""
        wanted = expected(ctx, self.decision, self.accept)
        if wanted is ABSENT:
            return {}
        found = field_of(ctx.output, self.decision)
        right = matches(found, wanted)
        said = 'nothing' if found is ABSENT else repr(found)
        return self.result(right, None if right else f'{said}, expected {wanted!r}')


@dataclass
class AdviceCorrectness(Scorer):
    """Share of the pieces of advice whose decision is right by the case's own answer key (metric 9).

    A piece of advice is right when its field `decision` equals the one that the case expects. No result without advice
    that can be read and graded: free text needs a judge, a redacted one cannot be graded at all.
    """

    accept: Any = None
    """The right decision, or a list of them; `None` takes the case's `expected_output`."""
    decision: str = 'decision'
    """Name of the field, in the advice and in `expected_output`."""
    advice: str = 'advice'
    """Field of the output with the advice."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Grade every piece of advice."""
        wanted = expected(ctx, self.decision, self.accept)
        graded = [field_of(each, self.decision) for each in listed(field_of(ctx.output, self.advice))]
        graded = [each for each in graded if each is not ABSENT]
        if wanted is ABSENT or not graded:
            return {}
        right = [matches(each, wanted) for each in graded]
        return self.result(fmean(right), None if all(right) else f'advised {graded!r}, expected {wanted!r}')


@dataclass
class Adherence(Scorer):
    """1 when the executor did what its last advice says, else 0 (metric 7). To follow advice is no merit by itself.

    Followed are the advice's `decision`, which the executor's must equal; its `constraints`, a mapping of tool names to
    arguments that every later call of the tool must have; and its `banned_tools`, none of which may be called later.
    Advice with none of the three cannot be compared and has no result: let a judge compare free text.
    """

    decision: str = 'decision'
    """Name of the field, in the output and in the advice."""
    advice: str = 'advice'
    """Field of the output with the advice."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Compare the last advice with what followed."""
        given = listed(field_of(ctx.output, self.advice))
        fields = ('constraints', 'banned_tools', self.decision)
        if not given or all(field_of(given[-1], name) is ABSENT for name in fields):
            return {}
        breach = next(self._breaches(ctx, given[-1]), None)
        return self.result(float(breach is None), breach)

    def _breaches(self, ctx: AnyContext, advice: Any) -> Iterator[str]:
        decided, advised = field_of(ctx.output, self.decision), field_of(advice, self.decision)
        if advised is not ABSENT and not same_answer(decided, advised):
            yield f'decided {decided!r}, advised {advised!r}'
        constraints, banned = field_of(advice, 'constraints'), listed(field_of(advice, 'banned_tools'))
        if constraints is ABSENT and not banned:
            return
        trace = Trace(ctx)
        asked = trace.consultations[-1].start_ns if trace.consultations else 0
        for span in (span for span in trace.tool_calls if span.start_ns > asked):
            name = tool_name(span)
            if name in banned:
                yield f'called {name}, advised not to'
            yield from _differences(name, arguments(span), field_of(constraints, name))


@dataclass
class Confidence(Scorer):
    """How sure the executor says it is, 0 to 1: field `confidence` of the output (metric 22 reads it).

    No result where the output has none.
    """

    confidence: str = 'confidence'
    """Name of the field."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Read the field.

        Raises:
            ValueError: it is not a number from 0 to 1.
        """
        value = field_of(ctx.output, self.confidence)
        if value is ABSENT or value is None:
            return {}
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ValueError(f'field {self.confidence!r} of the output must be a number from 0 to 1; got {value!r}')
        return self.result(float(value))


def _differences(tool: str, given: Mapping[str, Any], asked_for: Any) -> Iterator[str]:
    if not isinstance(asked_for, Mapping):
        return
    for name, value in cast('Mapping[str, Any]', asked_for).items():
        if not same_answer(given.get(name), value):
            yield f'called {tool} with {name}={given.get(name)!r}, advised {value!r}'
