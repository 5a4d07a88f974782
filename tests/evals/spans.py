"""Spans as pydantic-ai and this package emit them, for tests of what reads them."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode
from pydantic_evals.evaluators import EvaluatorContext
from pydantic_evals.otel import SpanTree

from advisor_harness.telemetry import conventions as names

COMMON = {names.GEN_AI_AGENT_NAME: 'executor', names.GEN_AI_AGENT_CALL_ID: 'run-1'}
STEP = {names.ADVISOR_REQUEST_STEP: 1, names.ADVISOR_SCHEMA_VERSION: 1}


class Trace:
    """A trace under construction."""

    def __init__(self) -> None:
        self._memory, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._memory))
        self._provider = provider

    def add(self, name: str, attributes: dict[str, Any], *, scope: str = 'pydantic-ai', error: bool = False) -> Trace:
        span = self._provider.get_tracer(scope).start_span(name, attributes=attributes)
        if error:
            span.set_status(Status(StatusCode.ERROR))
        span.end()
        return self

    def chat(
        self, *, cost: float | None = None, error: bool = False, scope: str = 'pydantic-ai', **usage: int
    ) -> Trace:
        attributes: dict[str, Any] = {'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm'}
        attributes |= {f'gen_ai.usage.{name}': amount for name, amount in usage.items()}
        if cost is not None:
            attributes['operation.cost'] = cost
        return self.add('chat m', attributes, scope=scope, error=error)

    def consult(self, outcome: str = 'advised', *, path: str = 'local', **facts: Any) -> Trace:
        """A consultation; `facts` are attribute names with `__` for dots, below `advisor.`."""
        attributes: dict[str, Any] = {
            **COMMON,
            **STEP,
            names.ADVISOR_CONSULTATION_PATH: path,
            names.ADVISOR_CONSULTATION_OUTCOME: outcome,
            names.ADVISOR_CONSULTATION_RETRY: 0,
            names.ADVISOR_CALL_ID: 'call-1',
            names.ADVISOR_PROVIDER: 'p',
            names.ADVISOR_MODEL: 'm',
            names.ADVISOR_COST_KNOWN: 'cost__usd' in facts,
        }
        if path == 'native':
            attributes[names.ADVISOR_CONSULTATION_TIMING] = 'unknown'
        for name, value in facts.items():
            attributes[name.replace('__', '.') if name == 'error__type' else 'advisor.' + name.replace('__', '.')] = (
                value
            )
        return self.add(names.CONSULT_ADVISOR, attributes)

    def select(self, path: str, reason: str) -> Trace:
        return self.add(
            names.SELECT_ADVISOR,
            {
                **COMMON,
                **STEP,
                names.ADVISOR_SELECTION_PATH: path,
                names.ADVISOR_SELECTION_REASON: reason,
                names.ADVISOR_SELECTION_CHANGED: False,
                names.ADVISOR_MODE: 'auto',
                names.ADVISOR_EXECUTOR_PROVIDER: 'p',
                names.ADVISOR_EXECUTOR_MODEL: 'm',
                names.ADVISOR_NATIVE_OFFERED: False,
                names.ADVISOR_NATIVE_SUPPORTED: False,
                names.ADVISOR_FORWARD_HISTORY: 'none',
            },
        )

    def claim(self, granted: bool) -> Trace:
        return self.add(
            names.CLAIM_ADVISOR_QUOTA,
            {
                **COMMON,
                **STEP,
                names.ADVISOR_QUOTA_GRANTED: granted,
                names.ADVISOR_QUOTA_SCOPE: 'request',
                names.ADVISOR_QUOTA_ENFORCER: 'capability',
                names.ADVISOR_QUOTA_LIMIT: 1,
                names.ADVISOR_QUOTA_USED: 1,
                names.ADVISOR_QUOTA_REMAINING: 0,
                names.ADVISOR_CALL_ID: 'call-1',
            },
        )

    @property
    def spans(self) -> list[ReadableSpan]:
        return sorted(self._memory.get_finished_spans(), key=lambda span: span.start_time or 0)

    def context(
        self, *, output: Any = None, inputs: Any = None, expected: Any = None, metadata: Any = None, **metrics: float
    ) -> EvaluatorContext[Any, Any, Any]:
        """The context of a scorer for a case with this trace."""
        tree = SpanTree()
        tree.add_readable_spans(self.spans)
        return EvaluatorContext(
            name='case',
            inputs=inputs,
            metadata=metadata,
            expected_output=expected,
            output=output,
            duration=0.0,
            _span_tree=tree,
            attributes={},
            metrics=metrics,
        )
