from __future__ import annotations

import datetime
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2
import pytest

from advisor_harness.cassettes import (
    CassetteError,
    CassetteFormatError,
    Matching,
    SecretLeak,
    UnmatchedRequest,
    UnusedInteractions,
)
from advisor_harness.cassettes.cassette import Cassette
from advisor_harness.cassettes.interaction import RecordedResponse

from .support import URL, entry, open_cassette, read_yaml, write_cassette

ASK = {'model': 'm', 'messages': [{'role': 'user', 'content': 'hello'}]}


def request(body: Any = ASK, url: str = URL, **headers: str) -> httpx2.Request:
    return httpx2.Request('POST', url, json=body, headers=headers)


def answer(text: str = 'hi') -> RecordedResponse:
    return RecordedResponse(200, 'OK', {'content-type': ['application/json']}, f'{{"text": "{text}"}}'.encode())


def keep(cassette: Cassette, sent: httpx2.Request, response: RecordedResponse | None = None) -> None:
    cassette.keep(cassette.begin(sent), sent, response or answer(), 0.25)


def taken(cassette: Cassette, sent: httpx2.Request) -> tuple[bytes, bool] | None:
    hit = cassette.take(sent)
    return None if hit is None else (hit[0].response.body, hit[1])


def test_equal_requests_are_answered_in_recorded_order(tmp_path: Path) -> None:
    """C10: identical requests get their answers first in, first out, and each says whether another one follows."""
    other = {**ASK, 'model': 'n'}
    path = write_cassette(tmp_path / 'x.yaml', entry(ASK, [1]), entry(other, [2]), entry(ASK, [3]))
    cassette = open_cassette(path)

    assert taken(cassette, request()) == (b'[1]', True)
    assert taken(cassette, request()) == (b'[3]', False)
    assert taken(cassette, request()) is None
    assert [interaction.response.body for interaction in cassette.unused] == [b'[2]']
    assert taken(cassette, request(other)) == (b'[2]', False)
    assert (cassette.played, cassette.unused) == (3, [])


def test_an_exhausted_request_says_how_often_it_was_recorded(tmp_path: Path) -> None:
    """C10: one request more than recorded is told apart from one that was never recorded."""
    path = write_cassette(tmp_path / 'x.yaml', entry(ASK, [1]), entry(ASK, [2]))
    cassette = open_cassette(path)
    cassette.take(request())
    cassette.take(request())

    error = cassette.miss(request())

    assert str(error) == (
        f'no recorded answer for POST {URL}\n'
        f'  cassette   {path}: 2 recorded, 0 not played yet\n'
        '  because    recorded 2×, already played 2×\n'
        f"  re-record  `use_cassette('{path}', mode='record')`"
    )
    assert (error.method, error.url, error.reason, error.path) == ('POST', URL, 'exhausted', None)


def test_a_different_request_is_explained_by_the_nearest_one(tmp_path: Path) -> None:
    """A miss names the file, the nearest recorded request and every differing path, and how to record again."""
    path = write_cassette(
        tmp_path / 'cassettes' / 'advice' / 'refund.advised.yaml',
        entry({'model': 'other'}, [1]),
        entry({**ASK, 'max_tokens': 4096, 'stream': False}, [2], url=f'{URL}?beta=true'),
    )
    cassette = open_cassette(path)

    error = cassette.miss(request({**ASK, 'max_tokens': 128000, 'stream': True}))

    assert str(error) == (
        f'no recorded answer for POST {URL}\n'
        f'  cassette   {path}: 2 recorded, 2 not played yet\n'
        '  nearest    interaction 2 (40% the same, not played yet) differs first at $.max_tokens\n'
        f'               ~ url: {URL}?beta=true -> {URL}\n'
        '               ~ max_tokens: 4096 -> 128000\n'
        '               ~ stream: false -> true\n'
        '  re-record  `advisor-harness record advice --case refund`'
    )
    assert (error.reason, error.path) == ('different', '$.max_tokens')


