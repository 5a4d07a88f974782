"""Scorers of what passes between executor and advisor: what the advisor is shown, and how long it takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic_evals.evaluators import EvaluatorOutput

from advisor_harness.cassettes import Interaction
from advisor_harness.cassettes.active import active_cassette
from advisor_harness.evals.metrics import names
from advisor_harness.evals.scorers._reading import AnyContext, Scorer
from advisor_harness.evals.scorers._trace import Trace, texts_in
from advisor_harness.telemetry import read

__all__ = ['AdvisorLatency', 'ContextHygiene']

_SHOWN = ('gen_ai.input.messages', 'gen_ai.system_instructions')


@dataclass
class ContextHygiene(Scorer):
    """1 when advisors saw and said nothing that they must not, else 0 (metric 21).

    None of the `canaries` stands in a request to the advisor; history goes with the question exactly where the
    `select advisor` span says that it does; no advice matches a pattern of `never_said`. No result without a local
    consultation: what a provider shows its own advisor stands nowhere.
    """

    canaries: Sequence[str] = ()
    """Texts that are in the executor's context and must not reach the advisor: secrets, names of other customers."""
    never_said: Sequence[str] = ()
    """Regular expressions for advice that addresses the end user, for example."""

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Read requests and answers of the advisor."""
        trace = Trace(ctx)
        if not trace.advisor_requests:
            return {}
        fault = next(self._faults(trace), None)
        return self.result(float(fault is None), fault)

    def _faults(self, trace: Trace) -> Iterator[str]:
        shown = '\n'.join(
            text for span in trace.advisor_requests for key in _SHOWN for text in texts_in(span.attributes.get(key))
        )
        for place, canary in enumerate(self.canaries, start=1):
            if canary in shown:
                # The canary may be a real secret; reports must not spread it.
                yield f'canary {place} of {len(self.canaries)} reached the advisor'
        forwards = {each.forward_history != 'none' for each in read.selections(trace.spans)}
        for each in read.consultations(trace.spans):
            if each.history_messages and True not in forwards:
                yield f'{each.history_messages} messages of history went along, and the advisor is set to get none'
            if each.path == 'local' and not each.history_messages and forwards == {True}:
                yield 'no history went along, and the advisor is set to get it'
        said = ' '.join(
            text for call in trace.advisor_calls for text in texts_in(call.attributes.get('gen_ai.tool.call.result'))
        )
        for pattern in self.never_said:
            if found := re.search(pattern, said):
                yield f'advice says {found.group()!r}'


@dataclass
class AdvisorLatency(Scorer):
    """Recorded seconds of the advisor's requests, and their share of those of all requests (metric 14).

    Times are those of the recording; how long a replay takes says nothing. `AdvisorLatency` is the share, 0 without a
    consultation, `AdvisorLatencySeconds` the sum, so parallel consultations count one after the other. No result where
    a recording has no times, where executor and advisor are the same model, and for native advisors: there a request
    cannot be told apart.
    """

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Add up the times of recorded answers by the model they were asked of."""
        cassette, trace = active_cassette(), Trace(ctx)
        answered = [] if cassette is None else cassette.answered
        seconds = [interaction.latency_s for interaction in answered]
        advisors, executors = _models(trace.advisor_requests), _models(trace.executor_requests)
        native = any(each.path == 'native' for each in read.consultations(trace.spans))
        if not seconds or None in seconds or native or advisors & executors:
            return {}
        spent = [interaction.latency_s or 0.0 for interaction in answered if _model(interaction) in advisors]
        total = sum(each or 0.0 for each in seconds)
        if not total:
            return {}
        return {**self.result(sum(spent) / total), names.ADVISOR_LATENCY_S: float(sum(spent))}


def _models(spans: Sequence[Any]) -> set[str]:
    return {str(span.attributes.get('gen_ai.request.model')) for span in spans}


def _model(interaction: Interaction) -> str | None:
    try:
        body = json.loads(interaction.request.body)
    except ValueError:
        return None
    return cast('dict[str, Any]', body).get('model') if isinstance(body, dict) else None
