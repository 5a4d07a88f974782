"""What recordings cost: finding an answer, a whole replayed request, and loading a large file; vcrpy beside it."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
import vcr
import yaml
from pydantic_ai import Agent
from pydantic_ai.models import create_async_httpx2_client
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pytest_benchmark.fixture import BenchmarkFixture

from advisor_harness.cassettes import Cassette, CassetteTransport, cassette_client, use_cassette, yamlcache

URL = 'https://api.openai.com/v1/chat/completions'
TEXT = ' '.join(['The executor asks a stronger model which step comes next, because a wrong turn costs more.'] * 10)


@pytest.fixture(autouse=True)
def cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run finds what an earlier one has kept."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))


def question(number: int) -> str:
    return f'Question {number}. {TEXT}'


def body(number: int) -> dict[str, Any]:
    """What the SDK sends for a question."""
    messages = [{'role': 'user', 'content': question(number)}]
    return {'messages': messages, 'model': 'gpt-test', 'stream': False}


def answer(number: int) -> dict[str, Any]:
    message = {'role': 'assistant', 'content': f'Answer {number}. {TEXT}'}
    choice = {'index': 0, 'message': message, 'finish_reason': 'stop'}
    usage = {'prompt_tokens': 3, 'completion_tokens': 2, 'total_tokens': 5}
    base = {'id': f'chatcmpl-{number}', 'object': 'chat.completion', 'created': 1, 'model': 'gpt-test'}
    return {**base, 'choices': [choice], 'usage': usage}


def interaction(number: int, *, plain: bool) -> dict[str, Any]:
    """About 2 kB, with JSON as YAML or, as vcrpy itself writes it, as text."""
    headers = {'content-type': ['application/json']}
    if plain:
        sent: dict[str, Any] = {'body': httpx2.Request('POST', URL, json=body(number)).content.decode()}
        got: dict[str, Any] = {'body': {'string': httpx2.Response(200, json=answer(number)).content.decode()}}
    else:
        sent, got = {'parsed_body': body(number)}, {'parsed_body': answer(number)}
    return {
        'request': {'method': 'POST', 'uri': URL, 'headers': headers, **sent},
        'response': {'status': {'code': 200, 'message': 'OK'}, 'headers': headers, **got},
    }


def file_of(folder: Path, count: int, *, plain: bool = False) -> Path:
    path = folder / f'{count}.yaml'
    recorded = [interaction(number, plain=plain) for number in range(count)]
    path.write_text(yaml.dump({'interactions': recorded, 'version': 1}, Dumper=yaml.CSafeDumper, sort_keys=False))
    return path


@pytest.mark.parametrize('interactions', [1, 10, 100, 10_000])
def test_matching(benchmark: BenchmarkFixture, tmp_path: Path, interactions: int) -> None:
    """C30: from a request to its recorded answer; the same for any number of interactions."""
    cassette = Cassette.open(file_of(tmp_path, interactions))
    middle = interactions // 2
    request = httpx2.Request('POST', URL, json=body(middle))
    (queue,) = (queue for queue in cassette._queues.values() if middle in queue)

    def put_back() -> None:
        if not queue:
            queue.append(middle)

    benchmark.pedantic(cassette.take, (request,), setup=put_back, rounds=3_000, warmup_rounds=100)


def test_miss(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """C30: what explaining a miss costs in a file of 10,000 interactions."""
    cassette = Cassette.open(file_of(tmp_path, 10_000))
    request = httpx2.Request('POST', URL, json=body(20_000))
    benchmark.pedantic(cassette.miss, (request,), rounds=20, warmup_rounds=1)


def constant() -> httpx2.MockTransport:
    return httpx2.MockTransport(lambda request: httpx2.Response(200, json=answer(0)))


def paired(benchmark: BenchmarkFixture, ours: Callable[[], float], other: Callable[[], float], rounds: int) -> None:
    """Measure both in turns; seconds per request, and the median of differences and of ratios, as extra facts."""
    pairs = [(ours(), other()) for _ in range(rounds)]
    benchmark.extra_info.update(
        ours=statistics.median(a for a, _ in pairs),
        other=statistics.median(b for _, b in pairs),
        difference=statistics.median(a - b for a, b in pairs),
        ratio=statistics.median(b / a for a, b in pairs),
    )
    benchmark.pedantic(ours, rounds=1)


def timed(runner: asyncio.Runner, run: Callable[[], Awaitable[int]]) -> float:
    """Seconds per request of a coroutine that says how many it has sent."""

    async def measure() -> float:
        started = time.perf_counter()
        sent = await run()
        return (time.perf_counter() - started) / sent

    return runner.run(measure())


def test_request(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """A whole request of an HTTP client: replayed, and answered by a constant of `httpx2.MockTransport`."""
    cassette = Cassette.open(file_of(tmp_path, 1_000))
    replaying = create_async_httpx2_client(transport=CassetteTransport(cassette=cassette))
    mocked = create_async_httpx2_client(transport=constant())

    async def send(client: httpx2.AsyncClient) -> int:
        for number in range(0, 1_000, 2):
            (await client.post(URL, json=body(number))).json()
        return 500

    def replay(runner: asyncio.Runner) -> float:
        cassette._queues = cassette._index()
        return timed(runner, lambda: send(replaying))

    with asyncio.Runner() as runner:
        paired(benchmark, lambda: replay(runner), lambda: timed(runner, lambda: send(mocked)), rounds=15)


def agent_over(client: httpx2.AsyncClient) -> Agent[None, str]:
    return Agent(OpenAIChatModel('gpt-test', provider=OpenAIProvider(api_key='none', http_client=client)))


@pytest.mark.parametrize(('interactions', 'requests', 'rounds'), [(2, 2, 40), (20, 20, 15), (1_000, 200, 3)])
def test_against_vcrpy(
    benchmark: BenchmarkFixture, tmp_path: Path, interactions: int, requests: int, rounds: int
) -> None:
    """`Agent.run`, the file opened for it as for a case: replayed here and by vcrpy, loading included."""
    path = file_of(tmp_path, interactions, plain=True)
    asked = range(0, interactions, interactions // requests)
    ours, theirs = agent_over(cassette_client()), agent_over(create_async_httpx2_client())
    player = vcr.VCR(record_mode='none', match_on=['method', 'uri', 'body'])

    async def here() -> int:
        with use_cassette(path):
            for number in asked:
                await ours.run(question(number))
        return requests

    async def there() -> int:
        with player.use_cassette(str(path)):
            for number in asked:
                await theirs.run(question(number))
        return requests

    with asyncio.Runner() as runner:
        timed(runner, here), timed(runner, there)
        paired(benchmark, lambda: timed(runner, here), lambda: timed(runner, there), rounds)


@pytest.mark.parametrize('time_of', ['first', 'second'])
def test_loading(benchmark: BenchmarkFixture, tmp_path: Path, time_of: str) -> None:
    """From a file of 10,000 interactions to its index."""
    path = file_of(tmp_path, 10_000)

    def forget() -> None:
        for kept in yamlcache.folder().glob('*') if time_of == 'first' else ():
            kept.unlink()

    benchmark.pedantic(Cassette.open, (path,), setup=forget, rounds=3, warmup_rounds=0 if time_of == 'first' else 1)
