"""A recording that goes on after a difference, so that one run of a task shows all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import httpx2

from .cassette import Cassette
from .diff import Change
from .drift import FileCheck, sent_identity
from .drift_sending import Sent
from .errors import MissReason, UnmatchedRequest
from .explain import Candidate, nearest
from .interaction import Interaction, RecordedRequest, RecordedResponse

__all__ = ['TolerantCassette', 'streams_agree']


def streams_agree(request: RecordedRequest, url: str, body: Any, response: RecordedResponse) -> bool:
    """Whether a recorded answer still is of the kind, stream or not, that a changed request asks for."""
    return response.status != 200 or _wants_stream(url, body) == _wants_stream(request.url, _json(request.body))


class TolerantCassette(Cassette):
    """Answers a request that was not recorded with the answer to the nearest one that was, and keeps the difference.

    Only to find out what has changed: what a task makes of such answers says nothing.
    """

    def __init__(self, path: Path, **options: Any) -> None:
        super().__init__(path, **options)
        self.check_of_file = FileCheck(path, len(self._loaded))
        """What was compared so far."""
        self._stopped = False

    def take(self, request: httpx2.Request) -> tuple[Interaction, bool] | None:
        """Play the recorded answer, or that of the nearest request to the same endpoint."""
        sent = Sent(request.method, str(request.url), request.headers.get('content-type', ''), request.content)
        if (hit := super().take(request)) is not None:
            number = next(n for n, interaction in enumerate(self._loaded, start=1) if interaction is hit[0])
            self.check_of_file.compare(number, hit[0], sent, self._matcher)
            return hit
        index = self._nearest_left(sent)
        if index is None:
            # Without its query: what has no counterpart is told by where it goes.
            url = sent_identity(sent, self._matcher).url.partition('?')[0]
            self.check_of_file.changes.append(Change('request', '+', f'{sent.method} {url}'))
            return None
        return self._answer_anyway(index, sent)

    def miss(self, request: httpx2.Request, *, reason: MissReason | None = None) -> UnmatchedRequest:
        """As of any cassette; what was recorded after it may not be reached."""
        self._stopped = True
        return super().miss(request, reason=reason)

    def finished(self, failure: str | None) -> FileCheck:
        """What was compared, when the task is over; `failure` is how it ended if it did not end well."""
        check = self.check_of_file
        for number in range(1, check.interactions + 1):
            if number in check.sent:
                continue
            if self._stopped or failure is not None:
                why = failure or 'the case ended before, at a request that no recorded answer fits'
                check.not_checked[number] = why
            else:
                request = self._loaded[number - 1].request
                check.changes.append(Change('request', '-', f'{request.method} {request.url.partition("?")[0]}'))
        return check

    def _answer_anyway(self, index: int, sent: Sent) -> tuple[Interaction, bool] | None:
        interaction = self._loaded[index]
        self.check_of_file.compare(index + 1, interaction, sent, self._matcher)
        if not streams_agree(interaction.request, sent.url, _json(sent.body), interaction.response):
            return None
        self._queues[self._digest(interaction)].remove(index)
        self._played[index] = None
        return interaction, False

    def _nearest_left(self, sent: Sent) -> int | None:
        mine = sent_identity(sent, self._matcher)
        endpoint = mine.method, mine.url.partition('?')[0]
        identities = {
            index: self._matcher.identify(r.method, r.url, r.content_type, r.body)
            for index, r in enumerate(interaction.request for interaction in self._loaded)
            if index + 1 not in self.check_of_file.sent
        }
        left = [
            Candidate(index + 1, identity, played=False)
            for index, identity in identities.items()
            if (identity.method, identity.url.partition('?')[0]) == endpoint
        ]
        found = nearest(mine, left)
        return None if found is None else found.number - 1

    def _digest(self, interaction: Interaction) -> bytes:
        request = interaction.request
        return self._matcher.digest(request.method, request.url, request.content_type, request.body)


def _wants_stream(url: str, body: Any) -> bool:
    members = cast('dict[str, Any]', body) if isinstance(body, dict) else dict[str, Any]()
    return members.get('stream') is True or ':streamGenerateContent' in url


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
