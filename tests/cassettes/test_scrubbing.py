from __future__ import annotations

import json

import pytest

from advisor_harness.cassettes.paths import Paths
from advisor_harness.cassettes.scrubbing import Credentials, Scrubber

SK = 'sk-abcdefghij0123456789'
GOOGLE = 'AIza' + 'a' * 35
GROQ = 'gsk_' + 'B' * 24

scrubber = Scrubber()


def test_only_listed_headers_are_kept() -> None:
    """Headers are kept by an allow-list, in lower case, with all their values, sorted."""
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


def noted(
    headers: dict[str, str] | None = None, url: str = 'https://x/', content_type: str = '', body: bytes = b''
) -> Credentials:
    credentials = Credentials(ignore=frozenset({'placeholder-key'}))
    credentials.note(headers or {}, url, content_type, body)
    return credentials


@pytest.mark.parametrize(
    ('credentials', 'echo', 'name'),
    [
        (noted({'authorization': 'Bearer tok_12345678'}), 'tok_12345678', "header 'authorization'"),
        (noted({'x-api-key': 'rawkey-12345'}), 'a rawkey-12345 b', "header 'x-api-key'"),
        (noted({'x-goog-api-key': 'googkey-1234'}), 'googkey-1234', "header 'x-goog-api-key'"),
        (noted({'cookie': 'a=1; sid=session-value'}), 'session-value', "header 'cookie'"),
        (noted({'authorization': 'Basic dXNlcjpwYXNzd29yZDE='}), 'password1', "header 'authorization'"),
        (noted(url='https://x/?key=query-secret&a=1'), 'query-secret', "query parameter 'key'"),
        (noted(url='https://x/?sig=a%2Fb%2Fc%2Fd%2Fe'), 'a/b/c/d/e', "query parameter 'sig'"),
        (
            noted(content_type='application/x-www-form-urlencoded', body=b'client_secret=form-secret'),
            'form-secret',
            "form field 'client_secret'",
        ),
        (noted(body=b'{"a": [{"password": "json-secret"}]}'), 'json-secret', "JSON key 'password'"),
        (noted(body=b'{"password": 1234567890}'), '1234567890', "JSON key 'password'"),
        (noted(body=b'{"args": "{\\"api_key\\": \\"embedded-1\\"}"}'), 'embedded-1', "JSON key 'api_key'"),
    ],
)
def test_seen_credentials_are_found_again(credentials: Credentials, echo: str, name: str) -> None:
    """A credential of a request is found in text, bytes and keys; the finding names it without its value."""
    assert list(credentials.find({'x': [echo]}, '$')) == [f'the credential of {name} in $.x[0]']
    assert list(credentials.find({'b': echo.encode()}, '$')) == [f'the credential of {name} in $.b']
    assert list(credentials.find({echo: 1}, '$')) == [f'the credential of {name} in $ (a key)']


def test_kept_values_are_no_credentials() -> None:
    """What `keep` names stands in the file on purpose."""
    credentials = Credentials(keep=Paths.parse(['login.password', 'logins.*', 'rest']))
    credentials.note(
        {}, 'https://x/', '', b'{"login": {"password": "kept-value-1"}, "logins": [{"password": "kept-value-2"}]}'
    )
    credentials.note({}, 'https://x/', '', b'{"rest": {"password": "kept-value-3"}, "password": "real-secret"}')

    assert list(credentials.find(['kept-value-1', 'kept-value-2', 'kept-value-3', 'real-secret'], '$')) == [
        "the credential of JSON key 'password' in $[3]"
    ]


def test_names_of_members_are_scrubbed_like_text() -> None:
    """A key that stands where a name belongs is a key all the same."""
    assert scrubber.json({SK: 1}) == {'scrubbed': 1}


def test_encoded_echoes_are_found() -> None:
    """A credential that was percent-encoded or escaped by JSON on its way is found as well."""
    credentials = noted({'x-api-key': 'a/b"c&d=12'})

    assert list(credentials.find('x=a%2Fb%22c%26d%3D12', 'url')) == ["the credential of header 'x-api-key' in url"]
    assert list(credentials.find('{"k": "a/b\\"c&d=12"}', 'text')) == ["the credential of header 'x-api-key' in text"]


@pytest.mark.parametrize(
    'headers',
    [
        {'x-api-key': 'short'},
        {'x-api-key': 'placeholder-key'},
        {'authorization': 'Bearer scrubbed'},
        {'accept': 'application/json'},
    ],
)
def test_what_is_no_credential_is_not_sought(headers: dict[str, str]) -> None:
    """Short values, placeholders and other headers do not stop a recording."""
    value = next(iter(headers.values()))
    assert list(noted(headers).find([value, value.removeprefix('Bearer ')])) == []
