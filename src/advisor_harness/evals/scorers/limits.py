"""Scorers of limits and failures as they add up over cases: compliance with quotas, failed consultations, formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from pydantic_evals.evaluators import EvaluationReason, EvaluatorOutput

from advisor_harness.evals.metrics import names
from advisor_harness.evals.scorers._reading import AnyContext, Scorer, about
from advisor_harness.evals.scorers._trace import Trace
from advisor_harness.telemetry import ConsultationFacts, SelectionFacts, read
from advisor_harness.telemetry.conventions import CLAIM_ADVISOR_QUOTA
from advisor_harness.telemetry.facts import SpanOrigin

__all__ = ['AdvisorFailures', 'QuotaCompliance', 'StructuredAttempts']

_FAILED = ('error', 'invalid_output', 'refused', 'timeout', 'usage_limit')


@dataclass
class QuotaCompliance(Scorer):
    """1 when the limits on consultations held and no refusal ended the run, else 0 (metric 16).

    For every executor request the consultations that took place are at most the `max_uses` that its `select advisor`
    span states, and at most the limit of any claim; after every refusal of ours the executor is asked again.
    `RefusedCalls` is the share of the calls that were refused. No result for a case without any call.
    """

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Count consultations per executor request, and look for what came after refusals."""
        trace = Trace(ctx)
        consultations, claims = read.consultations(trace.spans), read.claims(trace.spans)
        refused = sum(not claim.granted for claim in claims)
        if not consultations and not refused:
            return {}
        breach = next(self._breaches(trace, consultations), None)
        return {
            **self.result(float(breach is None), breach),
            names.REFUSED_CALLS: refused / (refused + len(consultations)),
        }

    def _breaches(self, trace: Trace, consultations: Sequence[ConsultationFacts]) -> Iterator[str]:
        used = Counter(_request(each.origin) for each in consultations)
        for selection in read.selections(trace.spans):
            yield from _over(selection, used[_request(selection.origin)])
        for claim in read.claims(trace.spans):
            if claim.granted and claim.used is not None and claim.limit is not None and claim.used > claim.limit:
                yield f'claim {claim.used} of {claim.limit} per {claim.scope} was granted'
        spans = [span for span in trace.spans if span.name == CLAIM_ADVISOR_QUOTA]
        for span, claim in zip(spans, read.claims(spans), strict=True):
            after = any(request.start_ns > span.start_ns for request in trace.executor_requests)
            if not claim.granted and claim.enforcer == 'capability' and not after:
                yield 'the executor was not asked again after a refusal'


@dataclass
class AdvisorFailures(Scorer):
    """Failed consultations, and whether the last one ended the executor's run (metrics 17 and 18).

    `AdvisorFailures` counts the outcomes `error`, `invalid_output`, `refused`, `timeout` and `usage_limit`, 0 included;
    no result without a consultation. With a failure, `AdvisorError` is the error code of the last one, or its outcome,
    and `AdvisorEndedRun` is 1 when the agent run around it ended in an error with no further request, else 0.
    """

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Count failures and follow the last one."""
        trace = Trace(ctx)
        consultations = read.consultations(trace.spans)
        failed = [place for place, each in enumerate(consultations) if each.outcome in _FAILED]
        if not consultations:
            return {}
        count = self.result(len(failed), f'{len(failed)} of {about(len(consultations), "consultation")} failed')
        if not failed:
            return count
        last = consultations[failed[-1]]
        return {
            **count,
            names.ADVISOR_ERROR: EvaluationReason(value=last.error_code or last.outcome),
            names.ADVISOR_ENDED_RUN: EvaluationReason(value=float(_ended_run(trace, failed[-1]))),
        }


@dataclass
class StructuredAttempts(Scorer):
    """Of the questions that were asked for advice in a fixed format, the share answered in it (metric 15).

    `StructuredFirst` counts those whose first answer was valid: one request to the advisor, one try of the executor.
    `StructuredEventually` counts those with a valid answer in the end. A question is a call with all the retries that
    follow it. No result without such a question.
    """

    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Group tries by question."""
        questions = [tries for tries in _questions(read.consultations(ctx.span_tree)) if _wants_format(tries)]
        if not questions:
            return {}
        first = [_is_valid(tries[0]) and (tries[0].requests or 1) == 1 for tries in questions]
        return {
            names.STRUCTURED_FIRST: fmean(first),
            names.STRUCTURED_EVENTUALLY: fmean(_is_valid(tries[-1]) for tries in questions),
        }

    def get_default_evaluation_name(self) -> str:
        """The first of its two results."""
        return names.STRUCTURED_FIRST


def _request(origin: SpanOrigin | None) -> tuple[str, int]:
    return ('', 0) if origin is None else (origin.run_id, origin.step)


def _over(selection: SelectionFacts, used: int) -> Iterator[str]:
    if selection.max_uses is not None and used > selection.max_uses:
        yield f'{about(used, "consultation")} in a request that allows {selection.max_uses}'


def _ended_run(trace: Trace, place: int) -> bool:
    span = trace.consultations[place]
    run = next((above for above in trace.above(span) if above.name.startswith('invoke_agent')), None)
    later = any(request.start_ns > span.end_ns for request in trace.executor_requests)
    return run is not None and run.status == 'error' and not later


def _questions(consultations: Sequence[ConsultationFacts]) -> list[list[ConsultationFacts]]:
    questions: list[list[ConsultationFacts]] = []
    for each in consultations:
        if each.retry and questions:
            questions[-1].append(each)
        else:
            questions.append([each])
    return questions


def _wants_format(tries: Sequence[ConsultationFacts]) -> bool:
    return any(each.advice_form == 'structured' or each.outcome == 'invalid_output' for each in tries)


def _is_valid(consultation: ConsultationFacts) -> bool:
    return consultation.outcome == 'advised' and consultation.advice_form == 'structured'
