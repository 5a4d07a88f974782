"""Fixtures of this room: every test works in a folder of its own, away from what the environment may say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.receiver import Receiver, receiving

_OUTSIDE = (
    'CI',
    'NO_COLOR',
    'FORCE_COLOR',
    'GITHUB_OUTPUT',
    'GITHUB_STEP_SUMMARY',
    'LOGFIRE_TOKEN',
    'LOGFIRE_BASE_URL',
    'OTEL_EXPORTER_OTLP_COMPRESSION',
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory."""
    monkeypatch.chdir(tmp_path)
    for name in _OUTSIDE:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """An OTLP endpoint that takes everything."""
    with receiving() as opened:
        yield opened
