"""What `cassette rebase` and `cassette prune` print, for each recording and in the end."""

from __future__ import annotations

from collections.abc import Sequence

from advisor_harness.cassettes.rebase import Rebased
from advisor_harness.cli.cassette_cases import Pruning
from advisor_harness.evals.naming import shown
from advisor_harness.evals.reports.words import plural

__all__ = ['pruned_summary', 'pruned_text', 'rebased_summary', 'rebased_text']

_MOST_LINES = 10


def rebased_text(result: Rebased, *, written: bool) -> str:
    """What a rebase makes of one recording; nothing where there is nothing to do."""
    if result.refused:
        return _block(f'{shown(result.path)} is left as it is', result.refused)
    if not result.applied:
        return ''
    did = 'rebased' if written else 'would be rebased'
    return _block(f'{shown(result.path)} {did}', [str(change) for change in result.applied])


def rebased_summary(results: Sequence[Rebased], *, written: bool) -> str:
    """The last line of a rebase."""
    changed = sum(result.text is not None for result in results)
    kept = sum(bool(result.refused) for result in results)
    return _summary('rebased', changed, kept, len(results), written=written)


def pruned_text(result: Pruning, *, written: bool) -> str:
    """What a prune makes of one recording; nothing where there is nothing to do."""
    if result.kept:
        return _block(f'{shown(result.path)} is left as it is', [result.kept])
    if not result.numbers:
        return ''
    did = 'dropped' if written else 'would be dropped'
    lines = [f'{number}: {request}' for number, request in zip(result.numbers, result.requests, strict=True)]
    return _block(f'{shown(result.path)}: {plural(len(lines), "interaction")} {did}', lines)


def pruned_summary(results: Sequence[Pruning], *, written: bool) -> str:
    """The last line of a prune."""
    changed = sum(bool(result.numbers) for result in results)
    kept = sum(bool(result.kept) for result in results)
    return _summary('pruned', changed, kept, len(results), written=written)


def _summary(did: str, changed: int, kept: int, total: int, *, written: bool) -> str:
    text = f'{changed} of {plural(total, "recording")} {did if written else f"would be {did}"}'
    text += f', {kept} left as {"it is" if kept == 1 else "they are"}' if kept else ''
    return text + ('\n' if written or not changed else '; nothing was written: add `--write`\n')


def _block(head: str, lines: Sequence[str]) -> str:
    more = [f'and {len(lines) - _MOST_LINES} more'] if len(lines) > _MOST_LINES else []
    return '\n'.join([head, *(f'    {line}' for line in [*lines[:_MOST_LINES], *more])]) + '\n'
