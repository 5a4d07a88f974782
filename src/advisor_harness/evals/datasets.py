"""The cases of a suite: read, checked and fingerprinted, with one clear message for everything that is wrong."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from pydantic_core import to_jsonable_python
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected, Evaluator, GEval, LLMJudge
from yaml import MarkedYAMLError

from advisor_harness.evals import scorers
from advisor_harness.evals.dataset_words import reasons
from advisor_harness.evals.errors import SuiteError
from advisor_harness.evals.meta import MetricKind
from advisor_harness.evals.naming import case_stem, shown
from advisor_harness.evals.suite import Suite

__all__ = ['AnyCase', 'AnyEvaluator', 'SuiteCases', 'load_cases', 'tags_of']

AnyCase: TypeAlias = Case[Any, Any, Any]
AnyEvaluator: TypeAlias = Evaluator[Any, Any, Any]

_KINDS: Mapping[str, MetricKind] = {
    'bool': 'assertion',
    'int': 'score',
    'float': 'score',
    'int | float': 'score',
    'float | int': 'score',
}

_ONE_RESULT = frozenset({'bool', 'int', 'float', 'str', 'EvaluationReason'})


@dataclass(frozen=True, kw_only=True)
class SuiteCases:
    """A suite with its cases read and checked."""

    suite: Suite
    cases: tuple[AnyCase, ...]
    """In order of the dataset; every name is there and unique."""
    scorers: tuple[AnyEvaluator, ...]
    """What scores every case: the dataset's evaluators, then the suite's scorers."""
    dataset_sha256: str
    scorers_sha256: str

    @property
    def tags(self) -> dict[str, tuple[str, ...]]:
        """Every case with its tags, in order."""
        return {cast(str, case.name): tags_of(case) for case in self.cases}

    @property
    def case_sha256(self) -> dict[str, str]:
        """Case to the SHA-256 of everything but its name."""
        return {cast(str, case.name): _digest([_case_json(case)[1:]]) for case in self.cases}

    @property
    def metrics(self) -> dict[str, MetricKind | None]:
        """Names that the scorers are known to use, and what kind of value they promise."""
        return {each.get_default_evaluation_name(): _kind(each) for each in self.every_scorer()}

    @property
    def judges(self) -> tuple[str, ...]:
        """Names of the results of judges, ours and those of pydantic-evals, each once."""
        judging = [each for each in self.every_scorer() if isinstance(each, scorers.Judge | LLMJudge | GEval)]
        names = [each.get_default_evaluation_name() for each in judging]
        return tuple(dict.fromkeys(name + end for name in names for end in ('', '_pass', '_score')))

    @property
    def known_names(self) -> frozenset[str] | None:
        """Names that results will have; `None` when a scorer may give names that only a run shows."""
        scorers = list(self.every_scorer())
        if any(not _gives_one_result(each) for each in scorers):
            return None
        return frozenset(each.get_default_evaluation_name() for each in scorers)

    def every_scorer(self) -> Iterator[AnyEvaluator]:
        """The scorers for every case, then those of single cases."""
        yield from self.scorers
        for case in self.cases:
            yield from case.evaluators


def load_cases(suite: Suite) -> SuiteCases:
    """Read the dataset of a suite.

    Raises:
        SuiteError: the dataset is not there, not readable, empty, or has cases without name, with the name of another
            case, or with tags that are not a list of words.
    """
    where = f'the dataset of suite {suite.name!r}'
    dataset = suite.dataset
    if not isinstance(dataset, Dataset):
        where = f'dataset {shown(suite.folder / dataset)}'
        dataset = _read(suite, suite.folder / dataset, where)
    _check(suite, dataset, where)
    found = SuiteCases(
        suite=suite,
        cases=tuple(dataset.cases),
        scorers=(*dataset.evaluators, *suite.scorers),
        dataset_sha256='',
        scorers_sha256='',
    )
    return SuiteCases(
        suite=suite,
        cases=found.cases,
        scorers=found.scorers,
        dataset_sha256=_digest(_case_json(case) for case in found.cases),
        scorers_sha256=_digest(_scorer_rows(found)),
    )


def tags_of(case: AnyCase) -> tuple[str, ...]:
    """The tags of a case: `tags` of its metadata, a mapping or an object."""
    metadata = case.metadata
    tags = cast('Mapping[str, Any]', metadata).get('tags') if isinstance(metadata, Mapping) else None
    if not isinstance(metadata, Mapping):
        tags = getattr(metadata, 'tags', None)
    if tags is None:
        return ()
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise SuiteError(f'`metadata.tags` of case {case.name!r} must be a list of words; got {tags!r}')
    found = tuple(cast('Iterable[Any]', tags))
    if any(not isinstance(tag, str) for tag in found):
        raise SuiteError(f'`metadata.tags` of case {case.name!r} must be a list of words; got {list(found)!r}')
    return found


def _read(suite: Suite, path: Path, where: str) -> Dataset[Any, Any, Any]:
    own = dict.fromkeys((*scorers.ALL, *suite.scorer_types, *map(type, suite.scorers)))
    try:
        return Dataset[Any, Any, Any].from_file(path, custom_evaluator_types=tuple(own))
    except FileNotFoundError as e:
        raise SuiteError(f'{where} of suite {suite.name!r} does not exist') from e
    except MarkedYAMLError as e:
        at = f' at line {e.problem_mark.line + 1}, column {e.problem_mark.column + 1}' if e.problem_mark else ''
        raise SuiteError(f'{where} is not valid YAML: {e.problem}{at}') from e
    except (ValueError, OSError, ExceptionGroup) as e:
        raise SuiteError(f'{where} is not a dataset: {"; ".join(reasons(e))}') from e


def _check(suite: Suite, dataset: Dataset[Any, Any, Any], where: str) -> None:
    if not dataset.cases:
        raise SuiteError(f'{where} is empty: a suite needs at least one case')
    if dataset.report_evaluators:
        raise SuiteError(f'{where} has report evaluators, which no gate reads: leave them out')
    names = set[str]()
    for position, case in enumerate(dataset.cases, start=1):
        if case.name is None or not case.name.strip():
            raise SuiteError(f'case {position} of {where} has no name: records and recordings are kept by it')
        if case.name in names:
            raise SuiteError(f'{where} has two cases named {case.name!r}: every name must be used once')
        names.add(case.name)
        tags_of(case)
    _check_files(suite, dataset, where)


def _check_files(suite: Suite, dataset: Dataset[Any, Any, Any], where: str) -> None:
    """Dots in names could make `a.b` + `c` and `a` + `b.c` the same file."""
    owners = dict[str, str]()
    for case in dataset.cases:
        for arm in suite.arm_names:
            for repeat in range(1, suite.repeat + 1):
                owner = f'case {case.name!r}, arm {arm!r}, repeat {repeat}'
                other = owners.setdefault(case_stem(cast(str, case.name), arm, repeat), owner)
                if other != owner:
                    raise SuiteError(f'in {where} {other} and {owner} would share their files: rename one of them')


def _kind(scorer: AnyEvaluator) -> MetricKind | None:
    return _KINDS.get(_returned(scorer))


def _gives_one_result(scorer: AnyEvaluator) -> bool:
    """Whether a scorer promises a single value, which then has the scorer's own name."""
    # It promises a mapping too, which is empty.
    return isinstance(scorer, EqualsExpected) or set(_returned(scorer).split(' | ')) <= _ONE_RESULT


