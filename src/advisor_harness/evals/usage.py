"""What a case used: requests, tokens and dollars, counted from its spans, each request once.

Counted are the spans of pydantic-ai: provider SDKs emit spans with the same attributes for the same requests. Tokens
and cost of a native advisor are in no such span: they come from the consultation's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from advisor_harness.evals.spans import scope_name
from advisor_harness.telemetry import ConsultationFacts, read
from advisor_harness.telemetry.conventions import CONSULT_ADVISOR

__all__ = ['Usage', 'model_requests', 'span_metrics', 'usage_of']

_MODEL = 'gen_ai.request.model'
_TOKENS = 'gen_ai.usage.'
_COST = 'operation.cost'


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Totals over all model requests of a case, the advisor's included."""

    requests: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """US dollars; `None` as soon as the price of one request is unknown."""

    @property
    def counts(self) -> dict[str, int]:
        """The totals that are whole numbers."""
        return {'requests': self.requests, 'input_tokens': self.input_tokens, 'output_tokens': self.output_tokens}


def usage_of(spans: Sequence[ReadableSpan]) -> Usage:
    """Add up what the model requests among `spans` used.

    Raises:
        ValueError: a consultation's span does not keep to the vocabulary.
    """
    asked = _asking(spans)
    consulting = [span for span in spans if span.name == CONSULT_ADVISOR]
    native = [each for each in read.consultations(consulting) if each.path == 'native']
    return Usage(
        requests=len(model_requests(spans)) + sum(each.requests or 0 for each in native),
        input_tokens=_sum(asked, 'gen_ai.usage.input_tokens') + sum(each.input_tokens or 0 for each in native),
        output_tokens=_sum(asked, 'gen_ai.usage.output_tokens') + sum(each.output_tokens or 0 for each in native),
        cost_usd=_cost(asked, native),
    )


def model_requests(spans: Iterable[ReadableSpan]) -> list[ReadableSpan]:
    """The spans that stand for one model request each."""
    return [span for span in _asking(spans) if _attributes(span).get('gen_ai.operation.name') == 'chat']


def span_metrics(attributes_of_spans: Iterable[Any]) -> dict[str, float]:
    """Metrics as pydantic-evals derives them from the attributes of spans, for its evaluators."""
    metrics: dict[str, float] = {}
    for attributes in attributes_of_spans:
        if _MODEL not in attributes:
            continue
        for key, value in attributes.items():
            name, amount = _metric(key, value)
            if amount:
                metrics[name] = metrics.get(name, 0) + amount
    return metrics


def _metric(key: str, value: Any) -> tuple[str, float]:
    if key == 'gen_ai.operation.name':
        return 'requests', int(value == 'chat')
    if not isinstance(value, int | float):
        return key, 0
    if key == _COST:
        return 'cost', value
    name = key.removeprefix(_TOKENS).removeprefix('details.')
    return name, value if key.startswith(_TOKENS) else 0


def _asking(spans: Iterable[ReadableSpan]) -> list[ReadableSpan]:
    return [span for span in spans if scope_name(span) == 'pydantic-ai' and _MODEL in _attributes(span)]


def _attributes(span: ReadableSpan) -> Mapping[str, Any]:
    return span.attributes or {}


def _sum(spans: Iterable[ReadableSpan], key: str) -> int:
    return sum(int(_attributes(span).get(key, 0)) for span in spans)


def _cost(asked: Sequence[ReadableSpan], native: Sequence[ConsultationFacts]) -> float | None:
    costs = [_attributes(span).get(_COST) for span in asked if not _answered_nothing(span)]
    costs += [None if each.cost_usd is None else float(each.cost_usd) for each in native if each.requests != 0]
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if len(known) == len(costs) else None


def _answered_nothing(span: ReadableSpan) -> bool:
    """A request that failed without an answer was not billed."""
    used = any(key.startswith(_TOKENS) for key in _attributes(span))
    return span.status.status_code is StatusCode.ERROR and not used
