"""Which model serves, and the place that can read the opaque data it leaves in a history.

A provider's name alone does not say that: one provider has several APIs, and one name may stand for several endpoints.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, StreamedResponse
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel

__all__ = ['endpoint', 'identity', 'layers', 'leaves', 'serving_leaf']

_ADAPTERS = 'pydantic_ai.models.'


def identity(model: Model) -> str:
    """`provider|endpoint|API` of a model that is no wrapper; the endpoint is empty when the model has none.

    The endpoint is the base URL without credentials, query and trailing slash, and the API is the name of pydantic-ai's
    adapter, also for a subclass of it.
    """
    return f'{model.system}|{endpoint(model.base_url)}|{_api(model)}'


def layers(model: Model) -> list[Model]:
    """`model` and the models it wraps, from the outside in."""
    found = [model]
    while isinstance(model, WrapperModel):
        model = model.wrapped
        found.append(model)
    return found


def leaves(model: Model) -> list[Model]:
    """The models that may serve a request made through `model`, in the order they are tried."""
    innermost = layers(model)[-1]
    if isinstance(innermost, FallbackModel):
        return [leaf for candidate in innermost.models for leaf in leaves(candidate)]
    return [innermost]


def serving_leaf(model: Model, answer: ModelResponse | StreamedResponse | None) -> Model:
    """The model behind `model` that gave `answer`, or `model` itself while none of several has answered.

    What a provider says about itself may be less precise than the model it was asked for (no endpoint, a dated name),
    so of several the one most like the answer counts, and of equals the first that is not known to have failed.
    """
    candidates = leaves(model)
    if len(candidates) == 1:
        return candidates[0]
    if answer is None:
        return model
    failed = {(attempt.provider_name, attempt.model_name) for attempt in answer.failed_attempts or ()}
    answered_at, name = endpoint(answer.provider_url), answer.model_name or ''

    def likeness(leaf: Model) -> tuple[bool, bool, int, bool]:
        return (
            leaf.system == answer.provider_name,
            answered_at in ('', endpoint(leaf.base_url)),
            len(leaf.model_name) if name.startswith(leaf.model_name) else 0,
            (leaf.system, leaf.model_name) not in failed,
        )

    return max(candidates, key=likeness)


def endpoint(url: str | None) -> str:
    """A base URL without credentials, query and trailing slash; empty for none. What is no URL stays as it is."""
    if not url:
        return ''
    try:
        parts = urlsplit(url)
    except ValueError:  # a history may come from a client
        return url
    return f'{parts.scheme}://{parts.netloc.rpartition("@")[2].lower()}{parts.path.rstrip("/")}'


def _api(model: Model) -> str:
    adapters = (kind.__name__ for kind in type(model).__mro__ if kind.__module__.startswith(_ADAPTERS))
    return next(adapters, type(model).__name__)
