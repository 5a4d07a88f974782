from __future__ import annotations

from pathlib import Path

import pytest

from advisor_harness.cassettes import render
from tests.cli.project import invoke

CASSETTE = """
version: 1
interactions:
- request:
    method: GET
    uri: https://api.example.com/v1/models
    body: ''
    headers: {}
  response:
    status: {code: 200, message: OK}
    headers: {content-type: [application/json]}
    body: {string: '{}'}
"""


def test_recordings_are_shown_one_after_the_other() -> None:
    """Files are shown as given, folders with every recording in them, in order."""
    Path('b/inner').mkdir(parents=True)
    files = [Path('a.yaml'), Path('b/inner/c.yml'), Path('b/z.yaml')]
    for file in files:
        file.write_text(CASSETTE)
    Path('b/notes.txt').write_text('no recording')
    result = invoke('cassette', 'show', 'a.yaml', 'b')
    assert (result.exit_code, result.stderr) == (0, '')
    assert result.stdout == '\n'.join(render.show(file) for file in files) + '\n'
    assert 'https://api.example.com/v1/models' in result.stdout


@pytest.mark.parametrize(
    ('path', 'message'),
    [
        ('none.yaml', "there is no recording 'none.yaml'"),
        ('empty', "there is no recording in 'empty': recordings end with `.yaml`"),
    ],
)
def test_what_is_not_there_is_named(path: str, message: str) -> None:
    """A path without recordings is one line and exit code 2."""
    Path('empty').mkdir()
    result = invoke('cassette', 'show', path)
    assert (result.exit_code, result.stdout, result.stderr) == (2, '', f'error: {message}\n')


def test_what_is_no_recording_is_named() -> None:
    """A file of another kind is an error of the format, without a traceback."""
    Path('other.yaml').write_text('a: 1\n')
    result = invoke('cassette', 'show', 'other.yaml')
    assert (result.exit_code, result.stdout) == (2, '')
    assert result.stderr.startswith('error: other.yaml is not a cassette of HTTP traffic (VCR YAML, version 1): ')
