"""What goes into a span comes back out of it, from the SDK and from a pydantic-evals tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from advisor_harness.telemetry import (
    ClaimFacts,
    ConsultationFacts,
    RouteFacts,
    SelectionFacts,
    SpanOrigin,
    conventions as names,
    emit,
    read,
)
from tests.telemetry.tracing import GRANTED, REFUSED, ROUTE, SELECTION, START, Tracing

ORIGIN = SpanOrigin(agent_name='executor', run_id='run-1', conversation_id='conv-1', step=2)

texts = st.text(min_size=1, max_size=20)
counts = st.integers(0, 2**53)
flags = st.booleans()


def one_of(key: str) -> st.SearchStrategy[Any]:
    return st.sampled_from(names.ATTRIBUTE_VALUES[key])


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def some(strategy: st.SearchStrategy[str], *, least: int = 0) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(strategy, min_size=least, max_size=3).map(tuple)


selections = st.builds(
    SelectionFacts,
    path=one_of(names.ADVISOR_SELECTION_PATH),
    reason=one_of(names.ADVISOR_SELECTION_REASON),
    changed=flags,
    mode=one_of(names.ADVISOR_MODE),
    executor_provider=texts,
    executor_model=texts,
    provider=maybe(texts),
    model=maybe(texts),
    native_offered=flags,
    native_supported=flags,
    max_uses=maybe(counts),
    max_tokens=maybe(counts),
    caching=maybe(texts),
    forward_history=one_of(names.ADVISOR_FORWARD_HISTORY),
    origin=st.just(ORIGIN),
)

scopes = one_of(names.ADVISOR_QUOTA_SCOPE)
claims = st.builds(
    ClaimFacts,
    granted=flags,
    scope=scopes,
    enforcer=st.just('capability'),
    call_id=texts,
    limit=counts,
    used=counts,
    remaining=counts,
    origin=st.just(ORIGIN),
) | st.builds(
    ClaimFacts,
    granted=st.just(False),
    scope=scopes,
    enforcer=st.just('provider'),
    call_id=texts,
    limit=maybe(counts),
    used=st.none(),
    remaining=st.none(),
    origin=st.just(ORIGIN),
)


@st.composite
def consultations(draw: st.DrawFn) -> ConsultationFacts:
    native = draw(flags)
    return ConsultationFacts(
        path='native' if native else 'local',
        outcome=draw(one_of(names.ADVISOR_CONSULTATION_OUTCOME)),
        call_id=draw(texts),
        provider=draw(maybe(texts)),
        model=draw(maybe(texts)),
        index=draw(maybe(counts)),
        retry=draw(counts),
        truncated=draw(maybe(flags)),
        advice_form=draw(maybe(one_of(names.ADVISOR_CONSULTATION_ADVICE_FORM))),
        prompt_length=draw(maybe(counts)),
        advice_length=draw(maybe(counts)),
        native_error=draw(maybe(st.sampled_from(['overloaded', 'model_not_found']))),
        timing='unknown' if native else None,
        error_code=draw(maybe(texts)),
        input_tokens=draw(maybe(counts)),
        output_tokens=draw(maybe(counts)),
        requests=draw(maybe(counts)),
        cost_usd=draw(maybe(st.decimals(0, 10_000, places=8))),
        history_messages=draw(maybe(counts)),
        history_chars=draw(maybe(counts)),
        history_dropped=draw(maybe(counts)),
        duration_s=None if native else 1.25,
        origin=ORIGIN,
    )


@st.composite
def routes(draw: st.DrawFn) -> RouteFacts:
    action = draw(one_of(names.MODEL_ROUTING_HISTORY_ACTION))
    dropped = action == 'dropped_parts'
    return RouteFacts(
        route=draw(maybe(texts)),
        reason=draw(one_of(names.MODEL_ROUTING_REASON)),
        decision=draw(one_of(names.MODEL_ROUTING_DECISION)),
        provider=draw(texts),
        model=draw(texts),
        switched=draw(flags),
        previous_model=draw(maybe(texts)),
        previous_route=draw(maybe(texts)),
        candidates=draw(some(texts)),
        history_portable=draw(flags),
        history_action=action,
        parts_dropped=draw(counts) if dropped else None,
        dropped_kinds=draw(some(texts, least=1)) if dropped else (),
        issues=draw(some(texts)),
        origin=ORIGIN,
    )


def read_both_ways(tracing: Tracing, reader: Callable[[Any], list[Any]]) -> tuple[list[Any], list[Any]]:
    """From the SDK's spans, and from a pydantic-evals tree of them."""
    otel = pytest.importorskip('pydantic_evals.otel')
    tree = otel.SpanTree()
    tree.add_readable_spans(tracing.spans)
    return reader(tracing.spans), reader(tree)


