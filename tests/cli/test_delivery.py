from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

from advisor_harness.cassettes import no_network
from advisor_harness.cli import delivery
from advisor_harness.cli.delivery import Delivery, to_logfire, to_otlp
from advisor_harness.evals import HarnessError, MissingExtraError
from tests.cli.receiver import Receiver, receiving


def send(*deliveries: Delivery, spans: int = 1) -> None:
    """Send spans the way a run does."""
    provider = TracerProvider(resource=Resource({'service.name': 'tested'}), shutdown_on_exit=False)
    for each in deliveries:
        provider.add_span_processor(each)
    for n in range(spans):
        provider.get_tracer('test').start_span(f'span {n}').end()
    provider.shutdown()


@pytest.mark.parametrize('path', ['', '/', '/v1/traces', '/v1/traces/', '/collector', '/collector/v1/traces'])
def test_an_endpoint_is_named_by_its_base_or_by_that_of_its_traces(receiver: Receiver, path: str) -> None:
    """Both forms of URL reach `/v1/traces`."""
    send(to_otlp(receiver.url + path))
    assert receiver.paths == ['/collector/v1/traces' if 'collector' in path else '/v1/traces']
    assert [span.name for span in receiver.spans] == ['span 0']


def test_spans_arrive_with_their_resource(receiver: Receiver) -> None:
    """Nothing is lost, and nothing is said then."""
    endpoint = to_otlp(receiver.url)
    send(endpoint, spans=1000)
    assert sorted(span.name for span in receiver.spans) == sorted(f'span {n}' for n in range(1000))
    attributes = {each.key: each.value.string_value for each in receiver.resources[0].resource.attributes}
    assert (attributes['service.name'], endpoint.warning) == ('tested', None)


def test_compression_is_the_environments_choice(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenTelemetry's own variables apply, such as that for gzip."""
    monkeypatch.setenv('OTEL_EXPORTER_OTLP_COMPRESSION', 'gzip')
    send(to_otlp(receiver.url))
    assert (receiver.headers[0]['content-encoding'], receiver.spans[0].name) == ('gzip', 'span 0')


def test_an_endpoint_is_reached_while_a_replay_refuses_the_network(receiver: Receiver) -> None:
    """The guard of a replay lets the exporter through."""
    endpoint = to_otlp(receiver.url)
    with no_network():
        send(endpoint)
    assert (len(receiver.spans), endpoint.warning) == (1, None)


def test_an_endpoint_that_refuses_is_asked_once() -> None:
    """After one failure nothing more is sent, and one warning says what is missing and why."""
    with receiving(status=401) as receiver:
        endpoint = to_otlp(f'http://user:secret@127.0.0.1:{receiver.port}?key=secret')
        send(endpoint, spans=1500)
    assert len(receiver.paths) == 1
    assert endpoint.warning == (
        f'warning: 1500 of 1500 spans did not reach http://127.0.0.1:{receiver.port}/v1/traces, which changes nothing '
        'for the verdict: Failed to export spans batch code: 401, reason: Unauthorized'
    )


def test_an_endpoint_that_is_not_there_only_warns(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A dead endpoint costs a bounded time, and its retries are not on the screen."""
    monkeypatch.setattr(delivery, '_BATCH_S', 1.5)
    with receiving() as receiver:
        url = receiver.url
    endpoint = to_otlp(url)
    send(endpoint, spans=2)
    assert endpoint.warning is not None
    assert re.sub(r'\d\.\d\ds|\(Caused.*\)', '~', endpoint.warning) == (
        f'warning: 2 of 2 spans did not reach {url}/v1/traces, which changes nothing for the verdict: Transient error '
        f"HTTPConnectionPool(host='127.0.0.1', port={receiver.port}): Max retries exceeded with url: /v1/traces ~ "
        'encountered while exporting spans batch, retrying in ~.'
    )
    assert capfd.readouterr() == ('', '')


def test_the_farewell_is_bounded(monkeypatch: pytest.MonkeyPatch, receiver: Receiver) -> None:
    """What is still waiting when the time is up is not sent any more."""
    monkeypatch.setattr(delivery, '_FAREWELL_S', 0.0)
    endpoint = to_otlp(receiver.url)
    send(endpoint, spans=3)
    assert receiver.paths == []
    assert endpoint.warning == (
        f'warning: 3 of 3 spans did not reach {receiver.url}/v1/traces, which changes nothing for the verdict: '
        'they waited for too long'
    )


@pytest.mark.parametrize('url', ['localhost:4318', 'ftp://host', 'http://', 'http://host:port', 'http://[', ''])
def test_what_is_no_endpoint_is_refused(url: str) -> None:
    """A URL that cannot be an OTLP/HTTP endpoint is named, before anything runs."""
    with pytest.raises(HarnessError) as raised:
        to_otlp(url)
    assert raised.value.message == (
        f'`--otlp` needs the URL of an OTLP/HTTP endpoint, such as http://localhost:4318; got {url!r}'
    )


def test_logfire_gets_the_spans_of_every_write_token(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens and base URL come from where Logfire itself looks for them."""
    pytest.importorskip('logfire')
    monkeypatch.setenv('LOGFIRE_TOKEN', 'pylf_v1_local_one,pylf_v1_local_two')
    monkeypatch.setenv('LOGFIRE_BASE_URL', receiver.url)
    send(*to_logfire())
    assert receiver.paths == ['/v1/traces', '/v1/traces']
    assert {each['authorization'] for each in receiver.headers} == {'pylf_v1_local_one', 'pylf_v1_local_two'}
    assert [span.name for span in receiver.spans] == ['span 0', 'span 0']


def test_logfire_knows_the_project_of_the_folder(receiver: Receiver, folder: Path) -> None:
    """Without a token in the environment, the project that `logfire projects use` chose is used."""
    pytest.importorskip('logfire')
    (folder / '.logfire').mkdir()
    stored = f'{{"token": "stored", "project_name": "p", "project_url": "u", "logfire_api_url": "{receiver.url}/"}}'
    (folder / '.logfire' / 'logfire_credentials.json').write_text(stored)
    send(*to_logfire())
    assert [each['authorization'] for each in receiver.headers] == ['stored']


def test_logfire_without_a_token_is_refused() -> None:
    """Nothing runs when its spans could not go where somebody wants them."""
    pytest.importorskip('logfire')
    with pytest.raises(HarnessError) as raised:
        to_logfire()
    assert raised.value.message == (
        '`--logfire` needs a write token: set LOGFIRE_TOKEN, or choose a project with `logfire projects use`'
    )


def test_credentials_that_cannot_be_read_are_named(folder: Path) -> None:
    """A broken file of credentials is an error of its own, not a missing token."""
    pytest.importorskip('logfire')
    (folder / '.logfire').mkdir()
    (folder / '.logfire' / 'logfire_credentials.json').write_text('{}')
    with pytest.raises(HarnessError) as raised:
        to_logfire()
    assert (
        raised.value.message == "'.logfire/logfire_credentials.json' holds no credentials of Logfire: KeyError: 'token'"
    )


def test_without_logfire_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logfire is optional; who asks for it is told what to install."""
    monkeypatch.setitem(sys.modules, 'logfire', None)
    with pytest.raises(MissingExtraError) as raised:
        to_logfire()
    assert (
        raised.value.message
        == "`--logfire` needs the extra 'logfire': python -m pip install 'advisor-harness[logfire]'"
    )
