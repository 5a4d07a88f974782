"""One answer for identical questions: parallel calls of one executor request that ask the same share a consultation."""

from __future__ import annotations

import anyio

from advisor_harness.advisor.consultation import Answer

__all__ = ['SharedAnswer', 'SharedAnswers']


class SharedAnswer:
    """The answer to one question, given once by the call that asked first."""

    def __init__(self) -> None:
        self._settled = anyio.Event()
        self._answer: Answer | None = None

    def settle(self, answer: Answer | None) -> None:
        """Give the answer, or `None` when the asking call was stopped before it had one."""
        self._answer = answer
        self._settled.set()

    async def wait(self) -> Answer | None:
        """The answer, or `None` when the asking call was stopped: ask again."""
        await self._settled.wait()
        return self._answer


class SharedAnswers:
    """The questions of the current executor request. A later request may get another answer, so it starts afresh."""

    def __init__(self) -> None:
        self._step: int | None = None
        self._by_question: dict[str, SharedAnswer] = {}

    def find(self, step: int, question: str) -> SharedAnswer | None:
        """The answer that `question` already has, or is about to have, in executor request `step`."""
        return self._by_question.get(question) if step == self._step else None

    def open(self, step: int, question: str) -> SharedAnswer:
        """Announce that `question` is being asked; the caller settles what this returns, however the call ends."""
        if step != self._step:
            self._step, self._by_question = step, {}
        return self._by_question.setdefault(question, SharedAnswer())

    def forget(self, step: int, question: str) -> None:
        """Drop a question that got no answer, so that the next call asks it again."""
        if step == self._step:
            self._by_question.pop(question, None)
