"""One server for the `SCRIPT` of a test module, and clients of it for every test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from . import serving
from .clients import Clients, clients_of


@pytest.fixture(scope='module')
def origin(request: pytest.FixtureRequest) -> Iterator[str]:
    with serving(request.module.SCRIPT) as origin:
        yield origin


@pytest.fixture
async def clients(origin: str) -> AsyncIterator[Clients]:
    async with clients_of(origin) as clients:
        yield clients
