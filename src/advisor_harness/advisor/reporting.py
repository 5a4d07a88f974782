"""What the spans of an advisor say, put together from options, decisions, claims and records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelResponse

from advisor_harness.advisor.consultation import span_facts
from advisor_harness.advisor.models import ModelName, named
from advisor_harness.advisor.native import NativeConsultation
from advisor_harness.advisor.options import Options
from advisor_harness.advisor.quota import Claim, Scope
from advisor_harness.advisor.selection import Selection
from advisor_harness.telemetry import emit
from advisor_harness.telemetry.facts import ClaimFacts, SelectionFacts

__all__ = ['emit_claim', 'emit_native', 'emit_refused', 'selection_facts']


def selection_facts(
    options: Options, selection: Selection, executors: Sequence[ModelName], *, offered: bool, changed: bool
) -> SelectionFacts:
    """What the span of a decision says.

    Args:
        options: The options of the advisor.
        selection: The decision, as it stands in the request.
        executors: Every model that may serve the request.
        offered: Whether the native tool is in the request.
        changed: Whether path or executor differ from the previous request of the run.
    """
    advisor = named(options.model)
    return SelectionFacts(
        path=selection.path,
        reason=selection.reason,
        changed=changed,
        mode=options.mode,
        executor_provider='|'.join(dict.fromkeys(str(model.provider) for model in executors)),
        executor_model='|'.join(dict.fromkeys(str(model.name) for model in executors)),
        provider=advisor.provider,
        model=advisor.name,
        native_offered=offered,
        native_supported=all(model.supports_native for model in executors),
        max_uses=options.max_uses,
        max_tokens=options.max_tokens,
        caching=options.caching,
        forward_history=options.history_form,
    )


def emit_claim(ctx: RunContext[Any], claim: Claim | None) -> None:
    """Record a claim; without a limit there is none."""
    if claim is None:
        return
    facts = ClaimFacts(
        granted=claim.granted,
        scope=claim.scope,
        enforcer='capability',
        call_id=ctx.tool_call_id or '',
        limit=claim.limit,
        used=claim.used,
        remaining=claim.remaining,
    )
    emit.claim(ctx, facts)


def emit_refused(ctx: RunContext[Any], native: NativeConsultation, limit: tuple[Scope, int | None]) -> None:
    """Record that the provider refused a consultation under the limit that it was sent."""
    scope, most = limit
    call_id = native.consultation.call_id
    emit.claim(ctx, ClaimFacts(granted=False, scope=scope, enforcer='provider', call_id=call_id, limit=most))


def emit_native(ctx: RunContext[Any], native: NativeConsultation, advisor: ModelName, response: ModelResponse) -> None:
    """Record a native consultation at the time of its response: when it took place is not known."""
    record = native.consultation
    at = int(response.timestamp.timestamp() * 1_000_000_000)
    advice_length = len(record.advice) if isinstance(record.advice, str) else None
    facts = span_facts(record, advisor, native_error=native.native_error, timing='unknown', advice_length=advice_length)
    emit.consultation(ctx, facts, start_time=at, end_time=at)
