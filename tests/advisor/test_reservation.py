"""Room under the executor's usage limits: what is in flight counts as used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from pydantic import BaseModel
from pydantic_ai import Agent, ModelResponse, RunContext
from pydantic_ai.exceptions import CostNotFoundWarning, ModelConnectionError, UsageLimitExceeded
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage, RunUsage, UsageLimits

from advisor_harness import Advisor, Consultation
from advisor_harness.advisor.reservation import Reservation, Reservations, guarded

from .scripts import Script, answers, asks, executor, gives, outcomes, says, skip

pytestmark = pytest.mark.anyio

NOTHING = RunUsage()
HINT = str(UsageLimitExceeded(''))
"""What core adds to every one of these errors."""


def opened(
    used: RunUsage | None = None, *, output_tokens: int | None = None, **limits: Any
) -> tuple[Reservations, Reservation]:
    reservations = Reservations()
    limit = UsageLimits(**{'request_limit': None, **limits})
    return reservations, reservations.open(used or RunUsage(), limit, output_tokens=output_tokens)


def answered(reservation: Reservation, **tokens: int) -> None:
    """What core does when an answer is there."""
    reservation.usage.incr(RunUsage(requests=1, **tokens))


def refused(claim: Callable[[], None]) -> str:
    with pytest.raises(UsageLimitExceeded) as error:
        claim()
    return str(error.value).removesuffix(HINT)


class TestClaims:
    def test_what_is_in_flight_counts_as_used(self) -> None:
        """A sibling finds no room for the request that another one has claimed and not heard of."""
        reservations, first = opened(RunUsage(requests=1), request_limit=2)
        second = reservations.open(first.used, first.limits)
        first.claim()
        assert refused(second.claim) == 'The next request would exceed the request_limit of 2'
        assert (reservations.reserved, second.pending) == (RunUsage(requests=1), NOTHING)

    def test_an_answer_turns_what_was_reserved_into_what_was_used(self) -> None:
        """A counted request is reserved no more and counted once, before and after the consultation ends."""
        reservations, one = opened(RunUsage(requests=1), request_limit=3)
        one.claim()
        answered(one, input_tokens=7)
        total = RunUsage(requests=2, input_tokens=7)
        assert (reservations.reserved, one.total, one.committed) == (NOTHING, total, total)
        one.close()
        assert (one.used, reservations.spent, reservations.reserved) == (total, NOTHING, NOTHING)

    def test_a_request_that_failed_gives_its_room_back(self) -> None:
        """Core does not count a request without an answer, so another one fits in its place."""
        reservations, one = opened(RunUsage(requests=1), request_limit=2)
        one.claim()
        one.close()
        another = reservations.open(one.used, one.limits)
        another.claim()
        assert (one.used, another.committed) == (RunUsage(requests=1), RunUsage(requests=2))

    def test_closing_twice_charges_once(self) -> None:
        """Only the first `close` adds to what the run has used."""
        _, one = opened()
        one.claim()
        answered(one)
        one.close()
        one.close()
        assert one.used == RunUsage(requests=1)

    def test_a_refused_claim_takes_nothing(self) -> None:
        """After a refusal the books are as they were."""
        reservations, one = opened(RunUsage(requests=1), request_limit=1)
        refused(one.claim)
        assert (one.claimed, reservations.reserved) == (0, NOTHING)

    def test_each_consultation_may_take_several_requests(self) -> None:
        """A retry claims anew; the request before it is counted by then."""
        _, one = opened(request_limit=2)
        one.claim()
        answered(one)
        one.claim()
        answered(one)
        assert refused(one.claim) == 'The next request would exceed the request_limit of 2'

    @pytest.mark.parametrize(('used', 'claimed'), [(0, 3), (1, 2), (2, 1)])
    def test_claiming_up_to_takes_what_there_is(self, used: int, claimed: int) -> None:
        """At least one, at most what is asked for, else all that is left."""
        reservations, one = opened(RunUsage(requests=used), request_limit=3)
        one.claim_up_to(4)
        assert (one.claimed, reservations.reserved) == (claimed, RunUsage(requests=claimed))

    def test_claiming_up_to_stops_at_what_is_wanted(self) -> None:
        """More room is not taken."""
        _, one = opened(request_limit=9)
        one.claim_up_to(2)
        assert one.claimed == 2

    def test_claiming_up_to_needs_room_for_one(self) -> None:
        """Without room for the first request it raises."""
        _, one = opened(RunUsage(requests=3), request_limit=3)
        assert refused(lambda: one.claim_up_to(2)) == 'The next request would exceed the request_limit of 3'

    def test_the_work_of_a_claim_does_not_grow_with_those_in_flight(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Twice as many consultations side by side add up twice as many usages, not four times."""
        additions = 0
        incr = RunUsage.incr

        def counting(usage: RunUsage, by: Any) -> None:
            nonlocal additions
            additions += 1
            incr(usage, by)

        monkeypatch.setattr(RunUsage, 'incr', counting)
        seen: list[int] = []
        for count in (50, 100):
            additions = 0
            reservations, first = opened()
            claiming = [first, *(reservations.open(first.used, first.limits) for _ in range(count - 1))]
            for each in claiming:
                each.claim()
            assert reservations.reserved == RunUsage(requests=count)
            for each in claiming:
                answered(each)
                each.close()
            seen.append(additions)
        assert seen[1] == 2 * seen[0]


