"""Write the constants and the span reference from the vocabulary.

    python scripts/generate_conventions.py           writes both files
    python scripts/generate_conventions.py --check   exits 1 and names the file that is not up to date

Needs PyYAML. `tests/telemetry/test_conventions.py` runs the same comparison.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / 'src' / 'advisor_harness' / 'telemetry' / 'conventions.yaml'
CONSTANTS = SOURCE.with_suffix('.py')
REFERENCE = ROOT / 'docs' / 'spans.md'
LINE_LENGTH = 120

Value = str | int | float | bool


@dataclass(frozen=True)
class Attribute:
    """A defined attribute."""

    key: str
    type: str
    values: tuple[Value, ...]
    """Values of an enumeration, empty for every other type."""
    briefs: Mapping[Value, str]
    """What each of the values means."""
    brief: str
    note: str
    examples: tuple[Any, ...]
    privacy: str
    group: str

    @property
    def constant(self) -> str:
        """Name of its constant."""
        return self.key.upper().replace('.', '_')


@dataclass(frozen=True)
class Use:
    """An attribute on a span."""

    key: str
    level: str
    condition: str
    """When it is required, in words; empty unless `level` is `conditionally_required`."""
    when: Mapping[str, Value]
    """When it is required, as values of other attributes of the span."""


@dataclass(frozen=True)
class Span:
    """A defined span."""

    name: str
    kind: str
    brief: str
    note: str
    uses: tuple[Use, ...]

    @property
    def constant(self) -> str:
        """Name of its constant."""
        return self.name.upper().replace(' ', '_')


@dataclass(frozen=True)
class Registry:
    """The vocabulary, with every reference resolved."""

    attributes: Mapping[str, Attribute]
    spans: tuple[Span, ...]
    titles: tuple[str, ...]
    """Titles of the groups that define attributes, in order."""


def load(path: Path = SOURCE) -> Registry:
    """Read the vocabulary. A reference to an attribute that is not defined raises `KeyError`."""
    groups = {group['id']: group for group in yaml.safe_load(path.read_text('utf-8'))['groups']}
    defining = [group for group in groups.values() if 'display_name' in group]
    attributes = {
        spec['id']: _attribute(spec, group['display_name']) for group in defining for spec in group['attributes']
    }
    spans = tuple(_span(group, groups, attributes) for group in groups.values() if group['type'] == 'span')
    return Registry(attributes, spans, tuple(group['display_name'] for group in defining))


def _attribute(spec: Mapping[str, Any], group: str) -> Attribute:
    kind = spec['type']
    members = kind['members'] if isinstance(kind, dict) else []
    briefs = {member['value']: member['brief'] for member in members}
    return Attribute(
        key=spec['id'],
        type=_type_of(tuple(briefs)) if members else str(kind),
        values=tuple(briefs),
        briefs=briefs,
        brief=spec['brief'],
        note=spec.get('note', ''),
        examples=tuple(spec.get('examples', ())),
        privacy=spec['annotations']['privacy'],
        group=group,
    )


def _type_of(values: tuple[Value, ...]) -> str:
    return 'int' if all(isinstance(value, int) for value in values) else 'string'


def _span(group: Mapping[str, Any], groups: Mapping[str, Any], attributes: Mapping[str, Attribute]) -> Span:
    uses = tuple(_use(ref, attributes) for ref in _references(group, groups))
    return Span(group['annotations']['span_name'], group['span_kind'], group['brief'], group['note'], uses)


def _references(group: Mapping[str, Any], groups: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if 'extends' in group:
        yield from _references(groups[group['extends']], groups)
    yield from group['attributes']


def _use(ref: Mapping[str, Any], attributes: Mapping[str, Attribute]) -> Use:
    level = ref['requirement_level']
    condition = level['conditionally_required'] if isinstance(level, dict) else ''
    when = ref.get('annotations', {}).get('when', {})
    return Use(
        key=attributes[ref['ref']].key,
        level='conditionally_required' if condition else str(level),
        condition=condition,
        when={attributes[key].key: value for key, value in when.items()},
    )


def constants(registry: Registry) -> str:
    """The text of `conventions.py`."""
    enums = [attribute for attribute in registry.attributes.values() if attribute.values]
    generator = Path(__file__).resolve().relative_to(ROOT)
    return '\n'.join(
        [
            f'"""Names and values of the vocabulary, generated from `{SOURCE.name}` by `{generator}`."""',
            '',
            'from __future__ import annotations',
            '',
            'from collections.abc import Mapping',
            'from typing import Final',
            '',
            *(f'{span.constant}: Final = {span.name!r}' for span in registry.spans),
            '',
            *(f'{attribute.constant}: Final = {attribute.key!r}' for attribute in registry.attributes.values()),
            '',
            *(line for attribute in enums for line in _tuple(f'{attribute.constant}_VALUES', attribute.values)),
            '',
            *_table(
                'ATTRIBUTE_TYPES', 'str', _types(registry), 'Every attribute: its type, in the words of OpenTelemetry.'
            ),
            *_table(
                'ATTRIBUTE_VALUES',
                'tuple[str | int, ...]',
                _values(enums),
                'Every enumeration: the values it may have.',
            ),
            *_table(
                'SPAN_ATTRIBUTES',
                'Mapping[str, str]',
                _levels(registry),
                'Every span: its attributes with their level.',
            ),
            *_table(
                'SPAN_CONDITIONS',
                _CONDITIONS,
                _whens(registry),
                'Attributes required on a span that has all these values.',
            ),
        ]
    )


_CONDITIONS = 'Mapping[str, Mapping[str, str | bool]]'


def _tuple(name: str, values: tuple[Value, ...]) -> list[str]:
    line = f'{name}: Final = {values!r}'
    if len(line) <= LINE_LENGTH:
        return [line]
    return [f'{name}: Final = (', *(f'    {value!r},' for value in values), ')']


def _table(name: str, of: str, entries: list[str], doc: str) -> list[str]:
    return [f'{name}: Final[Mapping[str, {of}]] = {{', *entries, '}', f'"""{doc}"""', '']


def _types(registry: Registry) -> list[str]:
    return [f'    {attribute.constant}: {attribute.type!r},' for attribute in registry.attributes.values()]


def _values(enums: list[Attribute]) -> list[str]:
    return [f'    {attribute.constant}: {attribute.constant}_VALUES,' for attribute in enums]


def _levels(registry: Registry) -> list[str]:
    lines: list[str] = []
    for span in registry.spans:
        uses = (f'        {registry.attributes[use.key].constant}: {use.level!r},' for use in span.uses)
        lines += [f'    {span.constant}: {{', *uses, '    },']
    return lines


def _whens(registry: Registry) -> list[str]:
    lines: list[str] = []
    for span in registry.spans:
        uses = [use for use in span.uses if use.when]
        if uses:
            lines += [f'    {span.constant}: {{', *(f'        {_when(use, registry)},' for use in uses), '    },']
    return lines


def _when(use: Use, registry: Registry) -> str:
    values = ', '.join(f'{registry.attributes[key].constant}: {value!r}' for key, value in use.when.items())
    return f'{registry.attributes[use.key].constant}: {{{values}}}'


_INTRODUCTION = """\
# Span reference

