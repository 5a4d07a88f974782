"""Native consultations, read out of model responses.

The provider consults inside the executor's request, so all there is to see are its marks in the response: a call part
and a return part at Anthropic, which a pause or a client tool in the same turn can put into different responses, and
mere counts at OpenRouter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard, cast

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
)
from pydantic_ai.native_tools import AdvisorTool

from advisor_harness.advisor.consultation import Consultation
from advisor_harness.advisor.models import ModelName
from advisor_harness.advisor.money import NativeUsage, anthropic_usage, openrouter_advisor_cost
from advisor_harness.advisor.outcome import Outcome, native_failure

__all__ = ['NativeConsultation', 'NativeReader', 'pending_calls', 'repaired']


@dataclass(frozen=True)
class NativeConsultation:
    """A consultation that the provider ran or refused, with what only the native path knows."""

    consultation: Consultation
    native_error: str | None = None
    """The provider's own error code."""

    @property
    def refused(self) -> bool:
        """Whether the provider refused it under `max_uses`."""
        return self.consultation.outcome is Outcome.LIMIT_REACHED


@dataclass
class NativeReader:
    """Reads the consultations of one run, response by response; a call waits for its result in a later one."""

    advisor: ModelName
    _seen: set[str] = field(default_factory=set[str])

    def read(
        self, ctx: RunContext[Any], response: ModelResponse, native_tools: Iterable[object]
    ) -> list[NativeConsultation]:
        """The consultations that `response` completes, in order.

        Args:
            ctx: The context of the request that it answers.
            response: The response, all parts of a paused turn merged.
            native_tools: The native tools that were sent with the request.
        """
        if response.provider_name == 'openrouter':
            return self._counted(ctx, response, list(native_tools))
        executed = [self._result(ctx, response, part) for part in self._new_returns(response)]
        indexed = [
            replace(found, consultation=replace(found.consultation, index=index))
            for index, found in enumerate(executed, start=1)
        ]
        return _with_totals(indexed, anthropic_usage(response, self.advisor.name or ''))

    def _new_returns(self, response: ModelResponse) -> list[NativeToolReturnPart]:
        """Results not reported before: a resumed turn may repeat those of its first half."""
        found = [part for part in response.parts if _is_return(part) and part.tool_call_id not in self._seen]
        self._seen.update(part.tool_call_id for part in found)
        return found

    def _result(self, ctx: RunContext[Any], response: ModelResponse, part: NativeToolReturnPart) -> NativeConsultation:
        content = _mapping(part.content)
        error = content.get('error_code')
        outcome, advice = _outcome(content)
        stop = content.get('stop_reason')
        record = self._record(
            ctx,
            response,
            outcome=outcome,
            call_id=part.tool_call_id,
            advice=advice,
            truncated=None if stop is None else stop == 'max_tokens',
            error_code='empty' if outcome is Outcome.EMPTY else error,
        )
        return NativeConsultation(record, native_error=error)

    def _counted(
        self, ctx: RunContext[Any], response: ModelResponse, native_tools: list[object]
    ) -> list[NativeConsultation]:
        """OpenRouter says how many server tools it ran, and returns neither calls nor advice.

        With another server tool in the request the count is not the advisor's alone, and nothing can be told.
        """
        details = response.provider_details or {}
        executed: int = _mapping(details.get('server_tool_use')).get('tool_calls_executed') or 0
        if [type(tool) for tool in native_tools] != [AdvisorTool]:
            return []
        records = [
            self._record(
                ctx,
                response,
                outcome=Outcome.REDACTED,
                call_id=f'{response.provider_response_id}#{n}',
                index=n,
            )
            for n in range(1, executed + 1)
        ]
        return _with_totals(
            [NativeConsultation(record) for record in records],
            NativeUsage(requests=executed, cost_usd=openrouter_advisor_cost(details)),
        )

    def _record(self, ctx: RunContext[Any], response: ModelResponse, *, index: int = 1, **known: Any) -> Consultation:
        return Consultation(
            path='native',
            index=index,
            run_step=ctx.run_step,
            executor_model=str(ModelName(response.provider_name, response.model_name)),
            advisor_model=str(self.advisor),
            prompt=None,
            **known,
        )


