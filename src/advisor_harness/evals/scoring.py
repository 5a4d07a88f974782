"""One case through pydantic-evals: the task, then its scorers, each contained, on the spans of the harness."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pydantic_ai import capture_run_messages
from pydantic_ai.messages import ModelMessage
from pydantic_evals import Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext, EvaluatorFailure, EvaluatorOutput, EvaluatorSpec
from pydantic_evals.lifecycle import CaseLifecycle
from pydantic_evals.otel import SpanTree
from pydantic_evals.reporting import EvaluationReport

from advisor_harness.evals.capture import Capture, active_capture
from advisor_harness.evals.contain import Ended, contained, description, in_thread
from advisor_harness.evals.plan import Job
from advisor_harness.evals.records import Score
from advisor_harness.evals.spans import scope_name
from advisor_harness.evals.suite import Task
from advisor_harness.evals.usage import span_metrics

__all__ = ['Evaluation', 'ScorerFailure', 'evaluate']


@dataclass(frozen=True)
class ScorerFailure:
    """A scorer that gave no result."""

    type: str
    message: str
    traceback: str


@dataclass(kw_only=True)
class Evaluation:
    """What became of a case."""

    ended: Ended
    """How the task ended."""
    scores: Mapping[str, Score] = field(default_factory=dict[str, Score])
    failures: tuple[ScorerFailure, ...] = ()
    messages: list[ModelMessage] = field(default_factory=list[ModelMessage])
    """Messages of the first agent run of the task, as far as it came."""
    interrupted: bool = False
    """Whether a `KeyboardInterrupt` came out of the task or a scorer."""


async def evaluate(job: Job, capture: Capture, *, limit_s: float | None = None) -> Evaluation:
    """Run a case and score it; what goes wrong in the task or a scorer is part of the result.

    Args:
        job: The case.
        capture: Gets its spans.
        limit_s: Seconds that the task, and each scorer, may take; `None` sets no limit.
    """
    run = _TaskRun(job.suite.suite.task, job.arm, capture, limit_s)
    scorers = [_Contained(scorer, limit_s) for scorer in (*job.case.evaluators, *job.suite.scorers)]
    # A dataset of one: what pydantic-evals loses when a task is cut off is then this case only.
    dataset = Dataset[Any, Any, Any](name=job.key.suite, cases=[replace(job.case, evaluators=[])], evaluators=scorers)
    report = await dataset.evaluate(
        run.task, task_name=job.key.suite, progress=False, lifecycle=partial(_Lifecycle, capture)
    )
    interrupted = isinstance(run.ended.error, KeyboardInterrupt) or any(scorer.interrupted for scorer in scorers)
    return Evaluation(
        ended=run.ended,
        scores=_scores(report),
        failures=() if run.ended.error is not None else _failures(report),
        messages=run.messages,
        interrupted=interrupted,
    )


class _TaskRun:
    """The task as pydantic-evals calls it."""

    def __init__(self, task: Task, arm: str, capture: Capture, limit_s: float | None) -> None:
        self._task = task
        self._arm = arm
        self._capture = capture
        self._limit_s = limit_s
        self.ended = Ended(error=RuntimeError('the task was not called'))
        self.messages: list[ModelMessage] = []

    async def task(self, inputs: Any) -> Any:
        """Run the task; raises `_TaskEnded` when it left no output."""
        self._capture.begin('task')
        with capture_run_messages() as self.messages:
            self.ended = await contained(lambda: _call(self._task, inputs, self._arm), limit_s=self._limit_s)
        self._capture.begin('scorer')
        if self.ended.error is not None:
            raise _TaskEnded
        return self.ended.value


class _TaskEnded(Exception):
    """Tells pydantic-evals that there is nothing to score."""


async def _call(task: Task, inputs: Any, arm: str) -> Any:
    if inspect.iscoroutinefunction(task):
        return await task(inputs, arm)
    output = await in_thread(task, inputs, arm)
    return await output if inspect.isawaitable(output) else output


class _Lifecycle(CaseLifecycle[Any, Any, Any]):
    """Hands the harness's own spans to the scorers, whatever the global tracer provider saw."""

    def __init__(self, capture: Capture, case: Any) -> None:
        super().__init__(case)
        self._capture = capture

    async def prepare_context(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluatorContext[Any, Any, Any]:
        spans = self._capture.task_spans
        tree = SpanTree()
        tree.add_readable_spans(spans)
        return replace(ctx, _span_tree=tree, metrics=self._metrics(ctx))

    def _metrics(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, int | float]:
        """The metrics of the task and of its requests; pydantic-evals counts these from other spans or not at all."""
        seen = ctx._span_tree  # pyright: ignore[reportPrivateUsage] - the property raises where nothing was seen
        counted = span_metrics(node.attributes for node in seen) if isinstance(seen, SpanTree) else {}
        own = {name: value - counted.get(name, 0) for name, value in ctx.metrics.items()}
        ours = (span for span in self._capture.task_spans if scope_name(span) == 'pydantic-ai')
        asked = span_metrics(span.attributes or {} for span in ours)
        totals = {name: own.get(name, 0) + asked.get(name, 0) for name in dict.fromkeys((*own, *asked))}
        return {name: total for name, total in totals.items() if total or name not in counted}


@dataclass(repr=False)
class _Contained(Evaluator[Any, Any, Any]):
    """A scorer whose cancellation or exit is its own failure and nothing more."""

    inner: Evaluator[Any, Any, Any]
    limit_s: float | None = None
    interrupted: bool = False

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> Any:
        return self.inner.evaluate(ctx)

    async def evaluate_async(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluatorOutput:
        capture = active_capture()
        assert capture is not None  # scorers run inside the case
        capture.begin('scorer')
        ended = await contained(lambda: self.inner.evaluate_async(ctx), limit_s=self.limit_s, what='scorer')
        if ended.error is None:
            return ended.value
        self.interrupted = isinstance(ended.error, KeyboardInterrupt)
        if isinstance(ended.error, Exception):
            raise ended.error
        kind, text = description(ended.error)
        raise RuntimeError(f'the scorer was cut off by {kind}: {text}') from ended.error

    def get_default_evaluation_name(self) -> str:
        return self.inner.get_default_evaluation_name()

    def get_evaluator_version(self) -> str | None:
        return self.inner.get_evaluator_version()

    def as_spec(self) -> EvaluatorSpec:
        return self.inner.as_spec()


def _scores(report: EvaluationReport[Any, Any, Any]) -> dict[str, Score]:
    return {
        name: Score(value=result.value, reason=result.reason)
        for case in report.cases
        for results in (case.assertions, case.scores, case.labels)
        for name, result in results.items()
    }


def _failures(report: EvaluationReport[Any, Any, Any]) -> tuple[ScorerFailure, ...]:
    found = [_scorer_failure(failure) for case in report.cases for failure in case.evaluator_failures]
    # The task returned, so what failed here is what pydantic-evals does around the scorers.
    for failure in report.failures:
        kind, _, text = failure.error_message.partition(': ')
        found.append(ScorerFailure(kind, text, failure.error_stacktrace))
    return tuple(found)


def _scorer_failure(failure: EvaluatorFailure) -> ScorerFailure:
    kind, _, text = failure.error_message.partition(': ')
    return ScorerFailure(kind, f'{failure.name}: {text}', failure.error_stacktrace)
