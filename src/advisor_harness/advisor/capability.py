"""The `Advisor` capability: one logical tool, by the provider's own advisor or by a run of a second agent."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeGuard

import anyio
from opentelemetry.trace import NoOpTracer
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, ModelSelection, durable_operation
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.native_tools import AdvisorTool
from pydantic_ai.output import OutputSpec
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import AgentDepsT, AgentNativeTool, Tool, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset
from pydantic_ai.usage import RunUsage

from advisor_harness.advisor import texts
from advisor_harness.advisor.asking import Question, Reply, ask
from advisor_harness.advisor.consultation import Answer, Consultation, consult, unasked
from advisor_harness.advisor.durable import WorkflowToolset, ask_as_unit, ask_durably, in_workflow
from advisor_harness.advisor.merging import merged
from advisor_harness.advisor.models import ModelName, executor_candidates, named
from advisor_harness.advisor.native import NativeReader, pending_calls, repaired
from advisor_harness.advisor.options import Caching, ForwardHistory, Mode, OnConsultation, OnError, Options, native_name
from advisor_harness.advisor.outcome import Outcome
from advisor_harness.advisor.pairing import pair_rejected
from advisor_harness.advisor.quota import Claim, Quota, Scope
from advisor_harness.advisor.reporting import emit_claim, emit_native, emit_refused, selection_facts
from advisor_harness.advisor.reservation import Reservation, Reservations
from advisor_harness.advisor.selection import Selection, decide, effective, native_impossible, refusal
from advisor_harness.advisor.sharing import SharedAnswers
from advisor_harness.advisor.spend import note_consultation, noting_native
from advisor_harness.advisor.transcript import asking
from advisor_harness.telemetry import emit

__all__ = ['Advisor']

TOOL_NAME = 'advisor'
_MARK = 'advisor_harness.advisor'
# Tells our tool from others under whatever name a wrapper gives it; metadata is never sent to a model.


@dataclass(init=False)
class Advisor(AbstractCapability[AgentDepsT]):
    """Let an agent consult another model, usually a stronger one, before it answers.

    ```python
    from pydantic_ai import Agent
    from advisor_harness import Advisor

    agent = Agent('anthropic:claude-haiku-4-5', capabilities=[Advisor('anthropic:claude-opus-4-8', max_uses=2)])
    ```

    Each executor request takes one of two paths. *Native*: the provider consults inside the request, if the advisor is
    an explicit `anthropic:` or `openrouter:` name and the model that serves the request can. *Local*: a function tool
    `advisor(prompt)` in toolset `advisor` asks the advisor in a run of its own, which has no tools and no dependencies
    and shares the executor's usage, limits and conversation id. Over a limit its result is a fixed text, also where the
    output is structured. It adds no instructions: tell the executor in its prompt when to consult.

    Args:
        model: The advisor, a model name or a `Model`. A name is resolved at the first local consultation, by the
            `resolve_model_id` capabilities of the run; a `Model` is used as it is and makes every path local.
        mode: `'auto'` takes the native path where it can, `'native'` never another, `'local'` always a run of its own.
        output_type: Output specification of local advice. Another one than `str` makes the path local, and the
            validated object the result.
        max_uses: Most consultations per executor request, >= 1. OpenRouter ignores it, so `'auto'` goes local there.
        max_tokens: Most output tokens per consultation, >= 1024.
        caching: Lifetime of the advisor's prompt cache, `'5m'` or `'1h'`. Anthropic's native advisor only.
        forward_history: Whether a local advisor gets the completed messages before the response that asks: as messages
            (`True`) or quoted as one block of text (`'transcript'`). Never decides the path.
        max_uses_per_run: Most consultations per run on both paths, >= 1. OpenRouter says how many it ran only when a
            response is over, so that one may exceed it.
        timeout: Seconds one local consultation may take, > 0, retries included.
        on_error: `'raise'`: errors of resolution, authentication, provider and limits end the run, and an unusable
            answer becomes a retry of the tool. `'continue'`: what an executor can do without becomes a failed tool
            result with a fixed text.
        on_consultation: Called once per consultation of either path, sync or async, when its outcome is known.
        redact: Applied to the question and to a transcript before they are sent.
        max_transcript_chars: Most characters of a transcript.

    Raises:
        ValueError: a value or a combination is not allowed; the message names option, value and what is.
        TypeError: an option has the wrong type.
    """

    id: str | None = 'advisor'
    """Fixed: an agent has one advisor. Two are merged, the stricter setting wins."""

    options: Options = field(init=False)
    """The validated options."""
    _quota: Quota = field(init=False, repr=False, compare=False)
    _reservations: Reservations = field(init=False, repr=False, compare=False)
    _shared: SharedAnswers = field(init=False, repr=False, compare=False)
    _native: NativeReader = field(init=False, repr=False, compare=False)
    _previous: tuple[str, str] | None = field(init=False, repr=False, compare=False, default=None)
    _asked: dict[int, int] = field(init=False, repr=False, compare=False)
    _offered_to: Sequence[ModelName] = field(init=False, repr=False, compare=False, default=())

    def __init__(
        self,
        model: ModelSelection,
        *,
        mode: Mode = 'auto',
        output_type: OutputSpec[Any] = str,
        max_uses: int | None = None,
        max_tokens: int | None = None,
        caching: Caching | None = None,
        forward_history: ForwardHistory = False,
        max_uses_per_run: int | None = None,
        timeout: float | None = None,
        on_error: OnError = 'raise',
        on_consultation: OnConsultation | None = None,
        redact: Callable[[str], str] | None = None,
        max_transcript_chars: int = 60_000,
    ) -> None:
        self._configure(
            Options(
                model=model,
                mode=mode,
                output_type=output_type,
                max_uses=max_uses,
                max_tokens=max_tokens,
                caching=caching,
                forward_history=forward_history,
                max_uses_per_run=max_uses_per_run,
                timeout=timeout,
                on_error=on_error,
                on_consultation=on_consultation,
                redact=redact,
                max_transcript_chars=max_transcript_chars,
            )
        )

    def _configure(self, options: Options) -> None:
        """Take the options and start afresh: the state below belongs to one run."""
        self.options = options
        self._quota = Quota(options.max_uses, options.max_uses_per_run)
        self._reservations = Reservations()
        self._shared = SharedAnswers()
        self._native = NativeReader(named(options.model))
        self._previous = None
        self._asked = {}
        self._offered_to = ()

    @property
    def model(self) -> Model | str:
        """The advisor as configured."""
        return self.options.model

    @classmethod
    def combine(cls, capabilities: Sequence[AbstractCapability[AgentDepsT]]) -> AbstractCapability[AgentDepsT]:
        """Merge the advisors of one agent: the stricter setting wins, a contradiction raises `UserError`."""
        advisors = [capability for capability in capabilities if isinstance(capability, Advisor)]
        combined = copy.copy(advisors[-1])
        combined._configure(merged([advisor.options for advisor in advisors]))
        return combined

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> Self:
        """A copy with limits, shared answers and open native calls of its own."""
        fresh = copy.copy(self)
        fresh._configure(self.options)
        return fresh

    def get_native_tools(self) -> Sequence[AgentNativeTool[AgentDepsT]]:
        """The provider's advisor, decided anew for every request."""
        return [] if native_impossible(self.options) else [self._native_tool]

    def get_toolset(self) -> AbstractToolset[AgentDepsT] | None:
        """The local tool, which core drops from a request that the provider's advisor is in."""
        if self.options.mode == 'native':
            return None
        tool = Tool(
            self._consult,
            name=TOOL_NAME,
            description=texts.tool_description(structured=self.options.structured),
            metadata={_MARK: True},
        )
        toolset: AbstractToolset[AgentDepsT] = WorkflowToolset(FunctionToolset([tool], id=TOOL_NAME))
        if native_impossible(self.options):
            return toolset

        async def unless_native(ctx: RunContext[AgentDepsT], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
            return [replace(tool_def, unless_native=AdvisorTool.kind) for tool_def in tool_defs]

        return toolset.prepared(unless_native)

    def _native_tool(self, ctx: RunContext[AgentDepsT]) -> AdvisorTool | None:
        selection = self._decide(ctx.model)
        # Without the tool core leaves an open call out of the request, and the advice it waits for is lost.
        pending = selection.reason == 'run_limit' and pending_calls(ctx.messages)
        if not selection.offers_native and not pending:
            if self.options.mode == 'native' and selection.reason != 'run_limit':
                raise UserError(refusal(self.options, executor_candidates(ctx.model), selection))
            return None
        remaining = self._quota.run_remaining
        limits = [limit for limit in (self.options.max_uses, remaining) if limit is not None]
        provider_and_name = native_name(self.options.model)
        assert provider_and_name is not None, 'a native selection has a native name'
        return AdvisorTool(
            model=provider_and_name[1],
            max_uses=max(1, min(limits)) if limits else None,
            max_tokens=self.options.max_tokens,
            caching=self.options.caching,
        )

    def _decide(self, model: Any) -> Selection:
        return decide(self.options, executor_candidates(model), run_remaining=self._quota.run_remaining)

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Record which path this request takes, and leave halves of lost native consultations out of what is sent."""
        messages = repaired(request_context.messages)
        if messages is not request_context.messages:
            request_context.messages = list(messages)
        offered = any(isinstance(tool, AdvisorTool) for tool in request_context.model_request_parameters.native_tools)
        self._offered_to = executor_candidates(request_context.model) if offered else ()
        if not isinstance(ctx.tracer, NoOpTracer):
            self._emit_selection(ctx, request_context)
        return request_context

    def _emit_selection(self, ctx: RunContext[AgentDepsT], request: ModelRequestContext) -> None:
        """Emit the decision on the first request and whenever path or executor model differ from the last one."""
        candidates = executor_candidates(request.model)
        parameters = request.model_request_parameters
        offered = any(isinstance(tool, AdvisorTool) for tool in parameters.native_tools)
        local = any((tool.metadata or {}).get(_MARK) for tool in parameters.function_tools)
        selection = effective(self._decide(request.model), offered=offered, local=local)
        now = (selection.path, '|'.join(map(str, candidates)))
        previous, self._previous = self._previous, now
        if now == previous:
            emit.selected(ctx, selection.path)
            return
        changed = previous is not None
        emit.select(ctx, selection_facts(self.options, selection, candidates, offered=offered, changed=changed))

    async def after_model_request(
        self, ctx: RunContext[AgentDepsT], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Read the native consultations of a response: spans, limits and records as on the local path."""
        tools = request_context.model_request_parameters.native_tools
        advisor = named(self.options.model)
        limit = self._provider_limit(tools)
        found = self._native.read(ctx, response, tools)
        for native in found:
            if native.refused:
                emit_refused(ctx, native, limit)
            else:
                self._quota.spend(ctx.run_step)
                emit_native(ctx, native, advisor, response)
            await self._notify(native.consultation)
        return noting_native(
            response,
            [native.consultation for native in found],
            advisor=advisor.name,
            offered=any(isinstance(tool, AdvisorTool) for tool in tools),
            run_id=ctx.run_id,
        )

    def _provider_limit(self, tools: Sequence[object]) -> tuple[Scope, int | None]:
        """Which of our limits the provider was told to keep, and how high that one is."""
        sent = next((tool.max_uses for tool in tools if isinstance(tool, AdvisorTool)), None)
        if sent is not None and sent != self.options.max_uses:
            return 'run', self.options.max_uses_per_run
        return 'request', sent

    async def on_run_error(self, ctx: RunContext[AgentDepsT], *, error: BaseException) -> AgentRunResult[Any]:
        """Say what to change where the provider rejected the pair of executor and advisor.

        Core tells the hooks on model requests nothing of a request that it streams.
        """
        if rejected := pair_rejected(error, self._offered_to, named(self.options.model)):
            raise rejected from error
        raise error

    async def _consult(self, ctx: RunContext[AgentDepsT], prompt: str) -> object:
        while shared := self._shared.find(ctx.run_step, prompt):
            if answer := await shared.wait():
                return _delivered(answer)
        if _is_final(ctx):
            return await self._unasked(ctx, prompt, self._quota.refuse(ctx.run_step), Outcome.SKIPPED, texts.SKIPPED)
        claim = self._quota.claim(ctx.run_step)
        if claim is not None and not claim.granted:
            text = texts.RUN_LIMIT_REACHED if claim.scope == 'run' else texts.REQUEST_LIMIT_REACHED
            return await self._unasked(ctx, prompt, claim, Outcome.LIMIT_REACHED, text)
        emit_claim(ctx, claim)
        return _delivered(await self._ask(ctx, prompt))

    async def _unasked(
        self, ctx: RunContext[AgentDepsT], prompt: str, claim: Claim | None, outcome: Outcome, text: str
    ) -> str:
        emit_claim(ctx, claim)
        await self._told(ctx, unasked(ctx, self.options, prompt, index=self._next_index(ctx.run_step), outcome=outcome))
        return text

    async def _ask(self, ctx: RunContext[AgentDepsT], prompt: str) -> Answer:
        """Consult, and settle the answer for every call that waits for it."""
        step = ctx.run_step
        shared = self._shared.open(step, prompt)
        try:
            answer = await consult(
                ctx,
                self.options,
                prompt,
                index=self._next_index(step),
                among=self._reservations,
                asking=self._asking,
            )
        except BaseException:
            self._shared.forget(step, prompt)
            shared.settle(None)
            raise
        if answer.consultation.outcome is Outcome.CANCELLED:
            self._shared.forget(step, prompt)
            shared.settle(None)
        else:
            shared.settle(answer)
        await self._told(ctx, answer.consultation)
        return answer

    async def _asking(self, ctx: RunContext[Any], question: Question, reservation: Reservation) -> Reply:
        if in_workflow(ctx):
            return await ask_durably(self._consult_in_unit, ctx, self.options, question, reservation)
        return await ask(ctx, self.options, question, reservation)

    @durable_operation(name='consult')
    async def _consult_in_unit(self, ctx: RunContext[AgentDepsT], question: Question, others: RunUsage) -> Reply:
        return await ask_as_unit(ctx, self.options, question, others)

    def _next_index(self, step: int) -> int:
        self._asked[step] = self._asked.get(step, 0) + 1
        return self._asked[step]

    async def _told(self, ctx: RunContext[AgentDepsT], consultation: Consultation) -> None:
        note_consultation(ctx.messages, asking(ctx), consultation, run_id=ctx.run_id)
        await self._notify(consultation)

    async def _notify(self, consultation: Consultation) -> None:
        callback = self.options.on_consultation
        if callback is None:
            return
        # A cancelled run still reports what it spent; anyio would cancel the callback at its first `await`.
        with anyio.CancelScope(shield=consultation.outcome is Outcome.CANCELLED):
            returned = callback(consultation)
            if inspect.isawaitable(returned):
                await returned


def _delivered(answer: Answer) -> object:
    if answer.error is not None:
        raise answer.error
    return answer.result


def _is_final(ctx: RunContext[Any]) -> bool:
    """Whether the response that asks also gives the final output, so that advice would come too late.

    With `end_strategy='early'` core runs function tools beside an output tool only when that output was invalid.
    """
    response = ctx.messages[-1] if ctx.messages else None
    if not isinstance(response, ModelResponse) or ctx.tool_manager is None:
        return False
    if ctx.agent is not None and ctx.agent.end_strategy == 'early':
        return False
    definitions = (ctx.tool_manager.get_tool_def(part.tool_name) for part in response.parts if _is_call(part))
    return any(definition is not None and definition.kind == 'output' for definition in definitions)


def _is_call(part: object) -> TypeGuard[ToolCallPart]:
    return isinstance(part, ToolCallPart)
