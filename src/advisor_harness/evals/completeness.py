"""Whether the trace of a case can be believed.

A trace is complete when all of this holds:

- it is not empty, and every span of the case that started also ended before the case did;
- it hangs together: the parent of every span is part of the case, save for the top spans, which the case started;
- every span of this package keeps to the vocabulary;
- it has at least as many model requests as models answered: recorded answers that were played to a `POST` to a model's
  endpoint, with a status below 400 and to the end. Answers that a provider paused (`pause_turn`) are not counted, as
  pydantic-ai goes on with the same request, nor are failures, which an SDK may try again within one request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan

from advisor_harness.cassettes import Cassette, Interaction
from advisor_harness.evals.capture import Capture
from advisor_harness.evals.usage import model_requests
from advisor_harness.telemetry import validate

__all__ = ['model_answers', 'trace_problem']

_MODEL_ENDPOINT = re.compile(
    r'(/chat/completions|/responses|/messages|/chat|/converse(-stream)?|:(stream)?generateContent)$', re.I
)
_ATTEMPT = 'model request attempt '


def trace_problem(capture: Capture, answers: int) -> str | None:
    """What the trace of a case lacks, or `None` when it is complete.

    Args:
        capture: What was collected.
        answers: How many answers of models the case got (`model_answers`).
    """
    spans = capture.spans
    if not spans:
        return 'no span was recorded: the task ran no agent, or one that is instrumented for another provider'
    if capture.open_names:
        return f'span {capture.open_names[0]!r} did not end'
    if orphans := capture.orphans:
        return f'the parent of span {orphans[0].name!r} was not recorded'
    for span in spans:
        if problems := validate.problems(span):
            return problems[0]
    requests = _requests(spans)
    if requests < answers:
        return f'{answers} answers of models were played, but only {requests} model requests left a span'
    return None


def model_answers(cassette: Cassette) -> int:
    """How many answers of models a case was played from its recording."""
    unused = set(map(id, cassette.unused))
    return sum(_is_model_answer(each) for each in cassette.interactions if id(each) not in unused)


def _is_model_answer(interaction: Interaction) -> bool:
    request, response = interaction.request, interaction.response
    path = request.url.partition('?')[0]
    return (
        request.method == 'POST'
        and _MODEL_ENDPOINT.search(path) is not None
        and 200 <= response.status < 400
        and response.network_error is None
        and b'pause_turn' not in response.body
    )


def _requests(spans: Sequence[ReadableSpan]) -> int:
    # A fallback's answer that was rejected is an attempt below the request that goes on to another model.
    return len(model_requests(spans)) + sum(span.name.startswith(_ATTEMPT) for span in spans)
