"""YAML that was written by anybody: read it, or say in which line it cannot be read.

Whatever stands in a file, reading it ends: names that stand twice, aliases that unfold to more than a file can mean,
and values that PyYAML stumbles over are all one error.
"""

from __future__ import annotations

from typing import Any, cast

try:
    import yaml
except ModuleNotFoundError as e:
    if e.name != 'yaml':
        raise
    raise ModuleNotFoundError(
        "Cassettes need PyYAML, which is not installed: `python -m pip install 'advisor-harness[evals]'`.", name='yaml'
    ) from e

from .collecting import uncollected

__all__ = ['LOADER', 'UnreadableYaml', 'line_of', 'load', 'yaml']

LOADER: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
"""The loader for text that was just written here."""

# What PyYAML's constructors raise on tags like `!!timestamp x`, `!!bool x` and `!!int ''`.
_STUMBLES = (ValueError, RecursionError, AttributeError, LookupError, TypeError, ArithmeticError)

_FREE = 1_000_000
_MOST_TIMES = 20
"""How many times its own size a file may unfold to, after a first million characters."""


class UnreadableYaml(ValueError):
    """A file is no YAML, or YAML without a meaning."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line
        """Line from 1, `None` when there is none."""


class _StrictLoader(LOADER):
    """Refuses a mapping that names a member twice: nobody can say which of the two was meant."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        mapping: Any = LOADER.construct_mapping(self, node, deep=deep)
        if len(mapping) < len(node.value):
            name, mark = _repeated(node)
            raise yaml.constructor.ConstructorError(None, None, f'the name {name!r} is repeated', mark)
        return mapping


def load(data: bytes) -> Any:
    """The one document of a file; `None` if there is none.

    Raises:
        UnreadableYaml: it cannot be read.
    """
    try:
        with uncollected(len(data)):
            loaded = yaml.load(data, Loader=_StrictLoader)
    except yaml.reader.ReaderError as e:
        line = data.count(b'\n', 0, e.position) + 1
        raise UnreadableYaml(f'{e.reason} (#x{_code(e.character):x})', line) from e
    except yaml.MarkedYAMLError as e:
        mark: Any = e.problem_mark or e.context_mark
        told = ', '.join(part for part in (e.problem, e.context) if part)
        raise UnreadableYaml(told, mark.line + 1 if mark else None) from e
    except (yaml.YAMLError, *_STUMBLES) as e:
        raise UnreadableYaml(' '.join(f'{type(e).__name__}: {e}'.split())) from e
    if b'&' in data and b'*' in data and not _is_bounded(loaded, _FREE + _MOST_TIMES * len(data)):
        raise UnreadableYaml('its aliases unfold without end, or to far more than the file holds')
    return loaded


def line_of(data: bytes, steps: list[str]) -> int | None:
    """The line, from 1, of a member of a document; of the last one on the way to it that exists."""
    try:
        node: Any = cast('Any', yaml).compose(data, Loader=LOADER)
        for step in steps:
            below = _member(node, step)
            if below is None:
                break
            node = below
    except (yaml.YAMLError, *_STUMBLES):
        return None
    return None if node is None else int(node.start_mark.line) + 1


def _member(node: Any, step: str) -> Any:
    if isinstance(node, yaml.MappingNode):
        pairs = cast('list[tuple[Any, Any]]', node.value)
        return next((value for key, value in pairs if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and step.isdigit():
        members = cast('list[Any]', node.value)
        return members[int(step)] if int(step) < len(members) else None
    return None


def _repeated(node: Any) -> tuple[str, Any]:
    seen: set[str] = set()
    for key, _ in cast('list[tuple[Any, Any]]', node.value):
        if str(key.value) in seen:
            return str(key.value), key.start_mark
        seen.add(str(key.value))
    return str(node.value[-1][0].value), node.start_mark  # such as `1` and `1.0`, which are one name


def _is_bounded(value: Any, most: int) -> bool:
    left, waiting = most, [value]
    while waiting and left >= 0:
        member = waiting.pop()
        left -= 1
        if isinstance(member, str | bytes):
            left -= len(member)
        elif isinstance(member, dict):
            mapping = cast('dict[Any, Any]', member)
            waiting += mapping
            waiting += mapping.values()
        elif isinstance(member, list | tuple | set):
            waiting += cast('list[Any]', member)
    return left >= 0


def _code(character: Any) -> int:
    return character[0] if isinstance(character, bytes) else character if isinstance(character, int) else ord(character)
