"""The table of Anthropic pairs, and what is said of a pair that the provider rejects."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError, UserError

from advisor_harness import Advisor
from advisor_harness.advisor.models import ModelName
from advisor_harness.advisor.pairing import anthropic_pairing, pair_rejected

from .scripts import Provider, failing, message, text

MODELS = [
    'claude-haiku-4-5',
    'claude-sonnet-4-6',
    'claude-sonnet-5',
    'claude-opus-4-6',
    'claude-opus-4-7',
    'claude-opus-4-8',
    'claude-opus-5',
    'claude-fable-5',
    'claude-mythos-5',
    'claude-fable-5-1',
    'claude-mythos-5-1',
]


@pytest.mark.parametrize('model', MODELS[1:])
def test_equals_may_advise_each_other(model: str) -> None:
    """A model that is an advisor at all may advise itself."""
    assert anthropic_pairing(model, model) == 'valid'


@pytest.mark.parametrize(
    ('executor', 'rejected'),
    [
        ('claude-haiku-4-5', {'claude-haiku-4-5'}),
        ('claude-sonnet-4-6', {'claude-haiku-4-5'}),
        ('claude-sonnet-5', {'claude-haiku-4-5', 'claude-sonnet-4-6', 'claude-opus-4-6'}),
        ('claude-opus-4-6', {'claude-haiku-4-5', 'claude-sonnet-4-6'}),
        ('claude-opus-4-8', {'claude-haiku-4-5', 'claude-sonnet-4-6', 'claude-sonnet-5', 'claude-opus-4-6'}),
        ('claude-opus-5', set(MODELS[:6])),
        ('claude-fable-5', set(MODELS[:6])),
        ('claude-fable-5-1', set(MODELS[:9])),
    ],
)
def test_an_executor_rejects_weaker_advisors(executor: str, rejected: set[str]) -> None:
    """Of the models in the table an executor may not pair with those below it."""
    pairs = {advisor: anthropic_pairing(executor, advisor) for advisor in MODELS}
    assert {advisor for advisor, pairing in pairs.items() if pairing != 'valid'} == rejected


@pytest.mark.parametrize(
    ('executor', 'advisor'), [('claude-opus-5', 'claude-new'), ('claude-new', 'claude-opus-4-8'), ('', '')]
)
def test_what_the_table_does_not_know_is_left_to_the_provider(executor: str, advisor: str) -> None:
    """A model of a later time is neither valid nor invalid."""
    assert anthropic_pairing(executor, advisor) == 'unknown'


def test_a_snapshot_is_the_model_that_it_is_of() -> None:
    """A dated name pairs as the name without its date."""
    assert anthropic_pairing('claude-haiku-4-5-20251001', 'claude-opus-4-8-20260301') == 'valid'
    assert anthropic_pairing('claude-opus-5-20260801', 'claude-opus-4-8') == 'invalid'


HAIKU = ModelName('anthropic', 'claude-haiku-4-5')
FUTURE = ModelName('anthropic', 'claude-opus-9')
INVALID = "tools.0.advisor_20260301.model: 'claude-opus-9' cannot be used with executor 'claude-haiku-4-5'. CANARY"


def rejection(said: str, status: int = 400, model: str = 'claude-haiku-4-5') -> ModelHTTPError:
    body = {'type': 'error', 'error': {'type': 'invalid_request_error', 'message': said}}
    return ModelHTTPError(status, model, body)


@pytest.mark.parametrize(
    'said',
    [
        INVALID,
        'advisor model claude-opus-9 is not supported for claude-haiku-4-5',
        'The executor does not support this advisor.',
        'Invalid advisor pair.',
        "'claude-opus-9' is not a valid advisor model",
    ],
)
def test_f23_an_answer_that_names_the_pair_is_recognised(said: str) -> None:
    """Both models, or what they are to each other, in the provider's own words."""
    assert pair_rejected(rejection(said), [HAIKU], FUTURE) is not None


