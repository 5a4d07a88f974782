"""What scorers read of a case besides its spans: fields of its inputs, output and expectation."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic_core import to_jsonable_python
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext, EvaluatorOutput

__all__ = ['ABSENT', 'AnyContext', 'Scorer', 'about', 'expected', 'field_of', 'text_of']

AnyContext = EvaluatorContext[Any, Any, Any]

ABSENT: Final = object()
"""A field that is not there, which is not the same as one that is `None`."""


class Scorer(Evaluator[Any, Any, Any]):
    """Base of the scorers here: the version changes whenever a definition does, so that baselines notice."""

    @abstractmethod
    def evaluate(self, ctx: AnyContext) -> EvaluatorOutput:
        """Score a case; an empty mapping says that there is nothing to measure."""

    def get_evaluator_version(self) -> str | None:
        return '1'

    def result(self, value: bool | float, reason: str | None = None) -> Mapping[str, EvaluationReason]:
        """The one result of this scorer."""
        return {self.get_default_evaluation_name(): EvaluationReason(value=value, reason=reason)}


def field_of(value: Any, name: str) -> Any:
    """Field `name` of a mapping, or of an object; `ABSENT` when it has none."""
    if isinstance(value, Mapping):
        return cast('Mapping[str, Any]', value).get(name, ABSENT)
    return getattr(value, name, ABSENT)


def expected(ctx: AnyContext, name: str, own: Any) -> Any:
    """What a case expects: the scorer's own argument, else the field of `expected_output`, else `ABSENT`."""
    return own if own is not None else field_of(ctx.expected_output, name)


def text_of(value: Any, field: str) -> str | None:
    """The text in a value: itself, or its field; structured content as JSON; `None` when there is none."""
    found = value if isinstance(value, str) else field_of(value, field)
    if found is ABSENT or found is None:
        return None
    return found if isinstance(found, str) else json.dumps(to_jsonable_python(found, fallback=repr), ensure_ascii=False)


def about(number: int, noun: str) -> str:
    """`1 consultation`, `2 consultations`."""
    return f'{number} {noun}' if number == 1 else f'{number} {noun}s'
