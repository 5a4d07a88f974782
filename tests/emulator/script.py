"""What the emulated providers answer: scripts, in YAML or as dictionaries, and their rules.

A script is a name and a list of conversations. A conversation says which requests it answers (`when`) and what it
replies, one reply per turn:

    name: demo
    conversations:
      - name: executor
        when: {model: gpt-4o-mini, user: 'Ship it?'}
        replies:
          - tool_calls: [{name: advisor, args: {prompt: 'Is it safe to ship?'}}]
          - text: Ship it on Monday.
      - name: advisor
        when: {model: claude-opus-4-8, lacks: [advisor]}
        replies: [{text: 'Not on a Friday.'}]

**Which conversation.** `when` needs at least one of `model` (exact), `api` (`anthropic`, `openai-chat`,
`openai-responses`, `openrouter`), `user` and `system` (substrings of one user text, of the system prompt), `offers` and
`lacks` (names of tools that the request offers or does not; the server tools are `advisor` and `openrouter:advisor`).
The newest user text that some conversation names in `user` decides; of several names the longest, then the first in the
script. Conversations without `user` come last and start where the request starts.

**Which reply.** The number of assistant turns since that user text. A paused turn and its continuations are one turn
for the client, and a complaint about an empty answer counts as a turn, because clients drop empty answers. With
`repeat: true` the last reply answers every later turn. So the answer is a function of the script and of the request
alone: nothing is remembered, and concurrent, repeated and re-recorded requests get equal answers, byte for byte.

**Replies.** One of these forms, each with optional `fault`:

    - text: Paris.                       # content, in this order: thinking, advice, text, tool_calls
      thinking: 'A simple one.'
      tool_calls: [{name: lookup, args: {q: a}}, {name: lookup, args: '{"q": "b"}', id: call_2}]
    - parts:                             # content in any order
        - thinking: 'Hm.'
        - redacted_thinking: blob
        - text: I will ask.
        - advice: {text: 'Say 4.'}       # `{redacted: blob}`, `{error: overloaded}`, `truncated: true`
        - text: The answer is 4.
    - parts: [{text: Wait.}, {pending_advice: true}]           # ends in `pause_turn`; with a tool call in `tool_use`;
                                                               # the next `advice` answers the pending call
    - error: 429                         # or `context_window`, `quota`, or a mapping: {status: 529, retry_after: 1}
    - raw: {body: '<html>busy</html>', content_type: text/html, status: 502}
    - attempts: [{error: 500}, {text: Ok.}]                    # by the SDK's own retry count; the last one repeats

Content takes `stop_reason` (the provider's own word), `model` (the served name, default the requested one), `usage`
(`input_tokens`, `output_tokens`, `thinking_tokens`, `cached_tokens`; default: estimated) and `cost_usd` (OpenRouter).
Advice takes `usage` (Anthropic) and `cost_usd` (OpenRouter) of its own.

**Faults.** `fault: {...}` with any of `delay_s` (before the first byte, at most 30), `drip_s` (after each unit, at most
5), `cut_after: n` (the connection breaks after n units), `end_after: n` (the body ends early but cleanly),
`reset: true` (the connection is reset before any byte; needs no content), `error_after: n` with `error` (the stream
reports an error after n events), `malformed: true`, `content_type`, `gzip: true`. A unit is an event of a stream, or 32
bytes of any other body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator

Api = Literal['anthropic', 'openai-chat', 'openai-responses', 'openrouter']
ErrorKind = Literal['context_window', 'quota']

ADVISOR_ERRORS = (
    'max_uses_exceeded',
    'too_many_requests',
    'overloaded',
    'prompt_too_long',
    'execution_time_exceeded',
    'model_not_found',
    'unavailable',
)
"""The documented codes of a failed Anthropic consultation; a script may use others, as the provider may."""


class ScriptError(ValueError):
    """A script that breaks a rule; the message has one line for each rule broken, with the place in the script."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra='forbid', frozen=True)


class Usage(_Strict):
    """Token counts to report; what is `None` is estimated from the texts."""

    input_tokens: int | None = Field(default=None, ge=0)
    """Tokens read that were not cached (Anthropic), or all tokens read (the others)."""
    output_tokens: int | None = Field(default=None, ge=0)
    """Tokens written, thinking included."""
    thinking_tokens: int | None = Field(default=None, ge=0)
    cached_tokens: int = Field(default=0, ge=0)


class ToolCall(_Strict):
    """A call of one of the client's own tools."""

    name: str = Field(min_length=1)
    args: dict[str, JsonValue] | str = {}
    """Arguments; a string is sent as it is, also when it is not JSON (Anthropic sends objects only)."""
    id: str | None = None
    """Call id; `None` derives one."""


