"""Which reply of which script answers a request: a function of the two, with no memory."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .requests import ProviderRequest, Turn
from .script import Conversation, Reply, Script, When

CREATED = 1_767_225_600
"""The time of every response: 2026-01-01, in seconds since the epoch, so that recordings do not change between runs."""


class NoReply(Exception):
    """The script has no answer to a request, or one that this provider cannot express."""


@dataclass(frozen=True)
class Answer:
    """A reply, and what its rendering depends on."""

    request: ProviderRequest
    reply: Reply
    seed: str
    """Script, conversation, user text and step: equal seeds give equal ids."""

    @property
    def model(self) -> str:
        """The model that claims to have answered."""
        return self.reply.model or self.request.model

    def id(self, prefix: str, *labels: object, length: int = 24) -> str:
        """An id that looks like the provider's and is the same in every run."""
        text = base64.b64encode(self._digest(prefix, *labels, size=length)).decode()
        return prefix + re.sub('[^0-9A-Za-z]', '0', text)[:length]

    def hex_id(self, prefix: str, *labels: object, length: int = 48) -> str:
        """As `id`, in hexadecimal digits."""
        return prefix + self._digest(prefix, *labels, size=length).hex()[:length]

    def blob(self, *labels: object, size: int = 96) -> str:
        """Something that looks like a signature or encrypted content."""
        return base64.b64encode(self._digest('blob', *labels, size=size)).decode()

    def _digest(self, *labels: object, size: int) -> bytes:
        return hashlib.shake_256('\0'.join([self.seed, *map(str, labels)]).encode()).digest(size)


def choose(scripts: Sequence[Script], request: ProviderRequest) -> Answer:
    """Find the answer to a request.

    Raises:
        NoReply: If no conversation answers it, or the conversation is over.
    """
    candidates = [(script, c) for script in scripts for c in script.conversations if _fits(c.when, request)]
    script, conversation, start = _conversation(candidates, request, scripts)
    step = _step(conversation, request.turns[start + 1 :])
    if step is None:
        replies = len(conversation.replies)
        raise NoReply(
            f'conversation {conversation.name!r} of script {script.name!r} is over after {replies} replies, and '
            f'{_describe(request)} asks for one more; add a reply, or `repeat: true`'
        )
    spoken = ''.join(request.turns[start].texts) if start >= 0 else ''
    seed = '\0'.join([script.name, conversation.name, spoken, str(step)])
    return Answer(request, conversation.replies[step].attempt(request.attempt), seed)


def _conversation(
    candidates: Sequence[tuple[Script, Conversation]], request: ProviderRequest, scripts: Sequence[Script]
) -> tuple[Script, Conversation, int]:
    named = [(script, c, c.when.user) for script, c in candidates if c.when.user is not None]
    for index in reversed(range(len(request.turns))):
        if hits := [(s, c, user) for s, c, user in named if _says(request.turns[index], user)]:
            # The longest name, so that the text of `case-10` is not answered by `case-1`.
            script, conversation, _ = max(hits, key=lambda hit: len(hit[2]))
            return script, conversation, index
    for script, conversation in candidates:
        if conversation.when.user is None:
            first = next((i for i, turn in enumerate(request.turns) if turn.role == 'user'), -1)
            return script, conversation, first
    names = ', '.join(c.name for script in scripts for c in script.conversations)
    raise NoReply(f'no conversation answers {_describe(request)}; there are: {names}')


def _fits(when: When, request: ProviderRequest) -> bool:
    return (
        when.model in (None, request.model)
        and when.api in (None, request.api)
        and (when.system is None or when.system in request.system)
        and request.tools.issuperset(when.offers)
        and request.tools.isdisjoint(when.lacks)
    )


def _says(turn: Turn, user: str) -> bool:
    return turn.role == 'user' and any(user in text for text in turn.texts)


def _step(conversation: Conversation, turns: Sequence[Turn]) -> int | None:
    """The index of the reply that is due after `turns`, or `None` if there is none left."""
    replies = conversation.replies
    runs = _runs(replies)
    answered = _answered(turns)
    if turns and turns[-1].role == 'assistant' and answered <= len(runs) and len(runs[answered - 1]) > 1:
        return _continuation(replies, runs[answered - 1], turns[-1].consultations)
    if answered < len(runs):
        return runs[answered][0]
    return len(replies) - 1 if conversation.repeat else None


def _continuation(replies: Sequence[Reply], run: Sequence[int], consultations: int) -> int | None:
    """The reply of a paused turn that is due when the client sends back so many consultations."""
    for position in range(1, len(run)):
        if _consultations([replies[index] for index in run[:position]]) == consultations:
            return run[position]
    return None


def _answered(turns: Sequence[Turn]) -> int:
    """How many turns were answered, those included whose empty answer the client left out of the history."""
    roles = ['user', *(turn.role for turn in turns)]
    return roles.count('assistant') + sum(
        role == 'feedback' and before != 'assistant' for before, role in pairwise(roles)
    )


def _runs(replies: Sequence[Reply]) -> list[list[int]]:
    """The replies, by index, that are one turn for the client: paused ones together with their continuation."""
    runs: list[list[int]] = [[]]
    for index, reply in enumerate(replies):
        runs[-1].append(index)
        if not reply.pauses:
            runs.append([])
    return [run for run in runs if run]


def _consultations(replies: Sequence[Reply]) -> int:
    """How many calls of the advisor a turn holds; an answer to a pending call is not another call."""
    calls = pending = 0
    for part in (part for reply in replies for part in reply.attempt(-1).content):
        if part.kind == 'pending_advice':
            calls, pending = calls + 1, pending + 1
        elif part.kind == 'advice':
            calls, pending = (calls, pending - 1) if pending else (calls + 1, 0)
    return calls


def _describe(request: ProviderRequest) -> str:
    spoken = [text for turn in request.turns if turn.role == 'user' for text in turn.texts]
    tools = ', '.join(sorted(request.tools)) or 'none'
    last = f'{spoken[-1]:.80}' if spoken else ''
    return f'the {request.api} request to {request.model!r} (tools: {tools}; newest user text: {last!r})'
