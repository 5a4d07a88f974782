from __future__ import annotations

import json
import re
from typing import Any

import pytest

from advisor_harness.cassettes import Matching
from advisor_harness.cassettes.matching import matcher_for

URL = 'https://api.example.com/v1/chat'
BASE: dict[str, Any] = {
    'model': 'm1',
    'temperature': 0.5,
    'max_tokens': 100,
    'stream': False,
    'tools': [{'name': 'advisor', 'type': 'function'}],
    'messages': [{'role': 'user', 'content': "What's 2+2?"}],
}


def digest(
    body: Any = BASE,
    *,
    url: str = URL,
    method: str = 'POST',
    content_type: str = 'application/json',
    matching: Matching | None = None,
) -> bytes:
    raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    return matcher_for(matching or Matching()).digest(method, url, content_type, raw)


def linked(call: str, result: str) -> dict[str, Any]:
    return {**BASE, 'messages': [{'role': 'assistant', 'id': call}, {'role': 'tool', 'call_id': result}]}


def pyd(character: str) -> str:
    return f'pyd_ai_{character * 32}'


@pytest.mark.parametrize(
    'body',
    [
        {**BASE, 'user': 'ann'},
        {**BASE, 'metadata': {'run': 1}},
        {**BASE, 'safety_identifier': 's'},
        {**BASE, 'prompt_cache_key': 'k'},
        dict(reversed(BASE.items())),
        {**BASE, 'messages': [{'content': 'What’s 2+2?', 'role': 'user'}]},
        json.dumps(BASE, separators=(',', ':')).encode(),
        json.dumps(BASE, indent=2).encode(),
    ],
    ids=['user', 'metadata', 'safety', 'cache key', 'order', 'smart quote', 'compact', 'spaced'],
)
def test_what_does_not_affect_the_answer_does_not_count(body: Any) -> None:
    """C8: bookkeeping members, the order of members, spacing and typography are not part of a request's identity."""
    assert digest(body) == digest()


@pytest.mark.parametrize(
    'body',
    [
        {**BASE, 'model': 'm2'},
        {**BASE, 'temperature': 0.6},
        {**BASE, 'tools': []},
        {**BASE, 'stream': True},
        {**BASE, 'max_tokens': 101},
        {**BASE, 'messages': [{'role': 'user', 'content': "What's 2+3?"}]},
        {**BASE, 'messages': [{'role': 'user', 'content': ["What's 2+2?"]}]},
        {**BASE, 'nested': {'user': 'ann'}},
        {key: value for key, value in BASE.items() if key != 'temperature'},
        {**BASE, 'max_tokens': '100'},
        {**BASE, 'stream': None},
    ],
    ids=['model', 'temperature', 'tools', 'stream', 'max_tokens', 'word', 'shape', 'nested', 'absent', 'type', 'null'],
)
def test_what_affects_the_answer_counts(body: Any) -> None:
    """C8: a recording never answers a request that would have got another answer."""
    assert digest(body) != digest()


def test_fresh_ids_count_by_their_links_only() -> None:
    """C8: client-made ids are equal by order of appearance: renaming both ends is the same, breaking a link not."""
    assert digest(linked(pyd('a'), pyd('a'))) == digest(linked(pyd('b'), pyd('b')))
    assert digest(linked(pyd('a'), pyd('b'))) != digest(linked(pyd('a'), pyd('a')))
    assert digest(linked('toolu_vrtx_A1', 'toolu_vrtx_A1')) == digest(linked('toolu_vrtx_B2', 'toolu_vrtx_B2'))
    assert digest(linked('call_1', 'call_1')) != digest(linked('call_2', 'call_2'))


@pytest.mark.parametrize(
    ('url', 'same'),
    [
        ('https://API.example.com:443/v1/chat', True),
        ('https://api.example.com/v1/chat#top', True),
        ('https://user:pw@api.example.com/v1/chat', True),
        ('http://api.example.com/v1/chat', False),
        ('https://api.example.com:8443/v1/chat', False),
        ('https://api.example.com/v1/Chat', False),
        ('https://api.example.com/v1/chat?beta=true', False),
    ],
)
def test_urls_are_compared_in_their_normal_form(url: str, same: bool) -> None:
    """Case of the host, the default port, user and fragment do not count; scheme, port, path and query do."""
    assert (digest(url=url) == digest()) is same


def test_queries_are_compared_without_order_and_without_what_is_ignored() -> None:
    """C8: the order of a query does not count, nor do parameters that `ignore_query` names; values and repeats do."""
    two = f'{URL}?b=2&a=1&a=0'
    ignoring = Matching(ignore_query=frozenset({'beta'}))

    assert digest(url=two) == digest(url=f'{URL}?a=0&b=2&a=1')
    assert digest(url=two) != digest(url=f'{URL}?a=0&b=2')
    assert digest(url=f'{URL}?beta=true', matching=ignoring) == digest(matching=ignoring)
    assert digest(url=f'{URL}?key=one') == digest(url=f'{URL}?key=two')


def test_methods_count_without_case() -> None:
    """`post` and `POST` are one method; `GET` is another."""
    assert digest(method='post') == digest()
    assert digest(method='GET') != digest()


