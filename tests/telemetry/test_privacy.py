"""Nothing that anybody said reaches our spans, and nothing reaches any span that the run keeps back."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel

from advisor_harness.telemetry import conventions as names
from tests.telemetry.tracing import Tracing, advised_agent, saying

pytestmark = pytest.mark.anyio

MARKER = 'canary-7f3a'


def leaks(spans: list[ReadableSpan]) -> list[str]:
    """Names of the spans that have the marker anywhere: attributes, events, status."""
    return [span.name for span in spans if MARKER in span.to_json()]


def own(spans: list[ReadableSpan]) -> list[ReadableSpan]:
    return [span for span in spans if span.name in names.SPAN_ATTRIBUTES]


@pytest.mark.parametrize('include_content', [True, False])
async def test_conversation(include_content: bool) -> None:
    """Our spans never hold content; with content off no span of the tree does."""
    tracing = Tracing(include_content=include_content)
    await advised_agent(tracing.capability, advisor=saying(MARKER)).run(MARKER)
    assert len(own(tracing.spans)) == 5
    assert leaks(own(tracing.spans)) == []
    assert bool(leaks(tracing.spans)) is include_content


@pytest.mark.parametrize('include_content', [True, False])
async def test_exception(include_content: bool) -> None:
    """Our spans never hold the text of an exception; with content off no span of the tree does."""

    def fail(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise RuntimeError(MARKER)

    tracing = Tracing(include_content=include_content)
    agent = advised_agent(tracing.capability, advisor=FunctionModel(fail, model_name='adv-model'))
    with pytest.raises(RuntimeError):
        await agent.run('hi')
    [consultation] = tracing.named(names.CONSULT_ADVISOR)
    assert (consultation.attributes or {})['advisor.consultation.outcome'] == 'error'
    assert leaks(own(tracing.spans)) == []
    assert bool(leaks(tracing.spans)) is include_content


async def test_logfire_exports_our_spans_as_they_are(tracing: Tracing) -> None:
    """Logfire's scrubber changes nothing of a whole tree of our spans."""
    scrubbing = pytest.importorskip('logfire._internal.scrubbing')
    agent = advised_agent(tracing.capability, advisor=saying('ADVICE'), call_ids=('call-1', 'call-2'), limit=1)
    await agent.run('hi')
    attributes = [dict(span.attributes or {}) for span in own(tracing.spans)]
    assert scrubbing.Scrubber(None).scrub_value(('attributes',), attributes) == (attributes, [])
