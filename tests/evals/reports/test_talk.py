from __future__ import annotations

from advisor_harness.evals.reports.html.talk import Consulted, consulted, turns
from advisor_harness.evals.reports.html.waterfall import bars
from tests.evals.reports.pages import MESSAGES, SPANS, span


def test_a_conversation_reads_in_order() -> None:
    """Who speaks is told, the advisor apart from tools, and instructions stand where they change."""
    assert [(turn.kind, turn.speaker) for turn in turns(MESSAGES)] == [
        ('aside', 'Instructions'),
        ('aside', 'System'),
        ('user', 'User'),
        ('aside', 'Thinking'),
        ('advice', 'Asks the advisor'),
        ('tool', 'Tool call: lookup'),
        ('advice', 'Advice'),
        ('tool', 'Retry: lookup'),
        ('model', 'Model'),
    ]
    texts = [turn.text for turn in turns(MESSAGES)]
    assert texts[3:6] == ['(nothing that can be read)', 'What would you do?', '{\n  "order": 7\n}']


def test_parts_that_nobody_knows_are_shown_as_they_are() -> None:
    """A part of a later version has its own name, a broken argument its text, and a long one says what is cut."""
    parts = [
        {'part_kind': 'dream', 'content': 'sheep'},
        {'part_kind': 'tool-call', 'tool_name': 'x', 'args': '{"a": '},
        {'part_kind': 'text', 'content': 'y' * 4_001},
        {'part_kind': 'native-tool-return', 'tool_name': 'advisor', 'content': {'type': 'redacted'}},
    ]
    found = turns([{'kind': 'response', 'parts': parts}, {'kind': 'request'}])
    assert [(turn.kind, turn.speaker, turn.text[-30:]) for turn in found] == [
        ('aside', 'dream', 'sheep'),
        ('tool', 'Tool call: x', '{"a": '),
        ('model', 'Model', 'yyyyy... (1 more characters)'.rjust(30, 'y')),
        ('advice', 'Advice', '{\n  "type": "redacted"\n}'),
    ]


def test_consultations_are_read_from_spans() -> None:
    """Each span of a consultation is one entry; what it does not say is unknown, not nothing."""
    assert list(consulted([*SPANS, span('consult advisor', 9, None, 0, 1)])) == [
        Consulted(outcome='advised', path='local', model='opus', tokens='70 in, 12 out'),
        Consulted(outcome='unknown', path='unknown', model='unknown', tokens=''),
    ]


def test_bars_follow_their_parents_within_the_case() -> None:
    """A bar stands below the span that it belongs to, at its time, with its kind, and an own span says its message."""
    drawn = [(bar.name, bar.kind, bar.depth, bar.left, bar.width, bar.duration, bar.error) for bar in bars(SPANS)]
    assert drawn == [
        ('invoke_agent executor', 'agent', 0, 0.0, 100.0, '100.0 ms', None),
        ('chat haiku', 'model', 1, 5.0, 20.0, '20.0 ms', None),
        ('execute_tool advisor', 'tool', 1, 30.0, 50.0, '50.0 ms', None),
        ('consult advisor opus (local): advised', 'advisor', 2, 31.0, 48.0, '48.0 ms', None),
        ('chat opus', 'model', 3, 35.0, 40.0, '40.0 ms', 'overloaded, try again'),
    ]


def test_odd_spans_have_bars_within_the_page() -> None:
    """Spans without length, without parent or with an endless line of parents neither vanish nor stand out."""
    deep = [span('s', number, number - 1 or None, 0, 0) for number in range(1, 13)]
    assert {(bar.left, bar.width, bar.duration) for bar in bars(deep)} == {(0.0, 0.4, '0 µs')}
    assert [bar.depth for bar in bars(deep)][-1] == 8
    lost = bars([span('long', 1, 99, 0, 61_000), span('last', 2, None, 61_000, 61_000)])
    assert [(bar.depth, bar.left, bar.width, bar.duration) for bar in lost] == [
        (0, 0.0, 100.0, '61.00 s'),
        (0, 99.6, 0.4, '0 µs'),
    ]
    assert bars([]) == []
