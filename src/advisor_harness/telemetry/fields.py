"""Which attribute carries which field of the facts: one table per span, read in both directions.

`emit` and `read` share the tables, so that a fact which goes into a span comes back out of it. What is not a plain copy
(the origin, the error code, the cost, the duration) is in those two modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from advisor_harness.telemetry import conventions as names

__all__ = [
    'CLAIM',
    'CONSULTATION',
    'CURRENT_VERSION',
    'OTHER_ERROR',
    'ROUTE',
    'SELECTION',
    'STEP',
    'UNKNOWN_TIMING',
    'VERSION',
]

CURRENT_VERSION: Final = names.ADVISOR_SCHEMA_VERSION_VALUES[-1]
"""The version of the vocabulary that is emitted."""

OTHER_ERROR: Final = '_OTHER'
"""OpenTelemetry's `error.type` for a failure that has no code."""
UNKNOWN_TIMING: Final = 'unknown'
"""`advisor.consultation.timing` where the span's times do not measure the consultation."""

STEP: Final[Mapping[str, str]] = {
    names.SELECT_ADVISOR: names.ADVISOR_REQUEST_STEP,
    names.CLAIM_ADVISOR_QUOTA: names.ADVISOR_REQUEST_STEP,
    names.CONSULT_ADVISOR: names.ADVISOR_REQUEST_STEP,
    names.ROUTE_MODEL_REQUEST: names.MODEL_ROUTING_REQUEST_STEP,
}
"""The attribute that holds the step, per span."""

VERSION: Final[Mapping[str, str]] = {
    names.SELECT_ADVISOR: names.ADVISOR_SCHEMA_VERSION,
    names.CLAIM_ADVISOR_QUOTA: names.ADVISOR_SCHEMA_VERSION,
    names.CONSULT_ADVISOR: names.ADVISOR_SCHEMA_VERSION,
    names.ROUTE_MODEL_REQUEST: names.MODEL_ROUTING_SCHEMA_VERSION,
}
"""The attribute that holds the version of the vocabulary, per span."""

SELECTION: Final[Mapping[str, str]] = {
    'path': names.ADVISOR_SELECTION_PATH,
    'reason': names.ADVISOR_SELECTION_REASON,
    'changed': names.ADVISOR_SELECTION_CHANGED,
    'mode': names.ADVISOR_MODE,
    'executor_provider': names.ADVISOR_EXECUTOR_PROVIDER,
    'executor_model': names.ADVISOR_EXECUTOR_MODEL,
    'provider': names.ADVISOR_PROVIDER,
    'model': names.ADVISOR_MODEL,
    'native_offered': names.ADVISOR_NATIVE_OFFERED,
    'native_supported': names.ADVISOR_NATIVE_SUPPORTED,
    'max_uses': names.ADVISOR_MAX_USES,
    'max_tokens': names.ADVISOR_MAX_TOKENS,
    'caching': names.ADVISOR_CACHING,
    'forward_history': names.ADVISOR_FORWARD_HISTORY,
}
"""Fields of `SelectionFacts`."""

CLAIM: Final[Mapping[str, str]] = {
    'granted': names.ADVISOR_QUOTA_GRANTED,
    'scope': names.ADVISOR_QUOTA_SCOPE,
    'enforcer': names.ADVISOR_QUOTA_ENFORCER,
    'call_id': names.ADVISOR_CALL_ID,
    'limit': names.ADVISOR_QUOTA_LIMIT,
    'used': names.ADVISOR_QUOTA_USED,
    'remaining': names.ADVISOR_QUOTA_REMAINING,
}
"""Fields of `ClaimFacts`."""

CONSULTATION: Final[Mapping[str, str]] = {
    'path': names.ADVISOR_CONSULTATION_PATH,
    'outcome': names.ADVISOR_CONSULTATION_OUTCOME,
    'call_id': names.ADVISOR_CALL_ID,
    'provider': names.ADVISOR_PROVIDER,
    'model': names.ADVISOR_MODEL,
    'index': names.ADVISOR_CONSULTATION_INDEX,
    'retry': names.ADVISOR_CONSULTATION_RETRY,
    'truncated': names.ADVISOR_CONSULTATION_TRUNCATED,
    'advice_form': names.ADVISOR_CONSULTATION_ADVICE_FORM,
    'prompt_length': names.ADVISOR_CONSULTATION_PROMPT_LENGTH,
    'advice_length': names.ADVISOR_CONSULTATION_ADVICE_LENGTH,
    'native_error': names.ADVISOR_CONSULTATION_NATIVE_ERROR,
    'timing': names.ADVISOR_CONSULTATION_TIMING,
    'input_tokens': names.ADVISOR_USAGE_INPUT_TOKENS,
    'output_tokens': names.ADVISOR_USAGE_OUTPUT_TOKENS,
    'requests': names.ADVISOR_USAGE_REQUESTS,
    'history_messages': names.ADVISOR_HISTORY_MESSAGES,
    'history_chars': names.ADVISOR_HISTORY_CHARS,
    'history_dropped': names.ADVISOR_HISTORY_DROPPED,
}
"""Fields of `ConsultationFacts`."""

ROUTE: Final[Mapping[str, str]] = {
    'route': names.MODEL_ROUTING_ROUTE,
    'reason': names.MODEL_ROUTING_REASON,
    'decision': names.MODEL_ROUTING_DECISION,
    'provider': names.MODEL_ROUTING_PROVIDER,
    'model': names.MODEL_ROUTING_MODEL,
    'switched': names.MODEL_ROUTING_SWITCHED,
    'previous_model': names.MODEL_ROUTING_PREVIOUS_MODEL,
    'previous_route': names.MODEL_ROUTING_PREVIOUS_ROUTE,
    'candidates': names.MODEL_ROUTING_CANDIDATES,
    'history_portable': names.MODEL_ROUTING_HISTORY_PORTABLE,
    'history_action': names.MODEL_ROUTING_HISTORY_ACTION,
    'parts_dropped': names.MODEL_ROUTING_HISTORY_PARTS_DROPPED,
    'dropped_kinds': names.MODEL_ROUTING_HISTORY_DROPPED_KINDS,
    'issues': names.MODEL_ROUTING_ISSUES,
}
"""Fields of `RouteFacts`."""
