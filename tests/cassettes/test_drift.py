from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from advisor_harness.cassettes import UnmatchedRequest, cassette_client
from advisor_harness.cassettes.active import activated
from advisor_harness.cassettes.diff import Change
from advisor_harness.cassettes.drift import FileCheck, check_file, render
from advisor_harness.cassettes.drift_replay import TolerantCassette
from advisor_harness.cassettes.drift_sending import Sent

from .support import URL, anthropic_message, entry, write_cassette

pytestmark = pytest.mark.anyio

CLAUDE = 'https://api.anthropic.com/v1/messages'
CHAT = 'https://api.openai.com/v1/chat/completions'
RESPONSES = 'https://api.openai.com/v1/responses'
GEMINI = 'https://generativelanguage.googleapis.com/v1/models/gemini-3-pro-preview:generateContent'


def recordings_in(folder: Path) -> list[Path]:
    return sorted(folder.glob('*.yaml'))


def told(check: FileCheck) -> tuple[list[str], dict[int, str]]:
    return list(map(str, check.changes)), check.not_checked


# What is known of recordings that an older Pydantic AI made.


@pytest.mark.parametrize(
    ('file', 'interactions', 'changes'),
    [
        ('anthropic_advisor_tool', 1, {'- ?beta: "true"', '~ max_tokens: 4096 -> 128000', '~ stream: false -> true'}),
        (
            'anthropic_advisor_tool_message_replay',
            2,
            {'- ?beta: "true"', '~ max_tokens: 4096 -> 128000', '~ stream: false -> true'},
        ),
        ('anthropic_advisor_tool_stream', 1, {'- ?beta: "true"', '~ max_tokens: 4096 -> 128000'}),
        ('openrouter_advisor_tool', 1, set[str]()),
        ('openrouter_tool_calling', 1, set[str]()),
        ('openrouter_errors_raised', 3, set[str]()),
        ('openai_web_search_tool', 1, set[str]()),
        ('openai_responses_model_web_search_tool', 2, {'- previous_response_id: null'}),
        ('tool_use_failed_error', 3, set[str]()),
    ],
)
async def test_the_documented_drift_of_shared_recordings(
    shared_cassettes: Path, file: str, interactions: int, changes: set[str]
) -> None:
    """Exactly what is known to have changed is told, and every interaction was made again."""
    check = await check_file(shared_cassettes / f'{file}.yaml')
    assert (set(map(str, check.changes)), len(check.sent), check.not_checked) == (changes, interactions, {})


async def test_every_shared_recording_is_checked(shared_cassettes: Path) -> None:
    """No recording of a real provider is out of reach, second turns and other providers' histories included."""
    checks = [await check_file(file) for file in recordings_in(shared_cassettes)]
    assert [(check.path.name, check.not_checked) for check in checks if check.not_checked] == []
    assert [check.path.name for check in checks if len(check.sent) != check.interactions] == []


# What cannot be made again is said, never guessed.

PROMPT = [{'role': 'user', 'content': 'Hi'}]
CHOICE = {'type': 'function', 'function': {'name': 'no tool'}}
ASKED: dict[str, Any] = {'model': 'm', 'messages': PROMPT}
PICTURE = {'type': 'image_url'}
TURN = [{'role': 'user', 'parts': [{'text': 'Hi'}]}]
MESSAGE: dict[str, Any] = {'model': 'claude-sonnet-5', 'max_tokens': 9, 'messages': PROMPT}


