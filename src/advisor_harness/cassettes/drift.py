"""How recordings differ from what today's Pydantic AI sends, and a report that groups it by kind of difference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from os import PathLike
from pathlib import Path

from .cassette import Cassette
from .diff import Change, request_changes
from .drift_reading import NotChecked
from .drift_sending import Sent, send_again
from .interaction import Interaction
from .matching import Identity, Matcher, Matching, matcher_for

__all__ = ['FileCheck', 'check_file', 'render', 'sent_identity']

_MOST_TEXTS = 4
"""Different changes of one place that are listed one by one."""

_MOST_FILES = 3
"""Files named under a kind of difference, unless all are wanted."""


@dataclass
class FileCheck:
    """One recording held against what would be sent today."""

    path: Path
    interactions: int
    sent: dict[int, Sent] = field(default_factory=dict[int, Sent])
    """What would be sent today, by the number of the interaction, from 1."""
    changes: list[Change] = field(default_factory=list[Change])
    """Every difference of every interaction."""
    not_checked: dict[int, str] = field(default_factory=dict[int, str])
    """Why an interaction could not be compared, by its number; 0 stands for the whole file."""

    def compare(self, number: int, interaction: Interaction, sent: Sent, matcher: Matcher) -> None:
        """Add what would be sent instead of an interaction."""
        request = interaction.request
        recorded = matcher.identify(request.method, request.url, request.content_type, request.body)
        self.sent[number] = sent
        self.changes += request_changes(recorded, sent_identity(sent, matcher))


def sent_identity(sent: Sent, matcher: Matcher) -> Identity:
    """What counts about a request that would be sent."""
    return matcher.identify(sent.method, sent.url, sent.content_type, sent.body)


async def check_file(path: str | PathLike[str], matching: Matching | None = None) -> FileCheck:
    """Make every request of a recording again, from nothing but the recording, and compare.

    Settings that the recording shows are taken as given by the caller. In a file that does not say who recorded it, and
    so may be older than this package, values that Pydantic AI has once sent by itself (`max_tokens: 4096` to Anthropic)
    are not: today's take their place.

    Raises:
        CassetteError: no such file.
        CassetteFormatError: the file is not a cassette of HTTP traffic.
    """
    cassette = Cassette.open(path)
    matcher = matcher_for(matching or Matching())
    check = FileCheck(cassette.path, len(cassette.interactions))
    old = not cassette.recorded_with
    for number, interaction in enumerate(cassette.interactions, start=1):
        try:
            check.compare(number, interaction, await send_again(interaction.request, defaults=old), matcher)
        except NotChecked as e:
            check.not_checked[number] = str(e)
    return check


def render(checks: Sequence[FileCheck], *, every_file: bool = False) -> str:
    """The report: kinds of differences with their files, what was not checked, and a summary in the last line."""
    lines: list[str] = []
    for kind, files in _kinds(checks):
        names = list(dict.fromkeys(path.as_posix() for path in files))
        lines.append(f'{kind} in {len(names)} file{"" if len(names) == 1 else "s"}')
        shown = names if every_file else names[:_MOST_FILES]
        lines += [f'    {name}' for name in shown]
        lines += [f'    and {len(names) - len(shown)} more'] if len(names) > len(shown) else []
    if unchecked := [f'    {check.path.as_posix()}: {why}' for check in checks for why in _reasons(check)]:
        lines += ['not checked', *unchecked]
    return '\n'.join([*lines, _summary(checks)]) + '\n'


def _kinds(checks: Iterable[FileCheck]) -> list[tuple[str, list[Path]]]:
    """Kinds of differences with the files that have them, those in most files first."""
    by_place: dict[tuple[str, str], dict[str, list[Path]]] = {}
    for check in checks:
        for change in check.changes:
            texts = by_place.setdefault((change.sign, change.place), {})
            texts.setdefault(change.text, []).append(check.path)
    kinds: list[tuple[str, list[Path]]] = []
    for (sign, place), texts in by_place.items():
        if len(texts) <= _MOST_TEXTS:
            kinds += [(f'{sign} {place}: {text}', files) for text, files in texts.items()]
        else:
            example = next(iter(texts))
            files = [file for each in texts.values() for file in each]
            kinds.append((f'{sign} {place}: {len(texts)} different changes, such as {example},', files))
    return sorted(kinds, key=lambda kind: -len(set(kind[1])))


def _reasons(check: FileCheck) -> list[str]:
    numbers: dict[str, list[str]] = {}
    for number, why in check.not_checked.items():
        numbers.setdefault(why, []).append(str(number))
    if 0 in check.not_checked:
        return list(numbers)
    return [f'{why} (interaction {", ".join(which)})' for why, which in numbers.items()]


def _summary(checks: Sequence[FileCheck]) -> str:
    compared = sum(1 for check in checks if check.sent)
    differ = sum(1 for check in checks if check.changes)
    partly = sum(1 for check in checks if check.not_checked)
    text = f'{differ} of {compared} recordings differ from what pydantic-ai {version("pydantic-ai-slim")} sends'
    return f'{text}, {partly} not checked or not completely' if partly else text
