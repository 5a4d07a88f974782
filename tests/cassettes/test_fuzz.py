"""Files that nobody wrote on purpose: each loads, or is refused as what it is, and none takes long."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import yaml
from hypothesis import HealthCheck, given, settings, strategies as st

from advisor_harness.cassettes import Cassette, CassetteError, CassetteFormatError

from .support import URL, client_of, entry, sse

ASK = {'model': 'm', 'messages': [{'role': 'user', 'content': 'hello'}]}
DOCUMENT = {
    'recorded_with': {'by': 'emulator', 'date': '2026-11-30'},
    'interactions': [
        {**entry(ASK, {'a': [1, 2.5, None, {'b': 'é'}]}), 'recorded': {'latency_s': 0.25, 'attempt': 0}},
        entry(ASK, {'error': 'slow'}, status=429, headers={'retry-after': ['3'], 'content-type': ['application/json']}),
        entry(
            ASK,
            headers={'content-type': ['text/event-stream']},
            body={'string': sse('{"t": "x"}', '[DONE]').decode()},
            truncated=True,
        ),
        entry(ASK, status=0, network_error='ReadTimeout', body={'string': ''}),
        entry(ASK, headers={'content-encoding': ['gzip']}, body={'string': b'\x1f\x8b\xff'}),
    ],
    'version': 1,
}
TEXT = yaml.safe_dump(DOCUMENT, sort_keys=False, allow_unicode=True)
ODD: list[Any] = [
    None,
    True,
    -1,
    10**30,
    2.5,
    float('nan'),
    float('inf'),
    '',
    'text',
    'http://[::1',
    'http://a:99999/',
    b'\xff\x00',
    [],
    [[]],
    {},
    {1: 2},
    {'a': {None: []}},
    '\x85\u2028',
]


async def tried(path: Path) -> None:
    """Open a file and replay it to its end; nothing but a refusal may come out of opening it."""
    try:
        cassette = Cassette.open(path)
    except CassetteFormatError as error:
        where = '' if error.line is None else f'line {error.line}: '
        refusal = f'{path} is not a cassette of HTTP traffic (VCR YAML, version 1): {where}{error.problem}'
        told = str(error), bool(error.problem), error.line is None or error.line >= 1
    else:
        refusal = told = None
    if told is not None:
        assert told == (refusal, True, True)
        return
    Cassette.open(path, mode='record-missing').save()
    async with client_of(cassette) as client:
        for _ in cassette.interactions:
            try:
                await client.post(URL, json=ASK)
            except (CassetteError, httpx2.RequestError):
                continue


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value below this one."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(*here, key) for key, _ in members] + [
        place for key, member in members if isinstance(member, dict | list) for place in places(member, (*here, key))
    ]


PLACES = places(DOCUMENT)


def replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    if not place:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = replaced(copy[place[0]], place[1:], new)
    return copy


quickly = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.anyio
async def test_the_file_that_is_damaged_here_is_a_good_one(tmp_path: Path) -> None:
    """Undamaged it loads, so that the refusals below are those of the damage."""
    path = tmp_path / 'x.yaml'
    path.write_text(TEXT, encoding='utf-8')

    assert len(Cassette.open(path).interactions) == 5
    await tried(path)


@quickly
@given(place=st.sampled_from(PLACES), new=st.sampled_from(ODD))
def test_wrong_types_anywhere(tmp_path: Path, place: tuple[Any, ...], new: Any) -> None:
    """Any value may stand at any place."""
    _try(tmp_path, yaml.safe_dump(replaced(DOCUMENT, place, new), sort_keys=False, allow_unicode=True).encode())


@quickly
@given(length=st.integers(0, len(TEXT.encode())))
def test_truncated_files(tmp_path: Path, length: int) -> None:
    """A file may end anywhere, in the middle of a character too."""
    _try(tmp_path, TEXT.encode()[:length])


@quickly
@given(seed=st.integers(0, 2**32), changes=st.integers(1, 8))
def test_lines_in_disorder(tmp_path: Path, seed: int, changes: int) -> None:
    """Lines may be missing, stand twice, or stand elsewhere."""
    rng, lines = random.Random(seed), TEXT.encode().splitlines(keepends=True)
    for _ in range(changes):
        line = lines.pop(rng.randrange(len(lines)))
        for _ in range(rng.choice([0, 1, 2])):
            lines.insert(rng.randrange(len(lines) + 1), line)
    _try(tmp_path, b''.join(lines))


@quickly
@given(
    at=st.integers(0, len(TEXT)),
    cut=st.integers(0, 5),
    noise=st.binary(min_size=1, max_size=6)
    | st.sampled_from(
        [b'&a ', b'*a', b'<<: ', b'!!python/x ', b'!!timestamp x', b'!!bool x', b"!!int ''", b'\x00', b'%']
    )
    | st.sampled_from(
        [b'\n---\n', b'\n...\n', b'\t', b'? ', b'{', b'[', b'"', b"'", b'|', b'>', b'@', b'`', b'\xfe\xff']
    ),
)
def test_noise_anywhere(tmp_path: Path, at: int, cut: int, noise: bytes) -> None:
    """Any bytes may stand anywhere."""
    data = TEXT.encode()
    _try(tmp_path, data[:at] + noise + data[at + cut :])


def _try(folder: Path, data: bytes) -> None:
    path = folder / 'fuzz.yaml'
    path.write_bytes(data)
    anyio.run(tried, path)


HEAD = 'version: 1\n'
ENTRY = (
    'interactions:\n- request: {method: POST, uri: "https://x/", headers: {}, body: BODY}\n'
    '  response: {status: {code: 200}}\n'
)
BOMB = 'a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n' + ''.join(
    f'a{n}: &a{n} [{", ".join([f"*a{n - 1}"] * 9)}]\n' for n in range(1, 12)
)


@pytest.mark.parametrize(
    ('text', 'line', 'problem'),
    [
        (f'version: 1\nversion: 1\n{ENTRY}', 2, "it is not readable YAML: the name 'version' is repeated"),
        (
            ENTRY.replace('headers: {}', '\n    headers: {},\n    uri: https://y/'),
            4,
            "it is not readable YAML: the name 'uri' is repeated",
        ),
        (f'interactions: []\n{BOMB}', None, None),
        (ENTRY.replace('BODY', '&a [*a]'), None, None),
        (f'b: &b {"x" * 100_000}\ninteractions: []\nc: [{"*b, " * 100}]\nd: [{"*b, " * 100}]\n', None, None),
        ('interactions: ' + '[' * 100_000, 1, 'it is not readable YAML: exceeded maximum nesting depth'),
        ('interactions:\n' + '- ' * 100_000, 2, 'it is not readable YAML: exceeded maximum nesting depth'),
        (
            ENTRY.replace('body: BODY', 'parsed_body: ' + '[' * 300 + ']' * 300),
            2,
            f'interaction 1: request.parsed_body{"[0]" * 16}'[:58],
        ),
        ('a: b\n\x00', 2, 'it is not readable YAML: control characters are not allowed (#x0)'),
        (f'{HEAD}{ENTRY.replace("POST", "!!timestamp x")}', None, 'it is not readable YAML: AttributeError'),
        (f'{HEAD}{ENTRY.replace("https://x/", "http://[::1")}', 3, 'interaction 1: request.uri is '),
        (f'{HEAD}{ENTRY.replace("200", "99")}', 4, 'interaction 1: response.status.code is 99; HTTP has 100 to 999'),
        (f'{HEAD}{ENTRY}- 3\n', 5, 'interaction 2: the interaction is int; it must be a mapping'),
        (f'{HEAD}---\n{HEAD}', 2, 'it is not readable YAML: but found another document'),
    ],
    ids=[
        'name twice',
        'name twice in flow',
        'alias bomb',
        'endless alias',
        'long alias',
        'deep flow',
        'deep block',
        'deep JSON',
        'control character',
        'odd tag',
        'no URL',
        'no status',
        'no mapping',
        'two documents',
    ],
)
def test_hostile_files_are_refused_with_their_line(
    tmp_path: Path, text: str, line: int | None, problem: str | None
) -> None:
    """The refusal names file, line and reason; whatever unfolds without end is refused, not unfolded."""
    path = tmp_path / 'x.yaml'
    path.write_text(text)

    with pytest.raises(CassetteFormatError) as caught:
        Cassette.open(path)

    wanted = problem or 'it is not readable YAML: its aliases unfold without end, or to far more than the file holds'
    assert (caught.value.line, caught.value.problem[: len(wanted)]) == (line, wanted)
    where = '' if line is None else f'line {line}: '
    assert str(caught.value) == f'{path} is not a cassette of HTTP traffic (VCR YAML, version 1): {where}' + (
        caught.value.problem
    )


def test_aliases_that_mean_what_they_say_load(tmp_path: Path) -> None:
    """Other tools write a list that stands twice as an alias."""
    path = tmp_path / 'x.yaml'
    headers = {'content-type': ['application/json']}
    path.write_text(yaml.safe_dump({'interactions': [entry(ASK, [1], headers=headers)] * 3, 'version': 1}))

    assert '*id00' in path.read_text()
    assert len(Cassette.open(path).interactions) == 3


@pytest.mark.parametrize(
    'text',
    [
        'x' * 50_000_000,
        ENTRY.replace('BODY', 'y' * 50_000_000),
        'interactions:\n' + '- 1\n' * 300_000,
    ],
    ids=['no cassette', 'one long body', 'no interactions'],
)
def test_fifty_megabytes(tmp_path: Path, text: str) -> None:
    """A file of any size loads or is refused; no step takes more than its share."""
    path = tmp_path / 'x.yaml'
    path.write_text(text)

    try:
        cassette = Cassette.open(path)
    except CassetteFormatError as error:
        lines = error.line
    else:
        lines = len(cassette.interactions)
    assert lines in (1, 2)
