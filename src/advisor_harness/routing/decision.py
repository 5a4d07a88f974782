"""From what is remembered to what one request does: facts and pure functions, nothing that reads or sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic_ai.models import Model

from advisor_harness.routing.portability import PortabilityReport
from advisor_harness.routing.route import Route
from advisor_harness.routing.stamp import Stamp
from advisor_harness.telemetry import RouteFacts

__all__ = ['Decision', 'RouteSwitch', 'Selection', 'Source', 'decide', 'facts']

Source = Literal['stored', 'stamp', 'selector', 'default', 'missing']
"""What named the route: the store, the history, a policy, nothing (the default), or a name that is not registered any
more."""


@dataclass(frozen=True)
class Selection:
    """The route that was selected for a request."""

    name: str
    route: Route
    source: Source
    note: str | None = None
    """The reason that was given when the route was set, or the policy's."""
    about: str | None = None
    """What a policy was asked about; within a run it is not asked about the same again."""


@dataclass(frozen=True)
class RouteSwitch:
    """Another route takes over a conversation, with the request that is about to be sent."""

    conversation_id: str | None
    """Id of the conversation."""
    previous: str
    """The route that served before."""
    route: str
    """The route that serves from now on."""
    reason: str
    """The reason given to `set_active_route`, or the policy's; without one, the span's `model_routing.reason`."""
    report: PortabilityReport
    """What becomes of the history that moves."""


@dataclass(frozen=True)
class Decision:
    """What the router says about one request before it is sent."""

    route: str | None
    """The route that serves; `None` for a model that was given to the run instead."""
    kind: Literal['initialize', 'retain', 'switch']
    """What became of the conversation's route. A model given to the run leaves it as it is."""
    reason: str
    """A value of `model_routing.reason`."""
    note: str | None
    previous_route: str | None
    previous_model: str | None
    """`provider:name` of the model that served before, whether by a route or not."""
    candidates: tuple[str, ...]

    @property
    def is_switch(self) -> bool:
        """Whether another route takes over."""
        return self.kind == 'switch'

    def switch(self, conversation_id: str | None, report: PortabilityReport) -> RouteSwitch:
        """The switch that this is."""
        assert self.previous_route, 'a switch has a route before it'
        assert self.route, 'a switch has a route after it'
        return RouteSwitch(conversation_id, self.previous_route, self.route, self.note or self.reason, report)


def decide(
    selection: Selection | None, *, last: Stamp | None, previous_route: str | None, candidates: tuple[str, ...]
) -> Decision:
    """Compare what was selected with what served before.

    Args:
        selection: The route that serves; `None` when a model does that was given to the run.
        last: Stamp of the conversation's last response, if one is known.
        previous_route: The route that served the conversation last, if any did.
        candidates: Names of the registered routes, sorted.
    """
    route = selection.name if selection else None
    kind = _kind(route, previous_route)
    return Decision(
        route=route,
        kind=kind,
        reason=_reason(selection, changed=kind != 'retain'),
        note=selection.note if selection else None,
        previous_route=previous_route,
        previous_model=last.model if last else None,
        candidates=candidates,
    )


def facts(decision: Decision, model: Model, report: PortabilityReport, *, blocked: bool = False) -> RouteFacts:
    """What the span says once it is known that `model` serves, or that it was asked in vain.

    Args:
        decision: What was decided before.
        model: The model that serves.
        report: What became of the history.
        blocked: Whether nothing was sent because of it.
    """
    previous = decision.previous_model
    dropped = [issue.kind for issue in report.issues if issue.action == 'drop']
    return RouteFacts(
        route=decision.route,
        reason=_blocked(report) if blocked else decision.reason,
        decision=decision.kind,
        provider=model.system,
        model=model.model_name,
        switched=previous is not None and previous != model.model_id,
        previous_model=previous.partition(':')[2] if previous is not None else None,
        previous_route=decision.previous_route,
        candidates=decision.candidates,
        history_portable=not blocked,
        history_action='blocked' if blocked else _action(report),
        parts_dropped=len(dropped) if dropped and not blocked else None,
        dropped_kinds=tuple(sorted(set(dropped))) if not blocked else (),
        issues=tuple(report.kinds),
    )


def _action(report: PortabilityReport) -> str:
    if any(issue.action == 'drop' for issue in report.issues):
        return 'dropped_parts'
    return 'converted' if report.issues else 'kept'


def _blocked(report: PortabilityReport) -> str:
    too_long = all(issue.kind == 'context_window' for issue in report.blocking)
    return 'context_window' if too_long else 'history_incompatible'


def _kind(route: str | None, previous: str | None) -> Literal['initialize', 'retain', 'switch']:
    if route is None or route == previous:
        return 'retain'
    return 'initialize' if previous is None else 'switch'


def _reason(selection: Selection | None, *, changed: bool) -> str:
    if selection is None:
        return 'override'
    if selection.source == 'stored':
        return 'rule' if changed else 'sticky'
    return {'stamp': 'sticky', 'selector': 'rule', 'default': 'default', 'missing': 'error'}[selection.source]
