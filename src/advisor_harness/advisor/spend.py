"""What a run took, executor and advisor apart, read from its messages.

Messages tell most of it: usage and price of the executor's responses, and of native consultations what the provider
reports. What they cannot tell, the tokens of a run inside a tool and the name of the native advisor, `Advisor` leaves
in `ModelResponse.metadata`, which core stores with the history and sends to no model: numbers, names and ids, no text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Protocol, TypeVar, cast

from pydantic_ai.messages import ModelMessage, ModelResponse, NativeToolReturnPart, ToolCallPart, ToolReturnPart
from pydantic_ai.native_tools import AdvisorTool

from advisor_harness.advisor.consultation import Consultation
from advisor_harness.advisor.money import NativeUsage, executor_cost, native_usage
from advisor_harness.advisor.outcome import Outcome

__all__ = ['METADATA_KEY', 'RoleSpend', 'RunResult', 'Spend', 'note_consultation', 'noting_native', 'spend']

METADATA_KEY = 'advisor_harness.advisor'
"""Where `Advisor` leaves its notes in `ModelResponse.metadata`."""

_TOOL_NAME = 'advisor'
_Number = TypeVar('_Number', int, Decimal)


@dataclass(frozen=True, kw_only=True)
class RoleSpend:
    """What one role took in a run. `None` is unknown; a total with an unknown part is unknown, never too small."""

    requests: int | None = 0
    """Model requests: of the executor the steps of the run, of the advisor its own, retries included."""
    input_tokens: int | None = 0
    """Input tokens, those read from and written to a cache included."""
    output_tokens: int | None = 0
    cost_usd: Decimal | None = Decimal(0)
    """US dollars."""


@dataclass(frozen=True, kw_only=True)
class Spend:
    """What a run took, by role. The two do not overlap."""

    executor: RoleSpend
    advisor: RoleSpend


class RunResult(Protocol):
    """The result of a run, streamed or not."""

    @property
    def run_id(self) -> str:
        """The run's id."""
        ...

    def all_messages(self) -> list[ModelMessage]:
        """The whole conversation."""
        ...

    def new_messages(self) -> list[ModelMessage]:
        """What this run added."""
        ...


_UNKNOWN = RoleSpend(requests=None, input_tokens=None, output_tokens=None, cost_usd=None)


def spend(result_or_messages: RunResult | Sequence[ModelMessage], *, advisor: str | None = None) -> Spend:
    """Add up what executor and advisor took.

    Counted are local consultations, those that failed or were cancelled included; consultations of Anthropic's advisor,
    priced at the advisor's model; and of OpenRouter's the difference between what it charged and what the executor's
    provider took. Every cost is the provider's own figure where it reports one, else its list price.

    Unknown, and therefore `None`, are: what a request took that got no answer (its provider may bill it), tokens of
    OpenRouter's advisor, every cost without a price, costs at OpenRouter with a key of your own, and the consultations
    of a history that was made without this package's `Advisor` or whose metadata was removed.

    Args:
        result_or_messages: The result of a run, of which only that run counts, also where it went on with an earlier
            conversation; or messages, which count all.
        advisor: The name of a native advisor at Anthropic, such as `'claude-opus-4-8'`, for messages that do not say
            it: those of an agent that used core's `AdvisorTool`.
    """
    if isinstance(result_or_messages, Sequence):
        return _spent(result_or_messages, result_or_messages, run_id=None, advisor=advisor)
    result = result_or_messages
    # A call that waited for an approval is noted where it was made, in the messages of an earlier run.
    return _spent(result.all_messages(), result.new_messages(), run_id=result.run_id, advisor=advisor)


def note_consultation(messages: list[ModelMessage], at: int, consultation: Consultation, *, run_id: str | None) -> None:
    """Leave what a local consultation took in the response that asked, at index `at` or the last before it.

    Replaces the message, so that a history that the user holds stays as it is.
    """
    for index in range(min(at, len(messages) - 1), -1, -1):
        message = messages[index]
        if isinstance(message, ModelResponse):
            notes = _notes(message)
            local = _in_order([*_local(notes), _note(consultation, run_id)], message)
            messages[index] = _with_notes(message, {**notes, 'local': local})
            return


