"""Every test of this room works in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

_OUTSIDE = (
    'GITHUB_OUTPUT',
    'GITHUB_STEP_SUMMARY',
    'OTEL_SDK_DISABLED',
    'OTEL_TRACES_SAMPLER',
    'OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT',
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, away from what the environment says of OpenTelemetry."""
    monkeypatch.chdir(tmp_path)
    for name in _OUTSIDE:
        monkeypatch.delenv(name, raising=False)
    return tmp_path
