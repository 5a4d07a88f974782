"""The room as a whole: what it promises, and what it needs to be imported."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

from advisor_harness import telemetry

MODULES = ['emit', 'facts', 'fields', 'nested', 'read', 'spans', 'tree', 'validate']


def test_promised_names() -> None:
    """The room promises these names, and has every one of them."""
    assert [name for name in telemetry.__all__ if not hasattr(telemetry, name)] == []
    assert telemetry.__all__ == [
        'ClaimFacts',
        'ConsultationFacts',
        'RouteFacts',
        'SelectionFacts',
        'SpanOrigin',
        'SpanView',
        'conventions',
        'emit',
        'hand_over_instrumentation',
        'read',
        'tree',
        'validate',
    ]


@pytest.mark.parametrize('name', MODULES)
def test_every_public_name_of_a_module_is_listed(name: str) -> None:
    """A module lists its public functions and classes, and has what it lists."""
    module = import_module(f'advisor_harness.telemetry.{name}')
    assert {*module.__all__} >= _defined(module)
    assert [listed for listed in module.__all__ if not hasattr(module, listed)] == []


def _defined(module: ModuleType) -> set[str]:
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith('_') and getattr(value, '__module__', None) == module.__name__
    }


def test_import_is_light() -> None:
    """Names, reading and printing need neither pydantic-ai, whose import is slow, nor any optional package."""
    code = 'import sys, advisor_harness.telemetry; print(*sorted(sys.modules))'
    loaded = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {'pydantic_ai', 'pydantic_evals', 'opentelemetry.sdk', 'logfire', 'yaml'}
    assert heavy & {*loaded} == set()