def test_ignored_paths_reach_any_depth() -> None:
    """`ignore` takes dotted paths with `*`; what it replaces counts again."""
    matching = Matching(ignore=frozenset({'messages.*.cache_control'}))
    marked = {**BASE, 'messages': [{**BASE['messages'][0], 'cache_control': {'type': 'ephemeral'}}]}

    assert digest(marked, matching=matching) == digest(matching=matching)
    assert digest({**BASE, 'user': 'ann'}, matching=matching) != digest(matching=matching)


def test_rewrites_apply_to_url_and_every_string() -> None:
    """`rewrite` replaces in the URL and in all strings, one after the other, on both sides."""
    matching = Matching(rewrite=((re.compile(r'\d{4}-\d\d-\d\d'), 'DATE'), (re.compile('DATE'), 'day')))
    today = {**BASE, 'messages': [{'content': ['It is 2026-11-30.']}]}
    tomorrow = {**BASE, 'messages': [{'content': ['It is 2026-12-01.']}]}

    assert digest(today, url=f'{URL}/2026-11-30', matching=matching) == digest(
        tomorrow, url=f'{URL}/2026-12-01', matching=matching
    )
    assert digest(today, matching=matching) != digest(BASE, matching=matching)


def test_a_prompt_with_a_key_matches_its_scrubbed_recording() -> None:
    """C25: secrets are scrubbed before requests are compared, so what is in the file matches what is sent."""
    sent = {**BASE, 'messages': ['use sk-abcdefghij0123456789'], 'tool': {'password': 'hunter22'}}
    stored = {**BASE, 'messages': ['use scrubbed'], 'tool': {'password': 'scrubbed'}}

    assert digest(sent) == digest(stored)


def test_kept_values_count() -> None:
    """A member that `keep` names is compared by its value."""
    matching = Matching(keep=frozenset({'tool.password'}))
    first, second = ({**BASE, 'tool': {'password': value}} for value in ('one', 'two'))

    assert digest(first) == digest(second)
    assert digest(first, matching=matching) != digest(second, matching=matching)


def test_multipart_boundaries_do_not_count() -> None:
    """C8: the random boundary of an upload is replaced; its parts count, bytes included."""

    def upload(boundary: str, part: bytes) -> bytes:
        mark = boundary.encode()
        body = b'--' + mark + b'\r\ncontent-disposition: form-data\r\n\r\n' + part + b'\r\n--' + mark + b'--\r\n'
        return digest(body, content_type=f'multipart/form-data; boundary={boundary}')

    assert upload('aaa111', b'\xff\x00') == upload('bbb222', b'\xff\x00')
    assert upload('aaa111', b'\xff\x00') != upload('aaa111', b'\xff\x01')


def test_forms_are_compared_without_their_secrets() -> None:
    """Form bodies are scrubbed, then compared."""
    kind = 'application/x-www-form-urlencoded'

    assert digest(b'a=1&client_secret=x', content_type=kind) == digest(b'a=1&client_secret=y', content_type=kind)
    assert digest(b'a=1', content_type=kind) != digest(b'a=2', content_type=kind)


def test_kinds_of_bodies_differ() -> None:
    """Text, the same text as a JSON string, no body and JSON `null` are four requests."""
    digests = {
        digest(b'x', content_type='text/plain'),
        digest(b'"x"', content_type='application/json'),
        digest(b'', content_type='application/json'),
        digest(b'null', content_type='application/json'),
    }
    assert len(digests) == 4


def test_broken_json_is_compared_as_text() -> None:
    """A body that is not the JSON its type promises still has an identity."""
    assert digest(b'{"a": ') == digest(b'{"a": ')
    assert digest(b'{"a": ') != digest(b'{"b": ')


def test_escaped_and_plain_text_are_the_same() -> None:
    """How JSON spells a character does not count."""
    assert digest(b'{"messages": "caf\\u00e9"}') == digest('{"messages": "café"}'.encode())
    assert digest({'t': 'ﬁne…'}) == digest({'t': 'fine...'})


def test_bytes_are_not_normalised_like_text() -> None:
    """Bytes that would look alike as characters are different bodies."""
    assert digest(b'\xff\xb2', content_type='image/png') != digest(b'\xff2', content_type='image/png')


def test_volatile_ids_are_named_in_explanations() -> None:
    """An explanation shows the order of a volatile id instead of its value, so only real differences remain."""
    matcher = matcher_for(Matching(volatile=(re.compile(r'id_\d+'), re.compile(r'\b17\d{8}\b'))))
    raw = b'{"b": "id_7 and id_8", "a": "id_8", "at": 1712345678}'

    identity = matcher.identify('post', URL, 'application/json', raw)

    assert (identity.method, identity.url) == ('POST', URL)
    assert identity.body == '{"a":"«volatile 0.1»","at":«volatile 1.1»,"b":"«volatile 0.2» and «volatile 0.1»"}'
    named = matcher.identify('post', URL, 'application/json', raw.replace(b'1712345678', b'1'))
    assert named.body == {'a': '«volatile 0.1»', 'at': 1, 'b': '«volatile 0.2» and «volatile 0.1»'}


def test_matchings_are_values() -> None:
    """Equal settings are equal and hashable, so cassettes can share the prepared matcher."""
    assert Matching() == Matching()
    assert matcher_for(Matching()) is matcher_for(Matching())
    assert hash(Matching(rewrite=((re.compile('a'), 'b'),))) == hash(Matching(rewrite=((re.compile('a'), 'b'),)))
