"""What the tests of this room share: a private tracer, agents whose hooks and tools emit, and facts to emit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracer
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import Hooks, Instrumentation
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from advisor_harness.telemetry import ClaimFacts, ConsultationFacts, RouteFacts, SelectionFacts

Emit = Callable[[RunContext[Any]], None]

SELECTION = SelectionFacts(
    path='local',
    reason='provider_mismatch',
    changed=False,
    mode='auto',
    executor_provider='openai',
    executor_model='gpt-5-mini',
    provider='anthropic',
    model='claude-opus-4-8',
    native_offered=False,
    native_supported=False,
)
GRANTED = ClaimFacts(
    granted=True, scope='request', enforcer='capability', call_id='call-1', limit=2, used=1, remaining=1
)
REFUSED = ClaimFacts(
    granted=False, scope='request', enforcer='capability', call_id='call-2', limit=2, used=2, remaining=0
)
START = ConsultationFacts(
    path='local', outcome='cancelled', call_id='call-1', provider='anthropic', model='claude-opus-4-8', prompt_length=9
)
ROUTE = RouteFacts(
    route='cheap', reason='default', decision='initialize', provider='openai', model='gpt-5-mini', switched=False
)


@dataclass
class Tracing:
    """A tracer provider of its own, whose finished spans stay in memory."""

    include_content: bool = False
    provider: TracerProvider = field(default_factory=lambda: TracerProvider(shutdown_on_exit=False))
    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)

    def __post_init__(self) -> None:
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def settings(self) -> InstrumentationSettings:
        return InstrumentationSettings(tracer_provider=self.provider, include_content=self.include_content)

    @property
    def capability(self) -> Instrumentation:
        return Instrumentation(self.settings)

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        """The finished spans of that name, in the order in which they ended."""
        return [span for span in self.spans if span.name == name]

    def context(self, **values: Any) -> RunContext[None]:
        """A context as of a tool of the second request, outside any run."""
        tracer = self.provider.get_tracer('pydantic-ai')
        return context(tracer=tracer, **values)


def context(**values: Any) -> RunContext[None]:
    """A context as of a tool of the second request, outside any run; not instrumented unless it gets a `tracer`."""
    defaults: dict[str, Any] = {
        'agent': Agent(TestModel(), name='executor'),
        'run_id': 'run-1',
        'conversation_id': 'conv-1',
        'run_step': 2,
        'tracer': NoOpTracer(),
    }
    return RunContext(deps=None, model=TestModel(), usage=RunUsage(), **{**defaults, **values})


def on_request(emit: Emit) -> Hooks[Any]:
    """A capability that emits before every model request, while the `chat` span is current."""

    async def before(ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
        emit(ctx)
        return request_context

    return Hooks(before_model_request=before)


def calling(*calls: ToolCallPart) -> Model:
    """A model that makes these tool calls in its first response and says `done` in the next."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart('done')] if len(messages) > 1 else list(calls))

    return FunctionModel(answer, model_name='exec-model')


def advisor_call(call_id: str) -> ToolCallPart:
    """A call of the tool `advisor`."""
    return ToolCallPart('advisor', {}, tool_call_id=call_id)