class Advice(_Strict):
    """One consultation by the provider's server tool. Exactly one of `text`, `redacted` and `error`."""

    text: str | None = None
    redacted: str | None = None
    """The encrypted advice, sent as given."""
    error: str | None = None
    """Why it failed: one of `ADVISOR_ERRORS`, or any other word."""
    truncated: bool = False
    """The advice stops at the tool's `max_tokens`, and the text says so."""
    usage: Usage | None = None
    cost_usd: float | None = Field(default=None, ge=0)
    """US dollars (OpenRouter); `None` derives them from the tokens."""

    @model_validator(mode='after')
    def _one_outcome(self) -> Advice:
        given = [name for name in ('text', 'redacted', 'error') if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f'needs exactly one of `text`, `redacted`, `error`; got {_names(given)}')
        if self.truncated and self.error is not None:
            raise ValueError('`truncated` needs `text` or `redacted`: a failed consultation has nothing to cut')
        return self


class Part(_Strict):
    """One piece of an answer, in order. Exactly one field."""

    text: str | None = None
    thinking: str | None = None
    redacted_thinking: str | None = None
    advice: Advice | None = None
    pending_advice: Literal[True] | None = None
    """The advisor was called, and its answer comes with the next response."""
    tool_call: ToolCall | None = None

    @model_validator(mode='after')
    def _one_field(self) -> Part:
        if len(self.model_fields_set) != 1 or getattr(self, self.kind) is None:
            raise ValueError(
                f'needs exactly one of {_names(type(self).model_fields)}; got {_names(self.model_fields_set)}'
            )
        return self

    @property
    def kind(self) -> str:
        """Which field is set."""
        return next(iter(self.model_fields_set))