class TestTokens:
    def test_output_tokens_that_are_known_are_reserved(self) -> None:
        """With `max_tokens` each request holds that many output tokens until it is answered."""
        reservations, one = opened(RunUsage(output_tokens=100), output_tokens=1024, output_tokens_limit=2148)
        one.claim()
        two = reservations.open(one.used, one.limits, output_tokens=1024)
        two.claim()
        three = reservations.open(one.used, one.limits, output_tokens=1024)
        assert refused(three.claim) == (
            'The next request would exceed the output_tokens_limit of 2148 (output_tokens=3172)'
        )
        answered(one, output_tokens=30)
        assert reservations.reserved == RunUsage(requests=1, output_tokens=1024)

    def test_they_count_in_the_total(self) -> None:
        """`total_tokens_limit` covers what may come back."""
        _, one = opened(RunUsage(input_tokens=10), output_tokens=1024, total_tokens_limit=1033)
        assert refused(one.claim) == (
            'The next request would exceed the total_tokens_limit of 1033 (total_tokens=1034)'
        )

    def test_a_limit_that_is_just_reached_is_not_exceeded(self) -> None:
        """As in core, tokens up to the limit are within it."""
        _, one = opened(
            RunUsage(input_tokens=10), output_tokens=1024, total_tokens_limit=1034, output_tokens_limit=1024
        )
        one.claim()
        assert one.committed == RunUsage(requests=1, input_tokens=10, output_tokens=1024)

    def test_what_is_unknown_is_not_reserved(self) -> None:
        """Without `max_tokens` a token limit refuses once it is passed, as core does."""
        _, one = opened(RunUsage(output_tokens=500), total_tokens_limit=500, output_tokens_limit=400)
        one.claim()
        answered(one, output_tokens=1)
        assert refused(one.claim) == ('The next request would exceed the total_tokens_limit of 500 (total_tokens=501)')

    def test_counted_input_is_reserved_while_its_request_is_in_flight(self) -> None:
        """Tokens that were counted before sending are held, with their cost, and given back with the answer."""
        reservations, one = opened(input_tokens_limit=10, cost_limit=Decimal(1))
        one.claim()
        one.count(RunUsage(requests=9, input_tokens=8, output_tokens=9, cost=Decimal('0.5')))
        assert reservations.reserved == RunUsage(requests=1, input_tokens=8, cost=Decimal('0.5'))
        two = reservations.open(one.used, one.limits)
        two.claim()
        assert refused(lambda: two.count(RunUsage(input_tokens=3))) == (
            'The next request would exceed the input_tokens_limit of 10 (input_tokens=11)'
        )
        two.close()
        answered(one, input_tokens=8)
        assert reservations.reserved == NOTHING
        one.claim()
        assert reservations.reserved == RunUsage(requests=1)

    def test_counted_cost_is_held_against_the_cost_limit(self) -> None:
        """Two requests whose input is priced do not share the room for one."""
        reservations, one = opened(cost_limit=Decimal(1))
        two = reservations.open(one.used, one.limits)
        one.claim()
        one.count(RunUsage(cost=Decimal('0.6')))
        two.claim()
        assert refused(lambda: two.count(RunUsage(cost=Decimal('0.6')))) == (
            "The next request would exceed the `cost_limit` of 1 (`cost`=Decimal('1.2'))"
        )


