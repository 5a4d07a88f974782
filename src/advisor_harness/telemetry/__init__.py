"""The vocabulary of the package's spans: names, what they carry, how to emit them and how to read them back.

`emit` is the only place that creates spans; `read` gives typed facts back, from spans in memory or a pydantic-evals
`SpanTree`. The reference of every name is `docs/spans.md`.
"""

from __future__ import annotations

from advisor_harness.telemetry import conventions, emit
from advisor_harness.telemetry.facts import ClaimFacts, ConsultationFacts, RouteFacts, SelectionFacts, SpanOrigin
from advisor_harness.telemetry.nested import hand_over_instrumentation

__all__ = [
    'ClaimFacts',
    'ConsultationFacts',
    'RouteFacts',
    'SelectionFacts',
    'SpanOrigin',
    'conventions',
    'emit',
    'hand_over_instrumentation',
]
