"""The tables of docs/portability.md say what the code does, and every defect has its test."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    BinaryImage,
    CompactionPart,
    FilePart,
    ModelMessage,
    ModelRequest,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
)

from advisor_harness import Portability
from advisor_harness.routing.portability import Kind, explain
from tests.routing.portability.wire import TARGETS, Wire, answered, asked, installed

ROOT = Path(__file__).parents[3]
DOCS = ROOT / 'docs' / 'portability.md'
WORDS = {'convert': 'converted', 'drop': 'left out', 'raise': 'refused'}


def call(call_id: str) -> list[ModelMessage]:
    results = ModelRequest(parts=[ToolReturnPart('f', 'ok', call_id)])
    return [asked('q'), answered('x', ToolCallPart('f', {}, call_id)), results]


def turn(*parts: Any) -> list[ModelMessage]:
    return [asked('q'), answered('x', *parts, TextPart('hi'))]


def file(media_type: str) -> list[ModelMessage]:
    return [asked('read', BinaryContent(b'...', media_type=media_type))]


OPAQUE: Any = {'provider_name': 'x', 'provider_details': {'encrypted_content': 'E'}}
ROWS: dict[str, list[ModelMessage]] = {
    'text, tool calls, results': call('call_1'),
    'thinking with text': turn(ThinkingPart('hm', signature='S', provider_name='x')),
    'encrypted thinking': turn(ThinkingPart('', signature='S', provider_name='x')),
    'result of a provider-run tool': turn(NativeToolReturnPart('web_search', 'found', 's', provider_name='x')),
    'readable advice': turn(NativeToolReturnPart('advisor', {'text': 'Be bold.'}, 'a', provider_name='x')),
    'encrypted advice': turn(NativeToolReturnPart('advisor', {'encrypted_content': 'E'}, 'a', provider_name='x')),
    'image a model made': turn(FilePart(BinaryImage(b'.', media_type='image/png'))),
    'id `functions.f:0`': call('functions.f:0'),
    'id of 50 characters': call('x' * 50),
    'image of the user': file('image/png'),
    'PDF of the user': file('application/pdf'),
    'audio of the user': file('audio/wav'),
    'video of the user': file('video/mp4'),
    'file uploaded elsewhere': [asked('read', UploadedFile('f', provider_name='xai', media_type='application/pdf'))],
    'readable summary': turn(CompactionPart('So far.', provider_name='x')),
    'encrypted summary, messages there': turn(CompactionPart(**OPAQUE)),
    'encrypted summary alone': [answered('x', CompactionPart(**OPAQUE))],
}


def cell(target: str, history: list[ModelMessage]) -> str:
    issues = explain(history, Wire().model(target)).issues
    return ', '.join(dict.fromkeys(WORDS[issue.action] for issue in issues)) or 'as it is'


def table(heading: str) -> list[list[str]]:
    """The rows of the table under a heading, without its head."""
    section = DOCS.read_text().split(f'## {heading}\n')[1].split('\n## ')[0]
    lines = [line for line in section.splitlines() if line.startswith('|')]
    return [[part.strip() for part in line.strip('|').split('|')] for line in [lines[0], *lines[2:]]]


def test_the_table_of_providers_is_what_explain_says() -> None:
    """Each cell is the outcome under the default rules, for the models that the tests send with."""
    head, *rows = table('What becomes of what, by provider')
    assert head == ['written elsewhere', *TARGETS]
    shown = [target for target in TARGETS if installed(target)]
    columns = [TARGETS.index(target) + 1 for target in shown]
    expected = [[name, *(cell(target, history) for target in shown)] for name, history in ROWS.items()]
    assert [[row[0], *(row[column] for column in columns)] for row in rows] == expected


def test_the_table_of_rules_has_every_option_and_kind() -> None:
    """Options with their defaults, and the kind of issue each decides on."""
    _, *rows = table('Rules')
    documented = [(row[0], row[1], row[2]) for row in rows]
    kinds = dict(
        zip([f'`{f.name}`' for f in fields(Portability)], [f'`{kind}`' for kind in get_args(Kind)], strict=False)
    )
    rules = Portability()
    expected = [
        (f'`{f.name}`', f'`{getattr(rules, f.name)!r}`', kinds.get(f'`{f.name}`', '')) for f in fields(Portability)
    ]
    assert documented == expected


@pytest.mark.parametrize('number', range(1, 18))
def test_every_defect_has_a_test(number: int) -> None:
    """A test names the defect by its number."""
    assert f'def test_d{number}_' in (Path(__file__).parent / 'test_defects.py').read_text()
