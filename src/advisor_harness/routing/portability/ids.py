"""Ids of tool calls that the target's API accepts, the same for a call and its result, in every turn."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, cast

from pydantic_ai.messages import ModelRequest, ModelRequestPart, ModelResponse, ModelResponsePart, ToolCallPart

from advisor_harness.routing.portability.draft import Draft, Entry
from advisor_harness.routing.portability.target import IdRule

__all__ = ['fit_tool_call_ids', 'fitting_id']

_ALPHABET = string.digits + string.ascii_letters
_PREFIX = 'call_'
_DIGEST_LENGTH = 32


def fitting_id(call_id: str, rule: IdRule, *, time: int = 1) -> str:
    """An id that `rule` accepts. It depends on `call_id` and the `time` it is given alone: others get another one."""
    data = call_id.encode(errors='surrogatepass')
    if time > 1:
        data += b'\xff%d' % time  # no byte of UTF-8, so that it cannot stand in an id
    digest = sha256(data).digest()
    if rule.exact:
        return _base62(digest, rule.max_length)
    return (_PREFIX + digest.hex()[:_DIGEST_LENGTH])[: rule.max_length]


def fit_tool_call_ids(draft: Draft) -> None:
    """Rename the ids of calls that the target refuses, and those of their results with them.

    An id that an earlier call already has is one of these, unless the target's place gave it: providers that count
    within a response repeat theirs, and others refuse that.
    """
    if (rule := draft.target.id_rule) is None:
        return
    renaming = _Renaming(draft, rule)
    draft.entries = [renaming.rewrite(entry) for entry in draft.entries]


@dataclass
class _Renaming:
    draft: Draft
    rule: IdRule
    given: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What each id stands for at this point of the history: of calls in one response that share one, each in turn."""
    times: Counter[str] = field(default_factory=Counter[str])

    def rewrite(self, entry: Entry) -> Entry:
        message = entry.message
        if isinstance(message, ModelResponse):
            for part in message.tool_calls:
                self.given[part.tool_call_id] = []
            parts = [self._call(entry, n, part) for n, part in enumerate(message.parts)]
            return _with_parts(entry, message, parts)
        return _with_parts(entry, message, [self._answer(part) for part in message.parts])

    def _call(self, entry: Entry, n: int, part: ModelResponsePart) -> ModelResponsePart:
        if not isinstance(part, ToolCallPart):
            return part
        old = part.tool_call_id
        self.times[old] += 1
        repeated = self.times[old] > 1 and not entry.own
        if not repeated and self._accepts(entry, old):
            self.given[old].append(old)
            return part
        new = fitting_id(old, self.rule, time=self.times[old] if repeated else 1)
        self.given[old].append(new)
        action = self.draft.portability.tool_call_ids
        self.draft.report(entry, n, 'tool_call_id', action, f'The id of a call of tool {part.tool_name!r} is renamed.')
        return replace(part, tool_call_id=new)

    def _accepts(self, entry: Entry, call_id: str) -> bool:
        # OpenAI's Responses adapter takes such an id apart itself.
        joined = entry.own and self.draft.target.family == 'responses' and '|' in call_id
        return joined or self.rule.accepts(call_id, own=entry.own)

    def _answer(self, part: ModelRequestPart) -> ModelRequestPart:
        old = cast('str | None', getattr(part, 'tool_call_id', None))
        names = self.given.get(old) if old is not None else None
        if not names:
            return part
        # Results come in the order of their calls; the last name stays for a result that comes twice.
        new = names.pop(0) if len(names) > 1 else names[0]
        return part if new == old else replace(cast('Any', part), tool_call_id=new)


def _with_parts(entry: Entry, message: ModelRequest | ModelResponse, parts: Sequence[Any]) -> Entry:
    if all(new is old for new, old in zip(parts, message.parts, strict=True)):
        return entry
    return entry.rewritten(replace(message, parts=list(parts)))


def _base62(digest: bytes, length: int) -> str:
    number, letters = int.from_bytes(digest), ''
    for _ in range(length):
        number, index = divmod(number, len(_ALPHABET))
        letters += _ALPHABET[index]
    return letters
