"""The options that routers share, and their checks."""

from __future__ import annotations

from typing import Any, Literal, get_args

from advisor_harness.routing.portability import Portability

__all__ = [
    'Cadence',
    'OnMissingRoute',
    'Sticky',
    'check_cadence',
    'check_choice',
    'check_key',
    'check_number',
    'check_on_missing_route',
    'check_on_switch',
    'check_portability',
    'check_whole',
]

Cadence = Literal['step', 'run']
OnMissingRoute = Literal['raise', 'default']
Sticky = Literal['none', 'conversation']

_RESERVED_KEY = '__pydantic_ai__'


def check_cadence(value: object) -> None:
    """Refuse a word that `cadence` does not know."""
    check_choice('Router.cadence', value, get_args(Cadence))


def check_on_missing_route(value: object) -> None:
    """Refuse a word that `on_missing_route` does not know."""
    check_choice('Router.on_missing_route', value, get_args(OnMissingRoute))


def check_choice(option: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not among the `allowed` words."""
    if value not in allowed:
        words = ' or '.join(repr(word) for word in allowed)
        raise ValueError(f'`{option}` must be {words}; got {value!r}.')


def check_whole(option: str, value: object) -> None:
    """Refuse what is no whole number; `True` and `False` are none."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f'`{option}` must be a whole number; got {value!r}.')


def check_number(option: str, value: object) -> None:
    """Refuse what is no number; `True` and `False` are none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f'`{option}` must be a number; got {value!r}.')


def check_key(state_key: Any) -> None:
    """Refuse a key under which nothing of ours may be kept."""
    if not isinstance(state_key, str):
        raise TypeError(f'`Router.state_key` must be text; got {state_key!r}.')
    if not state_key.strip() or state_key == _RESERVED_KEY:
        raise ValueError(
            f"`Router.state_key` must not be blank, nor {_RESERVED_KEY!r}, pydantic-ai's own key; got {state_key!r}."
        )


def check_on_switch(on_switch: Any) -> None:
    """Refuse what cannot be called."""
    if on_switch is not None and not callable(on_switch):
        raise TypeError(f'`Router.on_switch` must be callable; got {on_switch!r}.')


def check_portability(portability: Any) -> None:
    """Refuse what is neither a `Portability` nor `None`."""
    if portability is not None and not isinstance(portability, Portability):
        raise TypeError(f'`Router.portability` must be a `Portability`; got {portability!r}.')
