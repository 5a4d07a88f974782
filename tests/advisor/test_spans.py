"""Span trees of the advisor, as text files beside this one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent, ModelResponse
from pydantic_ai.exceptions import ModelHTTPError, RunTimedOut
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from advisor_harness import Advisor, Consultation

from .conftest import Spans
from .scripts import (
    OPUS,
    Provider,
    Script,
    asks,
    client_call,
    completion,
    executor,
    iterations,
    message,
    native_advice,
    native_error,
    says,
    server_call,
    server_result,
    server_tool_usage,
    skip,
    text,
)

pytestmark = pytest.mark.anyio


class TreeFile(SingleFileSnapshotExtension):
    """One text file per tree."""

    _write_mode = WriteMode.TEXT
    file_extension = 'spans.txt'

    def serialize(self, data: Any, **kwargs: Any) -> str:
        return f'{data}\n'


@pytest.fixture
def tree(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(TreeFile)


def agent(model: Any, spans: Spans, advisor: Advisor[Any]) -> Agent[object, str]:
    return Agent(model, name='executor', capabilities=[spans.capability(), advisor])


async def test_local(spans: Spans, tree: SnapshotAssertion) -> None:
    """Selection under the request, claim and consultation under the tool, the advisor's run under the consultation."""
    ours = Advisor(
        Script(says('Use a lock.')).model('wise'), max_uses=2, max_uses_per_run=3, forward_history='transcript'
    )
    await agent(executor(asks('How?')).model(), spans, ours).run('Go.')
    assert spans.tree() == tree


async def test_native(spans: Spans, tree: SnapshotAssertion) -> None:
    """The consultation stands under the request in which the provider held it."""
    body = message(*native_advice(), text('done'), iterations=iterations((1000, 200)))
    ours = Advisor(f'anthropic:{OPUS}', max_uses=2, max_tokens=2048, caching='5m')
    await agent(Provider(body).anthropic(), spans, ours).run('Go.')
    assert spans.tree() == tree


async def test_native_across_responses(spans: Spans, tree: SnapshotAssertion) -> None:
    """A result that comes with the next response is a span of that response."""
    failed = [*native_error('overloaded', 's2'), *native_error('max_uses_exceeded', 's3')]
    provider = Provider(
        message(server_call(), client_call('look'), stop='tool_use'),
        message(server_result(), *failed, text('done')),
    )
    run = agent(provider.anthropic(), spans, Advisor(f'anthropic:{OPUS}', max_uses=1))
    run.tool_plain(lambda: 'a race', name='look')
    await run.run('Go.')
    assert spans.tree() == tree


async def test_native_on_openrouter(spans: Spans, tree: SnapshotAssertion) -> None:
    """Two consultations that OpenRouter counts, with the cost of both on the first."""
    ours = Advisor('openrouter:anthropic/claude-opus-4.8')
    await agent(Provider(completion(**server_tool_usage(2))).openrouter(), spans, ours).run('Go.')
    assert spans.tree() == tree


async def test_parallel_with_refusals(spans: Spans, tree: SnapshotAssertion) -> None:
    """Two of three parallel calls consult, the third has a refused claim and no consultation."""
    ours = Advisor(Script(says('Use a lock.')).model('wise'), max_uses=2)
    await agent(executor(asks('One?', 'Two?', 'Three?')).model(), spans, ours).run('Go.')
    assert spans.tree() == tree


async def test_retry(spans: Spans, tree: SnapshotAssertion) -> None:
    """An answer without advice fails, and the retried call is a consultation with `retry` 1."""
    ours = Advisor(Script(says(' '), says('Use a lock.')).model('wise'))
    await agent(executor(asks('How?'), asks('How?', first=2)).model(), spans, ours).run('Go.')
    assert spans.tree() == tree


async def test_error(spans: Spans, tree: SnapshotAssertion) -> None:
    """A provider's error ends the run; the consultation carries the code and no word of the error."""
    ours = Advisor(Script(ModelHTTPError(529, 'wise', body={'error': 'no'})).model('wise'))
    with pytest.raises(ModelHTTPError):
        await agent(executor(asks('How?')).model(), spans, ours).run('Go.')
    assert spans.tree() == tree


async def test_error_with_continue(spans: Spans, tree: SnapshotAssertion) -> None:
    """A failed consultation under `continue` looks the same, in a run that goes on."""
    ours = Advisor(Script(ModelHTTPError(429, 'wise')).model('wise'), on_error='continue')
    await agent(executor(asks('How?')).model(), spans, ours).run('Go.')
    assert spans.tree() == tree


async def test_cancelled(spans: Spans, tree: SnapshotAssertion) -> None:
    """A consultation that a timed out run cancels ends as cancelled, not as an error."""

    async def hang(messages: Any, info: Any) -> ModelResponse:
        skip(60)
        return await asyncio.Future()

    with pytest.raises(RunTimedOut):
        await agent(executor(asks('How?')).model(), spans, Advisor(Script(hang).model('wise'))).run('Go.', timeout=30)
    assert spans.tree() == tree


async def test_streamed(spans: Spans, tree: SnapshotAssertion) -> None:
    """A streamed run has the tree of one that is not."""
    ours = Advisor(Script(says('Use a lock.')).model('wise'), max_uses=1)
    async with agent(executor(asks('How?')).model(), spans, ours).run_stream('Go.') as stream:
        await stream.get_output()
    assert spans.tree() == tree


async def test_streamed_native(spans: Spans, tree: SnapshotAssertion) -> None:
    """A native consultation in a streamed response stands under its request."""
    body = message(*native_advice(), text('done'), iterations=iterations((1000, 200)))
    async with agent(Provider(body).anthropic(), spans, Advisor(f'anthropic:{OPUS}')).run_stream('Go.') as stream:
        await stream.get_output()
    assert spans.tree() == tree


async def test_both_paths_say_the_same_in_the_same_shape() -> None:
    """Records of either path have the same fields of the same types, `None` where a path cannot know."""
    records: list[Consultation] = []
    body = message(*native_advice(), text('done'), iterations=iterations((1000, 200)))
    native = Advisor(f'anthropic:{OPUS}', on_consultation=records.append)
    await Agent(Provider(body).anthropic(), capabilities=[native]).run('Go.')
    own = Provider(message(text('Use a lock.'), model=OPUS))
    local = Advisor(own.anthropic(OPUS), on_consultation=records.append)
    await Agent(executor(asks('How?')).model(), capabilities=[local]).run('Go.')
    first, second = ({key: type(value).__name__ for key, value in vars(record).items()} for record in records)
    assert {key: (first[key], second[key]) for key in first if first[key] != second[key]} == {
        'prompt': ('NoneType', 'str'),
        'truncated': ('NoneType', 'bool'),
        'duration_s': ('NoneType', 'float'),
    }
