"""Printed trees of real runs, and what keeps their text the same from run to run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Literal

import pytest
from pydantic_ai import Agent, ModelHTTPError, RunContext
from pydantic_ai.capabilities import Hooks
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.function import AgentInfo, FunctionModel
from syrupy.assertion import SnapshotAssertion

from advisor_harness.telemetry import SpanView, emit, tree
from tests.telemetry.tracing import REFUSED, START, Tracing, advised_agent, saying

pytestmark = pytest.mark.anyio


async def run(agent: Agent[None, str]) -> None:
    await agent.run('hi')


async def run_stream(agent: Agent[None, str]) -> None:
    async with agent.run_stream('hi') as result:
        await result.get_output()


async def run_stream_events(agent: Agent[None, str]) -> None:
    async with agent.run_stream_events('hi') as events:
        async for _ in events:
            pass


async def iterate(agent: Agent[None, str]) -> None:
    async with agent.iter('hi') as nodes:
        async for _ in nodes:
            pass


async def parallel(style: Callable[[Agent[None, str]], Awaitable[None]]) -> str:
    """The tree of three parallel calls under a limit of two."""
    tracing = Tracing()
    await style(
        advised_agent(tracing.capability, advisor=saying('ADVICE'), call_ids=('call-1', 'call-2', 'call-3'), limit=2)
    )
    return tree.render(tracing.spans)


async def test_parallel_calls_with_a_refusal(span_snapshot: SnapshotAssertion) -> None:
    """Two consultations have the advisor's run below them; the third call has a refused claim and no consultation."""
    assert await parallel(run) == span_snapshot


@pytest.mark.parametrize('style', [run_stream, run_stream_events, iterate])
async def test_every_way_of_running_gives_the_same_tree(style: Callable[[Agent[None, str]], Awaitable[None]]) -> None:
    """Streaming and stepping through a run change nothing about its spans."""
    assert await parallel(style) == await parallel(run)


def test_sync_run_gives_the_same_tree() -> None:
    """`run_sync` changes nothing about the spans of a run."""
    tracing = Tracing()
    agent = advised_agent(tracing.capability, advisor=saying('ADVICE'))
    with asyncio.Runner() as runner:
        runner.run(agent.run('hi'))
        in_a_loop = tree.render(tracing.spans)
        tracing.exporter.clear()
        asyncio.set_event_loop(runner.get_loop())  # else pydantic-ai opens a loop of its own and leaves it open
        advised_agent(tracing.capability, advisor=saying('ADVICE')).run_sync('hi')
        asyncio.set_event_loop(None)
    assert tree.render(tracing.spans) == in_a_loop


