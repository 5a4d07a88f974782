from __future__ import annotations

import pytest

from advisor_harness.cassettes.credentials import Credentials
from advisor_harness.cassettes.paths import Paths


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
