"""A durable execution engine in memory: it journals units as JSON, and replays them when a run is made again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_ai.durable_exec import (
    JSON_CODEC,
    BaseDurabilityCapability,
    DurabilityEngineSpec,
    JournalCallableOperationBackend,
    RoleBasedOperationConfig,
)


class Journal:
    """What units returned, in the order in which they started."""

    def __init__(self) -> None:
        self.entries: list[str | None] = []
        self.names: list[str] = []
        self.reversed = False
        """Whether replayed units end in the opposite order of their starts."""
        self._next = 0

    def rewind(self, *, reverse: bool = False) -> None:
        self._next, self.reversed = 0, reverse

    async def unit(self, name: str, body: Callable[[], Awaitable[object]]) -> object:
        position, self._next = self._next, self._next + 1
        if position < len(self.entries) and (entry := self.entries[position]) is not None:
            assert self.names[position] == name, 'the replayed run takes another way'
            for _ in range(5 * (len(self.entries) - position) if self.reversed else 0):
                await asyncio.sleep(0)
            return json.loads(entry)
        if position == len(self.entries):
            self.entries.append(None)
            self.names.append(name)
        result = await body()
        self.entries[position] = json.dumps(result)
        return json.loads(self.entries[position] or '')


class _Backend(JournalCallableOperationBackend[None]):
    def __init__(self, journal: Journal) -> None:
        config = RoleBasedOperationConfig[None](model=None, event=None, capability=None, tool=None)
        super().__init__(agent_name='executor', config=config)
        self._journal = journal

    async def execute(self, *, name: str, body: Any, **rest: Any) -> object:
        return await self._journal.unit(name, body)


class JournalDurability(BaseDurabilityCapability[Any]):
    """The engine's capability; `active` says whether a workflow is running."""

    engine_spec = DurabilityEngineSpec(
        engine_name='Journal', durable_unit_noun='unit', durable_container_noun='workflow', codec=JSON_CODEC
    )

    def __init__(self, journal: Journal, *, active: bool = True) -> None:
        super().__init__()
        self.journal, self.active = journal, active

    @property
    def in_durable_context(self) -> bool:
        return self.active

    def get_durable_operation_backend(self) -> _Backend:
        return _Backend(self.journal)