class TestGuard:
    def test_core_claims_through_the_limits(self) -> None:
        """The check of the run's own usage is a claim; the check of a copy with counted input refines it."""
        reservations, one = opened(RunUsage(input_tokens=5), input_tokens_limit=10, request_limit=1)
        guard = guarded(one)
        guard.check_before_request(one.usage)
        guard.check_before_request(RunUsage(input_tokens=4))
        assert reservations.reserved == RunUsage(requests=1, input_tokens=4)

    def test_only_the_request_that_is_counted_is_taken_from_a_copy(self) -> None:
        """Core adds counted input to a copy of what the consultation has used already."""
        reservations, one = opened()
        guard = guarded(one)
        guard.check_before_request(one.usage)
        answered(one, input_tokens=3)
        guard.check_before_request(one.usage)
        guard.check_before_request(one.usage + RunUsage(input_tokens=4))
        assert reservations.reserved == RunUsage(requests=1, input_tokens=4)

    def test_a_cost_that_nobody_knows_is_warned_of_as_in_core(self) -> None:
        """At the end of a run core asks for the warning; between answers it does not."""
        _, one = opened(cost_limit=Decimal(1))
        guard = guarded(one)
        guard.check_cost(one.usage, warn_if_cost_unavailable=False)
        with pytest.warns(CostNotFoundWarning):
            guard.check_cost(one.usage)

    def test_answers_are_held_against_what_all_have_used(self) -> None:
        """Limits see the executor's usage and that of every open consultation, not what is merely reserved."""
        reservations, one = opened(
            RunUsage(input_tokens=5, cost=Decimal(1)), output_tokens=1024, input_tokens_limit=9, cost_limit=Decimal(2)
        )
        other = reservations.open(one.used, one.limits)
        other.claim()
        answered(other, input_tokens=4)
        guard = guarded(one)
        guard.check_tokens(one.usage)
        guard.check_cost(one.usage)
        one.usage.incr(RunUsage(input_tokens=1, cost=Decimal(2)))
        assert refused(lambda: guard.check_tokens(one.usage)) == (
            'Exceeded the input_tokens_limit of 9 (input_tokens=10)'
        )
        assert refused(lambda: guard.check_cost(one.usage)) == (
            "Exceeded the `cost_limit` of 2 (`usage.cost`=Decimal('3'))"
        )

    def test_the_rest_is_as_the_limits_say(self) -> None:
        """Every setting is carried over, also those that core reads by itself."""
        limits = UsageLimits(
            request_limit=3, per_request_input_tokens_limit=5, count_tokens_before_request=True, tool_calls_limit=2
        )
        guard = guarded(Reservations().open(RunUsage(), limits))
        assert UsageLimits(**{name: getattr(guard, name) for name in vars(limits)}) == limits
        assert guard.has_token_limits()

    def test_rules_of_the_users_own_stay_in_force(self) -> None:
        """A subclass of `UsageLimits` judges the whole run by its own rules."""

        class Strict(UsageLimits):
            def check_before_request(self, usage: RunUsage) -> None:
                raise UsageLimitExceeded(f'no more after {usage.requests}')

        reservation = Reservations().open(RunUsage(requests=4), Strict())
        guard = guarded(reservation)
        assert refused(lambda: guard.check_before_request(reservation.usage)) == 'no more after 4'


