"""Names and values of the vocabulary, generated from `conventions.yaml` by `scripts/generate_conventions.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SELECT_ADVISOR: Final = 'select advisor'
CLAIM_ADVISOR_QUOTA: Final = 'claim advisor quota'
CONSULT_ADVISOR: Final = 'consult advisor'
ROUTE_MODEL_REQUEST: Final = 'route model request'

GEN_AI_AGENT_NAME: Final = 'gen_ai.agent.name'
GEN_AI_AGENT_CALL_ID: Final = 'gen_ai.agent.call.id'
GEN_AI_CONVERSATION_ID: Final = 'gen_ai.conversation.id'
ERROR_TYPE: Final = 'error.type'
LOGFIRE_MSG: Final = 'logfire.msg'
LOGFIRE_LEVEL_NUM: Final = 'logfire.level_num'
ADVISOR_SCHEMA_VERSION: Final = 'advisor.schema.version'
ADVISOR_REQUEST_STEP: Final = 'advisor.request.step'
ADVISOR_MODE: Final = 'advisor.mode'
ADVISOR_PROVIDER: Final = 'advisor.provider'
ADVISOR_MODEL: Final = 'advisor.model'
ADVISOR_EXECUTOR_PROVIDER: Final = 'advisor.executor.provider'
ADVISOR_EXECUTOR_MODEL: Final = 'advisor.executor.model'
ADVISOR_SELECTION_PATH: Final = 'advisor.selection.path'
ADVISOR_SELECTION_REASON: Final = 'advisor.selection.reason'
ADVISOR_SELECTION_CHANGED: Final = 'advisor.selection.changed'
ADVISOR_NATIVE_OFFERED: Final = 'advisor.native.offered'
ADVISOR_NATIVE_SUPPORTED: Final = 'advisor.native.supported'
ADVISOR_MAX_USES: Final = 'advisor.max_uses'
ADVISOR_MAX_TOKENS: Final = 'advisor.max_tokens'
ADVISOR_CACHING: Final = 'advisor.caching'
ADVISOR_FORWARD_HISTORY: Final = 'advisor.forward_history'
ADVISOR_QUOTA_SCOPE: Final = 'advisor.quota.scope'
ADVISOR_QUOTA_LIMIT: Final = 'advisor.quota.limit'
ADVISOR_QUOTA_USED: Final = 'advisor.quota.used'
ADVISOR_QUOTA_REMAINING: Final = 'advisor.quota.remaining'
ADVISOR_QUOTA_GRANTED: Final = 'advisor.quota.granted'
ADVISOR_QUOTA_ENFORCER: Final = 'advisor.quota.enforcer'
ADVISOR_CALL_ID: Final = 'advisor.call.id'
ADVISOR_CONSULTATION_PATH: Final = 'advisor.consultation.path'
ADVISOR_CONSULTATION_OUTCOME: Final = 'advisor.consultation.outcome'
ADVISOR_CONSULTATION_INDEX: Final = 'advisor.consultation.index'
ADVISOR_CONSULTATION_RETRY: Final = 'advisor.consultation.retry'
ADVISOR_CONSULTATION_TRUNCATED: Final = 'advisor.consultation.truncated'
ADVISOR_CONSULTATION_ADVICE_FORM: Final = 'advisor.consultation.advice.form'
ADVISOR_CONSULTATION_ADVICE_LENGTH: Final = 'advisor.consultation.advice.length'
ADVISOR_CONSULTATION_PROMPT_LENGTH: Final = 'advisor.consultation.prompt.length'
ADVISOR_CONSULTATION_NATIVE_ERROR: Final = 'advisor.consultation.native_error'
ADVISOR_CONSULTATION_TIMING: Final = 'advisor.consultation.timing'
ADVISOR_USAGE_INPUT_TOKENS: Final = 'advisor.usage.input_tokens'
ADVISOR_USAGE_OUTPUT_TOKENS: Final = 'advisor.usage.output_tokens'
ADVISOR_USAGE_REQUESTS: Final = 'advisor.usage.requests'
ADVISOR_COST_KNOWN: Final = 'advisor.cost.known'
ADVISOR_COST_USD: Final = 'advisor.cost.usd'
ADVISOR_HISTORY_MESSAGES: Final = 'advisor.history.messages'
ADVISOR_HISTORY_CHARS: Final = 'advisor.history.chars'
ADVISOR_HISTORY_DROPPED: Final = 'advisor.history.dropped'
MODEL_ROUTING_SCHEMA_VERSION: Final = 'model_routing.schema.version'
MODEL_ROUTING_REQUEST_STEP: Final = 'model_routing.request.step'
MODEL_ROUTING_ROUTE: Final = 'model_routing.route'
MODEL_ROUTING_PREVIOUS_ROUTE: Final = 'model_routing.previous.route'
MODEL_ROUTING_DECISION: Final = 'model_routing.decision'
MODEL_ROUTING_REASON: Final = 'model_routing.reason'
MODEL_ROUTING_PROVIDER: Final = 'model_routing.provider'
MODEL_ROUTING_MODEL: Final = 'model_routing.model'
MODEL_ROUTING_PREVIOUS_MODEL: Final = 'model_routing.previous.model'
MODEL_ROUTING_SWITCHED: Final = 'model_routing.switched'
MODEL_ROUTING_CANDIDATES: Final = 'model_routing.candidates'
MODEL_ROUTING_HISTORY_PORTABLE: Final = 'model_routing.history.portable'
MODEL_ROUTING_HISTORY_ACTION: Final = 'model_routing.history.action'
MODEL_ROUTING_HISTORY_PARTS_DROPPED: Final = 'model_routing.history.parts_dropped'
MODEL_ROUTING_HISTORY_DROPPED_KINDS: Final = 'model_routing.history.dropped_kinds'
MODEL_ROUTING_ISSUES: Final = 'model_routing.issues'

ADVISOR_SCHEMA_VERSION_VALUES: Final = (1,)
ADVISOR_MODE_VALUES: Final = ('auto', 'native', 'local')
ADVISOR_SELECTION_PATH_VALUES: Final = ('native', 'local', 'none')
ADVISOR_SELECTION_REASON_VALUES: Final = (
    'disabled',
    'mode_local',
    'model_instance',
    'output_type',
    'provider_mismatch',
    'pair_invalid',
    'max_uses_unsupported',
    'executor_fallback',
    'model_unsupported',
    'run_limit',
    'tool_withheld',
    'mode_native',
    'native_match',
)
ADVISOR_FORWARD_HISTORY_VALUES: Final = ('none', 'messages', 'transcript')
ADVISOR_QUOTA_SCOPE_VALUES: Final = ('request', 'run')
ADVISOR_QUOTA_ENFORCER_VALUES: Final = ('capability', 'provider')
ADVISOR_CONSULTATION_PATH_VALUES: Final = ('native', 'local')
ADVISOR_CONSULTATION_OUTCOME_VALUES: Final = (
    'advised',
    'truncated',
    'redacted',
    'empty',
    'limit_reached',
    'invalid_output',
    'refused',
    'usage_limit',
    'error',
    'timeout',
    'cancelled',
    'skipped',
)
ADVISOR_CONSULTATION_ADVICE_FORM_VALUES: Final = ('text', 'structured', 'redacted', 'none')
ADVISOR_CONSULTATION_TIMING_VALUES: Final = ('unknown',)
MODEL_ROUTING_SCHEMA_VERSION_VALUES: Final = (1,)
MODEL_ROUTING_DECISION_VALUES: Final = ('initialize', 'retain', 'switch')
MODEL_ROUTING_REASON_VALUES: Final = (
    'default',
    'rule',
    'sticky',
    'fallback',
    'history_incompatible',
    'context_window',
    'budget',
    'override',
    'error',
)
MODEL_ROUTING_HISTORY_ACTION_VALUES: Final = ('kept', 'converted', 'dropped_parts', 'blocked')

ATTRIBUTE_TYPES: Final[Mapping[str, str]] = {
    GEN_AI_AGENT_NAME: 'string',
    GEN_AI_AGENT_CALL_ID: 'string',
    GEN_AI_CONVERSATION_ID: 'string',
    ERROR_TYPE: 'string',
    LOGFIRE_MSG: 'string',
    LOGFIRE_LEVEL_NUM: 'int',
    ADVISOR_SCHEMA_VERSION: 'int',
    ADVISOR_REQUEST_STEP: 'int',
    ADVISOR_MODE: 'string',
    ADVISOR_PROVIDER: 'string',
    ADVISOR_MODEL: 'string',
    ADVISOR_EXECUTOR_PROVIDER: 'string',
    ADVISOR_EXECUTOR_MODEL: 'string',
    ADVISOR_SELECTION_PATH: 'string',
    ADVISOR_SELECTION_REASON: 'string',
    ADVISOR_SELECTION_CHANGED: 'boolean',
    ADVISOR_NATIVE_OFFERED: 'boolean',
    ADVISOR_NATIVE_SUPPORTED: 'boolean',
    ADVISOR_MAX_USES: 'int',
    ADVISOR_MAX_TOKENS: 'int',
    ADVISOR_CACHING: 'string',
    ADVISOR_FORWARD_HISTORY: 'string',
    ADVISOR_QUOTA_SCOPE: 'string',
    ADVISOR_QUOTA_LIMIT: 'int',
    ADVISOR_QUOTA_USED: 'int',
    ADVISOR_QUOTA_REMAINING: 'int',
    ADVISOR_QUOTA_GRANTED: 'boolean',
    ADVISOR_QUOTA_ENFORCER: 'string',
    ADVISOR_CALL_ID: 'string',
    ADVISOR_CONSULTATION_PATH: 'string',
    ADVISOR_CONSULTATION_OUTCOME: 'string',
    ADVISOR_CONSULTATION_INDEX: 'int',
    ADVISOR_CONSULTATION_RETRY: 'int',
    ADVISOR_CONSULTATION_TRUNCATED: 'boolean',
    ADVISOR_CONSULTATION_ADVICE_FORM: 'string',
    ADVISOR_CONSULTATION_ADVICE_LENGTH: 'int',
    ADVISOR_CONSULTATION_PROMPT_LENGTH: 'int',
    ADVISOR_CONSULTATION_NATIVE_ERROR: 'string',
    ADVISOR_CONSULTATION_TIMING: 'string',
    ADVISOR_USAGE_INPUT_TOKENS: 'int',
    ADVISOR_USAGE_OUTPUT_TOKENS: 'int',
    ADVISOR_USAGE_REQUESTS: 'int',
    ADVISOR_COST_KNOWN: 'boolean',
    ADVISOR_COST_USD: 'double',
    ADVISOR_HISTORY_MESSAGES: 'int',
    ADVISOR_HISTORY_CHARS: 'int',
    ADVISOR_HISTORY_DROPPED: 'int',
    MODEL_ROUTING_SCHEMA_VERSION: 'int',
    MODEL_ROUTING_REQUEST_STEP: 'int',
    MODEL_ROUTING_ROUTE: 'string',
    MODEL_ROUTING_PREVIOUS_ROUTE: 'string',
    MODEL_ROUTING_DECISION: 'string',
    MODEL_ROUTING_REASON: 'string',
    MODEL_ROUTING_PROVIDER: 'string',
    MODEL_ROUTING_MODEL: 'string',
    MODEL_ROUTING_PREVIOUS_MODEL: 'string',
    MODEL_ROUTING_SWITCHED: 'boolean',
    MODEL_ROUTING_CANDIDATES: 'string[]',
    MODEL_ROUTING_HISTORY_PORTABLE: 'boolean',
    MODEL_ROUTING_HISTORY_ACTION: 'string',
    MODEL_ROUTING_HISTORY_PARTS_DROPPED: 'int',
    MODEL_ROUTING_HISTORY_DROPPED_KINDS: 'string[]',
    MODEL_ROUTING_ISSUES: 'string[]',
}
"""Every attribute: its type, in the words of OpenTelemetry."""

ATTRIBUTE_VALUES: Final[Mapping[str, tuple[str | int, ...]]] = {
    ADVISOR_SCHEMA_VERSION: ADVISOR_SCHEMA_VERSION_VALUES,
    ADVISOR_MODE: ADVISOR_MODE_VALUES,
    ADVISOR_SELECTION_PATH: ADVISOR_SELECTION_PATH_VALUES,
    ADVISOR_SELECTION_REASON: ADVISOR_SELECTION_REASON_VALUES,
    ADVISOR_FORWARD_HISTORY: ADVISOR_FORWARD_HISTORY_VALUES,
    ADVISOR_QUOTA_SCOPE: ADVISOR_QUOTA_SCOPE_VALUES,
    ADVISOR_QUOTA_ENFORCER: ADVISOR_QUOTA_ENFORCER_VALUES,
    ADVISOR_CONSULTATION_PATH: ADVISOR_CONSULTATION_PATH_VALUES,
    ADVISOR_CONSULTATION_OUTCOME: ADVISOR_CONSULTATION_OUTCOME_VALUES,
    ADVISOR_CONSULTATION_ADVICE_FORM: ADVISOR_CONSULTATION_ADVICE_FORM_VALUES,
    ADVISOR_CONSULTATION_TIMING: ADVISOR_CONSULTATION_TIMING_VALUES,
    MODEL_ROUTING_SCHEMA_VERSION: MODEL_ROUTING_SCHEMA_VERSION_VALUES,
    MODEL_ROUTING_DECISION: MODEL_ROUTING_DECISION_VALUES,
    MODEL_ROUTING_REASON: MODEL_ROUTING_REASON_VALUES,
    MODEL_ROUTING_HISTORY_ACTION: MODEL_ROUTING_HISTORY_ACTION_VALUES,
}
"""Every enumeration: the values it may have."""

SPAN_ATTRIBUTES: Final[Mapping[str, Mapping[str, str]]] = {
    SELECT_ADVISOR: {
        GEN_AI_AGENT_NAME: 'required',
        GEN_AI_AGENT_CALL_ID: 'required',
        GEN_AI_CONVERSATION_ID: 'conditionally_required',
        ERROR_TYPE: 'conditionally_required',
        LOGFIRE_MSG: 'recommended',
        LOGFIRE_LEVEL_NUM: 'conditionally_required',
        ADVISOR_SCHEMA_VERSION: 'required',
        ADVISOR_REQUEST_STEP: 'required',
        ADVISOR_SELECTION_PATH: 'required',
        ADVISOR_SELECTION_REASON: 'required',
        ADVISOR_SELECTION_CHANGED: 'required',
        ADVISOR_MODE: 'required',
        ADVISOR_EXECUTOR_PROVIDER: 'required',
        ADVISOR_EXECUTOR_MODEL: 'required',
        ADVISOR_PROVIDER: 'conditionally_required',
        ADVISOR_MODEL: 'conditionally_required',
        ADVISOR_NATIVE_OFFERED: 'required',
        ADVISOR_NATIVE_SUPPORTED: 'required',
        ADVISOR_MAX_USES: 'conditionally_required',
        ADVISOR_MAX_TOKENS: 'conditionally_required',
        ADVISOR_CACHING: 'conditionally_required',
        ADVISOR_FORWARD_HISTORY: 'required',
    },
    CLAIM_ADVISOR_QUOTA: {
        GEN_AI_AGENT_NAME: 'required',
        GEN_AI_AGENT_CALL_ID: 'required',
        GEN_AI_CONVERSATION_ID: 'conditionally_required',
        ERROR_TYPE: 'conditionally_required',
        LOGFIRE_MSG: 'recommended',
        LOGFIRE_LEVEL_NUM: 'conditionally_required',
        ADVISOR_SCHEMA_VERSION: 'required',
        ADVISOR_REQUEST_STEP: 'required',
        ADVISOR_QUOTA_GRANTED: 'required',
        ADVISOR_QUOTA_SCOPE: 'required',
        ADVISOR_QUOTA_ENFORCER: 'required',
        ADVISOR_QUOTA_LIMIT: 'conditionally_required',
        ADVISOR_QUOTA_USED: 'conditionally_required',
        ADVISOR_QUOTA_REMAINING: 'conditionally_required',
        ADVISOR_CALL_ID: 'required',
    },
    CONSULT_ADVISOR: {
        GEN_AI_AGENT_NAME: 'required',
        GEN_AI_AGENT_CALL_ID: 'required',
        GEN_AI_CONVERSATION_ID: 'conditionally_required',
        ERROR_TYPE: 'conditionally_required',
        LOGFIRE_MSG: 'recommended',
        LOGFIRE_LEVEL_NUM: 'conditionally_required',
        ADVISOR_SCHEMA_VERSION: 'required',
        ADVISOR_REQUEST_STEP: 'required',
        ADVISOR_CONSULTATION_PATH: 'required',
        ADVISOR_CONSULTATION_OUTCOME: 'required',
        ADVISOR_CALL_ID: 'required',
        ADVISOR_PROVIDER: 'conditionally_required',
        ADVISOR_MODEL: 'conditionally_required',
        ADVISOR_CONSULTATION_INDEX: 'recommended',
        ADVISOR_CONSULTATION_RETRY: 'required',
        ADVISOR_CONSULTATION_TRUNCATED: 'conditionally_required',
        ADVISOR_CONSULTATION_ADVICE_FORM: 'recommended',
        ADVISOR_CONSULTATION_PROMPT_LENGTH: 'recommended',
        ADVISOR_CONSULTATION_ADVICE_LENGTH: 'recommended',
        ADVISOR_CONSULTATION_NATIVE_ERROR: 'conditionally_required',
        ADVISOR_CONSULTATION_TIMING: 'conditionally_required',
        ADVISOR_USAGE_INPUT_TOKENS: 'conditionally_required',
        ADVISOR_USAGE_OUTPUT_TOKENS: 'conditionally_required',
        ADVISOR_USAGE_REQUESTS: 'conditionally_required',
        ADVISOR_COST_KNOWN: 'required',
        ADVISOR_COST_USD: 'conditionally_required',
        ADVISOR_HISTORY_MESSAGES: 'conditionally_required',
        ADVISOR_HISTORY_CHARS: 'conditionally_required',
        ADVISOR_HISTORY_DROPPED: 'conditionally_required',
    },
    ROUTE_MODEL_REQUEST: {
        GEN_AI_AGENT_NAME: 'required',
        GEN_AI_AGENT_CALL_ID: 'required',
        GEN_AI_CONVERSATION_ID: 'conditionally_required',
        ERROR_TYPE: 'conditionally_required',
        LOGFIRE_MSG: 'recommended',
        LOGFIRE_LEVEL_NUM: 'conditionally_required',
        MODEL_ROUTING_SCHEMA_VERSION: 'required',
        MODEL_ROUTING_REQUEST_STEP: 'required',
        MODEL_ROUTING_ROUTE: 'conditionally_required',
        MODEL_ROUTING_REASON: 'required',
        MODEL_ROUTING_DECISION: 'required',
        MODEL_ROUTING_PROVIDER: 'required',
        MODEL_ROUTING_MODEL: 'required',
        MODEL_ROUTING_PREVIOUS_MODEL: 'conditionally_required',
        MODEL_ROUTING_PREVIOUS_ROUTE: 'conditionally_required',
        MODEL_ROUTING_SWITCHED: 'required',
        MODEL_ROUTING_CANDIDATES: 'recommended',
        MODEL_ROUTING_HISTORY_PORTABLE: 'required',
        MODEL_ROUTING_HISTORY_ACTION: 'required',
        MODEL_ROUTING_HISTORY_PARTS_DROPPED: 'conditionally_required',
        MODEL_ROUTING_HISTORY_DROPPED_KINDS: 'conditionally_required',
        MODEL_ROUTING_ISSUES: 'conditionally_required',
    },
}
"""Every span: its attributes with their level."""

SPAN_CONDITIONS: Final[Mapping[str, Mapping[str, Mapping[str, str | bool]]]] = {
    CLAIM_ADVISOR_QUOTA: {
        ADVISOR_QUOTA_LIMIT: {ADVISOR_QUOTA_ENFORCER: 'capability'},
        ADVISOR_QUOTA_USED: {ADVISOR_QUOTA_ENFORCER: 'capability'},
        ADVISOR_QUOTA_REMAINING: {ADVISOR_QUOTA_ENFORCER: 'capability'},
    },
    CONSULT_ADVISOR: {
        ADVISOR_CONSULTATION_TIMING: {ADVISOR_CONSULTATION_PATH: 'native'},
        ADVISOR_COST_USD: {ADVISOR_COST_KNOWN: True},
    },
    ROUTE_MODEL_REQUEST: {
        MODEL_ROUTING_HISTORY_PARTS_DROPPED: {MODEL_ROUTING_HISTORY_ACTION: 'dropped_parts'},
        MODEL_ROUTING_HISTORY_DROPPED_KINDS: {MODEL_ROUTING_HISTORY_ACTION: 'dropped_parts'},
    },
}
"""Attributes required on a span that has all these values."""
