from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st
from pydantic_ai import Agent
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.native_tools import AdvisorTool

from advisor_harness.cassettes import CassetteModels, use_cassette
from advisor_harness.cassettes.drift import FileCheck, check_file
from advisor_harness.cassettes.drift_sending import Sent
from advisor_harness.cassettes.interaction import Interaction
from advisor_harness.cassettes.matching import Matching, matcher_for
from advisor_harness.cassettes.rebase import Named, rebase
from advisor_harness.cassettes.yamlfile import dump

from .support import URL, entry, read_yaml, write_cassette

pytestmark = pytest.mark.anyio


def checked(path: Path, *sent: Any, url: str = URL) -> FileCheck:
    """A recording, held against these bodies of today."""
    interactions = [Interaction.from_mapping(mapping) for mapping in read_yaml(path)['interactions']]
    check = FileCheck(path, len(interactions))
    for number, (interaction, body) in enumerate(zip(interactions, sent, strict=True), start=1):
        today = Sent('POST', url, 'application/json', dump_json(body))
        check.compare(number, interaction, today, matcher_for(Matching()))
    return check


def dump_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_named_differences_are_taken_over_and_nothing_else(tmp_path: Path) -> None:
    """Only the request changes, with the length of its body; other keys, answers and their order stay."""
    old = entry(
        {'max_tokens': 1, 'stream': False, 'list': [{'a': 1}, {'a': 2}]}, {'text': 'é “x”'}, url=f'{URL}?beta=1&k=2'
    )
    old['request']['headers']['content-length'] = ['5']
    path = write_cassette(tmp_path / 'a.yaml', {'recorded': {'latency_s': 1.5}, **old}, extra={'kept': True})
    check = checked(
        path, {'max_tokens': 128, 'stream': False, 'list': [{'a': 3}, {'a': 4}], 'new': None}, url=f'{URL}?k=2'
    )
    result = rebase(check, [Named('max_tokens'), Named('list.*.a'), Named('?beta'), Named.exactly('new=null')])
    assert (list(map(str, result.applied)), result.refused) == (
        ['~ list.*.a: 1 -> 3', '~ list.*.a: 2 -> 4', '~ max_tokens: 1 -> 128', '+ new: null', '- ?beta: "1"'],
        [],
    )
    before = read_yaml(path)
    result.write()
    after = read_yaml(path)
    body = {'max_tokens': 128, 'stream': False, 'list': [{'a': 3}, {'a': 4}], 'new': None}
    headers = {'content-type': ['application/json'], 'content-length': [str(len(dump_json(body)))]}
    request = {'headers': headers, 'method': 'POST', 'uri': f'{URL}?k=2', 'parsed_body': body}
    expected = copy.deepcopy(before)
    expected['interactions'][0]['request'] = request
    assert after == expected
    assert list(after['interactions'][0]) == ['recorded', 'request', 'response']


@pytest.mark.parametrize(
    ('named', 'refused'),
    [
        ([Named('a')], ['interaction 1: ~ b: 1 -> 2 is another difference']),
        ([Named('a'), Named.exactly('b=3')], ['interaction 1: ~ b: 1 -> 2 is another difference']),
        ([Named('a'), Named.exactly('b=true')], ['interaction 1: ~ b: 1 -> 2 is another difference']),
        ([Named('*')], []),
        ([Named('a'), Named.exactly('b=2')], []),
    ],
)
def test_another_difference_stops_the_file(tmp_path: Path, named: list[Named], refused: list[str]) -> None:
    """Whatever was not named, or not with this value, leaves the file as it is."""
    path = write_cassette(tmp_path / 'a.yaml', entry({'a': 1, 'b': 1}, {}))
    result = rebase(checked(path, {'a': 2, 'b': 2}), named)
    assert (result.refused, result.text is None, result.applied == []) == (refused, bool(refused), bool(refused))
    before = path.read_bytes()
    result.write()
    assert (path.read_bytes() == before) is bool(refused)


def test_an_answer_must_be_of_the_kind_that_is_asked_for(tmp_path: Path) -> None:
    """A recorded JSON answer cannot answer a request for a stream."""
    path = write_cassette(tmp_path / 'a.yaml', entry({'stream': False}, {}))
    result = rebase(checked(path, {'stream': True}), [Named('stream')])
    why = 'interaction 1: the recorded answer is not what the request would ask for, a stream or none: record it again'
    assert (result.applied, result.refused, result.text) == ([], [why], None)

    failed = write_cassette(tmp_path / 'b.yaml', entry({'stream': False}, {}, status=429))
    assert rebase(checked(failed, {'stream': True}), [Named('stream')]).refused == []


def test_what_was_not_checked_stops_the_file(tmp_path: Path) -> None:
    """Nothing is known about the rest of the requests then, or about those without counterpart."""
    path = write_cassette(tmp_path / 'a.yaml', entry({'a': 1}, {}))
    check = checked(path, {'a': 2})
    check.not_checked[2] = 'no idea'
    assert rebase(check, [Named('a')]).refused == ['interaction 2 was not checked: no idea']


def test_nothing_to_do_writes_nothing(tmp_path: Path) -> None:
    """A file without differences is left byte for byte."""
    path = write_cassette(tmp_path / 'a.yaml', entry({'a': 1}, {}))
    result = rebase(checked(path, {'a': 1}), [Named('a')])
    assert (result.applied, result.refused, result.text) == ([], [], None)