def test_an_empty_cassette_says_so(tmp_path: Path) -> None:
    """A file without interactions is told apart from one with other requests."""
    path = write_cassette(tmp_path / 'x.yaml')

    assert str(open_cassette(path).miss(request())).splitlines()[1:3] == [
        f'  cassette   {path}: 0 recorded, 0 not played yet',
        '  because    the cassette is empty',
    ]


def test_a_miss_shows_no_secret(tmp_path: Path) -> None:
    """Keys in URL and body do not reach the text of an error."""
    path = write_cassette(tmp_path / 'x.yaml', entry({'text': 'hello'}, [1]))
    secret = 'sk-abcdefghij0123456789'

    text = str(open_cassette(path).miss(request({'text': f'my key {secret}'}, f'{URL}?key=abc123')))

    assert f'POST {URL}?key=scrubbed' in text
    assert '~ text: "hello" -> "my key scrubbed"' in text
    assert secret not in text
    assert 'abc123' not in text


def test_large_files_compare_their_likeliest_requests_only(tmp_path: Path) -> None:
    """Of many recorded requests those of the same URL that are not played yet are compared first."""
    others = [entry({'n': n}, [n], url=f'{URL}/other') for n in range(250)]
    path = write_cassette(tmp_path / 'x.yaml', *others, entry({'text': 'hello', 'n': 1}, [1]))

    error = open_cassette(path).miss(request({'text': 'hello', 'n': 2}))

    assert str(error).splitlines()[2] == (
        '  nearest    interaction 251 (60% the same, not played yet) differs first at $.n'
    )


def test_check_raises_the_first_miss(tmp_path: Path) -> None:
    """C10: a miss that somebody swallowed is raised by `check`, before anything that was left over."""
    cassette = open_cassette(write_cassette(tmp_path / 'x.yaml', entry(ASK, [1])))
    first = cassette.miss(request({'a': 1}))
    second = cassette.miss(request({'a': 2}))

    assert cassette.misses == [first, second]
    with pytest.raises(UnmatchedRequest) as caught:
        cassette.check()
    assert caught.value is first


def test_check_raises_for_leftovers(tmp_path: Path) -> None:
    """C10: interactions that nobody asked for are an error of their own; one that was played through is clean."""
    path = write_cassette(tmp_path / 'x.yaml', entry(ASK, [1]), entry({'a': 1}, [2], url=f'{URL}/b'))
    cassette = open_cassette(path)
    cassette.take(request())

    with pytest.raises(UnusedInteractions) as caught:
        cassette.check()
    assert caught.value.unused == [f'2: POST {URL}/b']
    cassette.take(request({'a': 1}, f'{URL}/b'))
    cassette.check()


def test_abandoned_requests_are_not_missed(tmp_path: Path) -> None:
    """A request that its caller left before any answer may stay unplayed: sending it again is a matter of timing."""
    abandoned = entry(ASK, abandoned=True)
    abandoned['response']['status']['code'] = 0
    cassette = open_cassette(write_cassette(tmp_path / 'x.yaml', abandoned))

    assert cassette.unused == []
    cassette.check()


def test_a_missing_file_names_the_way_to_record_it(tmp_path: Path) -> None:
    """Replay without a file fails when the cassette is opened."""
    path = tmp_path / 'cassettes' / 'advice' / 'refund.advised.yaml'

    with pytest.raises(CassetteError) as caught:
        open_cassette(path)
    assert str(caught.value) == (f'no cassette file {path}. Record it: `advisor-harness record advice --case refund`')


def test_unreadable_interactions_name_their_place(tmp_path: Path) -> None:
    """A file with one broken interaction is refused as a whole, never read in part."""
    path = write_cassette(tmp_path / 'x.yaml', entry(ASK, [1]), {'request': {'frame': 'x'}, 'response': {}})

    with pytest.raises(CassetteFormatError) as caught:
        open_cassette(path)
    assert caught.value.problem == 'interaction 2: request.method is None; it must be text'


