"""H18 and F31: what a provider or an exception says reaches neither the executor's model nor a span."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelResponse
from pydantic_ai.exceptions import ContentFilterError, ModelHTTPError, UnexpectedModelBehavior

from advisor_harness import Advisor, Consultation
from advisor_harness.telemetry import conventions as names

from .conftest import Spans
from .scripts import (
    OPUS,
    Provider,
    Script,
    answers,
    asks,
    executor,
    executor_reads,
    failing,
    gives,
    message,
    native_advice,
    says,
    text,
)

pytestmark = pytest.mark.anyio

CANARY = 'CANARY-7f3a'


class Verdict(BaseModel):
    sound: bool


def filtered(messages: Any, info: Any) -> ModelResponse:
    response = says(CANARY)
    response.parts = []
    response.finish_reason = 'content_filter'
    response.provider_details = {'finish_reason': CANARY, 'body': CANARY}
    return response


LEAKS = {
    'content filter': lambda: Script(filtered).model(),
    'filter error': lambda: Script(ContentFilterError(CANARY, body=json.dumps({'id': CANARY}))).model(),
    'behaviour': lambda: Script(UnexpectedModelBehavior(CANARY, body=CANARY)).model(),
    'error body': lambda: Provider(failing(429, text=CANARY)).anthropic(OPUS),
    'overloaded': lambda: Provider(failing(529, text=CANARY)).anthropic(OPUS),
    'exception': lambda: Script(ModelHTTPError(500, 'advisor', body={'secret': CANARY})).model(),
    'wrong format': lambda: Script(gives(**{CANARY: 1})).model(),
}


@pytest.mark.parametrize('leak', LEAKS)
@pytest.mark.parametrize('on_error', ['raise', 'continue'])
async def test_h18_nothing_that_a_provider_says_reaches_the_executor(leak: str, on_error: Any, spans: Spans) -> None:
    """The executor's model reads fixed texts; with content off no span carries the words of an error either."""
    script = executor(asks('How?'))
    output: Any = Verdict if leak == 'wrong format' else str
    ours = Advisor[object](LEAKS[leak](), on_error=on_error, output_type=output)
    agent = Agent(script.model(), capabilities=[spans.capability(), ours])
    try:
        await agent.run('Go.')
    except ModelHTTPError:
        assert on_error == 'raise'
    assert CANARY not in executor_reads(script)
    own = [span.to_json() for span in spans.finished if span.name in names.SPAN_ATTRIBUTES]
    assert (len(own), CANARY in ''.join(own)) == (2, False)


async def test_h18_the_run_id_of_the_advisor_stays_inside() -> None:
    """No id of the advisor's run is in what the executor reads."""
    ids: list[str] = []

    def answer(messages: Any, info: Any) -> Any:
        ids.append(messages[-1].run_id)
        raise UnexpectedModelBehavior(f'run {ids[-1]}', body=ids[-1])

    script = executor(asks('How?'))
    await Agent(script.model(), capabilities=[Advisor(Script(answer).model())]).run('Go.')
    assert (len(ids), ids[0] in executor_reads(script)) == (1, False)


async def test_f31_with_content_off_no_span_has_prompt_or_advice(spans: Spans) -> None:
    """Question, advice and native blocks are in no attribute, event or status of any span."""
    local = Script(says(f'{CANARY} advice')).model()
    native = Provider(message(*native_advice(type='advisor_result', text=f'{CANARY} advice'), text('done')))
    script = executor(asks(f'{CANARY} question'))
    await Agent(script.model(), capabilities=[spans.capability(), Advisor(local, max_uses=1)]).run('Go.')
    ours = Advisor(f'anthropic:{OPUS}')
    await Agent(native.anthropic(), capabilities=[spans.capability(), ours]).run('Go.')
    assert CANARY not in ''.join(span.to_json() for span in spans.finished)


async def test_the_nested_run_follows_the_executors_say_over_content(spans: Spans) -> None:
    """Content that the executor's instrumentation exports, the advisor's run exports too, but own spans never do."""
    script = executor(asks(f'{CANARY} question'))
    ours = Advisor(Script(says('Use a lock.')).model('wise'), max_uses=1)
    await Agent(script.model(), capabilities=[spans.capability(include_content=True), ours]).run('Go.')
    with_content = {span.name for span in spans.finished if CANARY in span.to_json()}
    assert with_content == {
        'invoke_agent agent',
        'chat executor',
        'execute_tool advisor',
        'invoke_agent advisor',
        'chat wise',
    }


async def test_f30_results_are_the_same_without_instrumentation(spans: Spans) -> None:
    """Telemetry changes neither results nor records."""
    seen: list[Any] = []
    for capabilities in ([], [spans.capability()]):
        records: list[Consultation] = []
        ours = Advisor[object](Script(says('Use a lock.')).model(), max_uses=1, on_consultation=records.append)
        agent = Agent(executor(asks('One?', 'Two?')).model(), capabilities=[*capabilities, ours])
        result = await agent.run('Go.')
        seen.append(
            (answers(result.all_messages()), sorted((r.call_id, r.outcome, r.advice) for r in records if r.advice))
        )
    assert seen[0] == seen[1]


async def test_an_uninstrumented_executor_keeps_its_advisor_uninstrumented(spans: Spans) -> None:
    """`Agent.instrument_all()` is no way around an executor whose run is not instrumented."""
    Agent.instrument_all(spans.capability().settings)
    try:
        script = executor(asks('How?'))
        agent = Agent(script.model(), capabilities=[Advisor(Script(says('Use a lock.')).model())])
        agent.instrument = False
        await agent.run('Go.')
    finally:
        Agent.instrument_all(False)
    assert spans.finished == []


@pytest.mark.parametrize('forward_history', [False, True, 'transcript'])
@pytest.mark.parametrize('result', [None, 5])
async def test_a_redactor_that_returns_no_text_ends_the_run(result: Any, forward_history: Any) -> None:
    """Nothing is sent, and the error names the option: core would take `None` for a run without a question."""
    advisor = Script(says('Never.'))
    ours = Advisor[object](
        advisor.model('advisor'), redact=lambda text: result, forward_history=forward_history, on_error='continue'
    )
    agent = Agent(Script(asks('How?'), says('done')).model(), capabilities=[ours])
    with pytest.raises(TypeError) as error:
        await agent.run('Go.')
    given = type(result).__name__
    assert str(error.value) == f'`Advisor.redact` must return the text to send, a `str`; got {given}.'
    assert advisor.requests == []
