"""Where the spans of a run go besides its folder: an OTLP endpoint or Logfire.

Best effort, and never part of a verdict: what does not arrive is said in one warning.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from urllib.parse import SplitResult, urlsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from advisor_harness.cassettes.network import allowed_network
from advisor_harness.evals.errors import HarnessError, MissingExtraError

__all__ = ['Delivery', 'to_logfire', 'to_otlp']

_BATCH_S = 5.0
"""Seconds that one batch may take, retries included."""

_FAREWELL_S = 10.0
"""Seconds that are left for what is still waiting when the run is over."""

# A replay ends more spans in a second than the default of 2,048 holds.
_QUEUE = 1 << 16


class Delivery(BatchSpanProcessor):
    """Sends spans to one endpoint in the background, until it fails once."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        parts = urlsplit(url)
        self.name = parts._replace(netloc=parts.netloc.rpartition('@')[2], query='').geturl()
        """The endpoint as people may see it: without credentials."""
        self._sender = _Sender(url, headers, _hosts(parts))
        self._ended = 0
        super().__init__(self._sender, max_queue_size=_QUEUE)

    def on_end(self, span: ReadableSpan) -> None:
        """Take a span that ended."""
        self._ended += 1
        super().on_end(span)

    def force_flush(self, timeout_millis: int | None = None) -> bool:
        """Do nothing: a flush of the SDK has no bound in time. `shutdown` sends what is left."""
        return True

    def shutdown(self) -> None:
        """Send what is left, for a bounded time."""
        self._sender.deadline = time.monotonic() + _FAREWELL_S
        super().shutdown()

    @property
    def warning(self) -> str | None:
        """What did not arrive and why, for people; `None` when everything did."""
        lost = self._ended - self._sender.sent
        if not lost:
            return None
        reason = self._sender.failure or 'they waited for too long'
        return (
            f'warning: {lost} of {self._ended} spans did not reach {self.name}, which changes nothing for the verdict: '
            f'{reason}'
        )


class _Sender(SpanExporter):
    """Gives up after one failure: a run never waits twice for an endpoint that is not there."""

    def __init__(self, url: str, headers: Mapping[str, str] | None, hosts: Sequence[str]) -> None:
        self.sent = 0
        self.failure: str | None = None
        self.deadline = math.inf
        self._hosts = hosts
        self._inner = OTLPSpanExporter(endpoint=url, headers=dict(headers or {}), timeout=_BATCH_S)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self.failure is None and time.monotonic() < self.deadline:
            # Only while it sends: for the tasks of a replay the endpoint is as far away as everything else.
            with allowed_network(self._hosts), _kept_log() as messages:
                result = self._inner.export(spans)
            if result is SpanExportResult.SUCCESS:
                self.sent += len(spans)
                return result
            self.failure = messages[0] if messages else 'the endpoint did not take them'
        return SpanExportResult.FAILURE

    def shutdown(self) -> None:
        self._inner.shutdown()


def to_otlp(url: str) -> Delivery:
    """Deliver to an OTLP/HTTP endpoint, given by its base URL or by that of its traces.

    Raises:
        HarnessError: `url` is not an http(s) URL.
    """
    parts = _split(url)
    path = parts.path.rstrip('/')
    if not path.endswith('/v1/traces'):
        path += '/v1/traces'
    return Delivery(parts._replace(path=path).geturl())


def to_logfire() -> list[Delivery]:
    """Deliver to Logfire: to every project that this environment has a write token for.

    Raises:
        MissingExtraError: `logfire` is not installed.
        HarnessError: there is no write token.
    """
    logfire = _import_logfire()
    # A local instance reads the settings as every use of Logfire does, and changes nothing for the rest of the process.
    config = logfire.configure(local=True, send_to_logfire=False, console=False, metrics=False).config
    tokens = [config.token] if isinstance(config.token, str) else config.token or []
    base_url = config.advanced.base_url
    if not tokens:
        token, base_url = _stored_credentials(config.data_dir, base_url)
        tokens = [token]
    return [
        Delivery(
            f'{(base_url or config.advanced.generate_base_url(token)).rstrip("/")}/v1/traces', {'Authorization': token}
        )
        for token in tokens
    ]


def _stored_credentials(folder: Path, base_url: str | None) -> tuple[str, str | None]:
    """Token and URL of the project that `logfire projects use` chose for this folder."""
    path = folder / 'logfire_credentials.json'
    if not path.is_file():
        raise HarnessError(
            '`--logfire` needs a write token: set LOGFIRE_TOKEN, or choose a project with `logfire projects use`'
        )
    try:
        stored = json.loads(path.read_bytes())
        return stored['token'], base_url or stored['logfire_api_url']
    except (ValueError, KeyError, TypeError) as e:
        raise HarnessError(f'{str(path)!r} holds no credentials of Logfire: {type(e).__name__}: {e}') from e


def _import_logfire() -> ModuleType:
    try:
        import logfire
    except ModuleNotFoundError as e:
        if e.name != 'logfire':  # installed but broken: its own error says more than ours
            raise
        raise MissingExtraError('logfire', needed_for='`--logfire`') from e
    return logfire


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ('http', 'https') and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise HarnessError(
            f'`--otlp` needs the URL of an OTLP/HTTP endpoint, such as http://localhost:4318; got {url!r}'
        )
    return urlsplit(url)


def _hosts(parts: SplitResult) -> tuple[str, ...]:
    """The hosts that a request to this URL connects to: its own, and that of a proxy."""
    assert parts.hostname is not None  # `_split` saw to it
    proxy = urlsplit(urllib.request.getproxies().get(parts.scheme, '')).hostname
    return (parts.hostname,) if proxy is None else (parts.hostname, proxy)


@contextmanager
def _kept_log() -> Generator[list[str]]:
    """Keep what the exporter logs in this thread from standard error, where it would be one line for each attempt."""
    thread, messages = threading.get_ident(), list[str]()

    def keep(record: logging.LogRecord) -> bool:
        if record.thread != thread:
            return True
        messages.append(record.getMessage())
        return False

    logger = logging.getLogger(OTLPSpanExporter.__module__)
    logger.addFilter(keep)
    try:
        yield messages
    finally:
        logger.removeFilter(keep)
