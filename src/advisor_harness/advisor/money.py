"""What a consultation cost, in US dollars. Unknown is `None` everywhere, never 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from genai_prices import Usage, calc_price
from pydantic_ai.messages import ModelResponse

__all__ = ['NativeUsage', 'anthropic_usage', 'openrouter_advisor_cost', 'response_cost', 'total_cost']


@dataclass(frozen=True)
class NativeUsage:
    """What the consultations inside one response used together, as far as the provider says."""

    requests: int | None = None
    input_tokens: int | None = None
    """Input tokens, those read from and written to a cache included."""
    output_tokens: int | None = None
    cost_usd: Decimal | None = None


def response_cost(response: ModelResponse) -> Decimal | None:
    """The cost of one response: the provider's own figure where it reports one (OpenRouter), else its list price."""
    reported = (response.provider_details or {}).get('cost')
    return response.usage.cost if reported is None else Decimal(str(reported))


def total_cost(responses: Iterable[ModelResponse]) -> Decimal | None:
    """The cost of several responses together; `None` as soon as one is unknown."""
    total = Decimal(0)
    for response in responses:
        cost = response_cost(response)
        if cost is None:
            return None
        total += cost
    return total


def anthropic_usage(response: ModelResponse, advisor: str) -> NativeUsage:
    """The advisor's share of an Anthropic response, which reports it apart from the executor's (`usage.iterations`).

    Priced at the advisor's own model: these tokens are in no total of the executor.
    """
    details = response.usage.details
    requests = details.get('advisor_iterations')
    if not requests:
        return NativeUsage()
    tokens = {
        key: details.get(f'advisor_{key}', 0)
        for key in ('input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'output_tokens')
    }
    cache_read, cache_write = tokens['cache_read_input_tokens'], tokens['cache_creation_input_tokens']
    input_tokens, output_tokens = tokens['input_tokens'] + cache_read + cache_write, tokens['output_tokens']
    usage = Usage(
        input_tokens=input_tokens,
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_write,
        output_tokens=output_tokens,
    )
    return NativeUsage(requests, input_tokens, output_tokens, _price(usage, advisor))


def openrouter_advisor_cost(details: dict[str, Any]) -> Decimal | None:
    """The advisor's share of an OpenRouter response's cost: the total less what the executor's own provider took.

    With a key of the user's own (`is_byok`) the total leaves out what that provider bills, so the difference says
    nothing.
    """
    total, executor = details.get('cost'), details.get('upstream_inference_cost')
    if total is None or executor is None or details.get('is_byok'):
        return None
    return Decimal(str(total)) - Decimal(str(executor))


def _price(usage: Usage, model: str) -> Decimal | None:
    try:
        return calc_price(usage, model, provider_id='anthropic').total_price
    except LookupError:
        return None
