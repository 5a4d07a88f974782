"""Recordings of real providers, made by another tool for an older Pydantic AI: they load, and they replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.native_tools import AdvisorTool

from advisor_harness.cassettes import CassetteModels, Matching, UnmatchedRequest, use_cassette

from .support import open_cassette

pytestmark = pytest.mark.anyio

# What has changed since the recordings were made: the query is gone, and a larger default makes every request a stream.
MATCHING = Matching(ignore_query=frozenset({'beta'}))
SETTINGS: Any = {'max_tokens': 4096}
QUESTION = "What's 2+2? Consult your advisor first."


def executor(model: str, advisor: str, settings: Any = None) -> Agent[None, str]:
    tool = NativeTool(AdvisorTool(model=advisor, max_tokens=1024))
    return Agent(model, capabilities=[CassetteModels(), tool], model_settings=settings)


def claude(settings: Any = SETTINGS) -> Agent[None, str]:
    return executor('anthropic:claude-sonnet-5', 'claude-opus-4-8', settings)


def kinds(response: Any) -> list[str]:
    assert isinstance(response, ModelResponse)
    return [getattr(part, 'tool_name', part.part_kind) for part in response.parts]


ADVISED = ['thinking', 'text', 'advisor', 'advisor', 'text']


def test_every_recording_loads_and_saves_unchanged(shared_cassettes: Path, tmp_path: Path) -> None:
    """C6: all files load; what holds nothing new is left byte for byte."""
    files = sorted(shared_cassettes.glob('*.yaml'))
    for file in files:
        copy = tmp_path / file.name
        copy.write_bytes(file.read_bytes())
        for mode in ('replay', 'record-missing'):
            cassette = open_cassette(copy, mode)
            cassette.save()
            assert len(cassette.interactions) == len(cassette.unused) > 0
        assert copy.read_bytes() == file.read_bytes()

    assert len(files) >= 17


async def test_an_advised_answer_replays(shared_cassettes: Path) -> None:
    """C4: the Anthropic recording gives text, advisor call and result, and the usage of both models."""
    with use_cassette(shared_cassettes / 'anthropic_advisor_tool.yaml', matching=MATCHING) as cassette:
        result = await claude().run(QUESTION)
        cassette.check()

    assert result.output == '2 + 2 = 4'
    assert kinds(result.all_messages()[-1]) == ADVISED
    assert (result.usage.input_tokens, result.usage.output_tokens) == (2390, 121)
    assert {k: v for k, v in result.usage.details.items() if 'advisor' in k or 'thinking' in k} == {
        'thinking_tokens': 28,
        'advisor_iterations': 1,
        'advisor_input_tokens': 2518,
        'advisor_output_tokens': 22,
    }


async def test_an_advised_stream_replays(shared_cassettes: Path) -> None:
    """C4: the streamed recording gives its text in the deltas in which it came, and the same kinds of parts."""
    with use_cassette(shared_cassettes / 'anthropic_advisor_tool_stream.yaml', matching=MATCHING) as cassette:
        async with claude().run_stream(QUESTION) as stream:
            deltas = [delta async for delta in stream.stream_text(delta=True, debounce_by=None)]
        cassette.check()

    assert ''.join(deltas).endswith('The answer is **4**.')
    assert kinds(stream.all_messages()[-1]) == ADVISED
    assert (stream.usage.input_tokens, stream.usage.output_tokens) == (2411, 145)
    assert stream.usage.details['thinking_tokens'] == 47


async def test_a_conversation_sends_the_advisors_blocks_back(shared_cassettes: Path) -> None:
    """C4: the second turn carries the advisor's call and result and still matches strictly."""
    with use_cassette(shared_cassettes / 'anthropic_advisor_tool_message_replay.yaml', matching=MATCHING) as cassette:
        first = await claude().run(QUESTION)
        second = await claude().run('And what is that plus one?', message_history=first.all_messages())
        cassette.check()

    assert second.output == '2 + 2 + 1 = 5.'
    assert (second.usage.input_tokens, second.usage.output_tokens) == (1311, 16)


async def test_an_openrouter_answer_replays(shared_cassettes: Path) -> None:
    """C4: openRouter's recording gives its usage and says that its advisor was asked once."""
    question = (
        'Consult your advisor tool for a recommendation first, then answer in one sentence: what should I name a '
        'Python retry library?'
    )
    agent = executor('openrouter:openai/gpt-4o-mini', '~anthropic/claude-opus-latest')

    with use_cassette(shared_cassettes / 'openrouter_advisor_tool.yaml') as cassette:
        result = await agent.run(question)
        cassette.check()

    assert (result.usage.input_tokens, result.usage.output_tokens) == (900, 69)
    details = result.all_messages()[-1]
    assert isinstance(details, ModelResponse)
    assert 'boomerang' in result.output


async def test_without_the_adjustments_the_drift_is_named(shared_cassettes: Path) -> None:
    """C9: the miss names the query that is gone, and both members that the larger default changes."""
    file = shared_cassettes / 'anthropic_advisor_tool.yaml'
    with use_cassette(file) as cassette, pytest.raises(UnmatchedRequest) as caught:
        await claude(settings={'max_tokens': 128_000}).run(QUESTION)

    assert str(caught.value) == (
        'no recorded answer for POST https://api.anthropic.com/v1/messages\n'
        f'  cassette   {cassette.path}: 1 recorded, 1 not played yet\n'
        '  nearest    interaction 1 (60% the same, not played yet) differs first at $.max_tokens\n'
        '               ~ url: https://api.anthropic.com/v1/messages?beta=true -> https://api.anthropic.com/v1/messages\n'
        '               ~ max_tokens: 4096 -> 128000\n'
        '               ~ stream: false -> true\n'
        f"  re-record  `use_cassette('{cassette.path}', mode='record')`"
    )


async def test_one_changed_word_is_shown(shared_cassettes: Path) -> None:
    """A changed prompt is shown around the change."""
    file = shared_cassettes / 'anthropic_advisor_tool.yaml'
    with use_cassette(file, matching=MATCHING), pytest.raises(UnmatchedRequest) as caught:
        await claude().run(QUESTION.replace('first', 'now'))

    assert caught.value.path == '$.messages[0].content[0].text'
    assert (
        '~ messages[0].content[0].text: "What\'s 2+2? Consult your advisor first." -> '
        '"What\'s 2+2? Consult your advisor now."'
    ) in str(caught.value)


async def test_recorded_rate_limits_end_as_they_did(shared_cassettes: Path) -> None:
    """C17: three recorded refusals are three sends, and the last one is final."""
    agent = Agent(
        'openrouter:google/gemini-2.0-flash-exp:free', capabilities=[CassetteModels()], instructions='Be helpful.'
    )
    with use_cassette(shared_cassettes / 'openrouter_errors_raised.yaml') as cassette:
        with pytest.raises(ModelHTTPError) as caught:
            await agent.run('Tell me a joke.')
        cassette.check()

    assert (caught.value.status_code, cassette.played) == (429, 3)
