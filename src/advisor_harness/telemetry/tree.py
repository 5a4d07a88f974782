"""A span tree as text that stays the same from run to run."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal, cast

from advisor_harness.telemetry.conventions import LOGFIRE_MSG, SPAN_ATTRIBUTES
from advisor_harness.telemetry.spans import finished

if TYPE_CHECKING:
    from advisor_harness.telemetry.spans import SpanSource, SpanView

__all__ = ['render']

_OWN: Final = re.compile(
    r'(advisor|model_routing)\..+'
    r'|gen_ai\.(agent\.name|operation\.name|provider\.name|request\.model|tool\.name|tool\.call\.id)'
    r'|error\.type|logfire\.(msg|level_num)'
)
# Repeats of other attributes, places in the source, times, and what Logfire's SDK notes for its own use.
_NOISE: Final = re.compile(
    r'logfire\.(json_schema|metrics|span_type|msg_template)|baggage_conflict\..+|code\..+|.+\.time_to_first_chunk'
)
_GENERATED_ID: Final = re.compile(r'pyd_ai_[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}')
_NEEDS_QUOTES: Final = re.compile(r'^$|[\s,={}\[\]"]')
_TOOL: Final = 'execute_tool '


def render(
    spans: SpanSource,
    *,
    attributes: Literal['own', 'all', 'none', 'messages'] = 'own',
    width: int | None = None,
) -> str:
    """The spans as an indented tree, a line each: `name [KIND, STATUS] {key=value, ...}`.

    Children follow their parent in the order of their starts, but tool calls that follow each other are in the order of
    their call ids, as parallel calls start in any order. Times are left out, and generated ids are numbered in the
    order in which they appear. A status that is unset is left out, and so is a kind that the source does not keep.

    Args:
        spans: A pydantic-evals `SpanTree`, or any spans that `read` takes.
        attributes: `own` prints what this package emits and a few names that tell the other spans apart, so that a
            release of pydantic-ai does not change the text; `all` prints everything but noise, content included; `none`
            prints names only; `messages` prints, for people, the message of each own span in place of its name and
            attributes, and no kinds.
        width: Characters of a line; where the attributes of a span do not fit, each gets a line of its own below it.
            `None` keeps them on the line.
    """
    ordered = finished(spans)
    known = {(span.trace_id, span.span_id) for span in ordered}
    children: dict[tuple[int, int] | None, list[SpanView]] = defaultdict(list)
    for span in ordered:
        parent = None if span.parent_id is None else (span.trace_id, span.parent_id)
        children[parent if parent in known else None].append(span)
    ids: dict[str, str] = {}
    return '\n'.join(
        _line('  ' * depth, _heading(span, attributes), _shown(span, attributes, ids), width)
        for depth, span in _walk(children)
    )


def _line(indent: str, heading: str, attributes: list[str], width: int | None) -> str:
    line = f'{indent}{heading}' + (f' {{{", ".join(attributes)}}}' if attributes else '')
    if width is None or len(line) <= width:
        return line
    return '\n'.join([f'{indent}{heading}', *(f'{indent}    {each}' for each in attributes)])


def _walk(children: dict[tuple[int, int] | None, list[SpanView]]) -> Iterator[tuple[int, SpanView]]:
    stack = [(0, span) for span in reversed(_stable(children[None]))]
    while stack:
        depth, span = stack.pop()
        yield depth, span
        below = _stable(children[span.trace_id, span.span_id])
        stack += [(depth + 1, child) for child in reversed(below)]


def _stable(siblings: list[SpanView]) -> list[SpanView]:
    result: list[SpanView] = []
    for is_tool, group in groupby(siblings, key=lambda span: span.name.startswith(_TOOL)):
        members = list(group)
        result += sorted(members, key=_call_id) if is_tool else members
    return result


def _call_id(span: SpanView) -> str:
    call_id = str(span.attributes.get('gen_ai.tool.call.id', ''))
    return '' if _GENERATED_ID.fullmatch(call_id) else call_id  # a generated id is in no order: keep that of the starts


def _heading(span: SpanView, which: str) -> str:
    for_people = which == 'messages'
    marks = ['' if for_people else span.kind or '', '' if span.status == 'unset' else span.status]
    shown = ', '.join(mark.upper() for mark in marks if mark)
    message = span.attributes.get(LOGFIRE_MSG) if for_people and span.name in SPAN_ATTRIBUTES else None
    return f'{message or span.name} [{shown}]' if shown else str(message or span.name)


def _shown(span: SpanView, which: str, ids: dict[str, str]) -> list[str]:
    if which in ('none', 'messages'):
        return []
    return [
        f'{key}={_text(value, ids)}' for key, value in sorted(span.attributes.items()) if _is_shown(span, key, which)
    ]


def _is_shown(span: SpanView, key: str, which: str) -> bool:
    if which == 'all':
        return not _NOISE.fullmatch(key)
    # The wording of the other spans' messages is pydantic-ai's to change.
    return bool(_OWN.fullmatch(key)) and (not key.startswith('logfire.') or span.name in SPAN_ATTRIBUTES)


def _text(value: object, ids: dict[str, str]) -> str:
    if isinstance(value, tuple):
        return f'[{", ".join(_text(item, ids) for item in cast("tuple[object, ...]", value))}]'
    if not isinstance(value, str):
        return json.dumps(value)
    named = _GENERATED_ID.sub(lambda match: ids.setdefault(match[0], f'id-{len(ids) + 1}'), value)
    return json.dumps(named, ensure_ascii=False) if _NEEDS_QUOTES.search(named) else named
