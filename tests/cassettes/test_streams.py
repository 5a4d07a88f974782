from __future__ import annotations

import anyio
import httpx2
import pytest

from advisor_harness.cassettes.streams import Passed, RecordingStream, ReplayStream, is_terminated, split_events

from .support import Chunks


@pytest.mark.parametrize(
    ('body', 'events'),
    [
        (b'data: a\n\ndata: b\n\n', [b'data: a\n\n', b'data: b\n\n']),
        (b'data: a\r\n\r\ndata: b\r\n\r\n', [b'data: a\r\n\r\n', b'data: b\r\n\r\n']),
        (b'event: x\ndata: a\n\n: comment\n\nda', [b'event: x\ndata: a\n\n', b': comment\n\n', b'da']),
        (b'data: a\r\n\ndata: b', [b'data: a\r\n\n', b'data: b']),
        (b'\n\n\ndata: a\n\n', [b'\n\n\n', b'data: a\n\n']),
        (b'', []),
    ],
)
def test_streams_are_split_into_events(body: bytes, events: list[bytes]) -> None:
    """Every event ends with its blank line, in either line ending, and nothing is lost."""
    assert split_events(body) == events
    assert b''.join(split_events(body)) == body


@pytest.mark.parametrize(
    ('body', 'ended'),
    [
        (b'data: {}\n\ndata: [DONE]\n\n', True),
        (b'event: message_stop\ndata: {"type":"message_stop"}\n\n', True),
        (b'data: {"type": "message_stop"}\n\n', True),
        (b'event: response.completed\ndata: {}\n\n', True),
        (b'data: {"type":"response.incomplete"}\n\n', True),
        (b'data: {"type":"response.failed"}\n\n', True),
        (b'data: {"text": "say [DONE]"}\n\n', False),
        (b'data: {"type": "response.output_text.delta"}\n\n', False),
        (b'', False),
    ],
)
def test_end_marks_are_recognised(body: bytes, ended: bool) -> None:
    """A stream has ended when one of the marks at which SDKs stop reading has passed."""
    assert is_terminated(body) is ended


@pytest.mark.anyio
async def test_replay_lets_others_run_between_events() -> None:
    """Two readers of recorded streams take turns, as they would on a network."""
    order: list[str] = []

    async def read(name: str) -> None:
        async for chunk in ReplayStream([b'1', b'2']):
            order.append(name + chunk.decode())

    async with anyio.create_task_group() as group:
        group.start_soon(read, 'a')
        group.start_soon(read, 'b')

    assert order == ['a1', 'b1', 'a2', 'b2']


def recorder(*chunks: bytes | Exception) -> tuple[RecordingStream, Chunks, list[Passed]]:
    reports: list[Passed] = []
    network = Chunks(*chunks)
    return RecordingStream(network, reports.append), network, reports


@pytest.mark.anyio
async def test_a_stream_reports_once_at_its_end() -> None:
    """Chunks are passed on one by one and reported together, once, also when the stream is closed afterwards."""
    stream, network, reports = recorder(b'a', b'b')

    assert [chunk async for chunk in stream] == [b'a', b'b']
    await stream.aclose()

    assert reports == [Passed(b'ab', complete=True)]
    assert network.closed


@pytest.mark.anyio
async def test_a_chunk_is_passed_on_before_the_next_arrives() -> None:
    """A reader sees the first chunk while the network still has more to send."""
    stream, network, _ = recorder(b'a', b'b')

    async for chunk in stream:
        assert (chunk, network.sent) in [(b'a', 1), (b'b', 2)]


@pytest.mark.anyio
async def test_a_closed_stream_reports_what_was_read() -> None:
    """Closing early reports an incomplete body."""
    stream, network, reports = recorder(b'a', b'b')

    async for _ in stream:
        break
    await stream.aclose()

    assert reports == [Passed(b'a')]
    assert network.closed


@pytest.mark.anyio
async def test_a_failing_stream_reports_its_error() -> None:
    """A network failure in the middle is reported with what came before, and goes on to the reader."""
    error = httpx2.ReadError('gone')
    stream, _, reports = recorder(b'a', error)

    with pytest.raises(httpx2.ReadError):
        [chunk async for chunk in stream]

    assert reports == [Passed(b'a', error=error)]


@pytest.mark.anyio
async def test_a_cancelled_reader_abandons_the_stream() -> None:
    """A reader that is cancelled while it waits is told apart from one that closes."""

    class Stalling(httpx2.AsyncByteStream):
        async def __aiter__(self):
            yield b'a'
            scope.cancel()
            await anyio.sleep_forever()

    reports: list[Passed] = []
    stream = RecordingStream(Stalling(), reports.append)
    with anyio.CancelScope() as scope:
        async for _ in stream:
            pass

    assert reports == [Passed(b'a', abandoned=True)]
