"""The rules of a policy file: what a suite must hold. Unknown keys are errors, and so are keys given twice."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator, model_validator

from advisor_harness.evals.errors import PolicyError
from advisor_harness.evals.naming import shown
from advisor_harness.evals.rule_words import reasons

__all__ = ['Budgets', 'MetricGate', 'Policy', 'Preconditions', 'Quarantined']

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
Amount = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra='forbid', frozen=True, use_attribute_docstrings=True)


class Preconditions(_Part):
    """Least shares of cases, 0 to 1, for which the harness itself worked."""

    cassettes: Share = 1.0
    """Every request was recorded, and every recorded answer was asked for."""
    traces: Share = 1.0
    """The trace is complete."""
    scored: Share = 1.0
    """The case ran and every scorer gave a result."""


class MetricGate(_Part):
    """One gate on the mean of a metric, or on a metric over several cases."""

    metric: Name | None = None
    """Name of the metric, where it is not the name of the gate."""
    arm: Name | None = None
    """Only this arm; `None` takes all arms."""
    tag: Name | None = None
    """Only cases with this tag; `None` takes all cases."""
    of: Name | None = None
    """For a metric over several cases: the scorer whose value is a case's grade; `None` takes whether it passed."""
    against: Name | None = None
    """For a metric over several cases: the arm that `arm` (then `advised`) is compared with; `None` is `solo`."""
    min: Number | None = None
    """Least mean."""
    max: Number | None = None
    """Greatest mean."""
    max_regression: Amount | None = None
    """How much worse than the baseline the mean may be; with `flips`, the share of cases that may have got worse.

    `None` compares with no baseline, unless `test` is given: then it is 0.
    """
    test: Literal['flips', 'mcnemar', 'noninferiority', 'none'] = 'flips'
    """How `max_regression` is judged; `docs/policy.md` says when to use which."""
    alpha: Annotated[float, Field(strict=True, gt=0, lt=1)] = 0.05
    """Level of the test."""
    min_n: Annotated[int, Field(strict=True, ge=1)] = 5
    """Fewest pairs of cases that a test is done on."""
    direction: Literal['up', 'down'] = 'up'
    """Which way is better."""
    severity: Literal['block', 'warn', 'info'] = 'block'
    """What it means when the gate does not hold."""
    on_missing: Literal['fail', 'error'] = 'error'
    """What a case without the metric means: a failed gate, or a run that says nothing (`inconclusive`)."""

    @model_validator(mode='after')
    def _order(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f'min {self.min:g} is greater than max {self.max:g}')
        if self.test == 'noninferiority' and not self.max_regression:
            raise ValueError('test noninferiority needs `max_regression`, its margin, greater than 0, such as 0.05')
        if self.test in ('mcnemar', 'noninferiority') and self.alpha >= 0.5:
            raise ValueError(f'alpha {self.alpha:g} is no level of a test: it must be below 0.5, such as 0.05')
        return self

    @property
    def tolerance(self) -> float | None:
        """How much worse than the baseline is still fine; `None` when the gate compares with none."""
        if self.max_regression is None and 'test' in self.model_fields_set and self.test != 'none':
            return 0.0
        return self.max_regression


class Budgets(_Part):
    """Most that all cases of the suite together may use."""

    cost_usd: Amount | None = None
    """US dollars; inconclusive when the price of any request is unknown."""
    input_tokens: Annotated[int, Field(strict=True, ge=0)] | None = None
    output_tokens: Annotated[int, Field(strict=True, ge=0)] | None = None
    p95_recorded_latency_s: Amount | None = None
    """Seconds that 95 of 100 cases may take at most, as recorded; inconclusive when a recording does not say."""


class Quarantined(_Part):
    """A case that is set aside for a while."""

    case: Name
    reason: Name
    expires: date
    """Last day; afterwards the case counts again."""


class Policy(_Part):
    """What a suite must hold. Without `metrics` and `must_pass`, every case must pass."""

    preconditions: Preconditions = Preconditions()
    must_pass: tuple[Name, ...] = ()
    metrics: dict[Name, MetricGate] = Field(default_factory=dict[str, MetricGate])
    """Name of the gate to the gate; an empty entry only shows the metric."""
    budgets: Budgets = Budgets()
    quarantine: tuple[Quarantined, ...] = ()

    @field_validator('metrics', mode='before')
    @classmethod
    def _empty_entries(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        entries = cast('dict[Any, Any]', value)
        return {name: dict[str, Any]() if gate is None else gate for name, gate in entries.items()}

    _file: str | None = PrivateAttr(default=None)
    _sha256: str | None = PrivateAttr(default=None)

    @property
    def file(self) -> str | None:
        """The file it was read from, relative to the current directory; `None` without one."""
        return self._file

    @property
    def sha256(self) -> str | None:
        """SHA-256 of the file; `None` without one."""
        return self._sha256

    @property
    def only_all_pass(self) -> bool:
        """Whether the policy asks for nothing else but that every case passes."""
        return not self.metrics and not self.must_pass

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read a policy from a YAML file.

        Raises:
            PolicyError: the file does not exist, is not YAML, or has keys or values that a policy does not have.
        """
        data, sha256 = _read(path)
        try:
            policy = cls.model_validate({} if data is None else data)
        except ValidationError as e:
            raise PolicyError(f'policy {shown(path)}: {"; ".join(reasons(e))}') from e
        policy._file, policy._sha256 = shown(path), sha256
        return policy

    def set_aside(self, today: date) -> dict[str, str]:
        """The cases in quarantine on that day, with the reason."""
        return {each.case: each.reason for each in self.quarantine if today <= each.expires}

    def expired(self, today: date) -> dict[str, str]:
        """The cases whose quarantine is over on that day, with the reason and the last day."""
        over = (each for each in self.quarantine if each.case not in self.set_aside(today))
        return {each.case: f'{each.reason} (until {each.expires})' for each in over}


class _UniqueKeys(yaml.SafeLoader):
    """YAML where a key that is given twice is an error: the first gate would silently be gone."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set[Any]()
        for key_node, _ in node.value:
            if key_node.tag == 'tag:yaml.org,2002:merge':
                continue
            key = cast(Any, self.construct_object(key_node, deep=True))  # pyright: ignore[reportUnknownMemberType] - untyped
            if not isinstance(key, Hashable):
                continue  # the base class says so
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f'key {key!r} is given twice', problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def _read(path: Path) -> tuple[Any, str]:
    try:
        content = path.read_bytes()
        return yaml.load(content, _UniqueKeys), hashlib.sha256(content).hexdigest()
    except OSError as e:
        raise PolicyError(f'policy {shown(path)} cannot be read: {e.strerror}') from e
    except (yaml.YAMLError, ValueError) as e:  # a month 13 is a `ValueError`, and so is what is no text
        raise PolicyError(f'policy {shown(path)} is not valid YAML: {" ".join(str(e).split())}') from e