@pytest.mark.parametrize(
    'error',
    [
        rejection(INVALID, status=404),
        rejection('max_tokens: 9000 > 8192, the maximum for advisor claude-opus-9 with claude-haiku-4-5'),
        rejection('messages.1: unexpected `tool_use_id` found in `advisor_tool_result` blocks'),
        rejection('prompt is too long'),
        ModelHTTPError(400, 'claude-haiku-4-5'),
        ModelHTTPError(400, 'claude-opus-4-8', {'message': INVALID}),
        UserError(INVALID),
    ],
)
def test_f23_other_errors_stay_what_they_are(error: Exception) -> None:
    """A 400 about something else is not taken for one about the pair."""
    assert pair_rejected(error, [HAIKU], FUTURE) is None
    assert pair_rejected(rejection(INVALID), [HAIKU, HAIKU], FUTURE) is None


async def streaming(agent: Agent) -> str:
    async with agent.run_stream('Go.') as stream:
        return await stream.get_output()


@pytest.mark.anyio
@pytest.mark.parametrize('mode', ['auto', 'native'])
@pytest.mark.parametrize('streamed', [False, True])
async def test_f23_the_error_says_what_to_change(mode: Any, streamed: bool) -> None:
    """The run ends with the way out in words of ours; the provider's answer is the cause, and is not repeated."""
    provider = Provider(failing(400, text=INVALID, kind='invalid_request_error'))
    agent = Agent(provider.anthropic('claude-opus-4-8'), capabilities=[Advisor('anthropic:claude-opus-9', mode=mode)])
    with pytest.raises(UserError) as caught:
        await (streaming(agent) if streamed else agent.run('Go.'))
    assert str(caught.value) == (
        "The provider rejected advisor 'anthropic:claude-opus-9' for executor 'anthropic:claude-opus-4-8' (HTTP 400). "
        'Change `Advisor.model` (known to be valid: claude-fable-5, claude-fable-5-1, claude-mythos-5, '
        'claude-mythos-5-1, claude-opus-4-7, claude-opus-4-8, claude-opus-5), change the executor, '
        "or set `Advisor.mode` to 'local', which consults in a request of its own."
    )
    assert isinstance(caught.value, ModelHTTPError)
    assert isinstance(caught.value.__cause__, ModelHTTPError)
    assert (caught.value.status_code, 'CANARY' in str(caught.value.__cause__)) == (400, True)
    assert (len(provider.bodies), pickle.loads(pickle.dumps(caught.value)).args) == (1, caught.value.args)


@pytest.mark.anyio
async def test_f23_without_the_tool_in_the_request_the_pair_is_not_to_blame() -> None:
    """A local consultation's executor gets its provider's error as it is."""
    provider = Provider(failing(400, text=INVALID, kind='invalid_request_error'))
    agent = Agent(provider.anthropic(), capabilities=[Advisor('anthropic:claude-opus-9', mode='local')])
    with pytest.raises(ModelHTTPError, match='CANARY') as caught:
        await agent.run('Go.')
    assert not isinstance(caught.value, UserError)


def test_f23_an_executor_that_the_table_does_not_know_gets_no_list() -> None:
    """Nothing is said to be valid that nobody knows."""
    error = pair_rejected(rejection(INVALID, model='claude-opus-9'), [FUTURE], HAIKU)
    assert str(error) == (
        "The provider rejected advisor 'anthropic:claude-haiku-4-5' for executor 'anthropic:claude-opus-9' (HTTP 400). "
        "Change `Advisor.model`, change the executor, or set `Advisor.mode` to 'local', which consults in a request of "
        'its own.'
    )


@pytest.mark.anyio
async def test_f22_a_pair_known_to_be_invalid_is_not_sent() -> None:
    """`auto` consults locally, `native` raises before a request is made."""
    provider = Provider(message(text('done')))
    weaker, opus = 'anthropic:claude-haiku-4-5', provider.anthropic('claude-opus-5')
    await Agent(opus, capabilities=[Advisor(weaker)]).run('Go.')
    assert provider.tools() == ['advisor']
    with pytest.raises(UserError) as caught:
        await Agent(opus, capabilities=[Advisor(weaker, mode='native')]).run('Go.')
    assert str(caught.value) == (
        "`Advisor(mode='native')` with advisor 'anthropic:claude-haiku-4-5' cannot serve executor "
        "'anthropic:claude-opus-5': Anthropic rejects this pair. Change one of the models, or use mode='auto', which "
        'consults locally here.'
    )
    assert len(provider.bodies) == 1
