"""Messages are converted once per request, and again where anything of them was changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ThinkingPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.native_tools import AdvisorTool
from pydantic_ai.settings import ModelSettings

from advisor_harness.routing.portability import PortabilityReport, PortableModel, model as module
from advisor_harness.routing.portability.convert import convert

pytestmark = pytest.mark.anyio

Change = Callable[[list[ModelMessage]], object]


def history() -> list[ModelMessage]:
    """A turn of another model, and a question."""
    thinking = ThinkingPart('Hm.', signature='S', provider_name='other')
    return [
        ModelRequest([UserPromptPart(['One?'])]),
        ModelResponse([thinking, TextPart('1')], provider_name='other', provider_response_id='r1'),
        ModelRequest([UserPromptPart('Two?')]),
    ]


class Counted:
    """A model that keeps what it is sent and told, and how often anything was converted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.conversions = 0
        self.sent: list[ModelMessage] = []
        self.reports: list[PortabilityReport] = []
        self.model = PortableModel(FunctionModel(self._answer), on_report=self.reports.append)
        monkeypatch.setattr(module, 'convert', self._convert)

    def _convert(self, *args: Any, **options: Any) -> Any:
        self.conversions += 1
        return convert(*args, **options)

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.sent = messages
        return ModelResponse([TextPart('ok')])

    async def ask(self, change: Change, settings: ModelSettings | None = None, **offered: Any) -> int:
        """Prepare, change and send; returns how often that converted the messages."""
        before = self.conversions
        prepared = self.model.prepare_messages(history(), ModelRequestParameters())
        change(prepared)
        await self.model.request(prepared, settings, ModelRequestParameters(**offered))
        return self.conversions - before


def nothing(messages: list[ModelMessage]) -> None:
    """Leave the messages as they are."""


def more_thinking(messages: list[ModelMessage]) -> None:
    """Add what has to be converted to a message that has been."""
    thinking = ThinkingPart('Hm?', signature='S', provider_name='other')
    cast('list[Any]', messages[1].parts).append(thinking)


def another_text(messages: list[ModelMessage]) -> None:
    """Write into a part."""
    cast(TextPart, messages[1].parts[1]).content = 'one'


def another_item(messages: list[ModelMessage]) -> None:
    """Write into the list of a part."""
    cast('list[Any]', cast(UserPromptPart, messages[0].parts[0]).content).append('Or two?')


def another_provider(messages: list[ModelMessage]) -> None:
    """Write into a message."""
    cast(ModelResponse, messages[1]).provider_name = 'third'


def another_message(messages: list[ModelMessage]) -> None:
    """Put an equal message in the place of one."""
    messages[0] = ModelRequest([UserPromptPart(['One?'])])


def one_more(messages: list[ModelMessage]) -> None:
    """Go on with a turn."""
    messages.append(ModelResponse([TextPart('2')]))


@pytest.mark.parametrize('settings', [None, ModelSettings(max_tokens=5, temperature=0)])
async def test_what_was_prepared_is_not_converted_again(
    monkeypatch: pytest.MonkeyPatch, settings: ModelSettings | None
) -> None:
    """The second step sends what the first one made, and tells the same report as a conversion would."""
    counted = Counted(monkeypatch)
    assert await counted.ask(another_message, settings) == 2
    converted_twice = counted.sent
    assert await counted.ask(nothing, settings) == 1
    again, once = counted.reports
    assert once == again
    assert [message.metadata for message in counted.sent] == [None, None, None]
    assert [part.part_kind for part in counted.sent[1].parts] == ['text', 'text']
    assert counted.sent[1].parts == converted_twice[1].parts


@pytest.mark.parametrize(
    'change', [more_thinking, another_text, another_item, another_provider, another_message, one_more]
)
async def test_what_was_changed_is_converted_again(monkeypatch: pytest.MonkeyPatch, change: Change) -> None:
    """Whatever anybody did to the messages between the two steps is seen, and none of it is sent unconverted."""
    counted = Counted(monkeypatch)
    assert await counted.ask(change) == 2
    assert 'thinking' not in [part.part_kind for message in counted.sent for part in message.parts]


async def test_settings_and_tools_that_rules_read_are_converted_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Preparing knows neither the settings of the request nor, always, its tools."""
    counted = Counted(monkeypatch)
    assert await counted.ask(nothing, ModelSettings(thinking=True)) == 2
    assert await counted.ask(nothing, native_tools=[AdvisorTool(model='m')]) == 2


async def test_a_request_is_settled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was sent is forgotten, so that no history is kept and no later request takes it for its own."""
    counted = Counted(monkeypatch)
    prepared = counted.model.prepare_messages(history(), ModelRequestParameters())
    for expected in (1, 2):
        await counted.model.request(prepared, None, ModelRequestParameters())
        assert counted.conversions == expected
