"""What holds for every history, every target and every rule."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from advisor_harness import Portability, PortableModel
from advisor_harness.routing import PortabilityReport
from advisor_harness.routing.portability import PortabilityError, explain
from tests.routing.portability.histories import OPAQUE, histories, policies
from tests.routing.portability.shapes import problems
from tests.routing.portability.wire import TARGETS, Wire, asked

pytestmark = pytest.mark.anyio

few = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize('target', TARGETS)
@few
@given(history=histories(), rules=policies())
async def test_explain_says_what_the_request_does(target: str, history: list[ModelMessage], rules: Portability) -> None:
    """The dry run equals the request, whose body has the API's shape and nothing opaque; the history stays as it is."""
    wire = Wire()
    model = wire.model(target)
    before = copy.deepcopy(history)
    foretold = explain([*history, asked('next?')], model, portability=rules)
    body = await wire.body(model, history, portability=rules)
    assert wire.reports == [foretold]
    assert (body is None) == bool(foretold.blocking) == bool(wire.refusals)
    assert history == before
    if body is not None:
        assert problems(target, body) == []
        assert OPAQUE not in json.dumps(body)


@pytest.mark.parametrize('target', TARGETS)
@few
@given(history=histories())
async def test_conversion_is_settled_after_one_pass(target: str, history: list[ModelMessage]) -> None:
    """Converting what was converted changes nothing more, and converting twice gives the same messages."""
    rules = Portability(uploaded_files='convert', media='drop', server_state='drop')
    model = PortableModel(Wire().model(target), rules)
    messages = [*history, asked('next?')]
    try:
        once = model.prepare_messages(messages)
    except PortabilityError:
        return
    assert model.prepare_messages(messages) == once
    again = model.prepare_messages(once)
    assert [message.parts for message in again] == [message.parts for message in once]


@few
@given(history=histories(), target=st.sampled_from(TARGETS))
async def test_reports_and_histories_survive_json(target: str, history: list[ModelMessage]) -> None:
    """A history that was stored is explained as before, and the report itself can be stored."""
    model = Wire().model(target)
    restored = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(history))
    report = explain(history, model)
    assert explain(restored, model) == report
    assert PortabilityReport.from_json(json.loads(json.dumps(report.as_json()))) == report


@pytest.mark.parametrize('target', TARGETS)
@few
@given(history=histories(url=None))
async def test_what_the_target_wrote_itself_keeps_the_shape_too(target: str, history: list[ModelMessage]) -> None:
    """A history that the target's own place wrote in part is sent in its shape."""
    wire = Wire()
    model = wire.model(target)
    rules = Portability(uploaded_files='convert', media='convert')
    body = await wire.body(model, history, portability=rules)
    assert problems(target, body) == [] if body is not None else wire.refusals