class Error(_Strict):
    """An error response in the shape of the provider that is asked."""

    status: int | None = Field(default=None, ge=400, le=599)
    """HTTP status; `None` takes the one that the provider uses for `kind`."""
    kind: ErrorKind | None = None
    """A cause that providers report with a status and words of their own."""
    message: str | None = None
    type: str | None = None
    code: str | None = None
    retry_after: float | str | None = None
    """Header `retry-after`: seconds or an HTTP date."""
    retry_after_ms: int | None = Field(default=None, ge=0)
    should_retry: bool | None = None
    """Header `x-should-retry`."""
    http_status: int | None = Field(default=None, ge=200, le=599)
    """Status line, where it differs: OpenRouter reports errors of its providers with 200."""

    @model_validator(mode='before')
    @classmethod
    def _expand(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return {'status': value}
        return {'kind': value} if isinstance(value, str) else value

    @model_validator(mode='after')
    def _some_cause(self) -> Error:
        if self.status is None and self.kind is None:
            raise ValueError('needs `status` or `kind`')
        return self


class Raw(_Strict):
    """A response sent as given, whatever the provider would say."""

    body: str
    content_type: str = 'application/json'
    status: int = Field(default=200, ge=200, le=599)


class Fault(_Strict):
    """What goes wrong on the way to the client."""

    delay_s: float = Field(default=0, ge=0, le=30)
    drip_s: float = Field(default=0, ge=0, le=5)
    cut_after: int | None = Field(default=None, ge=0)
    end_after: int | None = Field(default=None, ge=0)
    error_after: int | None = Field(default=None, ge=0)
    error: Error | None = None
    reset: bool = False
    malformed: bool = False
    content_type: str | None = None
    gzip: bool = False

    @model_validator(mode='after')
    def _one_end(self) -> Fault:
        ends = [name for name in ('cut_after', 'end_after', 'error_after') if getattr(self, name) is not None]
        if self.reset:
            ends.append('reset')
        if len(ends) > 1:
            raise ValueError(f'a response ends in one way only; got {_names(ends)}')
        if (self.error_after is None) != (self.error is None):
            raise ValueError('`error_after` and `error` come together: where the stream breaks, and with what')
        return self


class Reply(_Strict):
    """One answer: content (the shorthand fields or `parts`), `error`, `raw`, `attempts`, or a reset without content."""

    thinking: str | None = None
    advice: Sequence[Advice] = ()
    text: str | None = None
    tool_calls: Sequence[ToolCall] = ()
    parts: Sequence[Part] | None = None
    error: Error | None = None
    raw: Raw | None = None
    attempts: Sequence[Reply] = ()

    stop_reason: str | None = None
    model: str | None = None
    usage: Usage = Usage()
    cost_usd: float | None = Field(default=None, ge=0)
    fault: Fault = Fault()

    @field_validator('advice', mode='before')
    @classmethod
    def _several(cls, value: Any) -> Any:
        return [value] if isinstance(value, Mapping | Advice) else value

    @model_validator(mode='after')
    def _one_form(self) -> Reply:
        shorthand = {'thinking', 'advice', 'text', 'tool_calls'} & self.model_fields_set
        forms = sorted({'parts', 'error', 'raw', 'attempts'} & self.model_fields_set)
        if len(forms) + bool(shorthand) > 1:
            raise ValueError(f'takes one form; got {_names([*sorted(shorthand), *forms])}')
        if not forms and not shorthand and not self.fault.reset:
            raise ValueError(
                'says nothing: give content, `parts`, `error`, `raw`, `attempts` or `fault: {reset: true}`'
            )
        if self.fault.error_after is not None and (self.error or self.raw or self.attempts):
            raise ValueError('`fault.error_after` needs content to break off')
        if not self.is_turn and (extra := {'stop_reason', 'model', 'usage', 'cost_usd'} & self.model_fields_set):
            raise ValueError(f'{_names(sorted(extra))} need content to describe')
        if any(attempt.attempts for attempt in self.attempts):
            raise ValueError('attempts have no attempts of their own')
        if self.stop_reason == 'pause_turn' and not any(p.kind in ('advice', 'pending_advice') for p in self.content):
            raise ValueError('a paused turn needs `advice` or `pending_advice`, so that its continuation is recognised')
        return self

    @property
    def content(self) -> tuple[Part, ...]:
        """The parts of the answer, in order, whichever way they were written."""
        if self.parts is not None:
            return tuple(self.parts)
        return (
            *([Part(thinking=self.thinking)] if self.thinking is not None else []),
            *(Part(advice=advice) for advice in self.advice),
            *([Part(text=self.text)] if self.text is not None else []),
            *(Part(tool_call=call) for call in self.tool_calls),
        )

    @property
    def is_turn(self) -> bool:
        """Whether the client gets content, so that its next request has this answer in its history."""
        if self.attempts:
            return self.attempts[-1].is_turn
        return self.error is None and self.raw is None and not self.fault.reset

    @property
    def pauses(self) -> bool:
        """Whether the turn goes on in the next response (Anthropic `pause_turn`)."""
        if self.attempts:
            return self.attempts[-1].pauses
        if self.stop_reason is not None:
            return self.stop_reason == 'pause_turn'
        kinds = {part.kind for part in self.content}
        return 'pending_advice' in kinds and 'tool_call' not in kinds

    def attempt(self, number: int) -> Reply:
        """What attempt `number` of the SDK, from 0, gets."""
        return self.attempts[min(number, len(self.attempts) - 1)] if self.attempts else self


class When(_Strict):
    """Which requests a conversation answers; every field that is given must hold."""

    model: str | None = None
    api: Api | None = None
    user: str | None = None
    system: str | None = None
    offers: Sequence[str] = ()
    lacks: Sequence[str] = ()

    @model_validator(mode='after')
    def _not_empty(self) -> When:
        if not self.model_fields_set:
            raise ValueError(f'answers nothing in particular: give at least one of {_names(type(self).model_fields)}')
        return self


class Conversation(_Strict):
    """The replies to one kind of request, in order."""

    name: str = Field(min_length=1)
    when: When
    replies: Sequence[Reply] = Field(min_length=1)
    repeat: bool = False

    @model_validator(mode='after')
    def _reachable(self) -> Conversation:
        for number, reply in enumerate(self.replies[:-1]):
            if not reply.is_turn:
                raise ValueError(
                    f'reply {number} leaves no turn in the history, so nothing after it is ever sent;'
                    ' put it last, or use `attempts` for retries of the same request'
                )
        return self


class Script(_Strict):
    """A name, from which ids are derived, and the conversations."""

    name: str = Field(min_length=1)
    conversations: Sequence[Conversation] = Field(min_length=1)

    @model_validator(mode='after')
    def _distinct(self) -> Script:
        names = [conversation.name for conversation in self.conversations]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f'conversation names must differ; {_names(twice)} used more than once')
        return self


def load_script(source: Script | Mapping[str, Any] | str | Path) -> Script:
    """Read a script and check it.

    Args:
        source: A script, a dictionary, or the path of a YAML file.

    Raises:
        ScriptError: With every problem found, one a line.
    """
    if isinstance(source, Script):
        return source
    where, data = ('script', source) if isinstance(source, Mapping) else (str(source), _read_yaml(Path(source)))
    try:
        return Script.model_validate(data)
    except ValidationError as e:
        problems = [f'  {_place(error["loc"])}: {error["msg"].removeprefix("Value error, ")}' for error in e.errors()]
        raise ScriptError('\n'.join([f'{where} is not a valid emulator script:', *problems])) from e


def _read_yaml(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding='utf-8'))
    except yaml.YAMLError as e:
        raise ScriptError(f'{path} is not valid YAML: {e}') from e


def _place(loc: tuple[int | str, ...]) -> str:
    text = ''.join(f'[{step}]' if isinstance(step, int) else f'.{step}' for step in loc)
    return text.removeprefix('.') or 'script'


def _names(names: Any) -> str:
    return ', '.join(f'`{name}`' for name in names) or 'none'
