"""Conversations that change their model: what moves with them, what serves, and what is said about it.

Two and three providers are reached through their real SDKs over recorded HTTP bodies. The bodies come from an emulator,
so this suite proves what is sent and how the software behaves, and nothing about how well a model goes on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Required, TypedDict

import _emulated
from pydantic_ai import Agent, RunContext
from pydantic_ai.exceptions import AgentRunError, FallbackExceptionGroup, UserError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from advisor_harness import Advisor, Portability, Route, Router
from advisor_harness.cassettes import CassetteModels
from advisor_harness.cassettes.active import active_cassette
from advisor_harness.evals import Suite, scorers
from advisor_harness.routing import FailoverModel, SqliteRouteStore

ROUTES: dict[str, str | list[str]] = {
    'claude': 'anthropic:claude-sonnet-5',
    'chat': 'openai-chat:gpt-5.4',
    'responses': 'openai-responses:gpt-5.4',
    'router': 'openrouter:google/gemini-3-pro',
    'chain': ['openai-chat:gpt-5.4', 'anthropic:claude-sonnet-5'],
}


class Turn(TypedDict, total=False):
    """One run of the conversation."""

    prompt: Required[str | None]
    """`None` resumes the turn that is not finished."""
    route: str
    """The route to set before the run."""
    model: str
    """A model to give to the run instead of a route."""
    restart: bool
    """Whether the process ended before the run: only the store's file and the history as JSON are left."""
    suspend: bool
    """Whether the provider leaves the answer unfinished."""
    settings: dict[str, Any]


class Inputs(TypedDict, total=False):
    """One conversation."""

    turns: Required[list[Turn]]
    advisor: bool
    portability: dict[str, Any]
    facts: dict[str, str]
    """Words that the conversation has mentioned, and the kind of content they stood in."""


@dataclass
class Conversation:
    """The application around the agent."""

    inputs: Inputs
    file: Path
    messages: list[ModelMessage] = field(default_factory=list[ModelMessage])

    def start(self) -> None:
        """Begin a process: routes, store and agent are made anew."""
        self.store = SqliteRouteStore(self.file)
        rules = Portability(**self.inputs.get('portability', {}))
        routes = {name: Route(_model(models)) for name, models in ROUTES.items()}
        self.router = Router(routes, store=self.store, portability=rules)
        advisor = [Advisor('anthropic:claude-opus-4-8')] if self.inputs.get('advisor') else []
        self.agent = Agent(
            name='executor',
            deps_type=Router,
            model_settings={'max_tokens': 4096},
            capabilities=[self.router, *advisor, CassetteModels()],
            tools=[escalate],
        )

    async def take(self, turn: Turn) -> str:
        """Take one turn, and keep its messages."""
        if turn.get('restart'):
            self.store.close()
            kept = ModelMessagesTypeAdapter.dump_json(self.messages)
            self.start()
            self.messages = ModelMessagesTypeAdapter.validate_json(kept)
        if 'route' in turn:
            await self.router.set_active_route('conversation', turn['route'])
        given = CassetteModels.model(turn['model']) if 'model' in turn else self.router.resume_model(self.messages)
        result = await self.agent.run(
            turn['prompt'],
            deps=self.router,
            model=given,
            message_history=self.messages,
            conversation_id='conversation',
            model_settings=ModelSettings(**turn.get('settings', {})),
        )
        self.messages = suspended(result.all_messages()) if turn.get('suspend') else result.all_messages()
        return result.output


async def escalate(ctx: RunContext[Router]) -> str:
    """Continue with a stronger model."""
    await ctx.deps.set_active_route(ctx, 'claude', reason='the executor asked for it')
    return 'A stronger model takes over.'


def suspended(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The history as it is when its provider has not finished the last answer."""
    last = messages[-1]
    assert isinstance(last, ModelResponse)
    return [*messages[:-1], replace(last, state='suspended')]


async def run_case(inputs: Inputs, arm: str) -> dict[str, Any]:
    """Hold the conversation and tell what became of it; only errors of a run are told, all others end the case."""
    answer: dict[str, Any] = {'answers': [], 'error': None}
    with tempfile.TemporaryDirectory() as folder:
        conversation = Conversation(inputs, Path(folder, 'routes.db'))
        conversation.start()
        try:
            for turn in inputs['turns']:
                answer['answers'].append(await conversation.take(turn))
        except (AgentRunError, FallbackExceptionGroup, UserError) as error:
            answer['error'] = type(error).__name__
        finally:
            conversation.store.close()
    return answer | arrived(inputs.get('facts', {}))


def arrived(facts: dict[str, str]) -> dict[str, Any]:
    """Which facts were in the body of the last request, and the kinds of those that were not."""
    cassette = active_cassette()
    sent = cassette.answered[-1].request.body.decode() if cassette and cassette.answered else ''
    missing = [kind for word, kind in facts.items() if word not in sent]
    return {'reached': [word for word in facts if word in sent], 'lost': sorted(set(missing))}


def _model(models: str | list[str]) -> Model:
    if isinstance(models, str):
        return CassetteModels.model(models)
    return FailoverModel(*map(CassetteModels.model, models))


suite = Suite(
    dataset='routing.yaml',
    task=run_case,
    scorers=(
        scorers.ExpectedRoutes(),
        scorers.ExpectedDecisions(),
        scorers.ExpectedIssues(),
        scorers.FactsReached(),
        scorers.LossesReported(),
        scorers.ExpectedError(),
        scorers.OwnSpansValid(),
    ),
    cassettes='../cassettes/routing',
    policy='routing.policy.yaml',
    recording=_emulated.emulating('routing.emulator.yaml'),
)