class Machine(RuleBasedStateMachine):
    """Consultations that open, claim, count, answer, fail and are cancelled in every order."""

    consultations = Bundle('consultations')

    @initialize(
        requests=st.integers(0, 6), tokens=st.integers(0, 60), most=st.sampled_from([None, 5]), used=st.integers(0, 3)
    )
    def start(self, requests: int, tokens: int, most: int | None, used: int) -> None:
        self.limits = UsageLimits(
            request_limit=requests, output_tokens_limit=tokens, total_tokens_limit=2 * tokens, input_tokens_limit=tokens
        )
        self.most = most
        self.used = RunUsage(requests=min(used, requests))
        self.reservations = Reservations()
        self.open: set[Reservation] = set()

    @rule(target=consultations)
    def begin(self) -> Reservation:
        reservation = self.reservations.open(self.used, self.limits, output_tokens=self.most)
        self.open.add(reservation)
        return reservation

    @rule(reservation=consultations, several=st.integers(1, 3))
    def claim(self, reservation: Reservation, several: int) -> None:
        if reservation.pending.requests or reservation not in self.open:
            return
        before = reservation.committed
        try:
            reservation.claim_up_to(several)
        except UsageLimitExceeded:
            assert reservation.committed == before
            assert before.requests == self.limits.request_limit or self.most or before.total_tokens
        else:
            assert reservation.committed.requests > before.requests

    @rule(reservation=consultations, tokens=st.integers(0, 20))
    def count(self, reservation: Reservation, tokens: int) -> None:
        if reservation.pending.requests != 1:
            return
        try:
            reservation.count(RunUsage(input_tokens=tokens))
        except UsageLimitExceeded:
            self.end(reservation)

    @rule(reservation=consultations, tokens=st.integers(0, 5))
    def answer(self, reservation: Reservation, tokens: int) -> None:
        if not reservation.pending.requests:
            return
        counted = reservation.pending.input_tokens
        reservation.usage.incr(RunUsage(requests=1, output_tokens=tokens if self.most else 0, input_tokens=counted))

    @rule(reservation=consumes(consultations))
    def fail_or_cancel(self, reservation: Reservation) -> None:
        self.end(reservation)

    @rule()
    def executor_asks(self) -> None:
        if (self.used + self.reservations.spent + self.reservations.reserved).requests < (
            self.limits.request_limit or 0
        ):
            self.used.incr(RunUsage(requests=1))

    def end(self, reservation: Reservation) -> None:
        reservation.close()
        self.open.discard(reservation)

    @invariant()
    def within_the_limits(self) -> None:
        if not hasattr(self, 'used'):
            return
        committed = self.used + self.reservations.spent + self.reservations.reserved
        assert committed.requests <= (self.limits.request_limit or 0)
        assert committed.output_tokens <= (self.limits.output_tokens_limit or 0)
        assert committed.input_tokens <= (self.limits.input_tokens_limit or 0)
        assert committed.total_tokens <= (self.limits.total_tokens_limit or 0)

    def teardown(self) -> None:
        for reservation in list(getattr(self, 'open', ())):
            self.end(reservation)
        if hasattr(self, 'reservations'):
            assert (self.reservations.reserved, self.reservations.spent) == (NOTHING, NOTHING)


Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestMachine = Machine.TestCase
"""Whatever the order: used + reserved <= limit, and nothing is reserved in the end."""


@settings(max_examples=40, deadline=None)
@given(
    limit=st.integers(1, 7),
    endings=st.lists(st.tuples(st.sampled_from(['advise', 'empty', 'fail', 'hang']), st.integers(0, 3)), max_size=7),
)
def test_no_interleaving_of_consultations_overshoots_the_request_limit(
    limit: int, endings: list[tuple[str, int]]
) -> None:
    """Advisors that answer, retry, fail or hang in any order: never more requests than the limit has room for."""
    asyncio.run(_interleaved(limit, endings))


async def _interleaved(limit: int, endings: list[tuple[str, int]]) -> None:
    contexts: list[RunContext[object]] = []
    in_flight = most = 0

    async def advise(messages: list[Any], info: Any) -> ModelResponse:
        nonlocal in_flight, most
        ending, delay = endings[int(messages[0].parts[-1].content)]
        in_flight += 1
        try:
            used = contexts[0].usage + ours[0]._reservations.spent
            most = max(most, used.requests + in_flight)
            for _ in range(delay):
                await asyncio.sleep(0)
            if ending == 'hang':
                await asyncio.Future()
            if ending == 'fail':
                raise ModelConnectionError('advisor', 'down')
            return says('' if ending == 'empty' else 'Advice.')
        finally:
            in_flight -= 1

    ours: list[Advisor[object]] = []

    class Kept(Advisor[object]):
        async def for_run(self, ctx: RunContext[object]) -> Any:
            contexts.append(ctx)
            ours.append(await super().for_run(ctx))
            return ours[-1]

    steps = [asks(*map(str, range(len(endings)))), says('done')] if endings else [says('done')]
    capability = Kept(FunctionModel(advise, model_name='advisor'), on_error='continue')
    agent = Agent(Script(*steps).model(), capabilities=[capability])
    run = asyncio.create_task(agent.run('Go.', usage_limits=UsageLimits(request_limit=limit)))
    for _ in range(400):
        await asyncio.sleep(0)
    run.cancel()
    (ended,) = await asyncio.gather(run, return_exceptions=True)
    assert most <= limit
    assert isinstance(ended, UsageLimitExceeded | asyncio.CancelledError) or ended.output == 'done'
    assert (ours[0]._reservations.reserved, ours[0]._reservations.spent) == (NOTHING, NOTHING)
    assert contexts[0].usage.requests <= limit


