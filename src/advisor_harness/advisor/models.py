"""The models of a run: which one serves the executor's request, and how the advisor's name becomes a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, ModelResolutionContext, check_allow_model_requests, infer_model, parse_model_id
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.native_tools import SUPPORTED_NATIVE_TOOLS, AdvisorTool

__all__ = ['ModelName', 'executor_candidates', 'named', 'provider_of', 'resolve_advisor', 'serving_model']

_APIS = {
    'openai-chat': 'openai',
    'openai-responses': 'openai',
    'openai-decisions': 'openai',
    'azure-responses': 'azure',
}
"""Prefixes of model names that choose an API of a provider, which the model itself then names."""


@dataclass(frozen=True)
class ModelName:
    """A model, named by its provider and its own name."""

    provider: str | None
    """`None` when only an unqualified name is known."""
    name: str | None
    supports_native: bool = False
    """Whether the model's profile lists the native advisor tool; it has the final say."""

    def __str__(self) -> str:
        return f'{self.provider}:{self.name}' if self.provider else str(self.name)


def executor_candidates(model: Any) -> tuple[ModelName, ...]:
    """Every model that may serve a request made through `model`, in the order they are tried.

    Looks through wrappers and into the candidates of a `FallbackModel`, because what those report about themselves is
    not what the provider will see.
    """
    return tuple(
        ModelName(
            leaf.system,
            leaf.model_name,
            supports_native=AdvisorTool in leaf.profile.get('supported_native_tools', SUPPORTED_NATIVE_TOOLS),
        )
        for leaf in _leaves(model)
    )


def serving_model(ctx: RunContext[Any]) -> str:
    """`provider:model` of the model that served the executor's latest response, or that will serve the next one."""
    last = ctx.messages[-1] if ctx.messages else None
    leaves = list(_leaves(ctx.model))
    if len(leaves) > 1 and isinstance(last, ModelResponse) and last.model_name:
        same_name = (leaf.system for leaf in leaves if leaf.model_name == last.model_name)
        return str(ModelName(last.provider_name or next(same_name, None), last.model_name))
    return str(ModelName(leaves[0].system, leaves[0].model_name))


def named(model: Model | str) -> ModelName:
    """The advisor's name as far as it is known before it is resolved, with the provider as a model would report it."""
    if isinstance(model, str):
        provider, name = parse_model_id(model)
        return ModelName('test' if model == 'test' else provider_of(provider), name)
    return ModelName(model.system, model.model_name)


def provider_of(prefix: str | None) -> str | None:
    """The provider that the prefix of a model's name stands for; a gateway is a way there, not a provider."""
    if prefix is None:
        return None
    prefix = prefix.removeprefix('gateway/')
    return _APIS.get(prefix, prefix)


async def resolve_advisor(ctx: RunContext[Any], model: Model | str) -> Model:
    """The model to consult: as given, or from its name by the rules of the executor's run.

    A name goes through the run's `resolve_model_id` capabilities first, then through `infer_model`. An executor that is
    a `TestModel` gets a `TestModel` for its advisor too, so that a test which overrides the one model never pays for
    the other.

    Raises:
        UserError: no capability and no provider knows the name, or the provider lacks its configuration.
        RuntimeError: model requests are not allowed (`pydantic_ai.models.ALLOW_MODEL_REQUESTS`).
    """
    if isinstance(model, Model):
        return model
    if all(isinstance(leaf, TestModel) for leaf in _leaves(ctx.model)):
        return TestModel()
    if ctx.root_capability is not None and ctx.root_capability.has_resolve_model_id and ctx.agent is not None:
        resolution = ModelResolutionContext(agent=ctx.agent, deps=ctx.deps)
        if resolved := await ctx.root_capability.resolve_model_id(resolution, model_id=model):
            return resolved
    if model != 'test':
        check_allow_model_requests()
    return infer_model(model)


def _leaves(model: Any) -> Iterator[Any]:
    if isinstance(model, WrapperModel):
        yield from _leaves(model.wrapped)
    elif isinstance(model, FallbackModel):
        for candidate in model.models:
            yield from _leaves(candidate)
    else:
        yield model
