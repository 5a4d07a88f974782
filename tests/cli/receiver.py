"""An OTLP/HTTP endpoint on loopback that keeps what it was sent."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span


@dataclass
class Receiver:
    """The requests that arrived so far."""

    status: int
    port: int = 0
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f'http://127.0.0.1:{self.port}'

    @property
    def resources(self) -> list[ResourceSpans]:
        return [resource for request in self.requests for resource in request.resource_spans]

    @property
    def spans(self) -> list[Span]:
        return [span for each in self.resources for scope in each.scope_spans for span in scope.spans]


@contextmanager
def receiving(status: int = 200) -> Iterator[Receiver]:
    """Answer every request with `status` until the block is left."""
    receiver = Receiver(status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers['Content-Length']))
            if self.headers.get('Content-Encoding') == 'gzip':
                body = gzip.decompress(body)
            receiver.paths.append(self.path)
            receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
            receiver.requests.append(ExportTraceServiceRequest.FromString(body))
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(status)
            self.send_header('Content-Type', 'application/x-protobuf')
            self.send_header('Content-Length', str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the standard error of a test is compared."""

    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    receiver.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
