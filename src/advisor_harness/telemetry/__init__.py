"""The vocabulary of the package's spans: names, what they carry, how to emit them and how to read them back.

`emit` is the only place that creates spans. `read` gives typed facts back, from spans in memory or a pydantic-evals
`SpanTree`; `tree` prints spans as text; `validate` holds them to the vocabulary. Its reference is `docs/spans.md`.
"""

from __future__ import annotations

from advisor_harness.telemetry import conventions, emit, read, tree, validate
from advisor_harness.telemetry.facts import ClaimFacts, ConsultationFacts, RouteFacts, SelectionFacts, SpanOrigin
from advisor_harness.telemetry.nested import hand_over_instrumentation
from advisor_harness.telemetry.spans import SpanView

__all__ = [
    'ClaimFacts',
    'ConsultationFacts',
    'RouteFacts',
    'SelectionFacts',
    'SpanOrigin',
    'SpanView',
    'conventions',
    'emit',
    'hand_over_instrumentation',
    'read',
    'tree',
    'validate',
]