@pytest.mark.parametrize(
    ('url', 'body', 'why'),
    [
        (URL, {'model': 'm'}, 'no provider is known for api.example.com/v1/chat'),
        (CHAT, None, 'POST /v1/chat/completions is no request to a model'),
        (CHAT, {'model': 'm', 'messages': PROMPT, 'new': 1}, 'it is not known what made `new`'),
        (CHAT, {'model': 'm'}, 'it holds no message'),
        (
            CHAT,
            {'model': 'm', 'messages': PROMPT, 'tool_choice': CHOICE},
            'today this request is refused before it is sent: ',
        ),
        (CHAT, {'model': 'm', 'messages': [{'role': 'x'}]}, "the role 'x' is not understood"),
        (
            CHAT,
            {**ASKED, 'messages': [{'role': 'system', 'content': [PICTURE]}]},
            'a message of several parts is not understood here',
        ),
        (
            CHAT,
            {**ASKED, 'messages': [{'role': 'user', 'content': [{'type': 'x'}]}]},
            "a 'x' part of the user is not understood",
        ),
        (CHAT, {**ASKED, 'tools': [{'type': 'custom'}]}, "the native tool 'custom' is not understood"),
        (CHAT, {**ASKED, 'response_format': {'type': 'x'}}, "the response format 'x' is not understood"),
        (CHAT, {**ASKED, 'tools': [{'type': 'function', 'function': 3}]}, 'tools[0].function is no JSON object'),
        (CHAT, {**ASKED, 'web_search_options': {'x': 1}}, 'its body is not of the shape that its provider takes: '),
        (CHAT, 3, 'the body is no JSON object'),
        (RESPONSES, {'model': 'm', 'input': [{'type': 'x'}]}, 'an item of `input` is not understood'),
        (
            RESPONSES,
            {'model': 'm', 'input': [{'role': 'user', 'content': []}]},
            'a message of several parts is not understood',
        ),
        (RESPONSES, {'model': 'm', 'input': 'Hi', 'include': ['x']}, "it is not known what made `include` name 'x'"),
        (RESPONSES, {'model': 'm', 'input': 'Hi', 'tools': [{'type': 'x'}]}, "the native tool 'x' is not understood"),
        (
            RESPONSES,
            {'model': 'm', 'input': 'Hi', 'text': {'format': {'type': 'x'}}},
            "the text format 'x' is not understood",
        ),
        (
            GEMINI,
            {'contents': TURN, 'toolConfig': {'functionCallingConfig': {'mode': 'X'}}},
            'it is not known what made `toolConfig`',
        ),
        (
            CLAUDE,
            {**MESSAGE, 'messages': [{'role': 'user', 'content': [{'type': 'x'}]}]},
            "a 'x' block of the user is not",
        ),
        (CLAUDE, {**MESSAGE, 'system': [{'type': 'x'}]}, "a 'x' block is not understood where text is expected"),
        (CLAUDE, {**MESSAGE, 'messages': 3}, '`messages` is no list'),
        (CLAUDE, {**MESSAGE, 'messages': [3]}, 'messages[0] is no JSON object'),
        (CLAUDE, {**MESSAGE, 'cache_control': {'type': 'x'}}, 'it is not known what made `cache_control`'),
        (CLAUDE, {**MESSAGE, 'tools': [{'type': 'bash_1', 'name': 'b'}]}, "the native tool 'bash_1' is not understood"),
        (CLAUDE, {**MESSAGE, 'tools': [{'type': 'custom'}]}, 'it has no `tools[0].name`'),
        (
            CLAUDE,
            {**MESSAGE, 'messages': [{'role': 'user', 'content': [{'type': 'tool_result', 'tool_use_id': 'a'}]}]},
            "the result of tool call 'a' belongs to no call",
        ),
        (
            CLAUDE,
            {**MESSAGE, 'messages': [{'role': 'user', 'content': [{'type': 'text', 'text': 'a', 'cache_control': 1}]}]},
            'it is not known what made `messages[0].content[0].cache_control`',
        ),
    ],
)
async def test_what_is_not_understood_is_named(url: str, body: Any, why: str, tmp_path: Path) -> None:
    """Nothing about the request is compared then."""
    check = await check_file(write_cassette(tmp_path / 'a.yaml', entry(body, {}, url=url)))
    assert (check.changes, check.sent) == ([], {})
    assert check.not_checked[1].startswith(why)


@pytest.mark.parametrize(
    ('provenance', 'changes'),
    [({}, ['~ max_tokens: 4096 -> 128000', '~ stream: false -> true']), ({'by': 'provider'}, [])],
)
async def test_a_former_default_counts_only_in_files_of_others(
    provenance: dict[str, str], changes: list[str], tmp_path: Path
) -> None:
    """This package never sent the default of an older Pydantic AI, so there it was given on purpose."""
    content = [{'type': 'text', 'text': 'Hi'}]
    body = {**MESSAGE, 'max_tokens': 4096, 'stream': False, 'messages': [{'role': 'user', 'content': content}]}
    top = {'recorded_with': provenance} if provenance else {}
    path = write_cassette(tmp_path / 'a.yaml', entry(body, anthropic_message(), url=CLAUDE), **top)
    assert told(await check_file(path)) == (changes, {})


NAMES = [
    'messages',
    'input',
    'contents',
    'role',
    'content',
    'parts',
    'type',
    'text',
    'tools',
    'function',
    'tool_choice',
]
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(['user', 'assistant', 'text', 'function', 'x']),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from([CHAT, CLAUDE, RESPONSES, GEMINI]), st.dictionaries(st.sampled_from(NAMES), JSON))
async def test_no_body_breaks_a_check(tmp_path_factory: pytest.TempPathFactory, url: str, body: Any) -> None:
    """Whatever a file holds, its requests are compared or listed as not checked."""
    path = write_cassette(tmp_path_factory.mktemp('c') / 'a.yaml', entry({'model': 'm', **body}, {}, url=url))
    check = await check_file(path)
    assert len(check.sent) + len(check.not_checked) == 1


