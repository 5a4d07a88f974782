"""Serving the emulator on a loopback port, in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .app import Emulator
from .script import Script, load_script

HOST = '127.0.0.1'
START_TIMEOUT_S = 10
STOP_TIMEOUT_S = 10

_RESET_ON_CLOSE = struct.pack('ii', 1, 0)  # SO_LINGER on, for 0 seconds: closing discards and resets

Source = Script | Mapping[str, Any] | str | Path


class EmulatorError(RuntimeError):
    """The emulator did not start or stop, or was asked for something that its scripts do not answer."""


@contextmanager
def serving(*scripts: Source) -> Generator[str]:
    """Serve scripts on a free port of 127.0.0.1.

    Args:
        scripts: Scripts, dictionaries or paths of YAML files, see `tests.emulator.script`; several are searched in
            order.

    Yields:
        The origin, such as `http://127.0.0.1:40123`. The paths are those of the providers.

    Raises:
        ScriptError: If a script breaks a rule.
        EmulatorError: If the server does not start within 10 s or, when the block ends without an error of its own,
            if some request had no reply in the scripts: whatever was recorded is not to be kept.
    """
    server = _Server([load_script(script) for script in scripts])
    try:
        yield server.start()
    finally:
        server.stop()
    server.check()


@asynccontextmanager
async def serve(*scripts: Source) -> AsyncGenerator[str]:
    """As `serving`, for async code: starting and stopping do not block the event loop."""
    server = _Server([load_script(script) for script in scripts])
    try:
        yield await anyio.to_thread.run_sync(server.start)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(server.stop)
    server.check()


@contextmanager
def refusing() -> Generator[str]:
    """The origin of a port on 127.0.0.1 that refuses connections for as long as the block runs."""
    with socket.socket() as bound:
        bound.bind((HOST, 0))  # bound but not listening: refused, and nobody else can take it
        yield _origin(bound)


class _Server:
    """One uvicorn server in one thread; also the access to connections that faults need."""

    def __init__(self, scripts: list[Script]) -> None:
        self.emulator = Emulator(scripts, connections=self)
        config = uvicorn.Config(
            self.emulator.application(),
            log_config=None,
            log_level='critical',
            access_log=False,
            lifespan='off',
            ws='none',
            http='h11',
            loop='asyncio',
            date_header=False,  # it would differ from run to run
            server_header=False,
            timeout_graceful_shutdown=STOP_TIMEOUT_S // 2,
        )
        self._uvicorn = _Uvicorn(config)
        self._socket = socket.socket()
        self._thread = threading.Thread(target=self._run, name='emulator', daemon=True)

    def start(self) -> str:
        self._socket.bind((HOST, 0))
        origin = _origin(self._socket)
        self._thread.start()
        if not self._uvicorn.ready.wait(START_TIMEOUT_S):
            raise EmulatorError(f'the emulator did not start within {START_TIMEOUT_S} s')
        return origin

    def stop(self) -> None:
        self._uvicorn.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(STOP_TIMEOUT_S)
        self._socket.close()
        if self._thread.is_alive():
            raise EmulatorError(f'the emulator did not stop within {STOP_TIMEOUT_S} s')

    def check(self) -> None:
        if problems := self.emulator.unanswered:
            raise EmulatorError('\n'.join([f'requests without a reply in the scripts: {len(problems)}', *problems]))

    def close(self, client: tuple[str, int], *, reset: bool) -> None:
        """End the connection of a client, in order or with a reset."""
        for connection in list(self._uvicorn.server_state.connections):
            if isinstance(connection, H11Protocol) and connection.client == tuple(client):
                if reset:
                    linger = connection.transport.get_extra_info('socket').setsockopt
                    linger(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
                    connection.transport.abort()
                connection.transport.close()

    async def stopped(self) -> None:
        """Return when the server is asked to stop."""
        await self._uvicorn.stopping.wait()

    def _run(self) -> None:
        self._uvicorn.run(sockets=[self._socket])


class _Uvicorn(uvicorn.Server):
    """A server that says when it is ready and when it starts to stop."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self.stopping = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.stopping.set()
        await super().shutdown(sockets)


def _origin(bound: socket.socket) -> str:
    return f'http://{HOST}:{bound.getsockname()[1]}'
