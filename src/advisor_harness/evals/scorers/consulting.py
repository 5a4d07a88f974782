"""Scorers of consulting itself: whether, when, how often the same, and how large the answers are.

Their results are numbers, not assertions: to consult is neither right nor wrong. The metrics of several cases read them
by these names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from pydantic_evals.evaluators import EvaluatorOutput

from advisor_harness.evals.metrics import names
from advisor_harness.evals.scorers._reading import AnyContext, Scorer, about
from advisor_harness.evals.scorers._trace import Trace, arguments, texts_in, tool_name
from advisor_harness.evals.scorers._words import sequences, words_of
from advisor_harness.telemetry import read

__all__ = ['AdviceSize', 'ConsultTiming', 'Consulted', 'Redundancy']


@dataclass
class Consulted(Scorer):
    """1 when at least one consultation took place, whatever came of it, else 0. Refused calls are none.

    Metrics 4, 5 and 10 read it. On either path a consultation is a span `consult advisor`.
    """

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Count consultations."""
        number = len(read.consultations(ctx.span_tree))
        return self.result(float(number > 0), about(number, 'consultation'))


@dataclass
class ConsultTiming(Scorer):
    """Whether the first consultation came before the first side effect, and after how many tool calls (metric 6).

    `ConsultTiming` is 1 when the first consultation started before the first call of a tool in `side_effects`, or when
    none was called, else 0. `ConsultPosition` is the share of all tool calls, the advisor aside, that started before
    it; 0 without any. No result without a consultation, nor on the native path, where the provider does not say when.
    """

    side_effects: Sequence[str] = ()
    """Names of the tools that change something."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Compare the starts."""
        trace = Trace(ctx)
        if not trace.consultations or any(each.path == 'native' for each in read.consultations(trace.spans)):
            return {}
        asked = trace.consultations[0].start_ns
        before = [span for span in trace.tool_calls if span.start_ns < asked]
        acted = [tool_name(span) for span in before if tool_name(span) in self.side_effects]
        position = len(before) / len(trace.tool_calls) if trace.tool_calls else 0.0
        return {
            **self.result(float(not acted), f'{acted[0]} was called before' if acted else None),
            names.CONSULT_POSITION: position,
        }


@dataclass
class Redundancy(Scorer):
    """Consultations that repeat an earlier one of the run, and advice that repeats what was known (metric 12).

    `Redundancy` is the share of the consultations, after the first, whose question or advice has a token-set Jaccard
    index of at least `similar` with that of an earlier one, of all. `AdviceOverlap` is the share of the advice's
    different sequences of `words` words that stood in the executor's context before. No result without a local
    consultation: what a native advisor was asked stands in no span.
    """

    similar: float = 0.8
    """Least Jaccard index of two texts that say the same, 0 to 1."""
    words: int = 3
    """Length of the sequences, in words."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Compare each consultation with those before it, and each advice with what its request showed."""
        trace = Trace(ctx)
        calls = [call for each in trace.consultations if (call := trace.call_of(each)) is not None]
        if not calls:
            return {}
        asked = [set(words_of(' '.join(texts_in(arguments(call))))) for call in calls]
        told = [set(words_of(_advice(call))) for call in calls]
        again = [place for place in range(1, len(calls)) if self._seen(place, asked) or self._seen(place, told)]
        return {
            **self.result(
                len(again) / len(calls), f'{len(again)} of {about(len(calls), "consultation")} repeat another'
            ),
            **self._overlap(trace, calls),
        }

    def _seen(self, place: int, texts: Sequence[set[str]]) -> bool:
        return any(_jaccard(texts[place], earlier) >= self.similar for earlier in texts[:place])

    def _overlap(self, trace: Trace, calls: Sequence[object]) -> Mapping[str, float]:
        shares: list[float] = []
        for call in trace.advisor_calls:
            said = sequences(words_of(_advice(call)), self.words)
            context = [span for span in trace.executor_requests if span.start_ns < call.start_ns][-1:]
            known = ' '.join(
                text for span in context for text in texts_in(span.attributes.get('gen_ai.input.messages'))
            )
            if call in calls and said:
                shares.append(len(said & sequences(words_of(known), self.words)) / len(said))
        return {names.ADVICE_OVERLAP: fmean(shares)} if shares else {}


@dataclass
class AdviceSize(Scorer):
    """How large the advice is, and how much of it is cut or empty (metric 11).

    `AdviceTokens` is the mean of the output tokens of the consultations that tell them, `AdviceTruncated` the share of
    those that say whether they were cut and were, `AdviceEmpty` the share with nothing in it. Anthropic's documentation
    of the advisor tool has 400 to 700 tokens of text as typical, 1,400 to 1,800 with thinking. No result without a
    consultation that gave advice; a redacted one counts where it tells.
    """

    outcomes: Sequence[str] = field(default=('advised', 'truncated', 'empty', 'redacted'))
    """Outcomes of consultations that count."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Average over the consultations."""
        given = [each for each in read.consultations(ctx.span_tree) if each.outcome in self.outcomes]
        tokens = [each.output_tokens for each in given if each.output_tokens is not None]
        cut = [each.outcome == 'truncated' or each.truncated for each in given]
        said = [bool(each) for each in cut if each is not None]
        found = {
            names.ADVICE_TOKENS: fmean(tokens) if tokens else None,
            names.ADVICE_TRUNCATED: fmean(said) if said else None,
            names.ADVICE_EMPTY: fmean(each.outcome == 'empty' for each in given) if given else None,
        }
        return {name: float(value) for name, value in found.items() if value is not None}


def _advice(call: object) -> str:
    return ' '.join(texts_in(getattr(call, 'attributes', {}).get('gen_ai.tool.call.result')))


def _jaccard(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0
