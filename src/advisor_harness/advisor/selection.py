"""Which path the consultations of one executor request take, and why. Pure: options and executor in, decision out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic_ai.models import parse_model_id

from advisor_harness.advisor.models import ModelName, provider_of
from advisor_harness.advisor.options import Options, native_name
from advisor_harness.advisor.pairing import anthropic_pairing

__all__ = ['Path', 'Selection', 'decide', 'effective', 'native_impossible', 'refusal']

Path = Literal['native', 'local', 'none']


@dataclass(frozen=True)
class Selection:
    """The decision for one executor request."""

    path: Path
    reason: str
    """The first rule that applied, a value of `advisor.selection.reason`."""

    @property
    def offers_native(self) -> bool:
        """Whether the provider's own tool is put into the request."""
        return self.path == 'native'


_NEVER_NATIVE = frozenset({'mode_local', 'model_instance', 'output_type'})


def decide(options: Options, executors: Sequence[ModelName], *, run_remaining: int | None = None) -> Selection:
    """Choose a path for a request that one of `executors` will serve.

    Rules in order, the first that applies is the reason: `mode_local`, `model_instance`, `output_type`,
    `provider_mismatch`, `pair_invalid`, `max_uses_unsupported`, `executor_fallback` (candidates disagree),
    `model_unsupported`, `run_limit`; otherwise `mode_native` or `native_match`.

    With `mode='native'` there is no local path: what would send `auto` there gives `none`, and the capability raises.

    Args:
        options: The options of the advisor.
        executors: Every model that may serve the request, at least one.
        run_remaining: Consultations left for the run, `None` without a limit.
    """
    other: Path = 'none' if options.mode == 'native' else 'local'
    if reason := _never_native(options) or _no_native_advisor(options, executors):
        return Selection(other, reason)
    obstacles = {_obstacle(options, executor) for executor in executors}
    if len(obstacles) > 1:
        return Selection(other, 'executor_fallback')
    if obstacle := obstacles.pop():
        return Selection(other, obstacle)
    if run_remaining == 0:
        return Selection(other, 'run_limit')
    return Selection('native', 'mode_native' if options.mode == 'native' else 'native_match')


def effective(selection: Selection, *, offered: bool, local: bool) -> Selection:
    """What is left of a decision once other capabilities had their say about the tools of the request.

    Args:
        selection: The decision.
        offered: Whether the native tool is in the request.
        local: Whether the local tool is in the request.
    """
    if offered:
        return Selection('native', selection.reason)
    if local:
        return Selection('local', 'tool_withheld' if selection.offers_native else selection.reason)
    return Selection('none', selection.reason if selection.reason == 'run_limit' else 'tool_withheld')


def refusal(options: Options, executors: Sequence[ModelName], selection: Selection) -> str:
    """What to tell a user whose `mode='native'` cannot be had for this request."""
    names = ' or '.join(dict.fromkeys(map(str, executors)))
    problem = {
        'provider_mismatch': 'they are not served by the same provider',
        'pair_invalid': 'Anthropic rejects this pair',
        'executor_fallback': 'its candidates do not agree on a native advisor',
        'model_unsupported': 'this executor has no native advisor tool',
    }[selection.reason]
    return (
        f"`Advisor(mode='native')` with advisor {options.model!r} cannot serve executor {names!r}: {problem}. "
        "Change one of the models, or use mode='auto', which consults locally here."
    )


def native_impossible(options: Options) -> bool:
    """Whether no executor could ever take the native path under these options."""
    return _never_native(options) in _NEVER_NATIVE


def _never_native(options: Options) -> str | None:
    if options.mode == 'local':
        return 'mode_local'
    if not isinstance(options.model, str):
        return 'model_instance'
    if options.structured:
        return 'output_type'
    return None


def _no_native_advisor(options: Options, executors: Sequence[ModelName]) -> str | None:
    """The reason where no provider could run the advisor itself, whichever executor asks.

    At a provider without an advisor tool the executors' models lack it. A gateway's name does not say who serves.
    """
    if native_name(options.model) is not None:
        return None
    prefix = parse_model_id(str(options.model))[0] or ''
    same = all(executor.provider == provider_of(prefix) for executor in executors)
    return 'model_unsupported' if same and not prefix.startswith('gateway/') else 'provider_mismatch'


def _obstacle(options: Options, executor: ModelName) -> str | None:
    """What keeps one executor from using its provider's advisor, `None` when nothing does."""
    native = native_name(options.model)
    if native is None or executor.provider != native[0]:
        return 'provider_mismatch'
    if executor.provider == 'anthropic' and anthropic_pairing(executor.name or '', native[1]) == 'invalid':
        return 'pair_invalid'
    if executor.provider == 'openrouter' and options.max_uses is not None:
        return 'max_uses_unsupported'
    if not executor.supports_native:
        return 'model_unsupported'
    return None