def test_unknown_modes_are_refused(tmp_path: Path) -> None:
    """A mode that does not exist is a mistake of the caller."""
    with pytest.raises(ValueError) as caught:
        open_cassette(tmp_path / 'x.yaml', mode='none')  # pyright: ignore[reportArgumentType]  # the point of the test
    assert str(caught.value) == "mode is 'none'; it must be one of 'replay', 'record', 'record-missing', 'live'."


def test_recordings_are_saved_in_sending_order_with_their_source(tmp_path: Path) -> None:
    """C24: answers that complete in another order stand where their requests were sent; the block says who answered."""
    path = tmp_path / 'new' / 'x.yaml'
    cassette = open_cassette(path, 'record', recorded_with={'by': 'emulator', 'model': 'm'})
    first, second = request({'n': 1}), request({'n': 2})
    places = cassette.begin(first), cassette.begin(second)
    cassette.keep(places[1], second, answer('second'), 0.1)
    cassette.keep(places[0], first, answer('first'), 0.3)

    cassette.save()

    file = read_yaml(path)
    assert list(file) == ['recorded_with', 'interactions', 'version']
    assert file['recorded_with'] == {
        'by': 'emulator',
        'model': 'm',
        'tool': 'advisor-harness',
        'version': version('advisor-harness'),
        'date': datetime.datetime.now(datetime.UTC).date().isoformat(),
    }
    assert [i['response']['parsed_body'] for i in file['interactions']] == [{'text': 'first'}, {'text': 'second'}]
    assert [i['recorded'] for i in file['interactions']] == [{'latency_s': 0.3}, {'latency_s': 0.1}]
    assert cassette.latency_s == pytest.approx(0.4)
    assert dict(open_cassette(path).recorded_with) == file['recorded_with']


def test_a_tool_of_its_own_brings_its_version(tmp_path: Path) -> None:
    """Where the caller names the tool that answered, our version is not put beside it."""
    cassette = open_cassette(tmp_path / 'x.yaml', 'record', recorded_with={'by': 'local model', 'tool': 'llama.cpp'})

    assert {k: v for k, v in cassette.recorded_with.items() if k != 'date'} == {
        'by': 'local model',
        'tool': 'llama.cpp',
    }


@pytest.mark.parametrize('mode', ['replay', 'live'])
def test_other_modes_write_nothing(tmp_path: Path, mode: Any) -> None:
    """Saving is for recordings; the file of a replay is not even touched."""
    path = write_cassette(tmp_path / 'x.yaml', entry(ASK, [1]))
    before = path.stat().st_mtime_ns
    cassette = open_cassette(path, mode)

    cassette.save()

    assert path.stat().st_mtime_ns == before


def test_nothing_missing_leaves_the_file_byte_for_byte(tmp_path: Path) -> None:
    """C6: `record-missing` that adds nothing keeps hand-made layout, comments and all."""
    path = tmp_path / 'x.yaml'
    text = '# mine\nversion: 1\ninteractions:   [ ]\n'
    path.write_text(text)
    open_cassette(path, 'record-missing').save()

    assert path.read_text() == text


def test_what_is_missing_is_appended_to_what_was_there(tmp_path: Path) -> None:
    """C5: old interactions keep unknown keys and their order; another source says so beside its own interactions."""
    old = {**entry(ASK, [1], note='kept'), 'mine': {'x': 1}}
    path = write_cassette(tmp_path / 'x.yaml', old, recorded_with={'by': 'provider', 'model': 'm'}, extra={'y': 2})
    cassette = open_cassette(path, 'record-missing', recorded_with={'by': 'emulator', 'model': 'm'})
    keep(cassette, request({'n': 2}))

    cassette.save()

    file = read_yaml(path)
    assert file['interactions'][0] == old
    assert file['interactions'][1]['recorded'] == {'latency_s': 0.25, 'by': 'emulator'}
    assert {k: v for k, v in file.items() if k != 'interactions'} == {
        'version': 1,
        'recorded_with': {'by': 'provider', 'model': 'm'},
        'extra': {'y': 2},
    }
    assert [i.request.body for i in cassette.interactions] == [
        b'{"model": "m", "messages": [{"role": "user", "content": "hello"}]}',
        b'{"n": 2}',
    ]