def _returned(scorer: AnyEvaluator) -> str:
    returned = inspect.signature(type(scorer).evaluate).return_annotation
    return returned if isinstance(returned, str) else getattr(returned, '__name__', str(returned))


def _scorer_rows(cases: SuiteCases) -> list[Any]:
    """What scores every case, then what scores single ones: whichever case comes first, they are the same scorers."""
    single = [_scorer_json(cases.suite, each) for case in cases.cases for each in case.evaluators]
    return [
        *(_scorer_json(cases.suite, each) for each in cases.scorers),
        *sorted(single, key=lambda row: _digest([row])),
    ]


def _scorer_json(suite: Suite, scorer: AnyEvaluator) -> Any:
    try:
        return [scorer.as_spec(), scorer.get_evaluator_version()]
    except Exception as e:
        what = f'scorer {type(scorer).__name__} of suite {suite.name!r}'
        raise SuiteError(f'{what} cannot say what it is: is it a dataclass? {type(e).__name__}: {e}') from e


def _case_json(case: AnyCase) -> Any:
    scored_by = [each.as_spec() for each in case.evaluators]
    return [case.name, case.inputs, case.metadata, case.expected_output, scored_by]


def _digest(rows: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        plain = to_jsonable_python(row, fallback=repr, inf_nan_mode='strings')
        digest.update(json.dumps(plain, sort_keys=True).encode() + b'\n')
    return digest.hexdigest()
