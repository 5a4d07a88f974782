"""The facts that a span carries: one frozen dataclass per span, written by `emit` and read back by `read`.

A field that is `None` is unknown or not set, and its attribute is absent from the span. Enumerations are plain strings
here; `conventions.py` lists their values and a test holds every emitted span to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

__all__ = ['ClaimFacts', 'ConsultationFacts', 'RouteFacts', 'SelectionFacts', 'SpanOrigin']


@dataclass(frozen=True, kw_only=True)
class SpanOrigin:
    """Which executor request a span belongs to. `emit` fills it from the run context."""

    agent_name: str
    """Name of the executor, `agent` when it has none."""
    run_id: str
    """Id of the executor's run; with `step` the key of one executor request."""
    conversation_id: str | None
    """Id of the conversation, `None` outside one."""
    step: int
    """Number of the executor request in its run (`RunContext.run_step`), from 1; 0 before the first."""


@dataclass(frozen=True, kw_only=True)
class SelectionFacts:
    """Which way consultations of one executor request go, and why (span `select advisor`)."""

    path: str
    """`native`, `local` or `none`: what the request offers after the model's profile had its say."""
    reason: str
    """The first rule that applied, a value of `advisor.selection.reason`."""
    changed: bool
    """Whether path or executor model differ from the previous request of the run."""
    mode: str
    """The `mode` option: `auto`, `native` or `local`."""
    executor_provider: str
    executor_model: str
    provider: str | None = None
    """The advisor's provider; `None` when only its unqualified name is known."""
    model: str | None = None
    """The advisor's model name."""
    native_offered: bool
    """Whether a native advisor tool was put into the request."""
    native_supported: bool
    """Whether the executor model's profile lists the native advisor tool."""
    max_uses: int | None = None
    max_tokens: int | None = None
    caching: str | None = None
    forward_history: str = 'none'
    """`none`, `messages` or `transcript`."""
    origin: SpanOrigin | None = None
    """Filled by `read`; `emit` takes it from the run context."""


@dataclass(frozen=True, kw_only=True)
class ClaimFacts:
    """One consultation taken from a limit, or refused by it (span `claim advisor quota`)."""

    granted: bool
    scope: str
    """`request` or `run`: which limit answered."""
    enforcer: str
    """`capability`, or `provider` when the provider itself refused the call."""
    call_id: str
    limit: int | None
    """The limit, consultations; `None` only when a provider refused without a limit of ours."""
    used: int | None = None
    """Consultations claimed under the limit after this claim; `None` when the provider counts."""
    remaining: int | None = None
    """Consultations left under the limit after this claim; `None` when the provider counts."""
    origin: SpanOrigin | None = None


@dataclass(frozen=True, kw_only=True)
class ConsultationFacts:
    """One consultation that took place, whatever came of it (span `consult advisor`)."""

    path: str
    """`native` or `local`."""
    outcome: str
    """A value of `Outcome`."""
    call_id: str
    provider: str | None
    """The advisor's provider; `None` when it could not be resolved."""
    model: str | None
    """The advisor's model name; `None` when it could not be resolved."""
    index: int | None = None
    """Nth consultation of this executor request, from 1."""
    retry: int = 0
    """How often the executor's call was retried before (`RunContext.retry`); 0 on the native path."""
    truncated: bool | None = None
    """Whether the advice was cut at the token limit; `None` when the provider does not say."""
    advice_form: str | None = None
    """`text`, `structured`, `redacted` or `none`."""
    prompt_length: int | None = None
    """Characters of the question."""
    advice_length: int | None = None
    """Characters of the advice; of its JSON when it is structured."""
    native_error: str | None = None
    """The provider's own error code, native path only."""
    timing: str | None = None
    """`unknown` on the native path: the provider does not say when it consulted."""
    error_code: str | None = None
    """The code that goes into `error.type`, never an exception's class name or text."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    requests: int | None = None
    """Model requests of the advisor, its own retries included."""
    cost_usd: Decimal | None = None
    """Cost of the consultation in US dollars; `None` when it is unknown, which is never 0."""
    history_messages: int | None = None
    """Messages of the executor's history that were sent along."""
    history_chars: int | None = None
    """Characters of them."""
    history_dropped: int | None = None
    """Parts that were left out."""
    duration_s: float | None = None
    """Seconds it took, read from the span; `None` on the native path."""
    origin: SpanOrigin | None = None


@dataclass(frozen=True, kw_only=True)
class RouteFacts:
    """Which named route serves one model request, and why (span `route model request`)."""

    route: str | None
    """The route; `None` when an override or `run(model=...)` served instead."""
    reason: str
    """A value of `model_routing.reason`."""
    decision: str
    """`initialize`, `retain` or `switch`."""
    provider: str
    model: str
    """The model that serves."""
    switched: bool
    previous_model: str | None = None
    """Model of the previous request; `None` on the first."""
    previous_route: str | None = None
    candidates: tuple[str, ...] = ()
    """Names of the routes that could have served, sorted."""
    history_portable: bool = True
    history_action: str = 'kept'
    """`kept`, `converted`, `dropped_parts` or `blocked`."""
    parts_dropped: int | None = None
    dropped_kinds: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    """Kinds of portability issues, sorted, each once."""
    origin: SpanOrigin | None = None
