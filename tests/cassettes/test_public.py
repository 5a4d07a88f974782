from __future__ import annotations

import inspect

from advisor_harness import cassettes

PUBLIC = [
    'Cassette',
    'CassetteError',
    'CassetteFormatError',
    'CassetteModels',
    'CassetteTransport',
    'Interaction',
    'Matching',
    'Mode',
    'SecretLeak',
    'UnmatchedRequest',
    'UnusedInteractions',
    'cassette_client',
    'legacy_cassette_client',
    'no_network',
    'use_cassette',
]


def test_the_room_promises_these_names() -> None:
    """The public names of the room are these, and each of them exists."""
    assert sorted(cassettes.__all__) == PUBLIC
    assert [name for name in PUBLIC if not hasattr(cassettes, name)] == []


def test_public_names_are_described() -> None:
    """Every public class and function says what it does, its public members included."""
    undescribed: list[str] = []
    for name in PUBLIC:
        thing = getattr(cassettes, name)
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        members = vars(thing) if inspect.isclass(thing) else {}
        described = {name: thing, **{f'{name}.{k}': v for k, v in members.items() if not k.startswith('_')}}
        undescribed += [
            label
            for label, member in described.items()
            if (callable(member) or isinstance(member, property)) and not inspect.getdoc(member)
        ]
    assert undescribed == []


def test_errors_are_one_tree() -> None:
    """Whatever this room raises can be caught as one class."""
    for name in ('CassetteFormatError', 'SecretLeak', 'UnmatchedRequest', 'UnusedInteractions'):
        assert issubclass(getattr(cassettes, name), cassettes.CassetteError)
