"""Room under the executor's usage limits for the consultations in flight.

A usage limit is checked against what was used, and a request is counted once its answer is there: consultations that
run side by side would each find the same room. Here each one claims it before it sends, and what is claimed counts as
used for all the others until the answer is counted or the consultation ends.

What a request needs is known for requests (one), for output tokens (at most `max_tokens`, where that is set), and for
input tokens and their cost where `UsageLimits.count_tokens_before_request` counts them. Nothing is reserved for what is
not known: as in core, a limit on it is checked before the next request and after each answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.usage import RunUsage, UsageLimits

__all__ = ['Reservation', 'Reservations', 'guarded']


@dataclass
class Reservations:
    """The consultations in flight of one run. Awaits nothing, so no two of them can take the same room."""

    _open: list[Reservation] = field(default_factory=list['Reservation'])

    def open(self, used: RunUsage, limits: UsageLimits, *, output_tokens: int | None = None) -> Reservation:
        """Announce a consultation; it holds no room until it claims some.

        Args:
            used: What the run has used, the object that the run counts in; `Reservation.close` adds to it.
            limits: The limits of the run.
            output_tokens: The most output tokens that one request of the consultation can take; `None` when unknown.
        """
        reservation = Reservation(used, limits, output_tokens or 0, self)
        self._open.append(reservation)
        return reservation

    @property
    def reserved(self) -> RunUsage:
        """What the requests in flight need, as far as it is known."""
        # Hundreds may be in flight, and each asks: numbers are added up here, and usages only where there are any.
        reserved = RunUsage()
        for reservation in self._open:
            requests = reservation.in_flight
            reserved.requests += requests
            reserved.output_tokens += requests * reservation.output_tokens
            if requests and reservation.counted is not None:
                reserved.incr(reservation.counted)
        return reserved

    @property
    def spent(self) -> RunUsage:
        """What the open consultations have used and the run does not count yet."""
        spent, nothing = RunUsage(), RunUsage()
        for reservation in self._open:
            if reservation.usage != nothing:
                spent.incr(reservation.usage)
        return spent

    def forget(self, reservation: Reservation) -> bool:
        """Give back what `reservation` holds; whether it was still open."""
        still_open = reservation in self._open
        if still_open:
            self._open.remove(reservation)
        return still_open


@dataclass(eq=False)
class Reservation:
    """The room that one consultation holds."""

    used: RunUsage
    limits: UsageLimits
    output_tokens: int
    _among: Reservations
    usage: RunUsage = field(default_factory=RunUsage)
    """What the consultation itself has used; its run counts in this object."""
    claimed: int = 0
    """Requests claimed, those that `usage` counts included."""
    counted: RunUsage | None = None
    """The input of the request in flight, where it was counted before sending; else `None`."""

    @property
    def in_flight(self) -> int:
        """Requests that were claimed and are not counted yet."""
        return max(0, self.claimed - self.usage.requests)

    @property
    def counting(self) -> bool:
        """Whether the request just claimed is not sent yet, because its input is still to be counted."""
        return bool(self.in_flight) and self.limits.count_tokens_before_request and self.counted is None

    @property
    def pending(self) -> RunUsage:
        """What the requests in flight need."""
        requests = self.in_flight
        needed = RunUsage(requests=requests, output_tokens=requests * self.output_tokens)
        return needed + self.counted if requests and self.counted is not None else needed

    @property
    def total(self) -> RunUsage:
        """What the run has used with what its open consultations have used."""
        return self.used + self._among.spent

    @property
    def committed(self) -> RunUsage:
        """`total` and what is reserved."""
        return self.total + self._among.reserved

    def claim(self) -> None:
        """Take room for one more request.

        Raises:
            UsageLimitExceeded: there is none, what is in flight counted as used. Nothing is taken then.
        """
        self.counted = None
        self._check(RunUsage(output_tokens=self.output_tokens))
        self.claimed += 1

    def claim_up_to(self, requests: int) -> None:
        """Take room for one request, and for as many more as there is room for, `requests` together.

        Raises:
            UsageLimitExceeded: there is no room for one.
        """
        self.claim()
        try:
            for _ in range(requests - 1):
                self.claim()
        except UsageLimitExceeded:
            return  # for a request that may not be needed: it is refused when it is

    def count(self, counted: RunUsage) -> None:
        """Take room for the input of the request just claimed, which has been counted.

        Raises:
            UsageLimitExceeded: the input does not fit. It stays claimed until `close`: the request is not sent.
        """
        self.counted = RunUsage(input_tokens=counted.input_tokens, cost=counted.cost)
        self._check(RunUsage(), besides_requests=1)

    def close(self) -> None:
        """Give back what is held and add what was used to what the run has used; only the first call does."""
        if self._among.forget(self):
            # The run's total only: the spans of the nested run report its own requests.
            self.used.incr(self.usage)

    def _check(self, need: RunUsage, *, besides_requests: int = 0) -> None:
        """Whether `need` fits, and one request; `besides_requests` of those in flight are the one it is for."""
        projected = self.committed + need
        projected.requests -= besides_requests
        self.limits.check_before_request(projected)
        most = self.limits.output_tokens_limit
        if most is not None and self.output_tokens and projected.output_tokens > most:
            raise UsageLimitExceeded(
                f'The next request would exceed the output_tokens_limit of {most} '
                f'(output_tokens={projected.output_tokens})'
            )


def guarded(reservation: Reservation) -> UsageLimits:
    """The limits of the executor's run for the run of a consultation, which claims its requests through them.

    Core asks the limits of a run before every request and after every answer; these look at all of the executor's run,
    with what is in flight, and leave the judgement to the limits themselves.
    """
    return _Guarded(reservation)


class _Guarded(UsageLimits):
    def __init__(self, reservation: Reservation) -> None:
        limits = reservation.limits
        super().__init__(**{each.name: getattr(limits, each.name) for each in fields(UsageLimits)})
        self._reservation = reservation

    def check_before_request(self, usage: RunUsage) -> None:
        reservation = self._reservation
        if usage is reservation.usage:
            reservation.claim()
        else:  # a copy to which core added the counted input of the request that was just claimed
            reservation.count(usage - reservation.usage)

    def check_tokens(self, usage: RunUsage) -> None:
        self._reservation.limits.check_tokens(self._reservation.total)

    def check_cost(self, usage: RunUsage, *, warn_if_cost_unavailable: bool = True) -> None:
        limits = self._reservation.limits
        limits.check_cost(self._reservation.total, warn_if_cost_unavailable=warn_if_cost_unavailable)
