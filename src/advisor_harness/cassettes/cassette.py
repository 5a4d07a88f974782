"""A cassette: recorded interactions of one file, what was played of them, what was missing, and what was added."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import httpx2

from . import yamlcache, yamlfile
from .collecting import uncollected
from .credentials import Credentials
from .errors import CassetteError, MissReason, SecretLeak, UnmatchedRequest, UnusedInteractions
from .explain import Candidate, Nearest, nearest
from .interaction import Interaction, RecordedResponse
from .matching import Identity, Matching, matcher_for
from .provenance import checked_provenance, record_command
from .retries import attempt_of, which_were_retried
from .streams import RecordingStream
from .upstream import Rerouting

__all__ = ['PLACEHOLDER_KEY', 'Cassette', 'Mode']

Mode = Literal['replay', 'record', 'record-missing', 'live']

PLACEHOLDER_KEY = 'placeholder-key-of-a-replay'
"""The key that `CassetteModels` gives to providers that nobody will ask for one."""


_MOST_CANDIDATES = 200

_DETAILS: dict[MissReason, str] = {
    'different': '',
    'exhausted': 'recorded {times}×, already played {times}×',
    'empty': 'the cassette is empty',
    'truncated': 'the stream was closed here when it was recorded; how it went on is not known',
    'abandoned': 'the caller went away here when it was recorded; what would have come is not known',
}


class Cassette:
    """Recorded traffic of one file; made by `use_cassette`, or by `Cassette.open` for a transport of its own."""

    def __init__(
        self,
        path: Path,
        *,
        mode: Mode,
        matching: Matching,
        recorded_with: Mapping[str, str] | None = None,
        upstream: Mapping[str, str] | None = None,
        document: dict[str, Any] | None = None,
        cached_as: str | None = None,
    ) -> None:
        self._path = path
        self._mode: Mode = mode
        self._matching = matching
        self._matcher = matcher_for(matching)
        self._recorded_with = checked_provenance(recorded_with)
        self._document = document
        self._cached_as = cached_as
        self._loaded = _interactions(path, document)
        self._recorded_times: dict[bytes, int] = {}
        self._retried: dict[int, bool] = {}
        self._queues = self._index()
        self._played: dict[int, None] = {}
        self._places = itertools.count(1)
        self._closed = False
        self._discarded = False
        self._kept: dict[int, Interaction] = {}
        self._streams: set[RecordingStream] = set()
        self._answered: list[Interaction] = []
        self._misses: list[UnmatchedRequest] = []
        self._credentials = Credentials(frozenset({PLACEHOLDER_KEY}), self._matcher.scrubber.keep)
        self.rerouting = Rerouting(upstream or {})
        """Where requests go while recording."""

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        *,
        mode: Mode = 'replay',
        matching: Matching | None = None,
        recorded_with: Mapping[str, str] | None = None,
        upstream: Mapping[str, str] | None = None,
    ) -> Cassette:
        """Open a cassette; the file is read in the modes that play it. Arguments as in `use_cassette`.

        Raises:
            CassetteError: no such file, and the mode is `replay`.
            CassetteFormatError: the file is not a cassette of HTTP traffic.
            ValueError: an argument has no meaning.
        """
        if mode not in get_args(Mode):
            raise ValueError(f'mode is {mode!r}; it must be one of {", ".join(map(repr, get_args(Mode)))}.')
        file = Path(path)
        with uncollected(file.stat().st_size if file.is_file() else 0):
            document, cached_as = _read(file, mode)
            return cls(
                file,
                mode=mode,
                matching=matching or Matching(),
                recorded_with=recorded_with,
                upstream=upstream,
                document=document,
                cached_as=cached_as,
            )

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def mode(self) -> Mode:
        """`replay`, `record`, `record-missing` or `live`."""
        return self._mode

    @property
    def matching(self) -> Matching:
        """What makes two requests the same."""
        return self._matching

    @property
    def interactions(self) -> list[Interaction]:
        """What the file held when it was opened, then what was recorded since, in sending order."""
        return [*self._loaded, *self._recorded()]

    @property
    def played(self) -> int:
        """How many interactions of the file have answered a request."""
        return len(self._played)

    @property
    def unused(self) -> list[Interaction]:
        """Interactions of the file that have not answered a request, in file order.

        An interaction that its caller abandoned is not missed: whether it is sent again is a matter of milliseconds.
        """
        return [interaction for _, interaction in self._unplayed()]

    @property
    def misses(self) -> list[UnmatchedRequest]:
        """Every request without a recorded answer, also where somebody caught the error: the proof of a replay."""
        return list(self._misses)

    @property
    def recorded_with(self) -> Mapping[str, str]:
        """Who answered: `by`, `model`, `tool`, `version`, `date`; empty when the file does not say."""
        stored: dict[str, Any] = (self._document or {}).get('recorded_with') or {}
        return {name: str(value) for name, value in stored.items()} if stored else self._provenance()

    @property
    def answered(self) -> list[Interaction]:
        """Interactions of this session, played or recorded, in the order of their answers."""
        return list(self._answered)

    @property
    def latency_s(self) -> float | None:
        """Seconds that the answers of this session took when they were recorded; `None` unless all of them say so."""
        seconds = [interaction.latency_s for interaction in self._answered]
        return sum(s for s in seconds if s is not None) if seconds and None not in seconds else None

    def check(self) -> None:
        """Prove that the session was answered by the recording, and by all of it.

        Raises:
            UnmatchedRequest: the first request that had no recorded answer.
            UnusedInteractions: answers of the file are left over.
        """
        if self._misses:
            raise self._misses[0]
        if unused := self._unplayed():
            lines = [f'{index + 1}: {i.request.method} {i.request.url}' for index, i in unused]
            raise UnusedInteractions(self._path, lines, len(self._loaded))

    def save(self) -> None:
        """Write what was recorded, in sending order; does nothing in `replay` and `live`, or when nothing was added.

        Streams that are still open are kept as far as they have come.

        Raises:
            SecretLeak: a credential of this session stands in what would be written. The file is left as it was.
        """
        if self._mode in ('replay', 'live'):
            return
        for stream in list(self._streams):
            stream.cut()
        if self._document is not None and not self._kept:
            return
        document = self._new_document()
        text = yamlfile.dump(document)
        findings = [*self._credentials.find(document, '$'), *self._credentials.find(text, 'the text of the file')]
        if findings:
            raise SecretLeak(self._path, list(dict.fromkeys(findings)))
        yamlfile.write(self._path, text)

    # What the transport needs.

    def take(self, request: httpx2.Request) -> tuple[Interaction, bool] | None:
        """Play the next answer to a request that was read, and say whether the file holds another one to it.

        Awaits nothing, so concurrent tasks can never get the same answer.
        """
        queue = self._queues.get(self._matcher.digest(*_facts(request))) if self._queues else None
        try:
            index = queue.popleft() if queue else None
        except IndexError:
            index = None  # another thread was faster
        if queue is None or index is None:
            return None
        self._played[index] = None
        self._answered.append(self._loaded[index])
        return self._loaded[index], bool(queue)

    def was_retried(self, interaction: Interaction) -> bool | None:
        """Whether its SDK sent an interaction's request again by itself when it was recorded; `None` when unknown."""
        return self._retried.get(id(interaction))

    def miss(self, request: httpx2.Request, *, reason: MissReason | None = None) -> UnmatchedRequest:
        """Note that nothing answers a request, and return the error that explains it."""
        sent = self._matcher.identify(*_facts(request))
        times = self._recorded_times.get(sent.digest, 0)
        why = reason or ('exhausted' if times else 'different' if self._loaded else 'empty')
        closest = self._nearest(request, sent) if why == 'different' else None
        detail = _DETAILS[why].format(times=times) if closest is None else closest.describe()
        first = closest.path if closest else None
        error = UnmatchedRequest(
            self._explanation(sent, why, detail), method=sent.method, url=sent.url, reason=why, path=first
        )
        self._misses.append(error)
        return error

    def begin(self, request: httpx2.Request) -> int:
        """Reserve the place of a request that is about to be sent, and remember its credentials."""
        method_url_type_body = _facts(request)
        self._credentials.note(request.headers, *method_url_type_body[1:])
        return next(self._places)

    def keep(self, place: int, request: httpx2.Request, response: RecordedResponse, latency_s: float) -> None:
        """Record the answer to a request at its reserved place."""
        attempt = attempt_of(request.headers)
        number = {} if attempt is None else {'attempt': attempt}
        recorded = {'latency_s': round(latency_s, 4), **number, **self._other_source()}
        interaction = Interaction.record(request, response, self._matcher.scrubber, recorded)
        self._kept[place] = interaction
        self._answered.append(interaction)

    def watch(self, stream: RecordingStream) -> None:
        """Keep what has passed through a stream, should the session end before it does."""
        self._streams.add(stream)

    def unwatch(self, stream: RecordingStream) -> None:
        """A watched stream has reported."""
        self._streams.discard(stream)

    @property
    def is_closed(self) -> bool:
        """Whether its `use_cassette` block was left."""
        return self._closed

    def close(self) -> None:
        """Answer no more requests: what happened after the block would be in no file and no verdict."""
        self._closed = True

    def discard(self) -> None:
        """Leave the file as it is when the `use_cassette` block is left: what was recorded is not worth keeping."""
        self._discarded = True

    @property
    def is_discarded(self) -> bool:
        """Whether leaving the block writes nothing."""
        return self._discarded

    def has_recorded(self) -> bool:
        """Whether anything was recorded in this session, streams that are still open included."""
        return bool(self._kept or self._streams)

    def _index(self) -> dict[bytes, deque[int]]:
        queues: dict[bytes, deque[int]] = {}
        for index, digest in enumerate(self._digests()):
            queues.setdefault(digest, deque()).append(index)
        self._recorded_times = {digest: len(queue) for digest, queue in queues.items()}
        for queue in queues.values():
            same = [self._loaded[index] for index in queue]
            known = zip(same, which_were_retried(same), strict=True)
            self._retried.update({id(interaction): was for interaction, was in known if was is not None})
        return queues

    def _digests(self) -> list[bytes]:
        rules, name = self._matching.described(), self._cached_as
        if name is not None and (known := yamlcache.load_digests(name, rules, len(self._loaded))) is not None:
            return known
        digests = [self._matcher.digest(*_recorded_facts(interaction)) for interaction in self._loaded]
        if name is not None:
            yamlcache.store_digests(name, rules, digests)
        return digests

    def _unplayed(self) -> list[tuple[int, Interaction]]:
        return [
            (index, interaction)
            for index, interaction in enumerate(self._loaded)
            if index not in self._played and not (interaction.response.abandoned and not interaction.response.status)
        ]

    def _nearest(self, request: httpx2.Request, sent: Identity) -> Nearest | None:
        # Comparing is slow, so a large file offers its likeliest requests only.
        def rank(index: int) -> tuple[bool, bool]:
            return index in self._played, self._loaded[index].request.url.partition('?')[0] != url

        url = self._matcher.scrubber.url(str(request.url)).partition('?')[0]
        likeliest = sorted(range(len(self._loaded)), key=rank)[:_MOST_CANDIDATES]
        return nearest(
            sent,
            [
                Candidate(i + 1, self._matcher.identify(*_recorded_facts(self._loaded[i])), i in self._played)
                for i in likeliest
            ],
        )

    def _explanation(self, sent: Identity, why: MissReason, detail: str) -> str:
        what = 'the recorded answer ends early' if why in ('truncated', 'abandoned') else 'no recorded answer'
        counts = f'{len(self._loaded)} recorded, {len(self._loaded) - self.played} not played yet'
        label = 'nearest' if why == 'different' else 'because'
        indented = detail.replace('\n', '\n  ' + ' ' * 11)
        return (
            f'{what} for {sent.method} {sent.url}\n'
            f'  cassette   {self._path}: {counts}\n'
            f'  {label}    {indented}\n'
            f'  re-record  {record_command(self._path)}'
        )

    def _recorded(self) -> list[Interaction]:
        return [self._kept[place] for place in sorted(self._kept)]

    def _new_document(self) -> dict[str, Any]:
        new = [dict(interaction.mapping) for interaction in self._recorded()]
        if self._document is None:
            return {'recorded_with': self._provenance(), 'interactions': new, 'version': 1}
        return {**self._document, 'interactions': [*(self._document['interactions'] or []), *new]}

    def _provenance(self) -> dict[str, str]:
        if self._mode in ('replay', 'live') or self._document is not None:
            return {}
        ours = {'tool': 'advisor-harness', 'version': version('advisor-harness')}
        today = datetime.now(UTC).date().isoformat()
        return {
            **{k: v for k, v in ours.items() if 'tool' not in self._recorded_with},
            **self._recorded_with,
            'date': today,
        }

    def _other_source(self) -> dict[str, str]:
        # The file's block speaks for the whole file, so an addition from elsewhere says so itself.
        if self._document is None:
            return {}
        stored = self.recorded_with
        return {k: v for k, v in self._recorded_with.items() if k in ('by', 'model') and stored.get(k) != v}


def _read(path: Path, mode: Mode) -> tuple[dict[str, Any] | None, str | None]:
    if mode in ('record', 'live'):
        return None, None
    try:
        return yamlfile.read_named(path)
    except FileNotFoundError:
        if mode == 'record-missing':
            return None, None
        raise CassetteError(f'no cassette file {path}. Record it: {record_command(path)}') from None


def _interactions(path: Path, document: dict[str, Any] | None) -> list[Interaction]:
    interactions: list[Interaction] = []
    for number, mapping in enumerate((document or {}).get('interactions') or [], start=1):
        try:
            interactions.append(Interaction.from_mapping(mapping))
        except ValueError as e:
            raise yamlfile.format_error(path, number, str(e)) from e
    return interactions


def _facts(request: httpx2.Request) -> tuple[str, str, str, bytes]:
    return request.method, str(request.url), request.headers.get('content-type', ''), request.content


def _recorded_facts(interaction: Interaction) -> tuple[str, str, str, bytes]:
    request = interaction.request
    return request.method, request.url, request.content_type, request.body
