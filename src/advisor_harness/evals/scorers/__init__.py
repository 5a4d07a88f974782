"""Scorers: pydantic-evals evaluators for what an advisor does, grouped by what they read.

They read a run through `telemetry.read`, the task's output and the case, so that any advisor that emits the vocabulary
can be scored.
"""

from __future__ import annotations

from typing import Any

from pydantic_evals.evaluators import Evaluator

from advisor_harness.evals.scorers.advice import AdviceWithinBounds, NotAnEcho, NotTruncated, StructuredAdviceValid
from advisor_harness.evals.scorers.decisions import ExpectedSelection
from advisor_harness.evals.scorers.failures import (
    ExpectedError,
    ExpectedErrorCode,
    ExpectedOutcomes,
    ExpectedRefusals,
    RequestCount,
)
from advisor_harness.evals.scorers.traces import OwnSpansValid

__all__ = [
    'ALL',
    'AdviceWithinBounds',
    'ExpectedError',
    'ExpectedErrorCode',
    'ExpectedOutcomes',
    'ExpectedRefusals',
    'ExpectedSelection',
    'NotAnEcho',
    'NotTruncated',
    'OwnSpansValid',
    'RequestCount',
    'StructuredAdviceValid',
]

ALL: tuple[type[Evaluator[Any, Any, Any]], ...] = (
    AdviceWithinBounds,
    ExpectedError,
    ExpectedErrorCode,
    ExpectedOutcomes,
    ExpectedRefusals,
    ExpectedSelection,
    NotAnEcho,
    NotTruncated,
    OwnSpansValid,
    RequestCount,
    StructuredAdviceValid,
)
"""Every scorer here, for datasets that name them in a file."""
