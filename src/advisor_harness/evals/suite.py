"""Suites: a dataset, a task, the arms it runs in, what scores it, where its recordings are and what it must hold.

A suite is a Python file in `evals/` with a module-level `suite`; `load_suites` finds them all.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic_evals import Dataset
from pydantic_evals.evaluators import Evaluator

from advisor_harness.evals.errors import HarnessError, SuiteError
from advisor_harness.evals.naming import shown

if TYPE_CHECKING:
    from advisor_harness.cassettes import Matching

__all__ = ['Arm', 'Recording', 'Suite', 'Task', 'check_names', 'load_suite', 'load_suites']

Task: TypeAlias = 'Callable[[Any, str], Awaitable[Any] | Any]'
"""`async def task(inputs, arm) -> output`; a plain function runs in a thread."""


class Arm(StrEnum):
    """The usual arms; a suite may use any other name."""

    SOLO = 'solo'
    """The executor alone."""
    ADVISED = 'advised'
    """The executor with an advisor."""
    STRONG = 'strong'
    """The advisor's model alone."""
    PLACEBO = 'placebo'
    """The executor with advice that says nothing."""


@dataclass(frozen=True, kw_only=True)
class Recording:
    """Where requests go while a suite is recorded, and who answers them."""

    recorded_with: Mapping[str, str]
    """Written into every cassette: `by` (`provider`, `local model`, `emulator`), `model`, `tool`, `version`."""
    upstream: Mapping[str, str] = field(default_factory=dict[str, str])
    """Origin in the request (`https://api.openai.com`) to the origin that answers instead (`http://127.0.0.1:8080`)."""


@dataclass(frozen=True, kw_only=True)
class Suite:
    """What is run, on which cases, and how it is judged.

    Raises:
        SuiteError: an argument is not usable; the message names it.
    """

    task: Task
    """Called once per case, arm and repeat as `task(inputs, arm)`."""
    dataset: str | Path | Dataset[Any, Any, Any]
    """A pydantic-evals dataset, or the path of its YAML or JSON file."""
    name: str = ''
    """Name of the suite; empty takes the name of its module when `load_suites` loads it."""
    arms: Sequence[str] = (Arm.ADVISED,)
    """Names of the arms to run every case in."""
    scorers: Sequence[Evaluator[Any, Any, Any]] = ()
    """Evaluators for every case, besides those of the dataset."""
    scorer_types: Sequence[type[Evaluator[Any, Any, Any]]] = ()
    """Evaluator classes that the dataset's file names, besides those of pydantic-evals and of this package."""
    cassettes: str | Path | None = None
    """Folder of the recordings; `None` when the task reaches no provider, which makes the suite `sampled`."""
    plays: Mapping[str, str] = field(default_factory=dict[str, str])
    """Arms that have no recordings of their own and play those of an arm before them, such as `{'placebo': 'advised'}`.

    This holds only where both arms send the same requests; whatever differs misses, and the case is inconclusive.
    """
    policy: str | Path | None = None
    """Policy file; without one every case must pass."""
    matching: Matching | None = None
    """How requests are matched to recorded ones; `None` compares everything that `Matching()` does."""
    recording: Callable[[], AbstractAsyncContextManager[Recording]] | None = None
    """Entered once around a recording of this suite; `None` records from the providers themselves."""
    repeat: int = 1
    """Runs per case and arm, >= 1; each needs a recording of its own."""
    timeout: float | None = None
    """Seconds that a task, and each scorer of its case, may take, > 0; `None` waits as long as it takes."""
    folder: Path = Path()
    """Folder that relative paths start from; `load_suites` sets the one of the suite's file."""
    file: Path | None = None
    """File that the suite was loaded from, set by `load_suites`; `None` when it was made in some other way."""

    def __post_init__(self) -> None:
        if not callable(self.task):
            raise SuiteError(f'`Suite.task` must be a function `task(inputs, arm)`; got {self.task!r}')
        if isinstance(self.arms, str) or not self.arms:
            raise SuiteError(f"`Suite.arms` must be a sequence of names, such as ('advised',); got {self.arms!r}")
        for arm in self.arms:
            if not isinstance(arm, str) or not arm.strip():  # pyright: ignore[reportUnnecessaryIsInstance] - user input
                raise SuiteError(f'`Suite.arms` must be names that are not blank; got {arm!r}')
        if len(set(self.arms)) != len(self.arms):
            raise SuiteError(f'`Suite.arms` must name each arm once; got {tuple(map(str, self.arms))!r}')
        arms = self.arm_names
        for arm, other in self.plays.items():
            if arm not in arms or other not in arms[: arms.index(arm)] or other in self.plays:
                raise SuiteError(
                    f'`Suite.plays` must name an arm and one before it that has recordings of its own; got {arm!r}: '
                    f'{other!r} with arms {arms!r}'
                )
        if self.repeat < 1:
            raise SuiteError(f'`Suite.repeat` must be at least 1; got {self.repeat!r}')
        if self.timeout is not None and not 0 < self.timeout < math.inf:
            raise SuiteError(f'`Suite.timeout` must be seconds above 0; got {self.timeout!r}. `None` sets no limit')

    @property
    def arm_names(self) -> tuple[str, ...]:
        """The arms as plain strings."""
        return tuple(str(arm) for arm in self.arms)

    @property
    def cassettes_folder(self) -> Path | None:
        """Folder of the recordings, `None` when the suite has none."""
        return None if self.cassettes is None else _beside(self.folder, self.cassettes)

    @property
    def policy_file(self) -> Path | None:
        """The policy file, `None` when the suite has none."""
        return None if self.policy is None else _beside(self.folder, self.policy)


