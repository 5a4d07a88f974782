"""What the tests of this room share: a private tracer, agents whose hooks and tools emit, and facts to emit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracer
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import Hooks, Instrumentation
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from advisor_harness.telemetry import (
    ClaimFacts,
    ConsultationFacts,
    RouteFacts,
    SelectionFacts,
    emit,
    hand_over_instrumentation,
)

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


def calling(*call_ids: str) -> Model:
    """A model that calls the tool `advisor` with these ids in its first response and says `done` in the next."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        calls = [ToolCallPart('advisor', {}, tool_call_id=call_id) for call_id in call_ids]
        return ModelResponse(parts=[TextPart('done')] if len(messages) > 1 else calls)

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[DeltaToolCalls | str]:
        if len(messages) > 1:
            yield 'done'
        else:
            yield {n: DeltaToolCall('advisor', '{}', tool_call_id=call_id) for n, call_id in enumerate(call_ids)}

    return FunctionModel(answer, stream_function=stream, model_name='exec-model')


def saying(text: str) -> Model:
    """A model that always gives this answer."""
    return FunctionModel(lambda _, __: ModelResponse(parts=[TextPart(text)]), model_name='adv-model')


def advised_agent(
    *capabilities: Any, advisor: Model, call_ids: Sequence[str] = ('call-1',), limit: int = 2
) -> Agent[None, str]:
    """An executor that emits all four spans, as advisor and router do, and asks `advisor` in a run of its own."""

    def decide(ctx: RunContext[Any]) -> None:
        emit.route(ctx, ROUTE)
        if ctx.run_step == 1:
            emit.select(ctx, SELECTION)

    executor = Agent(calling(*call_ids), name='executor', capabilities=[*capabilities, on_request(decide)])
    used = 0

    @executor.tool(name='advisor')
    async def ask(ctx: RunContext[Any]) -> str:
        nonlocal used
        call_id = str(ctx.tool_call_id)
        if used == limit:
            emit.claim(ctx, replace(REFUSED, call_id=call_id, limit=limit, used=used, remaining=0))
            return 'limit reached'
        used += 1
        emit.claim(ctx, replace(GRANTED, call_id=call_id, limit=limit, used=used, remaining=limit - used))
        return await consult(ctx, advisor, call_id)

    return executor


async def consult(ctx: RunContext[Any], advisor: Model, call_id: str) -> str:
    """One consultation, recorded while it takes place."""
    nested = Agent(advisor, name='advisor')
    hand_over_instrumentation(ctx, nested)
    start = replace(START, call_id=call_id)
    with emit.consulting(ctx, start) as span:
        try:
            result = await nested.run('QUESTION', usage=ctx.usage, conversation_id=ctx.conversation_id)
        except Exception:
            span.end_with(replace(start, outcome='error', error_code='overloaded'))
            raise
        span.end_with(replace(start, outcome='advised'))
    return result.output
