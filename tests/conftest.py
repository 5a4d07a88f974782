"""What every test may rely on: asyncio as the only backend, valid spans, and the recordings of real providers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.telemetry.checking import span_vocabulary as span_vocabulary  # holds every span of every test to the YAML

SHARED_CASSETTES = Path(__file__).parents[1].parent / 'shared' / 'cassettes'


@pytest.fixture
def anyio_backend() -> str:
    return 'asyncio'


@pytest.fixture
def shared_cassettes() -> Path:
    """The folder of real provider recordings; they are not part of the project, so tests skip without them."""
    if not SHARED_CASSETTES.is_dir():
        pytest.skip('the recordings of real providers are not here (../shared/cassettes)')
    return SHARED_CASSETTES