def _beside(folder: Path, path: str | Path) -> Path:
    """The path from where the suite's file is, as a person would write it: without `..` in the middle."""
    return Path(os.path.normpath(folder / path))


def load_suites(directory: Path = Path('evals'), names: Sequence[str] = ()) -> list[Suite]:
    """Import the suites of a folder, all of them or those of the given names, in order of their files.

    Files that start with `_` and files without a module-level `suite` are not suites.

    Raises:
        SuiteError: the folder or a suite of that name does not exist, a file does not import, two suites share a name.
    """
    if not directory.is_dir():
        raise SuiteError(f'there is no folder {directory.as_posix()!r} here: suites are Python files in it')
    files = sorted(path for path in directory.glob('*.py') if not path.name.startswith('_'))
    if names and {path.stem for path in files} >= set(names):
        files = [path for path in files if path.stem in names]
    suites = [suite for path in files if (suite := load_suite(path)) is not None]
    check_names(suites)
    return _select(suites, names, directory)


def _select(suites: list[Suite], names: Sequence[str], directory: Path) -> list[Suite]:
    known = [suite.name for suite in suites]
    if not known:
        raise SuiteError(f'no file in {directory.as_posix()!r} has a module-level `suite`')
    if unknown := [name for name in names if name not in known]:
        raise SuiteError(f'there is no suite {unknown[0]!r} in {directory.as_posix()!r}: it has {", ".join(known)}')
    return [suite for suite in suites if not names or suite.name in names]


def check_names(suites: Sequence[Suite]) -> None:
    """Records are kept by the name of their suite.

    Raises:
        SuiteError: two suites share a name.
    """
    names = [suite.name for suite in suites]
    for name in names:
        if names.count(name) > 1:
            raise SuiteError(f'two suites are named {name!r}: give one of them another `Suite.name`')


def load_suite(path: Path) -> Suite | None:
    """Import the suite of one file; `None` when the file has no module-level `suite`.

    Raises:
        SuiteError: the file does not import, or its `suite` is something else.
    """
    suite = getattr(_import(path), 'suite', None)
    if suite is None:
        return None
    if not isinstance(suite, Suite):
        raise SuiteError(f'`suite` in {shown(path)} must be an advisor_harness.evals.Suite; got {type(suite).__name__}')
    return replace(suite, name=suite.name or path.stem, folder=path.parent, file=path)


def _import(path: Path) -> ModuleType:
    # The digest of the whole path keeps files of the same name in different folders apart within one process.
    name = f'_advisor_harness_suite_{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}'
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # a path that ends with `.py` always has a loader
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    _make_neighbours_importable(path)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except HarnessError as e:
        raise SuiteError(f'{shown(path)}: {e.message}') from e
    except (Exception, SystemExit) as e:
        raise SuiteError(f'{shown(path)} does not import: {type(e).__name__}: {e}{_line_of(e, path)}') from e
    return module


def _make_neighbours_importable(path: Path) -> None:
    # Appended, so that a suite file never hides an installed package of the same name.
    for folder in (path.parent.resolve(), path.parent.resolve().parent):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))


def _line_of(error: BaseException, path: Path) -> str:
    """The last line of the suite's own file that the error passed through."""
    line, traceback = None, error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == str(path.absolute()):
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return '' if line is None else f' (line {line})'