@settings(deadline=None)
@given(selections)
def test_selection_round_trip(facts: SelectionFacts) -> None:
    """Every selection comes back as it was, its origin filled."""
    tracing = Tracing()
    emit.select(tracing.context(), replace(facts, origin=None))
    assert read_both_ways(tracing, read.selections) == ([facts], [facts])


@settings(deadline=None)
@given(claims)
def test_claim_round_trip(facts: ClaimFacts) -> None:
    """Every claim comes back as it was, its origin filled."""
    tracing = Tracing()
    emit.claim(tracing.context(), replace(facts, origin=None))
    assert read_both_ways(tracing, read.claims) == ([facts], [facts])


@settings(deadline=None)
@given(routes())
def test_route_round_trip(facts: RouteFacts) -> None:
    """Every routing decision comes back as it was, its origin filled."""
    tracing = Tracing()
    emit.route(tracing.context(), replace(facts, origin=None))
    assert read_both_ways(tracing, read.routes) == ([facts], [facts])


@settings(deadline=None)
@given(consultations())
def test_consultation_round_trip(facts: ConsultationFacts) -> None:
    """Every finished consultation comes back as it was, its origin filled and its duration measured."""
    tracing = Tracing()
    start = 1_700_000_000_000_000_000
    plain = replace(facts, origin=None, duration_s=None)
    emit.consultation(tracing.context(), plain, start_time=start, end_time=start + 1_250_000_000)
    assert read_both_ways(tracing, read.consultations) == ([facts], [facts])


@settings(deadline=None)
@given(consultations())
def test_timed_consultation_round_trip(facts: ConsultationFacts) -> None:
    """Every consultation recorded while it takes place comes back as it ended."""
    tracing = Tracing()
    with emit.consulting(tracing.context(), replace(facts, outcome='cancelled')) as span:
        span.end_with(facts)
    [read_back] = read.consultations(tracing.spans)
    assert replace(read_back, duration_s=facts.duration_s) == facts


def test_facts_come_in_the_order_of_the_starts(tracing: Tracing) -> None:
    """A consultation that started first is first, though it ended last."""
    ctx = tracing.context()
    for call_id, start, end in (('late', 200, 300), ('early', 100, 400)):
        emit.consultation(ctx, replace(START, call_id=call_id), start_time=start, end_time=end)
    assert [facts.call_id for facts in read.consultations(tracing.spans)] == ['early', 'late']


def test_each_reader_takes_its_own_spans(tracing: Tracing) -> None:
    """Other spans are passed over: those of ours, and those of anybody else."""
    ctx = tracing.context()
    with tracing.provider.get_tracer('app').start_as_current_span('GET /'):
        emit.select(ctx, SELECTION)
        emit.claim(ctx, GRANTED)
        emit.claim(ctx, REFUSED)
        emit.route(ctx, ROUTE)
        emit.consultation(ctx, START, start_time=0, end_time=0)
    assert read.selections(tracing.spans) == [replace(SELECTION, origin=ORIGIN)]
    assert read.claims(tracing.spans) == [replace(GRANTED, origin=ORIGIN), replace(REFUSED, origin=ORIGIN)]
    assert read.routes(tracing.spans) == [replace(ROUTE, origin=ORIGIN)]
    assert read.consultations(tracing.spans) == [replace(START, origin=ORIGIN, duration_s=0.0)]


def test_failure_without_a_code_reads_as_unknown(tracing: Tracing) -> None:
    """`_OTHER` says that there is no code; it is not one."""
    emit.consultation(tracing.context(), replace(START, outcome='error'))
    assert [facts.error_code for facts in read.consultations(tracing.spans)] == [None]


