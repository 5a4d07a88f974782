"""Scorers of the advice itself: its size, whether it is whole, whether it says anything, whether a program can use it.

They give no result where there is nothing to measure: no consultation, or a provider that keeps the advice or a figure
to itself. What such a case means is up to `on_missing` of the gate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic_evals.evaluators import EvaluatorOutput

from advisor_harness.evals.scorers._reading import ABSENT, AnyContext, Scorer, about, field_of, text_of
from advisor_harness.evals.scorers._words import sequences, words_of
from advisor_harness.telemetry import ConsultationFacts, read

__all__ = ['AdviceWithinBounds', 'NotAnEcho', 'NotTruncated', 'StructuredAdviceValid']

_ADVISED = ('advised', 'truncated')


@dataclass
class AdviceWithinBounds(Scorer):
    """Whether every consultation gave advice, and all of it within a size.

    True when each consultation ended as `advised` or `truncated`, and both its output tokens and its characters, as far
    as they are known, lie within the bounds, limits included. False otherwise: advice that failed to come, or is empty,
    is out of any bounds. No result without a consultation, or when the only ones are redacted and of unknown size.
    """

    min_tokens: int = 1
    """Fewest output tokens of a consultation."""
    max_tokens: int = 2_000
    """Most output tokens of a consultation."""
    min_chars: int = 1
    """Fewest characters of an advice."""
    max_chars: int = 10_000
    """Most characters of an advice."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Judge the sizes."""
        consultations = read.consultations(ctx.span_tree)
        measured = [each for each in consultations if not _unreadable(each)]
        if not measured:
            return {}
        faults = [fault for each in measured for fault in self._faults(each)]
        return self.result(not faults, faults[0] if faults else None)

    def _faults(self, consultation: ConsultationFacts) -> Iterator[str]:
        if consultation.outcome not in (*_ADVISED, 'redacted'):
            yield f'no advice: {consultation.outcome}'
            return
        tokens, chars = consultation.output_tokens, consultation.advice_length
        if tokens is not None and not self.min_tokens <= tokens <= self.max_tokens:
            yield f'{about(tokens, "token")}, asked for {self.min_tokens} to {self.max_tokens}'
        if chars is not None and not self.min_chars <= chars <= self.max_chars:
            yield f'{about(chars, "character")}, asked for {self.min_chars} to {self.max_chars}'


@dataclass
class NotTruncated(Scorer):
    """Whether no advice was cut at its token limit.

    True when no consultation says that its advice was truncated and at least one says that it was not. No result when
    none says either.
    """

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Look for cut advice."""
        consultations = read.consultations(ctx.span_tree)
        known = (True if each.outcome == 'truncated' else each.truncated for each in consultations)
        said = [cut for cut in known if cut is not None]
        if not said:
            return {}
        cut = sum(said)
        return self.result(not cut, f'{cut} of {about(len(said), "consultation")} cut' if cut else None)


@dataclass
class NotAnEcho(Scorer):
    """Whether the advice says something that the question does not.

    The share of the advice's different sequences of `words` words that also stand in the question, capitals and
    punctuation aside, is at most `max_shared`. Shorter advice is one sequence. No result without advice. The advice is
    the task's output, or its field `advice`; the question is the case's inputs, or their field `question`.
    """

    max_shared: float = 0.5
    """Greatest share, 0 to 1."""
    words: int = 3
    """Length of the sequences, in words."""
    advice: str = 'advice'
    """Field of the output with the advice."""
    question: str = 'question'
    """Field of the inputs with the question."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Compare advice and question.

        Raises:
            ValueError: the inputs have no question.
        """
        question = text_of(ctx.inputs, self.question)
        if question is None:
            raise ValueError(f'the inputs have no field {self.question!r}: name the one with the question')
        advice = words_of(text_of(ctx.output, self.advice) or '')
        if not advice:
            return {}
        length = min(self.words, len(advice))
        said = sequences(advice, length)
        shared = len(said & sequences(words_of(question), length)) / len(said)
        what = 'words' if length == 1 else f'sequences of {length} words'
        return self.result(shared <= self.max_shared, f'{shared:.0%} of the {what} of the advice are in the question')


@dataclass
class StructuredAdviceValid(Scorer):
    """Whether advice that was asked for in a fixed format came in it, and its numbers are in range.

    True when the last consultation ended as `advised` with structured advice, and every field of `ranges` lies within
    its limits, limits included. No result without a consultation, or for a case without `tag`.
    """

    tag: str | None = None
    """Score only cases with this tag; `None` scores all."""
    ranges: Mapping[str, Sequence[float]] = field(default_factory=dict[str, 'Sequence[float]'])
    """Least and greatest value of fields of the advice."""
    first_attempt: bool = False
    """Whether an answer in the wrong format is a failure even if a later one was right."""
    advice: str = 'advice'
    """Field of the output with the advice."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Judge the last consultation, or all of them."""
        consultations = read.consultations(ctx.span_tree)
        if not consultations or (self.tag is not None and self.tag not in _tags(ctx)):
            return {}
        fault = next(self._faults(ctx, consultations), None)
        return self.result(fault is None, fault)

    def _faults(self, ctx: AnyContext, consultations: Sequence[ConsultationFacts]) -> Iterator[str]:
        for each in consultations if self.first_attempt else consultations[-1:]:
            if each.outcome != 'advised' or each.advice_form != 'structured':
                yield f'{each.outcome}, form {each.advice_form or "unknown"}'
        advice = field_of(ctx.output, self.advice)
        for name, (least, greatest) in self.ranges.items():
            value = field_of(advice, name)
            if not isinstance(value, int | float) or not least <= value <= greatest:
                shown = 'absent' if value is ABSENT else repr(value)
                yield f'{name} is {shown}, asked for {least:g} to {greatest:g}'


def _unreadable(consultation: ConsultationFacts) -> bool:
    """Advice that exists, of which nothing is known."""
    sizes = (consultation.output_tokens, consultation.advice_length)
    return consultation.outcome == 'redacted' and sizes == (None, None)


def _tags(ctx: AnyContext) -> Sequence[str]:
    tags = field_of(ctx.metadata, 'tags')
    return () if tags is ABSENT or tags is None else tags