class Together:
    """Consultations that all ask before one of them is answered."""

    def __init__(self, *answer: Any, **options: Any) -> None:
        self.sent = 0
        self.records: list[Consultation] = []
        self.script = Script(*answer)
        self.options = {'on_consultation': self.records.append, **options}

    async def answer(self, messages: Any, info: Any) -> Any:
        self.sent += 1
        for _ in range(20):  # every sibling has asked by then
            await asyncio.sleep(0)
        return await self.script(messages, info)

    def model(self) -> FunctionModel:
        return FunctionModel(self.answer, model_name='advisor')

    async def ask(self, count: int, model: Any = None, **limits: Any) -> Any:
        ours = Advisor[object](model or self.model(), **self.options)
        agent = Agent(executor(asks(*(f'Question {n}?' for n in range(count)))).model(), capabilities=[ours])
        return await agent.run('Go.', usage_limits=UsageLimits(**limits))


@pytest.mark.parametrize('on_error', ['raise', 'continue'])
async def test_f4_ten_parallel_consultations_never_overshoot_the_request_limit(on_error: Any) -> None:
    """With room for one of ten, one request is sent; the run ends by its limit under either `on_error`."""
    together = Together(says('Use a lock.'), on_error=on_error)
    with pytest.raises(UsageLimitExceeded, match='The next request would exceed the request_limit of 2'):
        await together.ask(10, request_limit=2)
    assert together.sent == 1
    by_outcome = {name: outcomes(together.records).count(name) for name in outcomes(together.records)}
    assert by_outcome.pop('usage_limit') >= 1
    assert set(by_outcome) <= {'cancelled'}
    refusals = [r for r in together.records if r.outcome == 'usage_limit']
    assert {(r.error_code, r.requests, r.cost_usd) for r in refusals} == {('usage_limit', 0, Decimal(0))}


@pytest.mark.parametrize('count', [1, 3, 8])
async def test_f4_consultations_that_fit_all_run(count: int) -> None:
    """Room for each of them and for the executor's next request is enough; all usage is counted once."""
    together = Together(says('Use a lock.'))
    result = await together.ask(count, request_limit=count + 2)
    assert answers(result.all_messages()) == ['Use a lock.'] * count
    assert (together.sent, result.usage.requests) == (count, count + 2)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (7 * (count + 2), 3 * (count + 2))


async def test_f4_retries_of_advisors_claim_room_too() -> None:
    """Two advisors that must answer again find room for one retry: three requests in all, and no fourth."""
    together = Together(gives(sound='?'), output_type=Verdict)
    with pytest.raises(UsageLimitExceeded, match='The next request would exceed the request_limit of 4'):
        await together.ask(2, request_limit=4)
    assert together.sent == 3


async def test_f4_the_attempts_of_a_fallback_advisor_are_one_request() -> None:
    """As core counts them: a candidate that failed does not use the limit up."""
    together = Together(says('Use a lock.'))
    down = Script(ModelConnectionError('down', 'no'))
    result = await together.ask(2, FallbackModel(down.model('down'), together.model()), request_limit=4)
    assert (len(down.requests), result.usage.requests) == (2, 4)


async def test_f4_a_consultation_that_failed_leaves_its_room_to_the_next() -> None:
    """A request that brought no answer is not counted, so the limit still has its room afterwards."""
    together = Together(ModelConnectionError('advisor', 'down'), on_error='continue')
    ours = Advisor[object](together.model(), **together.options)
    agent = Agent(executor(asks('One?'), asks('Two?'), asks('Three?')).model(), capabilities=[ours])
    result = await agent.run('Go.', usage_limits=UsageLimits(request_limit=4))
    assert (outcomes(together.records), result.usage.requests) == (['error'] * 3, 4)


