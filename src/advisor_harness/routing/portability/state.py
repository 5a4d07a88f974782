"""What a provider holds and the messages do not: unfinished turns, and conversations named by the settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

from pydantic_ai.messages import ModelResponse

from advisor_harness.routing.portability.draft import USER, Draft
from advisor_harness.routing.portability.target import Family

__all__ = ['Overrides', 'held_elsewhere', 'settle_conversation', 'settle_suspended_turn']

Overrides = dict[str, Any]
"""Settings of the request that take the place of those it was made with."""

# Settings that name something a provider holds, and the API that has it.
_HELD_BY: dict[str, Family] = {
    'openai_previous_response_id': 'responses',
    'openai_conversation_id': 'responses',
    'xai_previous_response_id': 'xai',
    'google_cached_content': 'google',
}


def settle_suspended_turn(draft: Draft) -> None:
    """Refuse to go on with a turn that another place has not finished, or take it back.

    A turn whose place is unknown is left to the target.
    """
    entry = draft.entries[-1] if draft.entries else None
    if entry is None or not isinstance(entry.message, ModelResponse) or entry.message.state != 'suspended':
        return
    if entry.own or entry.source.startswith('unknown|'):
        return
    given_up = draft.portability.server_state == 'drop' and len(draft.entries) > 1
    detail = 'The provider that began the last turn has not finished it, and only it can.'
    draft.report(entry, None, 'server_state', 'drop' if given_up else 'raise', detail)
    if given_up:
        draft.entries.pop()


def settle_conversation(draft: Draft, elsewhere: Collection[str]) -> Overrides:
    """Refuse a request whose settings name a conversation that the target's place does not hold.

    Args:
        draft: The history.
        elsewhere: Ids of responses and conversations that other places hold; see `held_elsewhere`.

    Returns:
        What the settings must be for the request to be made without it.
    """
    overrides: Overrides = {}
    settings = cast('Mapping[str, Any]', draft.target.settings)
    for name, family in _HELD_BY.items():
        value: Any = settings.get(name)
        if value in (None, 'auto') or (draft.target.family == family and value not in elsewhere):
            continue
        rebuilt = draft.portability.server_state == 'drop' and _any_turn(draft)
        detail = f'`{name}` names what another place holds, and this one cannot read.'
        draft.report_from(USER, None, None, 'server_state', 'drop' if rebuilt else 'raise', detail)
        if rebuilt and draft.target.family == family:
            overrides[name] = None
    return overrides


def held_elsewhere(draft: Draft) -> list[str]:
    """Ids of responses and conversations that the history says other places hold."""
    found: dict[str, None] = {}
    for entry in draft.entries:
        if isinstance(entry.message, ModelResponse) and not entry.own:
            details: Mapping[str, Any] = entry.message.provider_details or {}
            ids = (entry.message.provider_response_id, details.get('conversation_id'))
            found.update(dict.fromkeys(i for i in ids if isinstance(i, str)))
    return list(found)


def _any_turn(draft: Draft) -> bool:
    return any(isinstance(entry.message, ModelResponse) for entry in draft.entries)