def noting_native(
    response: ModelResponse,
    consultations: Sequence[Consultation],
    *,
    advisor: str | None,
    offered: bool,
    run_id: str | None,
) -> ModelResponse:
    """The response with a note of what the native consultations in it took together; itself where there is no need.

    Args:
        response: The response, all parts of a paused turn merged.
        consultations: Those found in it, the totals on the first that ran.
        advisor: The advisor's name at its provider.
        offered: Whether the provider's advisor was in the request.
        run_id: The run that pays.
    """
    usage = native_usage(response, advisor)
    executed = [found for found in consultations if found.outcome is not Outcome.LIMIT_REACHED]
    if executed:
        taken = _consulted(executed[0])
    elif usage and response.provider_name != 'openrouter':
        taken = _role(usage)
    elif usage and offered:
        taken = _UNKNOWN  # other server tools ran beside the advisor, and OpenRouter counts them together
    elif usage or consultations:
        taken = RoleSpend()
    else:
        return response
    return _with_notes(response, {**_notes(response), 'native': {'run_id': run_id, **_as_json(taken)}})


def _in_order(notes: list[dict[str, Any]], response: ModelResponse) -> list[dict[str, Any]]:
    """The notes in the order of the calls, not of their ends: what an engine replays must have the same messages."""
    calls = [part.tool_call_id for part in response.parts if isinstance(part, ToolCallPart)]

    def place(note: dict[str, Any]) -> int:
        return calls.index(note['call_id']) if note.get('call_id') in calls else len(calls)

    return sorted(notes, key=place)


def _spent(
    messages: Sequence[ModelMessage], own: Sequence[ModelMessage], *, run_id: str | None, advisor: str | None
) -> Spend:
    responses = list(_responses(own))
    local = [note for response in _responses(messages) for note in _noted(response, run_id)]
    native = [_native(response, advisor) for response in responses]
    return Spend(
        executor=_total(_executor(response, advisor) for response in responses),
        advisor=_total([*local, *native, *_unnoted_local(messages, own)]),
    )