def pending_calls(messages: Sequence[ModelMessage]) -> bool:
    """Whether the last response holds a consultation that the provider has yet to run.

    It runs in the next request, if the advisor tool is in it: Anthropic rejects the call without the tool.
    """
    last = _last_response(messages)
    parts = last.parts if last else ()
    answered = {part.tool_call_id for part in parts if _is_return(part)}
    return any(_is_call(part) and part.tool_call_id not in answered for part in parts)


def repaired(messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    """The messages to send: without halves of a consultation whose other half is lost, which Anthropic rejects.

    A call in the last response is not lost but pending. Returns `messages` itself when nothing is amiss; never changes
    a message.
    """
    calls = {part.tool_call_id for part in _parts(messages) if _is_call(part)}
    returns = {part.tool_call_id for part in _parts(messages) if _is_return(part)}
    if calls == returns:
        return messages
    last = _last_response(messages)

    def whole(message: ModelResponse, part: ModelResponsePart) -> bool:
        if _is_call(part):
            return part.tool_call_id in returns or message is last
        return not _is_return(part) or part.tool_call_id in calls

    return [
        replace(message, parts=[part for part in message.parts if whole(message, part)])
        if isinstance(message, ModelResponse) and not all(whole(message, part) for part in message.parts)
        else message
        for message in messages
    ]


def _outcome(content: dict[str, Any]) -> tuple[Outcome, str | None]:
    """Outcome and readable advice of an `advisor_tool_result`'s content, told apart by its `type`."""
    match content:
        case {'error_code': str(code)}:
            return native_failure(code).outcome, None
        case {'encrypted_content': _}:
            return Outcome.REDACTED, None
        case {'text': str(text)} if not text.strip():
            return Outcome.EMPTY, None
        case {'text': str(text)}:
            return (Outcome.TRUNCATED if content.get('stop_reason') == 'max_tokens' else Outcome.ADVISED), text
        case _:
            # A result of a later version: nothing in it can be read.
            return Outcome.REDACTED, None


def _with_totals(found: list[NativeConsultation], usage: NativeUsage) -> list[NativeConsultation]:
    """Put what the provider reports for all together on the first that ran, so that it is counted once."""
    first = next((n for n, native in enumerate(found) if not native.refused), None)
    return [
        replace(native, consultation=replace(native.consultation, **_share(native, usage if n == first else None)))
        for n, native in enumerate(found)
    ]


def _share(native: NativeConsultation, usage: NativeUsage | None) -> dict[str, Any]:
    if native.refused:
        return {'requests': 0}
    if usage is None:
        return {}
    return {
        'requests': usage.requests,
        'input_tokens': usage.input_tokens,
        'output_tokens': usage.output_tokens,
        'cost_usd': usage.cost_usd,
    }


def _mapping(value: object) -> dict[str, Any]:
    return cast('dict[str, Any]', value) if isinstance(value, dict) else {}


def _last_response(messages: Sequence[ModelMessage]) -> ModelResponse | None:
    return next((message for message in reversed(messages) if isinstance(message, ModelResponse)), None)


def _parts(messages: Sequence[ModelMessage]) -> Iterable[ModelResponsePart]:
    return (part for message in messages if isinstance(message, ModelResponse) for part in message.parts)


def _is_call(part: object) -> TypeGuard[NativeToolCallPart]:
    return isinstance(part, NativeToolCallPart) and part.tool_name == AdvisorTool.kind


def _is_return(part: object) -> TypeGuard[NativeToolReturnPart]:
    return isinstance(part, NativeToolReturnPart) and part.tool_name == AdvisorTool.kind
