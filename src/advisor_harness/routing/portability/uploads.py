"""Fetching what was uploaded to another provider, right before a request: the one step that may wait for something."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ToolReturnPart,
    UploadedFile,
    UserPromptPart,
)

from advisor_harness.routing.portability.files import reads_upload
from advisor_harness.routing.portability.options import Portability, ResolveFile
from advisor_harness.routing.portability.report import PortabilityIssue
from advisor_harness.routing.portability.target import Target

__all__ = ['fetch_uploads']


async def fetch_uploads(
    messages: list[ModelMessage], target: Target, portability: Portability
) -> tuple[list[ModelMessage], list[PortabilityIssue]]:
    """The messages with every file the target has no access to fetched, and what could not be."""
    if portability.resolve_file is None or portability.uploaded_files == 'drop':
        return messages, []
    fetching = _Fetching(target, portability.resolve_file)
    return [await fetching.message(n, message) for n, message in enumerate(messages)], fetching.failed


@dataclass
class _Fetching:
    target: Target
    resolve_file: ResolveFile
    failed: list[PortabilityIssue] = field(default_factory=list[PortabilityIssue])
    fetched: dict[tuple[str, str], BinaryContent | None] = field(
        default_factory=dict[tuple[str, str], BinaryContent | None]
    )
    """By provider and id: a file that is named twice is fetched once."""

    async def message(self, index: int, message: ModelMessage) -> ModelMessage:
        if not isinstance(message, ModelRequest):
            return message
        parts = [await self._part(index, n, part) for n, part in enumerate(message.parts)]
        changed = any(new is not old for new, old in zip(parts, message.parts, strict=True))
        return replace(message, parts=parts) if changed else message

    async def _part(self, index: int, n: int, part: ModelRequestPart) -> ModelRequestPart:
        if not isinstance(part, UserPromptPart | ToolReturnPart):
            return part
        content: Any = part.content
        if isinstance(content, UploadedFile):
            new: Any = await self._item(index, n, content)
            return part if new is content else replace(cast('Any', part), content=new)
        if isinstance(content, str) or not isinstance(content, Sequence):
            return part
        items = cast('Sequence[Any]', content)
        found = [await self._item(index, n, item) for item in items]
        changed = any(new is not old for new, old in zip(found, items, strict=True))
        return replace(cast('Any', part), content=found) if changed else part

    async def _item(self, index: int, n: int, item: Any) -> Any:
        if not isinstance(item, UploadedFile) or reads_upload(item, self.target):
            return item
        key = item.provider_name, item.file_id
        if key not in self.fetched:
            self.fetched[key] = await self._fetch(item)
        if (content := self.fetched[key]) is None:
            detail = f'A file ({item.media_type}) uploaded to {item.provider_name!r} could not be fetched.'
            issue = PortabilityIssue(
                index, n, 'uploaded_file', item.provider_name, self.target.identity, 'raise', detail
            )
            self.failed.append(issue)
            return item
        return content

    async def _fetch(self, file: UploadedFile) -> BinaryContent | None:
        found = self.resolve_file(file)
        return await found if inspect.isawaitable(found) else found
