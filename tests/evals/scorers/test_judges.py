"""Judges on recorded traffic, and the labels beside their verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from advisor_harness.evals.scorers import Judge
from tests.evals.spans import Trace
from tests.evals.support import exchange, one_record, suite, write_cassette

pytestmark = pytest.mark.anyio

LABELS = ({'output': {'decision': 'stop'}, 'label': False}, {'output': 'Go.', 'label': True})


def judge(asked: list[str], **options: Any) -> Judge:
    """A judge that finds everything convincing, and what it was asked."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(str(messages[-1].parts[-1].content))  # pyright: ignore[reportAttributeAccessIssue] - a prompt
        args = {'reason': 'Fine.', 'pass': True, 'score': 1.0}
        return ModelResponse([ToolCallPart(info.output_tools[0].name, args)])

    return Judge('Is it clear?', FunctionModel(answer, model_name='judge'), **options)


async def verdicts(scorer: Judge, output: Any) -> dict[str, tuple[Any, str | None]]:
    found = await scorer.evaluate(Trace().context(inputs={'question': 'Go or stop?'}, output=output))
    return {name: (result.value, result.reason) for name, result in found.items()}


async def test_a_verdict_is_a_number_with_the_label_of_the_same_text() -> None:
    """The last advice is judged by the rubric and the question; what people said of this very text stands beside it."""
    asked: list[str] = []
    scorer = judge(asked, labels=LABELS, evaluation_name='Clear')
    output = {'advice': [{'decision': 'go'}, {'decision': 'stop'}]}
    assert await verdicts(scorer, output) == {'Clear': (1.0, 'Fine.'), 'Clear.label': (0.0, None)}
    assert all(text in asked[0] for text in ('Is it clear?', 'Go or stop?', 'stop'))


async def test_a_text_without_label_has_a_verdict_only() -> None:
    """A label for other words says nothing about these."""
    assert await verdicts(judge([], labels=LABELS), {'advice': 'Go now.'}) == {'Judge': (1.0, 'Fine.')}


@pytest.mark.parametrize('output', [{}, {'advice': []}, {'advice': None}])
async def test_nothing_to_judge(output: dict[str, Any]) -> None:
    """Where there is no advice the judge is not asked."""
    asked: list[str] = []
    assert await verdicts(judge(asked), output) == {}
    assert asked == []


async def test_a_judge_without_its_recording_is_inconclusive() -> None:
    """A judge's request that is not recorded is a miss like any other, never a verdict."""
    write_cassette(Path('cassettes/mirror/short.advised.yaml'), exchange('other'))
    found = await one_record(
        suite(
            task=lambda inputs, arm: {'advice': 'Go.'},
            scorers=(Judge('Is it clear?', 'openai-chat:gpt-5.4-mini'),),
            cassettes='cassettes/mirror',
        )
    )
    assert found.error is not None
    assert (found.state, found.error.where, found.error.type) == ('error', 'cassette', 'UnmatchedRequest')
