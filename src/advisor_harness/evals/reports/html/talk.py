"""The conversation of a case as turns that people read: who says what, and what came of asking the advisor."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from advisor_harness.evals.reports.words import clip
from advisor_harness.telemetry import conventions as names

__all__ = ['LONGEST_TURN', 'MOST_TURNS', 'Consulted', 'Turn', 'consulted', 'turns']

MOST_TURNS = 80
"""Most turns of one case: what follows is counted."""

LONGEST_TURN = 4_000
"""Most characters of one turn."""

_ADVISOR_TOOL = 'advisor'
_SPEAKERS = {
    'system-prompt': 'System',
    'user-prompt': 'User',
    'text': 'Model',
    'thinking': 'Thinking',
    'tool-call': 'Tool call',
    'tool-return': 'Tool result',
    'retry-prompt': 'Retry',
    'builtin-tool-call': 'Tool call of the provider',
    'builtin-tool-return': 'Tool result of the provider',
    'native-tool-call': 'Tool call of the provider',
    'native-tool-return': 'Tool result of the provider',
    'file': 'File',
    'compaction': 'Compaction',
}

Kind = Literal['user', 'model', 'tool', 'advice', 'aside']


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One thing that was said."""

    kind: Kind
    speaker: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Consulted:
    """One consultation as its span tells it."""

    outcome: str
    path: str
    model: str
    tokens: str
    """Input and output tokens of the advisor; empty when the span has none."""


def turns(messages: Sequence[Any]) -> list[Turn]:
    """The parts of pydantic-ai's messages, as JSON, in order; instructions stand where they change."""
    found: list[Turn] = []
    instructions = None
    for message in messages:
        if (given := message.get('instructions')) and given != instructions:
            found.append(_turn('aside', 'Instructions', given))
            instructions = given
        found += (_of_part(part) for part in message.get('parts', ()))
    return found


def consulted(spans: Sequence[Mapping[str, Any]]) -> Iterator[Consulted]:
    """Every consultation that the spans of a case, as JSON, tell of."""
    for span in spans:
        if span['name'] == names.CONSULT_ADVISOR:
            facts = span['attributes']
            used = (facts.get(names.ADVISOR_USAGE_INPUT_TOKENS), facts.get(names.ADVISOR_USAGE_OUTPUT_TOKENS))
            yield Consulted(
                outcome=str(facts.get(names.ADVISOR_CONSULTATION_OUTCOME, 'unknown')),
                path=str(facts.get(names.ADVISOR_CONSULTATION_PATH, 'unknown')),
                model=str(facts.get(names.ADVISOR_MODEL, 'unknown')),
                tokens='' if None in used else f'{used[0]} in, {used[1]} out',
            )


def _of_part(part: Mapping[str, Any]) -> Turn:
    kind = str(part.get('part_kind'))
    speaker = _SPEAKERS.get(kind, kind)
    tool = part.get('tool_name')
    if kind.endswith('tool-call'):
        advisor = tool == _ADVISOR_TOOL
        return _turn('advice' if advisor else 'tool', _named(speaker, tool, 'Asks the advisor'), part.get('args'))
    if kind.endswith('tool-return') or (kind == 'retry-prompt' and tool is not None):
        advised = tool == _ADVISOR_TOOL and kind != 'retry-prompt'
        return _turn('advice' if advised else 'tool', _named(speaker, tool, 'Advice'), part.get('content'))
    role: dict[str, Kind] = {'user-prompt': 'user', 'text': 'model'}
    return _turn(role.get(kind, 'aside'), speaker, part.get('content'))


def _named(speaker: str, tool: Any, for_advisor: str) -> str:
    if tool == _ADVISOR_TOOL and speaker != 'Retry':
        return for_advisor
    return f'{speaker}: {tool}'


def _turn(kind: Kind, speaker: str, content: Any) -> Turn:
    return Turn(kind=kind, speaker=speaker, text=clip(_text(content), LONGEST_TURN))


def _text(content: Any) -> str:
    if content is None:
        return '(nothing that can be read)'
    if isinstance(content, str):
        return _pretty(content)
    if isinstance(content, dict):
        only = list(cast('dict[str, Any]', content).items())
        if len(only) == 1 and only[0][0] == 'prompt' and isinstance(only[0][1], str):
            return only[0][1]
    return json.dumps(content, ensure_ascii=False, indent=2)


def _pretty(text: str) -> str:
    """`text`, where it is the JSON of arguments the arguments themselves."""
    if not text.startswith('{'):
        return text
    try:
        return _text(json.loads(text))
    except ValueError:
        return text
