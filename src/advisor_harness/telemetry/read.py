"""Facts from spans: what `emit` wrote, typed again, for scorers and reports.

Every function takes a pydantic-evals `SpanTree`, or an iterable of the SDK's `ReadableSpan`, and returns its facts in
the order in which the spans started. Spans of other advisors that keep to the vocabulary are read alike. A span that
lacks a required attribute, or has one of the wrong type, raises `ValueError`: a scorer must not take it for an absent
consultation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields as fields_of
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from advisor_harness.telemetry import conventions as names, fields
from advisor_harness.telemetry.facts import ClaimFacts, ConsultationFacts, RouteFacts, SelectionFacts, SpanOrigin
from advisor_harness.telemetry.spans import finished
from advisor_harness.telemetry.validate import type_problem

if TYPE_CHECKING:
    from advisor_harness.telemetry.spans import SpanSource, SpanView

__all__ = ['claims', 'consultations', 'routes', 'selections']


def selections(tree: SpanSource) -> list[SelectionFacts]:
    """Which way the consultations of each request went, and why: spans `select advisor`."""
    spans = _named(tree, names.SELECT_ADVISOR)
    return [SelectionFacts(**_facts(span, SelectionFacts, fields.SELECTION)) for span in spans]


def claims(tree: SpanSource) -> list[ClaimFacts]:
    """Claims on a limit, granted and refused: spans `claim advisor quota`."""
    spans = _named(tree, names.CLAIM_ADVISOR_QUOTA)
    return [ClaimFacts(**_facts(span, ClaimFacts, fields.CLAIM)) for span in spans]


def routes(tree: SpanSource) -> list[RouteFacts]:
    """Which model served each request, and why: spans `route model request`."""
    spans = _named(tree, names.ROUTE_MODEL_REQUEST)
    return [RouteFacts(**_facts(span, RouteFacts, fields.ROUTE)) for span in spans]


def consultations(tree: SpanSource) -> list[ConsultationFacts]:
    """Consultations that took place, whatever came of them: spans `consult advisor`.

    `duration_s` is that of the span on the local path. A failure without a code has `error_code=None`.
    """
    return [_consultation(span) for span in _named(tree, names.CONSULT_ADVISOR)]


def _consultation(span: SpanView) -> ConsultationFacts:
    code = _value(span, names.ERROR_TYPE)
    cost = _value(span, names.ADVISOR_COST_USD)
    local = _value(span, names.ADVISOR_CONSULTATION_PATH) == 'local'
    return ConsultationFacts(
        **_facts(span, ConsultationFacts, fields.CONSULTATION),
        error_code=None if code == fields.OTHER_ERROR else code,
        cost_usd=None if cost is None else Decimal(str(cost)),
        duration_s=(span.end_ns - span.start_ns) / 1e9 if local else None,
    )


def _named(tree: SpanSource, name: str) -> list[SpanView]:
    return [span for span in finished(tree) if span.name == name]


def _facts(span: SpanView, cls: type[Any], table: Mapping[str, str]) -> dict[str, Any]:
    """Arguments for `cls`. An absent attribute leaves the field's default, or `None` where it has none."""
    optional = {field.name for field in fields_of(cls) if field.default is not MISSING}
    values = {field: _value(span, key) for field, key in table.items()}
    return {
        **{field: value for field, value in values.items() if value is not None or field not in optional},
        'origin': _origin(span),
    }


def _origin(span: SpanView) -> SpanOrigin:
    return SpanOrigin(
        agent_name=_value(span, names.GEN_AI_AGENT_NAME),
        run_id=_value(span, names.GEN_AI_AGENT_CALL_ID),
        conversation_id=_value(span, names.GEN_AI_CONVERSATION_ID),
        step=_value(span, fields.STEP[span.name]),
    )


def _value(span: SpanView, key: str) -> Any:
    value = span.attributes.get(key)
    if value is None:
        if names.SPAN_ATTRIBUTES[span.name][key] == 'required':
            raise ValueError(f'span {span.name!r} has no {key}, which is required (see docs/spans.md)')
        return None
    if problem := type_problem(key, value):
        raise ValueError(f'span {span.name!r}: {problem} (see docs/spans.md)')
    return value
