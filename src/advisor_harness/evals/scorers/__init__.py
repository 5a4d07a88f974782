"""Scorers: pydantic-evals evaluators for what an advisor does, grouped by what they read.

They read a run through `telemetry.read`, the task's output and the case, so that any advisor that emits the vocabulary
can be scored.
"""

from __future__ import annotations

from typing import Any

from pydantic_evals.evaluators import Evaluator

from advisor_harness.evals.scorers.advice import AdviceWithinBounds, NotAnEcho, NotTruncated, StructuredAdviceValid
from advisor_harness.evals.scorers.consulting import AdviceSize, Consulted, ConsultTiming, Redundancy
from advisor_harness.evals.scorers.context import AdvisorLatency, ContextHygiene
from advisor_harness.evals.scorers.decisions import ExpectedSelection
from advisor_harness.evals.scorers.failures import (
    ExpectedError,
    ExpectedErrorCode,
    ExpectedOutcomes,
    ExpectedRefusals,
    RequestCount,
)
from advisor_harness.evals.scorers.judges import Judge
from advisor_harness.evals.scorers.limits import AdvisorFailures, QuotaCompliance, StructuredAttempts
from advisor_harness.evals.scorers.reliance import Adherence, AdviceCorrectness, Confidence, ExpectedDecision
from advisor_harness.evals.scorers.routing import (
    ExpectedDecisions,
    ExpectedIssues,
    ExpectedRoutes,
    FactsReached,
    LossesReported,
)
from advisor_harness.evals.scorers.traces import OwnSpansValid

__all__ = [
    'ALL',
    'Adherence',
    'AdviceCorrectness',
    'AdviceSize',
    'AdviceWithinBounds',
    'AdvisorFailures',
    'AdvisorLatency',
    'Confidence',
    'ConsultTiming',
    'Consulted',
    'ContextHygiene',
    'ExpectedDecision',
    'ExpectedDecisions',
    'ExpectedError',
    'ExpectedErrorCode',
    'ExpectedIssues',
    'ExpectedOutcomes',
    'ExpectedRefusals',
    'ExpectedRoutes',
    'ExpectedSelection',
    'FactsReached',
    'Judge',
    'LossesReported',
    'NotAnEcho',
    'NotTruncated',
    'OwnSpansValid',
    'QuotaCompliance',
    'Redundancy',
    'RequestCount',
    'StructuredAdviceValid',
    'StructuredAttempts',
]

ALL: tuple[type[Evaluator[Any, Any, Any]], ...] = (
    Adherence,
    AdviceCorrectness,
    AdviceSize,
    AdviceWithinBounds,
    AdvisorFailures,
    AdvisorLatency,
    Confidence,
    ConsultTiming,
    Consulted,
    ContextHygiene,
    ExpectedDecision,
    ExpectedDecisions,
    ExpectedError,
    ExpectedErrorCode,
    ExpectedIssues,
    ExpectedOutcomes,
    ExpectedRefusals,
    ExpectedRoutes,
    ExpectedSelection,
    FactsReached,
    Judge,
    LossesReported,
    NotAnEcho,
    NotTruncated,
    OwnSpansValid,
    QuotaCompliance,
    Redundancy,
    RequestCount,
    StructuredAdviceValid,
    StructuredAttempts,
)
"""Every scorer here, for datasets that name them in a file."""
