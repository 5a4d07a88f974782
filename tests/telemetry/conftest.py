"""Fixtures of this room. Without the OpenTelemetry SDK nothing can be recorded, so nothing here can be tested."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

    from tests.telemetry.tracing import Tracing

if find_spec('opentelemetry.sdk') is None:
    collect_ignore_glob = ['test_*.py']
else:
    from tests.telemetry.checking import span_vocabulary as span_vocabulary


class SpanTreeExtension(SingleFileSnapshotExtension):
    """Keeps a printed span tree as a text file of its own, so that a change reads as a diff."""

    _write_mode = WriteMode.TEXT
    file_extension = 'spans.txt'

    def serialize(self, data: Any, **_: Any) -> str:
        """The text with a line break at its end, as editors want it."""
        return f'{data}\n'


@pytest.fixture
def span_snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Compares with a file `__snapshots__/<module>/<test>.spans.txt`."""
    return snapshot.use_extension(SpanTreeExtension)


@pytest.fixture
def tracing() -> Tracing:
    """A private tracer provider; content is off."""
    from tests.telemetry.tracing import Tracing

    return Tracing()