def test_native_timing_is_filled_in(tracing: Tracing) -> None:
    """A native consultation always says that its times are unknown, and has no duration."""
    emit.consultation(tracing.context(), replace(START, path='native'), start_time=0, end_time=5)
    [facts] = read.consultations(tracing.spans)
    assert (facts.timing, facts.duration_s) == ('unknown', None)


def test_cost_is_exact(tracing: Tracing) -> None:
    """A cost in dollars survives being a floating-point number in between."""
    emit.consultation(tracing.context(), replace(START, cost_usd=Decimal('0.1')))
    assert [facts.cost_usd for facts in read.consultations(tracing.spans)] == [Decimal('0.1')]


CLAIM_ATTRIBUTES: Mapping[str, Any] = {
    'gen_ai.agent.name': 'executor',
    'gen_ai.agent.call.id': 'run-1',
    'advisor.request.step': 1,
    'advisor.schema.version': 1,
    'advisor.quota.granted': True,
    'advisor.quota.scope': 'request',
    'advisor.quota.enforcer': 'capability',
    'advisor.quota.limit': 2,
    'advisor.call.id': 'call-1',
}


def foreign(**changed: Any) -> ReadableSpan:
    """A claim of another advisor, as the SDK holds it; a value of `None` leaves the attribute out."""
    attributes = {**CLAIM_ATTRIBUTES, **{key.replace('__', '.'): value for key, value in changed.items()}}
    present = {key: value for key, value in attributes.items() if value is not None}
    context = SpanContext(trace_id=1, span_id=2, is_remote=False)
    return ReadableSpan('claim advisor quota', context=context, attributes=present, start_time=1, end_time=1)


def test_span_of_another_advisor() -> None:
    """Whoever keeps to the vocabulary is read; what is absent and optional is `None`."""
    assert read.claims([foreign()]) == [
        ClaimFacts(
            granted=True,
            scope='request',
            enforcer='capability',
            call_id='call-1',
            limit=2,
            origin=SpanOrigin(agent_name='executor', run_id='run-1', conversation_id=None, step=1),
        )
    ]


def test_missing_attribute_is_an_error() -> None:
    """A span that lacks what is required is not silently passed over."""
    with pytest.raises(ValueError) as caught:
        read.claims([foreign(advisor__quota__scope=None)])
    assert str(caught.value) == (
        "span 'claim advisor quota' has no advisor.quota.scope, which is required (see docs/spans.md)"
    )


@pytest.mark.parametrize(
    ('changed', 'problem'),
    [
        ({'advisor__quota__scope': 'team'}, "advisor.quota.scope is 'team'; it must be one of request, run"),
        ({'advisor__quota__limit': '2'}, "advisor.quota.limit is '2'; it must be of type int"),
    ],
)
def test_wrong_attribute_is_an_error(changed: dict[str, Any], problem: str) -> None:
    """A value of the wrong type, or one that the enumeration does not have, is named with what is allowed."""
    with pytest.raises(ValueError) as caught:
        read.claims([foreign(**changed)])
    assert str(caught.value) == f"span 'claim advisor quota': {problem} (see docs/spans.md)"


def test_span_that_has_not_ended(tracing: Tracing) -> None:
    """A span that is still open cannot be read."""
    span = tracing.provider.get_tracer('app').start_span('GET /')
    with pytest.raises(ValueError) as caught:
        read.claims([span])  # pyright: ignore[reportArgumentType]  # an open span is what is tested
    span.end()
    assert str(caught.value) == "span 'GET /' has not ended. Read spans after their run is over."


def test_what_is_no_span() -> None:
    """Anything else is refused by name."""
    with pytest.raises(TypeError) as caught:
        read.claims([42])  # pyright: ignore[reportArgumentType]  # the wrong type is what is tested
    assert str(caught.value) == "'int' is no span. Give a `ReadableSpan` of the SDK or a `SpanNode`."


def test_announcements_of_logfire_are_passed_over(tracing: Tracing) -> None:
    """Logfire exports every span once more when it starts; only the finished one counts."""
    pending = foreign(**{'logfire.span_type': 'pending_span', 'advisor__quota__scope': None})
    assert read.claims([pending, foreign()]) == read.claims([foreign()])