async def test_f4_a_timeout_leaves_its_room_to_the_next() -> None:
    """What a consultation held is given back when its time is up."""
    records: list[Consultation] = []

    async def hang(messages: Any, info: Any) -> Any:
        skip(60)
        await asyncio.Future()

    ours = Advisor[object](Script(hang).model(), timeout=60, on_error='continue', on_consultation=records.append)
    agent = Agent(executor(asks('One?'), asks('Two?')).model(), capabilities=[ours])
    result = await agent.run('Go.', usage_limits=UsageLimits(request_limit=3))
    assert (outcomes(records), result.usage.requests) == (['timeout'] * 2, 3)


async def test_f4_known_output_tokens_are_reserved() -> None:
    """With `max_tokens` parallel consultations leave each other the tokens that they may take."""
    together = Together(says('Use a lock.'), max_tokens=1024)
    with pytest.raises(UsageLimitExceeded, match=r'output_tokens_limit of 3000 \(output_tokens=3075\)'):
        await together.ask(10, output_tokens_limit=3000)
    assert together.sent == 2


class Counting(FunctionModel):
    """A model that counts the tokens of a request before it is sent."""

    async def count_tokens(self, *args: Any) -> RequestUsage:
        return RequestUsage(input_tokens=100)


async def test_f4_counted_input_is_reserved() -> None:
    """With `count_tokens_before_request` parallel consultations leave each other their counted input."""
    together = Together(says('Use a lock.'))
    script = executor(asks('One?', 'Two?', 'Three?'))
    ours = Advisor[object](Counting(together.answer, model_name='advisor'), **together.options)
    agent = Agent(Counting(script, model_name='executor'), capabilities=[ours])
    limits = UsageLimits(input_tokens_limit=250, count_tokens_before_request=True)
    with pytest.raises(UsageLimitExceeded, match=r'input_tokens_limit of 250 \(input_tokens=307\)'):
        await agent.run('Go.', usage_limits=limits)
    assert together.sent == 2


class Uncountable(FunctionModel):
    async def count_tokens(self, *args: Any) -> RequestUsage:
        raise ModelConnectionError('advisor', 'connection reset')


class Uncounted(FunctionModel):
    async def count_tokens(self, *args: Any) -> RequestUsage:
        skip(30)
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize(('kind', 'outcome'), [(Uncountable, 'error'), (Uncounted, 'timeout')])
async def test_a_request_whose_input_could_not_be_counted_was_not_sent(kind: type[FunctionModel], outcome: str) -> None:
    """What breaks off while `count_tokens_before_request` counts took no request and cost nothing."""
    script, records = Script(says('Use a lock.')), list[Consultation]()
    ours = Advisor[object](
        kind(script, model_name='advisor'), timeout=30, on_error='continue', on_consultation=records.append
    )
    agent = Agent(Counting(executor(asks('How?')), model_name='executor'), capabilities=[ours])
    await agent.run('Go.', usage_limits=UsageLimits(input_tokens_limit=250, count_tokens_before_request=True))
    spent = [(each.requests, each.input_tokens, each.output_tokens, each.cost_usd) for each in records]
    assert (outcomes(records), spent, script.requests) == ([outcome], [(0, 0, 0, Decimal(0))], [])


async def test_runs_do_not_share_room() -> None:
    """What one run holds, another run of the same agent does not see."""
    together = Together(says('Use a lock.'))
    ours = Advisor[object](together.model(), **together.options)
    agent = Agent(FunctionModel(_stateless), capabilities=[ours])
    limits = UsageLimits(request_limit=3)
    results = await asyncio.gather(*(agent.run('Go.', usage_limits=replace(limits)) for _ in range(5)))
    assert [(result.output, result.usage.requests) for result in results] == [('done', 3)] * 5


async def _stateless(messages: list[Any], info: Any) -> ModelResponse:
    return asks('How?') if len(messages) == 1 else says('done')


class Verdict(BaseModel):
    sound: bool
