"""What to do with the parts of a history that another model cannot read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from pydantic_ai.messages import BinaryContent, UploadedFile

__all__ = ['Action', 'Portability', 'ResolveFile']

Action = Literal['convert', 'drop', 'raise']
"""`convert` keeps what can be kept, in a form the model reads; `drop` leaves the part out; `raise` sends nothing."""

ResolveFile = Callable[[UploadedFile], 'BinaryContent | Awaitable[BinaryContent | None] | None']
"""Fetches what was uploaded to a provider. `None` says that it cannot be had, and the request is refused."""


@dataclass(frozen=True, kw_only=True)
class Portability:
    """What becomes of the parts of a history that the next model cannot read, kind by kind.

    Nothing is ever left out unseen: whatever is done is an issue of the `PortabilityReport`.
    """

    thinking: Action = 'convert'
    """Thinking of another place. Converted, its text stays as text; signatures and encrypted thinking are left out."""
    native_tools: Action = 'convert'
    """Calls and results of tools that a provider ran itself. Converted, they stay as text; so does advice."""
    model_files: Action = 'convert'
    """Files a model made. Converted, an image is shown to the model by the user's next turn; another file is named."""
    uploaded_files: Action = 'raise'
    """Files that were uploaded to another provider. With `resolve_file` they are fetched, unless they are dropped."""
    media: Action = 'raise'
    """Images, audio, video and documents the model cannot read. Converted, a note names the file."""
    compaction: Action = 'convert'
    """Summaries that a provider wrote in place of older messages. Converted, a readable one takes their place; an
    unreadable one is left out, and the older messages are sent. If there are none, nothing is sent, whatever this says.
    """
    server_state: Action = 'raise'
    """Conversations and turns that a provider holds and these messages do not. Only `drop` sends a request without
    them, and only if the messages hold earlier turns of their own; `convert` does what `raise` does."""
    tool_call_ids: Literal['convert', 'raise'] = 'convert'
    """Ids of tool calls that the model's API refuses. Converted, call and result get the same new id."""
    context_window: Action = 'raise'
    """A history that is known to be too long for the model. Only `drop` sends it all the same, without the check;
    `convert` does what `raise` does."""
    resolve_file: ResolveFile | None = None
    """Fetches an uploaded file, sync or async, once per request and file; `None` fetches none."""

    def __post_init__(self) -> None:
        for option in fields(self):
            value: Any = getattr(self, option.name)
            if option.name == 'resolve_file':
                _check_callable(value)
            else:
                _check_action(option.name, value)


def _check_action(option: str, value: Any) -> None:
    allowed = ('convert', 'raise') if option == 'tool_call_ids' else get_args(Action)
    if not isinstance(value, str):
        raise TypeError(f'`Portability.{option}` must be text; got {value!r}.')
    if value not in allowed:
        words = ' or '.join(repr(word) for word in allowed)
        raise ValueError(f'`Portability.{option}` must be {words}; got {value!r}.')


def _check_callable(value: Any) -> None:
    if value is not None and not callable(value):
        raise TypeError(f'`Portability.resolve_file` must be callable; got {value!r}.')
