"""Cost against quality of the arms of a suite: where each point of the picture goes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from advisor_harness.evals.reports.arms import ArmFacts, Mean
from advisor_harness.evals.reports.words import percent, usd

__all__ = ['Plane', 'Point', 'Tick', 'plane']

WIDTH = 640
HEIGHT = 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 606, 22, 284
_LINE = 18  # distance of two labels, one above the other
_LABEL = 110  # room for a label beside its point


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A line of the grid with its text."""

    at: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Point:
    """One arm."""

    arm: str
    x: float
    y: float
    low: float
    """Where the interval of the share begins, and below where it ends."""
    high: float
    label_x: float
    label_y: float
    anchor: str
    text: str
    """What the point says, in words."""


@dataclass(frozen=True, kw_only=True)
class Plane:
    """The picture, in units of a view box of `WIDTH` x `HEIGHT`."""

    points: tuple[Point, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_name: str
    left: int = _LEFT
    right: int = _RIGHT
    top: int = _TOP
    bottom: int = _BOTTOM
    width: int = WIDTH
    height: int = HEIGHT


def plane(arms: Sequence[ArmFacts]) -> Plane | None:
    """The picture of at least two arms that were scored; `None` where there are no two to compare.

    Cost is US dollars where every price is known, otherwise tokens: a model without a price would look free.
    """
    scored = [arm for arm in arms if arm.share is not None]
    if len(scored) < 2:
        return None
    by_cost = all(arm.cost_usd.value is not None for arm in scored)
    costs = [_known(arm.cost_usd if by_cost else arm.tokens) for arm in scored]
    if not by_cost and any(math.isnan(cost) for cost in costs):
        return None
    step, end = _scale(max(costs))

    def across(cost: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * cost / end

    text = usd if by_cost else _tokens
    return Plane(
        points=tuple(_points(scored, costs, across, text)),
        x_ticks=tuple(
            Tick(at=round(across(i * step), 1), text=text(round(i * step, 9))) for i in range(round(end / step) + 1)
        ),
        y_ticks=tuple(Tick(at=round(_up(share / 100), 1), text=f'{share} %') for share in range(0, 101, 25)),
        x_name='mean cost of a case, US dollars' if by_cost else 'mean tokens of a case, as not every price is known',
    )


def _points(
    arms: Sequence[ArmFacts], costs: Sequence[float], across: Callable[[float], float], text: Callable[[float], str]
) -> Iterator[Point]:
    dots = [_Dot(arm, cost, across(cost)) for arm, cost in zip(arms, costs, strict=True)]
    for group in _near_each_other(dots):
        on_the_left = max(dot.x for dot in group) > _RIGHT - _LABEL
        label_x = min(dot.x for dot in group) - 16 if on_the_left else max(dot.x for dot in group) + 16
        label_y = -math.inf
        for dot in sorted(group, key=lambda dot: dot.y):
            label_y = max(dot.y + 5, label_y + _LINE)
            yield Point(
                arm=dot.arm.arm,
                x=round(dot.x, 1),
                y=round(dot.y, 1),
                low=round(_up(dot.interval[0]), 1),
                high=round(_up(dot.interval[1]), 1),
                label_x=round(label_x, 1),
                label_y=round(label_y, 1),
                anchor='end' if on_the_left else 'start',
                text=f'{dot.arm.arm}: {percent(dot.share)} of {dot.arm.n_scored} passed, at {text(dot.cost)} a case',
            )


class _Dot:
    """An arm that was scored, at its place."""

    def __init__(self, arm: ArmFacts, cost: float, x: float) -> None:
        assert arm.share is not None
        assert arm.interval is not None
        self.arm, self.cost, self.x = arm, cost, x
        self.share, self.interval = arm.share, arm.interval
        self.y = _up(arm.share)


def _near_each_other(dots: Sequence[_Dot]) -> Iterator[list[_Dot]]:
    """Groups of points whose labels would lie on each other, from left to right."""
    groups: list[list[_Dot]] = []
    for dot in sorted(dots, key=lambda dot: dot.x):
        near = [group for group in groups if any(_is_near(dot, other) for other in group)]
        groups = [group for group in groups if group not in near]
        groups.append([*(other for group in near for other in group), dot])
    return iter(groups)


def _is_near(one: _Dot, other: _Dot) -> bool:
    return abs(one.x - other.x) < _LABEL and abs(one.y - other.y) < _LINE


def _up(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * share


def _known(mean: Mean) -> float:
    return math.nan if mean.value is None else mean.value


def _scale(most: float) -> tuple[float, float]:
    """Distance of the lines and end of an axis that has room for `most`: four to six round steps."""
    if most <= 0:
        return 0.25, 1.0
    rough = most * 1.1 / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    return step, step * math.ceil(most * 1.05 / step)


def _tokens(count: float) -> str:
    return f'{count:,.0f}'
