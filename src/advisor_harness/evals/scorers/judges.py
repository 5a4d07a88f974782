"""Judges: models that grade what no program can, on recorded traffic like any other request.

A judge is a measuring device that has to be calibrated. Its results come with the label that a person gave to the same
text, where there is one, and a gate on a judge blocks only when the two agree well enough (`metrics.agreement`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.models import Model
from pydantic_core import to_jsonable_python
from pydantic_evals.evaluators import EvaluationReason, Evaluator
from pydantic_evals.evaluators.llm_as_a_judge import judge_input_output

from advisor_harness.cassettes import CassetteModels
from advisor_harness.evals.metrics.names import label_of
from advisor_harness.evals.scorers._answers import listed
from advisor_harness.evals.scorers._reading import ABSENT, AnyContext, field_of

__all__ = ['Judge']


@dataclass
class Judge(Evaluator[Any, Any, Any]):
    """1 when a model finds that a field of the output meets a rubric, else 0; pydantic-evals' judge asks it.

    A number, no assertion: whether a case passes never depends on a judge. With a label for the very text that is
    judged, the label is reported beside it as `<name>.label`. No result where the output has nothing in the field.
    """

    rubric: str
    """What the text must do, as one would tell a person who grades it."""
    model: str | Model
    """The judge, `provider:name`, or a model on `cassette_client()`."""
    output: str = 'advice'
    """Field of the output that is judged; of a list, its last item."""
    question: str = 'question'
    """Field of the inputs with the question."""
    labels: Sequence[Mapping[str, Any]] = field(default=())
    """What people said: `{output: text or mapping, label: true or false}` each."""
    evaluation_name: str | None = None
    """Name of the result; `None` takes the name of the class."""

    async def evaluate(self, ctx: AnyContext) -> Mapping[str, EvaluationReason]:
        """Ask the judge."""
        given = listed(field_of(ctx.output, self.output))
        if not given:
            return {}
        text = to_jsonable_python(given[-1], fallback=repr)
        question = field_of(ctx.inputs, self.question)
        model = self.model if isinstance(self.model, Model) else CassetteModels.model(self.model)
        verdict = await judge_input_output(None if question is ABSENT else question, text, self.rubric, model)
        name = self.get_default_evaluation_name()
        said = [item['label'] for item in self.labels if item['output'] == text]
        label = {label_of(name): EvaluationReason(value=float(said[0]))} if said else {}
        return {name: EvaluationReason(value=float(verdict.pass_), reason=verdict.reason), **label}

    def get_default_evaluation_name(self) -> str:
        """The name of the result."""
        return self.evaluation_name or type(self).__name__

    def get_evaluator_version(self) -> str | None:
        """Changes whenever the definition does."""
        return '1'