Generated from `src/advisor_harness/telemetry/conventions.yaml` by `scripts/generate_conventions.py`; edit those.

An instrumented run emits the spans below beside those of pydantic-ai, through the same tracer. Their names never
change with the data. They carry metadata only: no prompt, no advice, no message, no text of an exception, whatever
`include_content` says. A run without instrumentation emits nothing.

**Level**: *required* on every span of that name; *if ...* required in that case; *recommended* where it is at hand.
**Privacy**: *metadata* says nothing about people or text; *pseudonymous* is an id that can be linked to a run, a
conversation or a call.
"""


def reference(registry: Registry) -> str:
    """The text of `docs/spans.md`."""
    common = set.intersection(*(_shared(span) for span in registry.spans))
    parts = [
        _INTRODUCTION,
        '## On every span\n',
        _use_table(registry, [u for u in registry.spans[0].uses if u.key in common]),
    ]
    for span in registry.spans:
        own = [use for use in span.uses if use.key not in common]
        parts += [
            f'## `{span.name}`\n',
            f'{span.brief} Kind: {span.kind}.\n',
            f'{span.note}\n',
            _use_table(registry, own),
        ]
    parts.append('## Values\n')
    parts += [_value_table(attribute) for attribute in registry.attributes.values() if attribute.values]
    return '\n'.join(parts)


def _shared(span: Span) -> set[str]:
    return {use.key for use in span.uses}


def _use_table(registry: Registry, uses: list[Use]) -> str:
    rows = ['| attribute | type | level | privacy | meaning | example |', '| --- | --- | --- | --- | --- | --- |']
    for use in uses:
        attribute = registry.attributes[use.key]
        level = f'if {use.condition}' if use.condition else use.level
        meaning = ' '.join(filter(None, [attribute.brief, attribute.note]))
        cells = (f'`{use.key}`', _type_cell(attribute), level, attribute.privacy, meaning, _example_cell(attribute))
        rows.append(f'| {" | ".join(cells)} |')
    return '\n'.join(rows) + '\n'


def _type_cell(attribute: Attribute) -> str:
    anchor = attribute.key.replace('.', '')
    return f'[one of]({"#" + anchor})' if attribute.values else attribute.type


def _example_cell(attribute: Attribute) -> str:
    examples = attribute.examples or attribute.values[:1]
    return f'`{examples[0]}`' if examples else ''


def _value_table(attribute: Attribute) -> str:
    rows = [f'| `{value}` | {attribute.briefs[value]} |' for value in attribute.values]
    return '\n'.join([f'### {attribute.key}\n', '| value | meaning |', '| --- | --- |', *rows]) + '\n'


def outdated() -> list[Path]:
    """The generated files that differ from what the vocabulary says."""
    registry = load()
    expected = {CONSTANTS: constants(registry), REFERENCE: reference(registry)}
    return [path for path, text in expected.items() if not path.exists() or path.read_text('utf-8') != text]


def main(arguments: list[str]) -> int:
    """Write both files, or with `--check` only compare them."""
    if arguments == ['--check']:
        for path in outdated():
            print(f'{path.relative_to(ROOT)} is not up to date: run `python scripts/generate_conventions.py`')
        return 1 if outdated() else 0
    registry = load()
    CONSTANTS.write_text(constants(registry), 'utf-8')
    REFERENCE.write_text(reference(registry), 'utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