def test_bodies_that_are_kept_as_text_stay_text(tmp_path: Path) -> None:
    """The file's way to keep JSON is kept, and secrets of today's request do not get in."""
    old = entry()
    old['request'] |= {'body': '{"a": 1, "k": "é"}', 'headers': {'Content-Length': '18'}}
    path = write_cassette(tmp_path / 'a.yaml', old)
    result = rebase(checked(path, {'a': 'sk-' + 'x' * 20, 'k': 'é'}), [Named('a')])
    assert result.refused == []
    result.write()
    request = read_yaml(path)['interactions'][0]['request']
    assert (request['body'], request['headers']) == ('{"a": "scrubbed", "k": "é"}', {'Content-Length': '28'})


@pytest.mark.parametrize('text', ['max_tokens', '=1', ''])
def test_a_value_needs_its_place(text: str) -> None:
    """`PLACE=VALUE` has both sides."""
    with pytest.raises(ValueError) as caught:
        Named.exactly(text)
    assert str(caught.value) == f'{text!r} is not PLACE=VALUE, such as max_tokens=128000'


def test_a_value_that_is_no_json_is_text() -> None:
    """Models need no quotes, numbers are numbers."""
    assert [Named.exactly(text) for text in ('model=gpt-5', 'n=5', 'stop=["a"]', 'x="5"')] == [
        Named('model', 'gpt-5'),
        Named('n', 5),
        Named('stop', ['a']),
        Named('x', '5'),
    ]


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab', max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from('abc'), inner, max_size=3),
    max_leaves=6,
)
BODIES: Any = st.dictionaries(st.sampled_from('abcd'), JSON, max_size=4)


@given(BODIES, BODIES)
def test_accepting_everything_makes_today_match(
    tmp_path_factory: pytest.TempPathFactory, recorded: Any, today: Any
) -> None:
    """After a rebase that may take over every member, the recording is what is sent, and its answer as it was."""
    path = write_cassette(tmp_path_factory.mktemp('r') / 'a.yaml', entry(recorded, {'kept': [recorded]}))
    before = dump(read_yaml(path)['interactions'][0]['response'])
    result = rebase(checked(path, today), [Named('*')])
    assert result.refused == []
    result.write()
    assert checked(path, today).changes == []
    assert dump(read_yaml(path)['interactions'][0]['response']) == before


@given(BODIES, BODIES)
def test_accepting_nothing_that_differs_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, recorded: Any, today: Any
) -> None:
    """A place that does not exist takes over nothing, and any difference is refused."""
    path = write_cassette(tmp_path_factory.mktemp('r') / 'a.yaml', entry(recorded, {}))
    check = checked(path, today)
    result = rebase(check, [Named('nowhere')])
    assert (result.text, bool(result.refused)) == (None, bool(check.changes))


async def test_a_rebased_recording_of_a_provider_replays(shared_cassettes: Path, tmp_path: Path) -> None:
    """The documented drift of a streamed recording can be taken over; then it answers an agent of today strictly."""
    source = shared_cassettes / 'anthropic_advisor_tool_stream.yaml'
    path = tmp_path / source.name
    path.write_bytes(source.read_bytes())
    result = rebase(await check_file(path), [Named('?beta'), Named.exactly('max_tokens=128000')])
    assert (list(map(str, result.applied)), result.refused) == (['~ max_tokens: 4096 -> 128000', '- ?beta: "true"'], [])
    result.write()

    tool = NativeTool(AdvisorTool(model='claude-opus-4-8', max_tokens=1024))
    agent = Agent('anthropic:claude-sonnet-5', capabilities=[CassetteModels(), tool])
    with use_cassette(path) as cassette:
        answer = await agent.run("What's 2+2? Consult your advisor first.")
        cassette.check()
    assert answer.output.endswith('The answer is **4**.')

    kept = [yaml.safe_load(file.read_text())['interactions'][0]['response'] for file in (source, path)]
    assert kept[0] == kept[1]


async def test_a_recorded_answer_that_is_no_stream_is_not_rebased(shared_cassettes: Path) -> None:
    """The documented drift of the other recordings needs a new recording, even when all of it is accepted."""
    check = await check_file(shared_cassettes / 'anthropic_advisor_tool.yaml')
    result = rebase(check, [Named('?beta'), Named('max_tokens'), Named('stream')])
    why = 'interaction 1: the recorded answer is not what the request would ask for, a stream or none: record it again'
    assert (result.refused, result.text) == ([why], None)


def test_a_url_is_taken_over_in_its_parts(tmp_path: Path) -> None:
    """The address without its query, and each parameter, only where they were named."""
    path = write_cassette(tmp_path / 'a.yaml', entry({'a': 1}, {}, url=f'{URL}?k=1&l=1'))
    check = checked(path, {'a': 1}, url=f'{URL}/v2?k=2&l=1')
    assert rebase(check, [Named('?k')]).refused == [
        f'interaction 1: ~ url: "{URL}" -> "{URL}/v2" is another difference',
    ]
    result = rebase(check, [Named('url'), Named.exactly('?k="2"')])
    assert result.refused == []
    result.write()
    assert read_yaml(path)['interactions'][0]['request']['uri'] == f'{URL}/v2?k=2&l=1'


def test_a_body_that_is_no_json_is_never_taken_over(tmp_path: Path) -> None:
    """Text has no places: a change of it is another difference."""
    old = entry()
    old['request']['body'] = 'old text'
    path = write_cassette(tmp_path / 'a.yaml', old)
    check = FileCheck(path, 1)
    today = Sent('POST', URL, 'text/plain', b'new text')
    check.compare(1, Interaction.from_mapping(read_yaml(path)['interactions'][0]), today, matcher_for(Matching()))
    assert rebase(check, [Named('body')]).refused == [
        'interaction 1: ~ body: "old text" -> "new text" is another difference'
    ]
