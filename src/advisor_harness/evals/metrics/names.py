"""Names of the scorers whose results metrics read: facts of a single case, as numbers.

They are the default names of the classes in `advisor_harness.evals.scorers`; an advisor of another kind can be measured
with scorers of one's own that give the same names.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    'ADHERENCE',
    'ADVICE_CORRECTNESS',
    'ADVICE_EMPTY',
    'ADVICE_OVERLAP',
    'ADVICE_TOKENS',
    'ADVICE_TRUNCATED',
    'ADVISOR_ENDED_RUN',
    'ADVISOR_ERROR',
    'ADVISOR_FAILURES',
    'ADVISOR_LATENCY',
    'ADVISOR_LATENCY_S',
    'CONFIDENCE',
    'CONSULTED',
    'CONSULT_POSITION',
    'CONSULT_TIMING',
    'CONTEXT_HYGIENE',
    'QUOTA_COMPLIANCE',
    'REDUNDANCY',
    'REFUSED_CALLS',
    'STRUCTURED_EVENTUALLY',
    'STRUCTURED_FIRST',
    'label_of',
]

CONSULTED: Final = 'Consulted'
"""1 when the case consulted its advisor, 0 when it did not; a refused call is no consultation."""
CONSULT_TIMING: Final = 'ConsultTiming'
"""1 when the first consultation started before the first side effect, else 0; nothing without a consultation."""
CONSULT_POSITION: Final = 'ConsultPosition'
"""Tool calls before the first consultation / all other tool calls; nothing without a consultation."""
ADHERENCE: Final = 'Adherence'
"""1 when the executor did what it was advised, else 0; nothing without readable advice."""
ADVICE_CORRECTNESS: Final = 'AdviceCorrectness'
"""Share of the case's pieces of advice that are right; nothing without readable advice."""
ADVICE_TOKENS: Final = 'AdviceTokens'
"""Mean output tokens of a consultation."""
ADVICE_TRUNCATED: Final = 'AdviceTruncated'
"""Share of the consultations that say whether they were cut, and were."""
ADVICE_EMPTY: Final = 'AdviceEmpty'
"""Share of the consultations whose advice is empty."""
REDUNDANCY: Final = 'Redundancy'
"""Consultations after the first that repeat an earlier one / consultations."""
ADVICE_OVERLAP: Final = 'AdviceOverlap'
"""Share of the word sequences of the advice that stood in the executor's context before."""
ADVISOR_LATENCY: Final = 'AdvisorLatency'
"""Recorded seconds of the advisor's requests / of all requests."""
ADVISOR_LATENCY_S: Final = 'AdvisorLatencySeconds'
"""Recorded seconds of the advisor's requests."""
STRUCTURED_FIRST: Final = 'StructuredFirst'
"""Share of the questions whose first answer came in the format that was asked for."""
STRUCTURED_EVENTUALLY: Final = 'StructuredEventually'
"""Share of the questions that got an answer in that format in the end."""
QUOTA_COMPLIANCE: Final = 'QuotaCompliance'
"""1 when no request consulted more often than it may and the run went on after every refusal, else 0."""
REFUSED_CALLS: Final = 'RefusedCalls'
"""Refused calls / calls of the advisor; nothing without a call."""
ADVISOR_FAILURES: Final = 'AdvisorFailures'
"""Consultations that failed: errors, timeouts, usage limits, refusals, answers in the wrong format."""
ADVISOR_ENDED_RUN: Final = 'AdvisorEndedRun'
"""1 when the last failed consultation ended the executor's run, else 0; nothing without a failure."""
ADVISOR_ERROR: Final = 'AdvisorError'
"""Label: code or outcome of the last failed consultation; nothing without one."""
CONTEXT_HYGIENE: Final = 'ContextHygiene'
"""1 when the advisor's requests hold nothing that they must not, else 0."""
CONFIDENCE: Final = 'Confidence'
"""How sure the executor says it is, 0 to 1."""


def label_of(judge: str) -> str:
    """Name of the score that holds what a person said where a judge says `judge`."""
    return f'{judge}.label'