def test_nothing_is_left_over_in_a_new_recording(tmp_path: Path) -> None:
    """`record` ignores what the file held; what it records is not left over."""
    path = write_cassette(tmp_path / 'x.yaml', entry(ASK, [1]))
    cassette = open_cassette(path, 'record')
    keep(cassette, request({'n': 2}))

    assert (cassette.take(request()), cassette.unused, len(cassette.interactions)) == (None, [], 1)
    cassette.check()
    cassette.save()
    assert len(read_yaml(path)['interactions']) == 1


def test_an_echoed_credential_stops_the_save(tmp_path: Path) -> None:
    """C26: a credential that an answer repeats is found in the finished file: nothing is written or told."""
    path = write_cassette(tmp_path / 'x.yaml', entry(ASK, [1]))
    before = path.read_text()
    cassette = open_cassette(path, 'record')
    keep(cassette, request(**{'x-api-key': 'live-credential-1'}), answer('you sent live-credential-1'))

    with pytest.raises(SecretLeak) as caught:
        cassette.save()

    assert caught.value.findings == [
        "the credential of header 'x-api-key' in $.interactions[0].response.parsed_body.text",
        "the credential of header 'x-api-key' in the text of the file",
    ]
    assert 'live-credential-1' not in str(caught.value)
    assert path.read_text() == before
    assert os.listdir(tmp_path) == ['x.yaml']


def test_credentials_are_found_in_binary_answers(tmp_path: Path) -> None:
    """Base64 in the file does not hide a credential."""
    cassette = open_cassette(tmp_path / 'x.yaml', 'record')
    echo = RecordedResponse(200, 'OK', {'content-type': ['image/png']}, b'\xff\xfelive-credential-1\x00')
    keep(cassette, request(authorization='Bearer live-credential-1'), echo)

    with pytest.raises(SecretLeak) as caught:
        cassette.save()

    assert caught.value.findings == [
        "the credential of header 'authorization' in $.interactions[0].response.body.string"
    ]
    assert os.listdir(tmp_path) == []


def test_latency_is_known_only_if_every_answer_says_it(tmp_path: Path) -> None:
    """The sum over the played interactions is unknown as soon as one of them does not say."""
    timed = {**entry(ASK, [1]), 'recorded': {'latency_s': 1.5}}
    path = write_cassette(tmp_path / 'x.yaml', timed, timed, entry({'n': 1}, [2]))
    cassette = open_cassette(path)

    latencies = [cassette.latency_s]
    for sent in (request(), request(), request({'n': 1})):
        cassette.take(sent)
        latencies.append(cassette.latency_s)

    assert latencies == [None, 1.5, 3.0, None]


def test_matching_decides_what_is_played(tmp_path: Path) -> None:
    """The cassette's `Matching` applies to the file and to what is sent."""
    path = write_cassette(tmp_path / 'x.yaml', entry({**ASK, 'seed': 1}, [1], url=f'{URL}?beta=true'))
    matching = Matching(ignore=frozenset({'seed'}), ignore_query=frozenset({'beta'}))
    cassette = open_cassette(path, matching=matching)

    assert cassette.matching is matching
    assert taken(cassette, request({**ASK, 'seed': 2})) == (b'[1]', False)


def test_files_that_say_nothing_have_no_source(tmp_path: Path) -> None:
    """Where a recording came from is unknown unless the file says it."""
    assert open_cassette(write_cassette(tmp_path / 'x.yaml')).recorded_with == {}