async def test_native_consultation(tracing: Tracing, span_snapshot: SnapshotAssertion) -> None:
    """A consultation that the provider made, and one that it refused, hang under the request that they were part of."""

    async def after(
        ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        emit.consultation(ctx, replace(START, path='native', outcome='redacted'), start_time=1, end_time=1)
        emit.claim(ctx, replace(REFUSED, enforcer='provider', used=None, remaining=None))
        return response

    hooks: Hooks[Any] = Hooks(after_model_request=after)
    await Agent(saying('done'), name='executor', capabilities=[tracing.capability, hooks]).run('hi')
    assert tree.render(tracing.spans) == span_snapshot


async def test_failed_consultation(tracing: Tracing, span_snapshot: SnapshotAssertion) -> None:
    """An advisor whose provider fails makes the consultation an error, with a code."""

    def fail(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ModelHTTPError(529, 'adv-model')

    agent = advised_agent(tracing.capability, advisor=FunctionModel(fail, model_name='adv-model'))
    with pytest.raises(ModelHTTPError):
        await agent.run('hi')
    assert tree.render(tracing.spans) == span_snapshot


async def test_cancelled_consultation(tracing: Tracing, span_snapshot: SnapshotAssertion) -> None:
    """A run that is cancelled while the advisor is asked leaves a complete tree."""
    asked = asyncio.Event()

    async def wait(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError('not cancelled')

    agent = advised_agent(tracing.capability, advisor=FunctionModel(wait, model_name='adv-model'))
    task = asyncio.create_task(agent.run('hi'))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tree.render(tracing.spans) == span_snapshot


async def test_tree_of_pydantic_evals(tracing: Tracing, span_snapshot: SnapshotAssertion) -> None:
    """A pydantic-evals tree prints the same, but for the kinds, which it does not keep."""
    otel = pytest.importorskip('pydantic_evals.otel')
    await advised_agent(tracing.capability, advisor=saying('ADVICE')).run('hi')
    spans = otel.SpanTree()
    spans.add_readable_spans(tracing.spans)
    assert tree.render(spans, attributes='none') == span_snapshot


async def test_all_attributes_include_content(span_snapshot: SnapshotAssertion) -> None:
    """With `all` the text of the conversation is printed where the run recorded it, on lines of its own span only."""
    tracing = Tracing(include_content=True)
    await advised_agent(tracing.capability, advisor=saying('ADVICE\non two lines')).run('hi')
    text = tree.render(tracing.spans, attributes='all')
    assert len(text.splitlines()) == len(tracing.spans)
    assert r'gen_ai.tool.call.result="ADVICE\non two lines"' in text
    assert 'logfire.json_schema' not in text


@pytest.mark.parametrize('attributes', ['own', 'all', 'none'])
async def test_text_is_the_same_in_every_run(attributes: Literal['own', 'all', 'none']) -> None:
    """Generated ids and times do not show, not even those of a streamed answer."""
    texts: list[str] = []
    for _ in range(2):
        tracing = Tracing()
        await run_stream(advised_agent(tracing.capability, advisor=saying('ADVICE')))
        texts.append(tree.render(tracing.spans, attributes=attributes))
    assert texts[0] == texts[1]


def view(name: str, span_id: int, parent_id: int | None = None, **attributes: Any) -> SpanView:
    """A span that starts and ends at the time of its id."""
    return SpanView(
        name=name,
        trace_id=1,
        span_id=span_id,
        parent_id=parent_id,
        start_ns=span_id,
        end_ns=span_id,
        attributes={key.replace('__', '.'): value for key, value in attributes.items()},
        status='unset',
    )


def test_parallel_tool_calls_are_sorted_by_their_ids() -> None:
    """Tool calls next to each other come by call id, those of another step stay behind the request between them."""
    spans = [
        view('invoke_agent executor', 1),
        view('execute_tool b', 3, 1, gen_ai__tool__call__id='call-2'),
        view('execute_tool a', 4, 1, gen_ai__tool__call__id='call-1'),
        view('chat x', 5, 1),
        view('execute_tool c', 6, 1, gen_ai__tool__call__id='call-0'),
    ]
    assert tree.render(reversed(spans), attributes='none') == (
        'invoke_agent executor\n  execute_tool a\n  execute_tool b\n  chat x\n  execute_tool c'
    )


def test_tool_calls_with_generated_ids_keep_their_order() -> None:
    """A generated id is in no order, so the starts decide; it is numbered where it appears, everywhere the same."""
    ids = ['pyd_ai_' + digit * 32 for digit in 'fa']
    spans = [
        view('execute_tool advisor', 1, gen_ai__tool__call__id=ids[0]),
        view('execute_tool advisor', 2, gen_ai__tool__call__id=ids[1]),
        view('claim advisor quota', 3, 2, advisor__call__id=ids[1]),
        view('consult advisor', 4, 1, advisor__call__id=ids[0]),
    ]
    assert tree.render(spans) == (
        'execute_tool advisor {gen_ai.tool.call.id=id-1}\n'
        '  consult advisor {advisor.call.id=id-1}\n'
        'execute_tool advisor {gen_ai.tool.call.id=id-2}\n'
        '  claim advisor quota {advisor.call.id=id-2}'
    )


def test_spans_without_their_parent_are_roots() -> None:
    """A span whose parent was not recorded is shown, at the outermost level."""
    assert tree.render([view('chat x', 2, 99), view('chat y', 1)], attributes='none') == 'chat y\nchat x'


def test_nothing_to_print() -> None:
    """No spans make an empty text."""
    assert tree.render([]) == ''


def test_values_are_told_apart() -> None:
    """Sequences, numbers, flags and texts that would be misread are printed so that they can be told apart."""
    span = view(
        'route model request',
        1,
        model_routing__candidates=('cheap', 'two words'),
        model_routing__switched=False,
        model_routing__request__step=2,
        advisor__cost__usd=0.5,
        error__type='',
    )
    assert tree.render([span]) == (
        'route model request {advisor.cost.usd=0.5, error.type="", model_routing.candidates=[cheap, "two words"], '
        'model_routing.request.step=2, model_routing.switched=false}'
    )


def test_announcements_of_logfire_are_not_printed() -> None:
    """What Logfire exports when a span starts is left out."""
    assert tree.render([view('chat x', 1), view('chat x', 2, 1, logfire__span_type='pending_span')]) == 'chat x'


def test_messages_read_like_a_story() -> None:
    """For people, own spans say their message, others their name; of the marks only a status that is set is left."""
    chat = view('chat gpt', 1)
    claim = view('claim advisor quota', 2, 1, logfire__msg='advisor quota refused by capability: request, 1 of 1 used')
    assert tree.render([chat, claim], attributes='messages') == (
        'chat gpt\n  advisor quota refused by capability: request, 1 of 1 used'
    )


def test_attributes_that_do_not_fit_stand_below_their_span() -> None:
    """Where a line is limited, a long span has a line for each attribute; a short one stays on its line."""
    chat = view('chat x', 1, gen_ai__request__model='x')
    route = view('route model request', 2, 1, model_routing__route='cheap', model_routing__switched=False)
    assert tree.render([chat, route], width=60) == (
        'chat x {gen_ai.request.model=x}\n'
        '  route model request\n'
        '      model_routing.route=cheap\n'
        '      model_routing.switched=false'
    )
