from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from advisor_harness.cassettes import CassetteFormatError, yamlfile


def test_files_are_written_in_the_known_style() -> None:
    """Order is kept, text with line breaks is a literal block, characters stand for themselves, nothing is an alias."""
    shared = {'a': 'é'}
    document = {'interactions': [{'b': 'one\ntwo\n\n', 'a': shared, 'c': shared, 'd': b'\x00\xff'}], 'version': 1}

    assert yamlfile.dump(document) == (
        'interactions:\n- b: |+\n    one\n    two\n\n  a:\n    a: é\n  c:\n    a: é\n'
        '  d: !!binary |\n    AP8=\nversion: 1\n'
    )


@pytest.mark.parametrize(
    'text',
    [
        'a\r\nb',
        'a\rb',
        '\n a',
        ' a\n',
        'a \nb',
        'a\n\tb',
        '\x85\n',
        'a\u2028b\n',
        'a\n\u2029',
        '\x00\n',
        '\ufeff\n',
        'x\n' * 3,
    ],
)
def test_any_text_survives(text: str) -> None:
    """Whatever a literal block would change is quoted instead."""
    assert yamlfile.survives({'a': text, 'b': [text]})


@pytest.mark.parametrize(
    'value', ['yes', '1e3', '- a', '2026-11-30', 'null', '~', '', '😀', '＃ｆｕｌｌ', ': ', '#', '!!x', '0o7']
)
def test_text_that_looks_like_yaml_stays_text(value: str) -> None:
    """Strings that YAML could read as something else are quoted."""
    assert yamlfile.survives({value: value})


@pytest.mark.parametrize('value', [1, 1.0, -0.0, 1e20, 1e-7, 12345678901234567890, True, None, [], {}])
def test_json_values_keep_their_type(value: Any) -> None:
    """Numbers, booleans, `null` and empty containers survive as what they are."""
    assert yamlfile.survives({'a': value})


def test_what_does_not_survive_is_told() -> None:
    """A lone surrogate has no place in a file."""
    assert not yamlfile.survives({'a': '\ud800'})


@pytest.mark.parametrize(
    ('text', 'problem'),
    [
        ('', 'it is empty'),
        ('- 1\n', 'line 1: the top level is list; it must be a mapping'),
        ('interactions: []\nversion: 2\n', 'line 2: version is 2; only 1 is known'),
        ('version: 1\nframes: []\n', "line 1: it has no `interactions`, only 'version', 'frames'"),
        ('interactions: {}\nversion: 1\n', 'line 1: `interactions` is dict; it must be a list'),
        ('interactions: []\nrecorded_with: me\n', 'line 2: `recorded_with` is str; it must be a mapping'),
        (
            'interactions: [\n',
            'line 2: it is not readable YAML: did not find expected node content, while parsing a flow node',
        ),
        (
            'interactions: !!python/object:os.system []\n',
            'line 1: it is not readable YAML: could not determine a constructor for the tag '
            "'tag:yaml.org,2002:python/object:os.system'",
        ),
    ],
)
def test_other_files_are_refused_clearly(tmp_path: Path, text: str, problem: str) -> None:
    """C5: a file that is no cassette is refused with its name and what is wrong."""
    file = tmp_path / 'x.yaml'
    file.write_text(text)

    with pytest.raises(CassetteFormatError) as caught:
        yamlfile.read(file)

    assert str(caught.value) == f'{file} is not a cassette of HTTP traffic (VCR YAML, version 1): {problem}'


def test_files_are_replaced_in_one_step(tmp_path: Path) -> None:
    """The new text replaces the old with its permissions, folders are made, and nothing else is left behind."""
    file = tmp_path / 'a' / 'b' / 'x.yaml'

    yamlfile.write(file, 'old\n')
    file.chmod(0o640)
    yamlfile.write(file, 'new é\r\n')

    assert file.read_bytes() == 'new é\r\n'.encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert os.listdir(file.parent) == ['x.yaml']


@pytest.mark.parametrize('broken', ['fsync', 'replace'])
def test_an_interrupted_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """C24: whatever fails while saving, the old file stays whole and no temporary file is left."""
    file = tmp_path / 'x.yaml'
    file.write_text('old')

    def fail(*_: object) -> None:
        raise OSError('disk full')

    monkeypatch.setattr(os if broken == 'fsync' else Path, broken, fail)
    with pytest.raises(OSError, match='disk full'):
        yamlfile.write(file, 'new')

    assert file.read_text() == 'old'
    assert os.listdir(tmp_path) == ['x.yaml']


def test_shared_recordings_dump_byte_for_byte(shared_cassettes: Path) -> None:
    """What was loaded from a recording of Pydantic AI's own test suite is written back byte for byte."""
    files = sorted(shared_cassettes.glob('*.yaml'))

    assert len(files) >= 17
    assert [f.name for f in files if yamlfile.dump(yamlfile.read(f)) != f.read_text()] == []
