"""What a policy names and the suite does not have: a slip of the pen, since a gate on nothing would hold nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import NoReturn

from advisor_harness.evals.errors import PolicyError
from advisor_harness.evals.meta import SuiteMeta
from advisor_harness.evals.metrics import METRICS
from advisor_harness.evals.rules import MetricGate, Policy
from advisor_harness.evals.suite import Arm

__all__ = ['check_names', 'over_several']


def over_several(metric: str, scorers: Collection[str]) -> bool:
    """Whether a gate's metric is one over several cases; a scorer of the same name goes first."""
    return metric in METRICS and metric not in scorers


def check_names(policy: Policy, suite: SuiteMeta, scorers: Collection[str] | None) -> None:
    """Refuse a policy that names an arm, a tag, a case or a metric that the suite does not have.

    Args:
        policy: The rules.
        suite: What the run owes, or would owe.
        scorers: Names that the suite's scorers give to their results; `None` when nobody can know them yet.

    Raises:
        PolicyError: it names something unknown; the message names it and what there is.
    """
    where = f'policy {policy.file or "without file"} of suite {suite.name!r}'
    arms = suite.all_arms or suite.arms
    tags = {tag for tags in suite.cases.values() for tag in tags}
    for name, gate in policy.metrics.items():
        if gate.arm is not None and gate.arm not in arms:
            _unknown(where, f'gate {name!r} names arm', gate.arm, arms)
        if gate.tag is not None and gate.tag not in tags:
            _unknown(where, f'gate {name!r} names tag', gate.tag, tags)
        if over_several(gate.metric or name, scorers or suite.metrics):
            _check_comparison(where, name, gate, arms, scorers)
        else:
            _check_metric(where, name, gate, scorers)
    for case in policy.must_pass:
        if case not in suite.cases:
            _unknown(where, '`must_pass` names case', case, suite.cases)
    for each in policy.quarantine:
        if each.case not in suite.cases:
            _unknown(where, '`quarantine` names case', each.case, suite.cases)


def _check_comparison(
    where: str, name: str, gate: MetricGate, arms: Collection[str], scorers: Collection[str] | None
) -> None:
    if gate.against is not None and gate.against not in arms:
        _unknown(where, f'gate {name!r} names arm', gate.against, arms)
    if gate.arm is None and Arm.ADVISED not in arms:
        raise PolicyError(
            f'{where}: gate {name!r} measures arm {str(Arm.ADVISED)!r} unless it says otherwise, which the suite does '
            f'not have: give it `arm`, one of {", ".join(arms)}'
        )
    if gate.of is not None and scorers is not None and gate.of not in scorers:
        _unknown(where, f'gate {name!r} reads metric', gate.of, scorers)


def _check_metric(where: str, name: str, gate: MetricGate, scorers: Collection[str] | None) -> None:
    for key in ('of', 'against'):
        if getattr(gate, key) is not None:
            raise PolicyError(
                f'{where}: gate {name!r} has `{key}`, which only metrics over several cases read: {", ".join(METRICS)}'
            )
    metric = gate.metric or name
    if scorers is not None and metric not in scorers:
        _unknown(where, f'gate {name!r} reads metric', metric, scorers)


def _unknown(where: str, what: str, name: str, known: Iterable[str]) -> NoReturn:
    names = sorted(known)
    few = ', '.join(names[:20]) + (', ...' if len(names) > 20 else '')
    near = get_close_matches(name, names, n=1)
    hint = f' (did you mean {near[0]!r}?)' if near and len(names) > 20 else ''
    raise PolicyError(f'{where}: {what} {name!r}, which the suite does not have: it has {few or "none"}{hint}')