def _executor(response: ModelResponse, advisor: str | None) -> RoleSpend:
    """What one executor response took, attempts of a `FallbackModel` that answered and were rejected included."""
    usages = [response.usage, *(attempt.usage for attempt in response.failed_attempts or () if attempt.usage)]
    if response.state != 'complete' or any(usage.unmeasured_requests for usage in usages):
        return replace(_UNKNOWN, requests=1)
    costs = [executor_cost(response, advised=_native(response, advisor).requests), *(u.cost for u in usages[1:])]
    return RoleSpend(
        requests=1,
        input_tokens=sum(usage.input_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cost_usd=_sum(costs, Decimal(0)),
    )


def _native(response: ModelResponse, advisor: str | None) -> RoleSpend:
    """What the native consultations in a response took: as noted, else as far as the response says it."""
    if 'native' in _notes(response):
        return _from_json(_notes(response)['native'])
    if usage := native_usage(response, advisor):
        return _role(usage)
    return _UNKNOWN if any(_ran(part) for part in response.parts) else RoleSpend()


def _noted(response: ModelResponse, run_id: str | None) -> Iterator[RoleSpend]:
    """The local consultations noted in a response, of one run or of all."""
    for note in _local(_notes(response)):
        if run_id is None or note.get('run_id', run_id) == run_id:
            yield _from_json(note)


def _unnoted_local(messages: Sequence[ModelMessage], own: Sequence[ModelMessage]) -> Iterator[RoleSpend]:
    """An unknown for every local consultation that nobody left a note of.

    A call that was not noted beside one that was got the same answer as that one, or never asked.
    """
    noted = {
        part.tool_call_id
        for response in _responses(messages)
        if 'local' in _notes(response)
        for part in response.parts
        if isinstance(part, ToolCallPart)
    }
    for message in own:
        for part in message.parts:
            if isinstance(part, ToolReturnPart) and _asked(part) and part.tool_call_id not in noted:
                yield _UNKNOWN


def _asked(part: ToolReturnPart) -> bool:
    """Whether a result is one of the advisor's tool. A list of complaints is core's, about the call's arguments."""
    if part.tool_name != _TOOL_NAME or part.outcome == 'denied':
        return False
    return not (part.outcome == 'retried' and isinstance(part.content, list))


def _ran(part: object) -> bool:
    """Whether a part is the result of a native consultation that the provider did not refuse."""
    if not isinstance(part, NativeToolReturnPart) or part.tool_name != AdvisorTool.kind:
        return False
    content: object = part.content
    return not isinstance(content, dict) or cast('dict[str, Any]', content).get('error_code') != 'max_uses_exceeded'


def _role(usage: NativeUsage) -> RoleSpend:
    return RoleSpend(
        requests=usage.requests,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd,
    )


def _total(parts: Iterable[RoleSpend]) -> RoleSpend:
    found = list(parts)
    return RoleSpend(
        requests=_sum((part.requests for part in found), 0),
        input_tokens=_sum((part.input_tokens for part in found), 0),
        output_tokens=_sum((part.output_tokens for part in found), 0),
        cost_usd=_sum((part.cost_usd for part in found), Decimal(0)),
    )


def _sum(values: Iterable[_Number | None], start: _Number) -> _Number | None:
    total = start
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _consulted(consultation: Consultation) -> RoleSpend:
    return RoleSpend(
        requests=consultation.requests,
        input_tokens=consultation.input_tokens,
        output_tokens=consultation.output_tokens,
        cost_usd=consultation.cost_usd,
    )


def _note(consultation: Consultation, run_id: str | None) -> dict[str, Any]:
    return {'run_id': run_id, 'call_id': consultation.call_id, **_as_json(_consulted(consultation))}


def _as_json(taken: RoleSpend) -> dict[str, Any]:
    return {
        'requests': taken.requests,
        'input_tokens': taken.input_tokens,
        'output_tokens': taken.output_tokens,
        'cost_usd': None if taken.cost_usd is None else str(taken.cost_usd),
    }


def _from_json(note: object) -> RoleSpend:
    """What a note says. Metadata is anybody's to change: what is no number of ours is unknown."""
    if not isinstance(note, dict):
        return _UNKNOWN
    note = cast('dict[str, Any]', note)
    return RoleSpend(
        requests=_count(note.get('requests')),
        input_tokens=_count(note.get('input_tokens')),
        output_tokens=_count(note.get('output_tokens')),
        cost_usd=_price(note.get('cost_usd')),
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _price(value: object) -> Decimal | None:
    try:
        price = Decimal(value) if isinstance(value, str) else None
    except InvalidOperation:
        return None
    return price if price is not None and price.is_finite() else None


def _responses(messages: Iterable[ModelMessage]) -> Iterator[ModelResponse]:
    return (message for message in messages if isinstance(message, ModelResponse))


def _notes(response: ModelResponse) -> dict[str, Any]:
    notes = (response.metadata or {}).get(METADATA_KEY)
    return cast('dict[str, Any]', notes) if isinstance(notes, dict) else {}


def _local(notes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The notes of local consultations; one that says nothing for each that is no note any more."""
    found: object = notes.get('local', [])
    if not isinstance(found, list):
        return [{}]
    return [cast('dict[str, Any]', note) if isinstance(note, dict) else {} for note in cast('list[object]', found)]


def _with_notes(response: ModelResponse, notes: dict[str, Any]) -> ModelResponse:
    return replace(response, metadata={**(response.metadata or {}), METADATA_KEY: notes})
