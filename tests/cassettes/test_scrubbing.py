from __future__ import annotations

import json

import pytest

from advisor_harness.cassettes.paths import Paths
from advisor_harness.cassettes.scrubbing import Scrubber

SK = 'sk-abcdefghij0123456789'
GOOGLE = 'AIza' + 'a' * 35
GROQ = 'gsk_' + 'B' * 24

scrubber = Scrubber()


def test_only_listed_headers_are_kept() -> None:
    """C25: headers are kept by an allow-list, in lower case, with all their values, sorted."""
    headers = [
        ('X-Api-Key', 'secret'),
        ('Set-Cookie', 'sid=1'),
        ('Vary', 'a'),
        ('vary', 'b'),
        ('X-Should-Retry', 'true'),
        ('Content-Type', 'application/json'),
        ('request-id', 'req_1'),
    ]

    assert scrubber.headers(headers) == {
        'content-type': ['application/json'],
        'vary': ['a', 'b'],
        'x-should-retry': ['true'],
    }


@pytest.mark.parametrize(
    ('url', 'expected'),
    [
        ('https://u:p@api.example.com/v1?key=abc&a=1', 'https://api.example.com/v1?key=scrubbed&a=1'),
        (
            'https://api.example.com/v1?b=%20x&sig=zz&TOKEN=t',
            'https://api.example.com/v1?b=%20x&sig=scrubbed&TOKEN=scrubbed',
        ),
        ('https://api.example.com/v1?key=', 'https://api.example.com/v1?key='),
        (f'https://api.example.com/{SK}/x', 'https://api.example.com/scrubbed/x'),
        ('https://api.example.com/v1?alt=sse', 'https://api.example.com/v1?alt=sse'),
    ],
)
def test_urls_lose_users_and_secret_parameters(url: str, expected: str) -> None:
    """User information and secret query values go; everything else stays as it is spelled."""
    assert scrubber.url(url) == expected


@pytest.mark.parametrize('secret', [SK, GOOGLE, GROQ])
def test_keys_are_found_in_any_string(secret: str) -> None:
    """What has the shape of a key is scrubbed wherever it stands."""
    assert scrubber.json({'messages': [f'my key: {secret}.']}) == {'messages': ['my key: scrubbed.']}


def test_bearer_tokens_keep_their_scheme() -> None:
    """After `Bearer ` any token of 16 characters or more is a secret."""
    assert scrubber.text('Authorization: Bearer abcdef.0123456789_x') == 'Authorization: Bearer scrubbed'


@pytest.mark.parametrize('text', ['sk-short', 'task-abcdefghij0123456789', 'AIzaShort', 'gsk_short', 'the Bearer came'])
def test_ordinary_text_stays(text: str) -> None:
    """Short look-alikes and words that merely end in a prefix are no keys."""
    assert scrubber.text(text) == text


def test_secret_members_are_scrubbed_at_any_depth() -> None:
    """Members named like a secret lose text and numbers; empty values and descriptions of the member stay."""
    value = {
        'Password': 'hunter22',
        'tools': [{'input': {'api_key': 12345678, 'client_secret': ['a', 'b'], 'id_token': None, 'apikey': ''}}],
        'schema': {'properties': {'password': {'type': 'string', 'description': 'the password'}}},
    }

    assert scrubber.json(value) == {
        'Password': 'scrubbed',
        'tools': [
            {
                'input': {
                    'api_key': 'scrubbed',
                    'client_secret': ['scrubbed', 'scrubbed'],
                    'id_token': None,
                    'apikey': '',
                }
            }
        ],
        'schema': {'properties': {'password': {'type': 'string', 'description': 'the password'}}},
    }
    assert value['Password'] == 'hunter22'


def test_json_inside_a_string_is_scrubbed_too() -> None:
    """Tool arguments travel as JSON text, and their members count like others."""
    arguments = '{"user": "ann", "password": "hunter22"}'

    assert scrubber.json({'arguments': arguments}) == {'arguments': '{"user": "ann", "password": "scrubbed"}'}
    assert scrubber.json({'arguments': '{"user":"ann"}'}) == {'arguments': '{"user":"ann"}'}
    assert scrubber.json('{"password": not json') == '{"password": not json'


def test_kept_paths_are_left_alone() -> None:
    """`keep` names values, or whole branches, that are no secrets."""
    keeping = Scrubber(Paths.parse(['login.password', 'notes.*']))

    assert keeping.json({'login': {'password': 'p4ssword', 'api_key': 'k'}, 'notes': [SK], 'password': 'x'}) == {
        'login': {'password': 'p4ssword', 'api_key': 'scrubbed'},
        'notes': [SK],
        'password': 'scrubbed',
    }


def test_events_without_secrets_stay_byte_for_byte() -> None:
    """Only the `data` lines that hold a secret are written anew."""
    text = 'event: x\r\ndata: {"a":  1}\r\n\r\ndata:{"access_token":"abc","b":"é"}\r\n\r\ndata: [DONE]\r\n\r\n'

    assert scrubber.events(text) == text.replace(
        '{"access_token":"abc","b":"é"}', '{"access_token": "scrubbed", "b": "é"}'
    )


def test_events_that_are_not_json_are_scrubbed_as_text() -> None:
    """A `data` line that is no JSON still loses what has the shape of a key."""
    assert scrubber.events(f'data: {{oops {SK}}}\n\n') == 'data: {oops scrubbed}\n\n'


def test_forms_lose_secret_fields() -> None:
    """Fields named like a secret are scrubbed, whatever their spelling; others keep theirs."""
    form = 'grant=x+y&client_secret=abc&client%5Fsecret=abc&password'

    assert scrubber.form(form) == 'grant=x+y&client_secret=scrubbed&client%5Fsecret=scrubbed&password'


@pytest.mark.parametrize(
    ('body', 'suspect'),
    [
        (b'{"model": "m", "text": "plain"}', False),
        (f'{{"text": "{SK}"}}'.encode(), True),
        (b'{"Password": "x"}', True),
        (b'{"arguments": "{\\"password\\": 1}"}', True),
        (b'{"text": "\\u0073k-"}', True),
    ],
)
def test_suspicion_never_misses_a_secret(body: bytes, suspect: bool) -> None:
    """A body without suspicion comes back unchanged, so its walk can be left out."""
    assert scrubber.is_suspect(body) is suspect
    if not suspect:
        assert scrubber.json(json.loads(body)) == json.loads(body)


def test_names_of_members_are_scrubbed_like_text() -> None:
    """A key that stands where a name belongs is a key all the same."""
    assert scrubber.json({SK: 1}) == {'scrubbed': 1}
