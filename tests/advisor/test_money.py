"""What a consultation cost: the provider's figure, the list price, or unknown; never 0 for unknown."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai import ModelResponse
from pydantic_ai.usage import RequestUsage

from advisor_harness import Advisor, Consultation
from advisor_harness.advisor.money import (
    NativeUsage,
    anthropic_usage,
    openrouter_advisor_cost,
    response_cost,
    total_cost,
)

from .scripts import OPUS, Provider, asks, completion, consulted, message, text


def response(cost: str | None = None, reported: float | None = None, **details: int) -> ModelResponse:
    usage = RequestUsage(details=details, cost=None if cost is None else Decimal(cost))
    return ModelResponse(parts=[], usage=usage, provider_details=None if reported is None else {'cost': reported})


def test_a_providers_own_figure_comes_before_the_list_price() -> None:
    """OpenRouter says what a response cost; elsewhere core's price counts; else it is unknown."""
    costs = [response_cost(found) for found in (response('1', 0.25), response('1'), response(reported=0.0), response())]
    assert costs == [Decimal('0.25'), Decimal(1), Decimal('0.0'), None]


def test_a_total_with_an_unknown_part_is_unknown() -> None:
    """Parts that are known do not add up to a total as soon as one is not; of nothing the total is 0."""
    assert total_cost([response('1'), response('0.5')]) == Decimal('1.5')
    assert total_cost([response('1'), response()]) is None
    assert total_cost([]) == Decimal(0)


def test_anthropic_reports_the_advisors_tokens_apart() -> None:
    """Tokens read from and written to a cache are input tokens at their own price."""
    details = {
        'advisor_iterations': 2,
        'advisor_input_tokens': 1000,
        'advisor_cache_read_input_tokens': 1000,
        'advisor_cache_creation_input_tokens': 1000,
        'advisor_output_tokens': 100,
    }
    assert anthropic_usage(response(**details), OPUS) == NativeUsage(2, 3000, 100, Decimal('0.01425'))


def test_anthropic_without_iterations_says_nothing() -> None:
    """A response whose usage does not mention an advisor leaves everything unknown."""
    assert anthropic_usage(response(input_tokens=5), OPUS) == NativeUsage()


@pytest.mark.parametrize(
    ('details', 'cost'),
    [
        ({'cost': 0.5, 'upstream_inference_cost': 0.125}, Decimal('0.375')),
        ({'cost': 0.5, 'upstream_inference_cost': 0.5}, Decimal('0.0')),
        ({'cost': 0.5}, None),
        ({'upstream_inference_cost': 0.5}, None),
        ({'cost': 0.5, 'upstream_inference_cost': 0.125, 'is_byok': True}, None),
        ({'cost': 0.5, 'upstream_inference_cost': 0.125, 'is_byok': False}, Decimal('0.375')),
        ({}, None),
    ],
)
def test_openrouters_two_costs_differ_by_the_advisors_share(details: dict[str, Any], cost: Decimal | None) -> None:
    """Total less the executor's upstream cost, where both are known and mean the same."""
    assert openrouter_advisor_cost(details) == cost


@pytest.mark.anyio
async def test_a_local_advisor_on_openrouter_costs_what_openrouter_says() -> None:
    """The reported cost of a local advisor's response is its cost."""
    records: list[Consultation] = []
    provider = Provider(completion('Use a lock.', cost=0.125))
    await consulted(Advisor(provider.openrouter(), on_consultation=records.append), asks('How?'))
    assert [record.cost_usd for record in records] == [Decimal('0.125')]


@pytest.mark.anyio
async def test_a_local_advisor_without_a_price_costs_an_unknown_amount() -> None:
    """Core has no price for this model: the cost is `None`."""
    records: list[Consultation] = []
    provider = Provider(message(text('Use a lock.'), model='claude-new'))
    await consulted(Advisor(provider.anthropic('claude-new'), on_consultation=records.append), asks('How?'))
    assert [record.cost_usd for record in records] == [None]
