"""Each way in which a span can break the vocabulary, and the sentence that says so."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode

from advisor_harness.telemetry import SpanView, emit
from advisor_harness.telemetry.validate import problems
from tests.telemetry.tracing import GRANTED, ROUTE, SELECTION, START, Tracing

CLAIM: dict[str, Any] = {
    'gen_ai.agent.name': 'executor',
    'gen_ai.agent.call.id': 'run-1',
    'advisor.request.step': 1,
    'advisor.schema.version': 1,
    'advisor.quota.granted': False,
    'advisor.quota.scope': 'request',
    'advisor.quota.enforcer': 'provider',
    'advisor.call.id': 'call-1',
}
ROUTED: dict[str, Any] = {
    'gen_ai.agent.name': 'executor',
    'gen_ai.agent.call.id': 'run-1',
    'model_routing.request.step': 1,
    'model_routing.schema.version': 1,
    'model_routing.reason': 'default',
    'model_routing.decision': 'initialize',
    'model_routing.provider': 'openai',
    'model_routing.model': 'gpt-5-mini',
    'model_routing.switched': False,
    'model_routing.history.portable': True,
    'model_routing.history.action': 'kept',
}
CONSULTED: dict[str, Any] = {
    'gen_ai.agent.name': 'executor',
    'gen_ai.agent.call.id': 'run-1',
    'advisor.request.step': 1,
    'advisor.schema.version': 1,
    'advisor.consultation.path': 'local',
    'advisor.consultation.outcome': 'advised',
    'advisor.call.id': 'call-1',
    'advisor.consultation.retry': 0,
    'advisor.cost.known': False,
}


def span(name: str, attributes: dict[str, Any], **values: Any) -> ReadableSpan:
    """A finished span; an attribute that is `None` is left out."""
    present = {key: value for key, value in attributes.items() if value is not None}
    context = SpanContext(trace_id=1, span_id=2, is_remote=False)
    return ReadableSpan(name, context=context, attributes=present, start_time=1, end_time=1, **values)


def test_emitted_spans_have_no_problems(tracing: Tracing) -> None:
    """What `emit` writes keeps to the vocabulary, seen through the SDK or a pydantic-evals tree."""
    otel = pytest.importorskip('pydantic_evals.otel')
    ctx = tracing.context()
    emit.select(ctx, SELECTION)
    emit.claim(ctx, GRANTED)
    emit.route(ctx, ROUTE)
    emit.consultation(ctx, START)
    tree = otel.SpanTree()
    tree.add_readable_spans(tracing.spans)
    assert [problems(each) for each in (*tracing.spans, *tree)] == [[]] * 8


@pytest.mark.parametrize(
    ('changed', 'problem'),
    [
        ({'advisor.call.id': None}, 'advisor.call.id is missing; it is required'),
        (
            {'advisor.quota.enforcer': 'capability', 'advisor.quota.limit': 2, 'advisor.quota.used': 2},
            "advisor.quota.remaining is missing; it is required when advisor.quota.enforcer is 'capability'",
        ),
        (
            {'advisor.quota.scope': 'team'},
            "advisor.quota.scope is 'team'; it must be one of request, run",
        ),
        ({'advisor.schema.version': 2}, 'advisor.schema.version is 2; it must be one of 1'),
        ({'advisor.request.step': '1'}, "advisor.request.step is '1'; it must be of type int"),
        ({'advisor.request.step': True}, 'advisor.request.step is True; it must be of type int'),
        ({'advisor.quota.granted': 1}, 'advisor.quota.granted is 1; it must be of type boolean'),
        (
            {'gen_ai.request.model': 'x'},
            'gen_ai.request.model is not allowed on our own spans, '
            'because totals of usage and cost would count it twice',
        ),
        (
            {'gen_ai.usage.input_tokens': 1},
            'gen_ai.usage.input_tokens is not allowed on our own spans, '
            'because totals of usage and cost would count it twice',
        ),
        (
            {'advisor.Prompt': 'x'},
            "'advisor.Prompt' is no attribute name; "
            'use lower case, digits and _, in two or more parts separated by dots',
        ),
        ({'advisor.session.id': 'x'}, "advisor.session.id contains 'session', which Logfire blanks"),
        (
            {'advisor.prompt': 'x'},
            'advisor.prompt is not in the vocabulary of this span; add it to conventions.yaml',
        ),
        (
            {'advisor.mode': 'auto'},
            'advisor.mode is not in the vocabulary of this span; add it to conventions.yaml',
        ),
    ],
)
def test_attribute_problems(changed: dict[str, Any], problem: str) -> None:
    """A missing, wrong, unknown or harmful attribute is one sentence that names the rule."""
    assert problems(span('claim advisor quota', {**CLAIM, **changed})) == [f"span 'claim advisor quota': {problem}"]


@pytest.mark.parametrize(
    ('changed', 'found'),
    [
        (
            {'model_routing.candidates': ('a', 1)},
            ["model_routing.candidates is ('a', 1); it must be of type string[]"],
        ),
        ({'model_routing.candidates': 'a'}, ["model_routing.candidates is 'a'; it must be of type string[]"]),
        (
            {'model_routing.history.action': 'dropped_parts'},
            [
                'model_routing.history.parts_dropped is missing; it is required when '
                "model_routing.history.action is 'dropped_parts'",
                'model_routing.history.dropped_kinds is missing; it is required when '
                "model_routing.history.action is 'dropped_parts'",
            ],
        ),
    ],
)
def test_routing_problems(changed: dict[str, Any], found: list[str]) -> None:
    """Sequences hold strings, and what was dropped is listed."""
    seen = problems(
        SpanView(
            name='route model request',
            trace_id=1,
            span_id=2,
            parent_id=None,
            start_ns=1,
            end_ns=1,
            attributes={**ROUTED, **changed},
            status='unset',
        )
    )
    assert seen == [f"span 'route model request': {problem}" for problem in found]


@pytest.mark.parametrize(
    ('changed', 'found'),
    [
        ({'advisor.consultation.native_error': 'overloaded'}, []),
        ({'advisor.consultation.native_error': 'secret'}, []),
        (
            {'advisor.consultation.native_error': 'auth_missing'},
            ["advisor.consultation.native_error is 'auth_missing', which contains 'auth': Logfire blanks it"],
        ),
        ({'advisor.cost.known': True, 'advisor.cost.usd': 1.5}, []),
        (
            {'advisor.cost.known': True},
            ['advisor.cost.usd is missing; it is required when advisor.cost.known is True'],
        ),
        (
            {'advisor.consultation.path': 'native'},
            ["advisor.consultation.timing is missing; it is required when advisor.consultation.path is 'native'"],
        ),
        ({'logfire.span_type': 'span', 'code.lineno': 1, 'baggage_conflict.gen_ai.agent.name': 'x'}, []),
    ],
)
def test_consultation_problems(changed: dict[str, Any], found: list[str]) -> None:
    """Codes that Logfire would blank are found; what its SDK puts on every span is not ours to judge."""
    seen = problems(span('consult advisor', {**CONSULTED, **changed}))
    assert seen == [f"span 'consult advisor': {problem}" for problem in found]


def test_problems_of_the_frame() -> None:
    """Kind, events and status description are held to the rules too."""
    seen = problems(
        span(
            'claim advisor quota',
            CLAIM,
            kind=SpanKind.CLIENT,
            events=[Event('exception')],
            status=Status(StatusCode.ERROR, 'boom'),
        )
    )
    assert seen == [
        "span 'claim advisor quota': error.type is missing; it is required when the status is an error",
        "span 'claim advisor quota': its kind is 'client'; it must be internal",
        "span 'claim advisor quota': it has 1 span events; it must have none",
        "span 'claim advisor quota': its status has a description; it must have none, "
        'as that may be the text of an exception',
    ]


def test_other_spans_may_not_carry_our_attributes() -> None:
    """Only the `chat` span has one of ours; a span of the application has none."""
    own = {'advisor.selection.path': 'local', 'http.method': 'GET'}
    assert problems(span('chat gpt-5-mini', own)) == []
    assert problems(span('GET /', own)) == [
        "span 'GET /': advisor.selection.path belongs on our own spans only; those are "
        'select advisor, claim advisor quota, consult advisor, route model request'
    ]


def test_announcements_of_logfire_are_not_judged() -> None:
    """A span that Logfire announces has not ended, so it is not complete."""
    assert problems(span('claim advisor quota', {'logfire.span_type': 'pending_span'})) == []
