"""What a consultation cost, in US dollars. Unknown is `None` everywhere, never 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from genai_prices import Usage, calc_price
from pydantic_ai.messages import ModelResponse

__all__ = [
    'NativeUsage',
    'anthropic_usage',
    'executor_cost',
    'native_usage',
    'openrouter_advisor_cost',
    'response_cost',
    'total_cost',
]


@dataclass(frozen=True)
class NativeUsage:
    """What the consultations inside one response used together, as far as the provider says."""

    requests: int | None = None
    input_tokens: int | None = None
    """Input tokens, those read from and written to a cache included."""
    output_tokens: int | None = None
    cost_usd: Decimal | None = None


def response_cost(response: ModelResponse) -> Decimal | None:
    """The cost of one response: the provider's own figure where it reports one (OpenRouter), else its list price.

    With a key of the user's own (`is_byok`) OpenRouter's figure is its fee only: what was paid in all is unknown.
    """
    details = response.provider_details or {}
    if details.get('is_byok'):
        return None
    reported = details.get('cost')
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


def executor_cost(response: ModelResponse, *, advised: int | None) -> Decimal | None:
    """The executor's share of a response's cost.

    Anthropic counts its advisor's tokens apart. OpenRouter charges one sum, of which the upstream cost is the
    executor's where nothing but the advisor ran beside it.

    Args:
        response: The response.
        advised: Model requests of native consultations in it, `None` when that is not known.
    """
    details = response.provider_details or {}
    if response.provider_name != 'openrouter' or advised == 0:
        return response_cost(response)
    executor = details.get('upstream_inference_cost')
    if executor is None or advised is None or details.get('is_byok'):
        return None
    return Decimal(str(executor))


def native_usage(response: ModelResponse, advisor: str | None) -> NativeUsage | None:
    """What a response itself says of native consultations, `None` when it says nothing of any.

    OpenRouter counts its server tools together: that they are the advisor's is for the caller to know.
    """
    if response.provider_name == 'openrouter':
        details = response.provider_details or {}
        counts: dict[str, Any] = details.get('server_tool_use') or {}
        executed = counts.get('tool_calls_executed')
        return NativeUsage(requests=executed, cost_usd=openrouter_advisor_cost(details)) if executed else None
    usage = anthropic_usage(response, advisor or '')
    return usage if usage.requests else None


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