# The report.


def test_the_report_groups_by_kind_of_difference() -> None:
    """Kinds in most files first, few file names, and many values of one place in one line."""
    kind, rare = Change('max_tokens', '~', '4096 -> 128000'), Change('?beta', '-', '"true"')
    checks = [FileCheck(Path(f'{n}.yaml'), 1, {1: SENT}, [kind]) for n in range(5)]
    checks[0].changes += [rare, rare]
    for n, check in enumerate(checks):
        check.changes.append(Change('messages.*.content', '~', f'"a" -> "{n}"'))
    checks.append(FileCheck(Path('x.yaml'), 3, {3: SENT}, [], {1: 'no idea', 2: 'no idea'}))
    checks.append(FileCheck(Path('y.yaml'), 0, {}, [], {0: 'there is no recording of this case'}))
    files = '    0.yaml\n    1.yaml\n    2.yaml\n    and 2 more\n'
    head = f'~ max_tokens: 4096 -> 128000 in 5 files\n{files}'
    rest = (
        '- ?beta: "true" in 1 file\n'
        '    0.yaml\n'
        'not checked\n'
        '    x.yaml: no idea (interaction 1, 2)\n'
        '    y.yaml: there is no recording of this case\n'
        f'5 of 6 recordings differ from what pydantic-ai {version("pydantic-ai-slim")} sends, '
        '2 not checked or not completely\n'
    )
    many = '~ messages.*.content: 5 different changes, such as "a" -> "0", in 5 files\n'
    assert render(checks) == f'{head}{many}{files}{rest}'
    assert '    3.yaml\n    4.yaml\n' in render(checks, every_file=True)


def test_the_report_of_nothing_to_tell() -> None:
    """One line."""
    text = f'0 of 1 recordings differ from what pydantic-ai {version("pydantic-ai-slim")} sends\n'
    assert render([FileCheck(Path('a.yaml'), 1, {1: SENT})]) == text


SENT = Sent('POST', URL, 'application/json', b'{}')


# A recording that goes on after a difference.


def tolerant(path: Path) -> TolerantCassette:
    cassette = TolerantCassette.open(path)
    assert isinstance(cassette, TolerantCassette)
    return cassette


async def post(body: Any, url: str = URL) -> Any:
    return (await cassette_client().post(url, json=body)).json()


async def test_a_changed_request_is_answered_by_the_nearest_one(tmp_path: Path) -> None:
    """Later requests are compared too, also those that are as they were."""
    path = write_cassette(tmp_path / 'a.yaml', *(entry({'n': n, 'k': 1}, {'answer': n}) for n in range(3)))
    cassette = tolerant(path)
    with activated(cassette):
        answers = [await post({'n': n, 'k': k}) for n, k in ((0, 2), (1, 1), (2, 3))]
    check = cassette.finished(None)
    assert answers == [{'answer': 0}, {'answer': 1}, {'answer': 2}]
    assert (told(check), sorted(check.sent)) == ((['~ k: 1 -> 2', '~ k: 1 -> 3'], {}), [1, 2, 3])


async def test_a_request_that_asks_for_a_stream_now_ends_the_case(tmp_path: Path) -> None:
    """An answer of the wrong kind is not given; what comes later is not checked."""
    bodies: list[dict[str, Any]] = [{'n': 1, 'stream': False}, {'n': 2, 'stream': False}]
    cassette = tolerant(write_cassette(tmp_path / 'a.yaml', *(entry(body, {}) for body in bodies)))
    with activated(cassette), pytest.raises(UnmatchedRequest):
        await post({'n': 1, 'stream': True})
    assert told(cassette.finished(None)) == (
        ['~ stream: false -> true'],
        {2: 'the case ended before, at a request that no recorded answer fits'},
    )


async def test_requests_that_only_one_side_has(tmp_path: Path) -> None:
    """A new request has no counterpart at its endpoint; one that is no longer sent is told when the case ended well."""
    path = write_cassette(tmp_path / 'a.yaml', entry({'n': 1}, {}))
    cassette = tolerant(path)
    assert told(cassette.finished(None)) == ([f'- request: POST {URL}'], {})

    cassette = tolerant(path)
    with activated(cassette), pytest.raises(UnmatchedRequest):
        await post({'n': 1}, 'https://api.example.com/v2?key=secret')
    assert told(cassette.finished('the task failed')) == (
        ['+ request: POST https://api.example.com/v2'],
        {1: 'the task failed'},
    )
