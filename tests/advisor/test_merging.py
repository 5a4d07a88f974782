"""Two advisors of one agent: the stricter setting wins, a contradiction is an error, a run's replaces the agent's."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.exceptions import UserError

from advisor_harness import Advisor, Consultation
from advisor_harness.advisor.merging import merged
from advisor_harness.advisor.options import Options

from .scripts import HAIKU, OPUS, Provider, Script, answers, asks, calls, consulted, executor, message, says, text

NAME = f'anthropic:{OPUS}'
ROUTER = 'openrouter:anthropic/claude-opus-4.8'


class Verdict(BaseModel):
    sound: bool


def merge(*several: dict[str, Any]) -> Options:
    return merged([Advisor(**{'model': NAME, **options}).options for options in several])


@pytest.mark.parametrize(
    ('option', 'first', 'second', 'expected'),
    [
        ('mode', 'auto', 'native', 'native'),
        ('mode', 'auto', 'local', 'local'),
        ('output_type', str, Verdict, Verdict),
        ('caching', None, '5m', '5m'),
        ('max_uses', 3, 2, 2),
        ('max_uses', None, 2, 2),
        ('max_tokens', 4096, 2048, 2048),
        ('max_tokens', None, 2048, 2048),
        ('max_uses_per_run', 5, 4, 4),
        ('timeout', 2.5, 0.5, 0.5),
        ('timeout', None, 0.5, 0.5),
        ('max_transcript_chars', 60_000, 100, 100),
        ('forward_history', True, False, False),
        ('forward_history', 'transcript', False, False),
        ('forward_history', True, 'transcript', 'transcript'),
        ('on_error', 'continue', 'raise', 'raise'),
    ],
)
def test_the_stricter_setting_wins_in_either_order(option: str, first: Any, second: Any, expected: Any) -> None:
    """Limits get smaller, history is withheld, and what only one of them states survives, whichever comes first."""
    both = [{option: first}, {option: second}]
    assert [getattr(merge(*order), option) for order in permutations(both)] == [expected, expected]


@pytest.mark.parametrize(
    ('option', 'first', 'second'),
    [
        ('model', NAME, f'anthropic:{HAIKU}'),
        ('mode', 'native', 'local'),
        ('output_type', Verdict, int),
        ('caching', '5m', '1h'),
    ],
)
def test_two_different_statements_are_a_contradiction(option: str, first: Any, second: Any) -> None:
    """Models, modes, output types and lifetimes that differ cannot both be meant."""
    with pytest.raises(UserError) as raised:
        merge({option: first}, {option: second})
    assert raised.value.message == (
        f'Two `Advisor`s of one agent differ in `Advisor.{option}`: {first!r} and {second!r}. '
        'An agent has one advisor: give both the same value, or leave one out.'
    )


def test_what_no_single_advisor_may_be_two_may_not_be_together() -> None:
    """A merge is held to the rules of a single advisor."""
    with pytest.raises(UserError) as raised:
        merge({'model': ROUTER, 'mode': 'native'}, {'model': ROUTER, 'max_uses': 2})
    assert raised.value.message == (
        'Two `Advisor`s of one agent do not go together: `Advisor.max_uses` must be left out with '
        "mode='native' on OpenRouter, whose advisor ignores it; got 2. Use mode='auto' to keep the limit."
    )


@pytest.mark.anyio
async def test_both_callbacks_are_called() -> None:
    """Each advisor's `on_consultation` gets the record, sync or async, and the same one only once."""
    seen: list[tuple[str, str]] = []

    async def later(record: Consultation) -> None:
        seen.append(('later', record.outcome))

    def at_once(record: Consultation) -> int:
        seen.append(('at once', record.outcome))
        return len(seen)

    advisor = Script(says('Use a lock.')).model()
    callbacks: list[Any] = [later, None, at_once, later]
    agent = Agent(
        executor(asks('How?')).model(),
        capabilities=[Advisor(advisor, on_consultation=callback) for callback in callbacks],
    )
    await agent.run('Go.')
    assert seen == [('later', 'advised'), ('at once', 'advised')]


def test_both_redactors_are_applied() -> None:
    """What either of them hides stays hidden."""
    both = merge({'redact': lambda t: t.replace('a', '*')}, {}, {'redact': lambda t: t.replace('b', '*')})
    one = merge({}, {'redact': str.upper})
    assert both.redact is not None
    assert (both.redact('abc'), one.redact, merge({}, {}).redact) == ('**c', str.upper, None)


@pytest.mark.anyio
async def test_two_advisors_of_an_agent_are_merged_into_one_tool() -> None:
    """Core asks the class how two of one id compose: the agent has one `advisor` with the smaller limit."""
    script = executor(asks('One?', 'Two?'))
    model = Script(says('Use a lock.')).model()
    agent = Agent(script.model(), capabilities=[Advisor(model, max_uses=2), Advisor(model, max_uses=1)])
    result = await agent.run('Go.')
    assert (script.tools[0], answers(result.all_messages())[0]) == (['advisor'], 'Use a lock.')
    assert answers(result.all_messages())[1].startswith('Advisor consultation limit reached')


@pytest.mark.anyio
async def test_an_advisor_of_the_run_replaces_the_agents() -> None:
    """As core does for every capability, the run's advisor is used as it stands, not merged."""
    provider = Provider(message(text('done')))
    agent = Agent(provider.anthropic(), capabilities=[Advisor(NAME, max_uses=1, caching='1h')])
    await agent.run('Go.', capabilities=[Advisor(f'anthropic:{OPUS}', max_uses=3)])
    assert provider.bodies[0]['tools'] == [
        {'type': 'advisor_20260301', 'name': 'advisor', 'model': OPUS, 'max_uses': 3}
    ]


@pytest.mark.anyio
async def test_merging_leaves_the_advisors_as_they_were() -> None:
    """The merge is a third advisor: those given to the agent can be used elsewhere."""
    model = Script(says('Use a lock.')).model()
    loose, strict = Advisor[object](model), Advisor[object](model, max_uses=1)
    combined = Advisor.combine([loose, strict])
    assert isinstance(combined, Advisor)
    assert (loose.options.max_uses, strict.options.max_uses, combined.options.max_uses) == (None, 1, 1)
    result, _ = await consulted(loose, asks('One?', 'Two?'), calls('advisor', prompt='Three?'))
    assert answers(result.all_messages()) == ['Use a lock.'] * 3


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        'mode': st.sampled_from(['auto', 'local']),
        'max_uses': st.none() | st.integers(1, 4),
        'max_tokens': st.none() | st.integers(1024, 4096),
        'max_uses_per_run': st.none() | st.integers(1, 4),
        'timeout': st.none() | st.floats(0.1, 9),
        'max_transcript_chars': st.integers(1, 9),
        'forward_history': st.sampled_from([False, True, 'transcript']),
        'on_error': st.sampled_from(['raise', 'continue']),
        'caching': st.sampled_from([None, '5m']),
        'output_type': st.sampled_from([str, Verdict]),
    },
)


@given(st.lists(OPTIONS, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_order_and_grouping_do_not_matter(several: list[dict[str, Any]], random: Any) -> None:
    """Merging is commutative, associative and idempotent in everything but callbacks."""
    shuffled = random.sample(several, len(several))
    together = merge(*several)
    assert merge(*shuffled) == together
    assert merged([merge(*several[:2]), *(merge(options) for options in several[2:])]) == together
    assert merged([together, together]) == together
