"""`cassette check`, `diff`, `rebase` and `prune`, as somebody with a recorded suite uses them."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from advisor_harness.evals.store import open_run
from tests.cli.project import RECORDED_SUITE, invoke, write_project

SHORT, LONG = Path('cassettes/mirror/short.advised.yaml'), Path('cassettes/mirror/long.advised.yaml')
SENDS = f'differ from what pydantic-ai {version("pydantic-ai-slim")} sends'
URL = 'https://api.openai.com/v1/chat/completions'
NOTHING_WRITTEN = 'nothing was written: add `--write`'


@pytest.fixture(autouse=True)
def _recorded(folder: Path) -> None:
    write_project(folder, suite=RECORDED_SUITE)
    result = invoke('record', 'mirror', '--quiet')
    assert result.exit_code == 0, result.output


def change(path: Path, **members: Any) -> None:
    """Make a recording as if another version had sent these members; `None` removes one."""
    document = yaml.safe_load(path.read_text())
    for interaction in document['interactions']:
        body = interaction['request']['parsed_body']
        body.update(members)
        interaction['request']['parsed_body'] = {name: value for name, value in body.items() if value is not None}
    path.write_text(yaml.safe_dump(document, sort_keys=False))


def append_copy(path: Path, **members: Any) -> None:
    """Add an interaction that nobody asks for."""
    document = yaml.safe_load(path.read_text())
    extra = json.loads(json.dumps(document['interactions'][0]))
    extra['request']['parsed_body'].update(members)
    document['interactions'].append(extra)
    path.write_text(yaml.safe_dump(document, sort_keys=False))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


# check


def test_recordings_without_drift() -> None:
    """One line and exit code 0; what a task prints is not part of the report."""
    edit(Path('evals/mirror.py'), '    return (await', "    print('noise')\n    return (await")
    result = invoke('cassette', 'check')
    assert (result.exit_code, result.stdout) == (0, f'0 of 2 recordings {SENDS}\n')


@pytest.mark.parametrize('targets', [(), ('mirror',), ('cassettes',), (str(SHORT), str(LONG), 'mirror')])
def test_drift_is_grouped_by_kind(targets: tuple[str, ...]) -> None:
    """Suites, folders and files find the same recordings, each once, and their cases send the requests."""
    change(SHORT, temperature=0.5, n=1)
    change(LONG, temperature=0.5)
    result = invoke('cassette', 'check', *targets)
    first, second = (SHORT, LONG) if targets[:1] == ('mirror',) or not targets or len(targets) == 3 else (LONG, SHORT)
    assert result.exit_code == 1
    assert result.stdout == (
        '- temperature: 0.5 in 2 files\n'
        f'    {first}\n    {second}\n'
        '- n: 1 in 1 file\n'
        f'    {SHORT}\n'
        f'2 of 2 recordings {SENDS}\n'
    )


def test_files_of_no_suite_are_made_again_from_themselves() -> None:
    """A recording that belongs to no case is checked too, and what cannot be is named."""
    other = Path('other/a.yaml')
    other.parent.mkdir()
    other.write_bytes(SHORT.read_bytes())
    change(other, n=1)
    foreign = Path('other/b.yaml')
    foreign.write_text(other.read_text().replace('api.openai.com', 'api.example.com'))
    result = invoke('cassette', 'check', 'other')
    assert (result.exit_code, result.stdout) == (
        1,
        '- n: 1 in 1 file\n'
        '    other/a.yaml\n'
        'not checked\n'
        '    other/b.yaml: no provider is known for api.example.com/v1/chat/completions (interaction 1)\n'
        f'1 of 1 recordings {SENDS}, 1 not checked or not completely\n',
    )


def test_nothing_that_could_be_checked_is_no_success() -> None:
    """Exit code 2: that no drift was seen says nothing then."""
    edit(SHORT, 'api.openai.com', 'api.example.com')
    Path('alone.yaml').write_bytes(SHORT.read_bytes())
    result = invoke('cassette', 'check', 'alone.yaml')
    assert (result.exit_code, result.stdout) == (
        2,
        'not checked\n'
        '    alone.yaml: no provider is known for api.example.com/v1/chat/completions (interaction 1)\n'
        f'0 of 0 recordings {SENDS}, 1 not checked or not completely\n',
    )


def test_a_case_without_recording_and_one_that_fails_are_named() -> None:
    """What was not compared is never left out of the report."""
    LONG.unlink()
    edit(Path('evals/mirror.py'), '    return (await', "    raise RuntimeError('no way')\n    return (await")
    result = invoke('cassette', 'check')
    assert (result.exit_code, result.stdout) == (
        2,
        'not checked\n'
        f'    {SHORT}: the task ended before, with RuntimeError: no way (interaction 1)\n'
        f'    {LONG}: there is no recording of this case\n'
        f'0 of 0 recordings {SENDS}, 2 not checked or not completely\n',
    )


def test_requests_that_are_no_longer_sent_are_drift() -> None:
    """An interaction that a whole case did not ask for is told."""
    append_copy(SHORT, n=1)
    result = invoke('cassette', 'check')
    assert (result.exit_code, result.stdout) == (
        1,
        f'- request: POST {URL} in 1 file\n    {SHORT}\n1 of 2 recordings {SENDS}\n',
    )


@pytest.mark.parametrize('command', ['check', 'prune', 'rebase'])
def test_names_that_are_nothing(command: str) -> None:
    """Neither a path nor a suite: exit code 2, and what there is."""
    options = ['--accept', 'n'] if command == 'rebase' else []
    result = invoke('cassette', command, 'no such thing', *options)
    assert (result.exit_code, result.stdout, result.stderr) == (
        2,
        '',
        "error: 'no such thing' is neither a recording nor a suite with recordings: there is mirror\n",
    )


def test_names_that_are_nothing_without_suites() -> None:
    """Where there are no suites, the missing file and the missing folder are named."""
    Path('evals').rename('elsewhere')
    result = invoke('cassette', 'check', 'a.yaml')
    message = "error: there is no recording 'a.yaml', and no suite either: there is no folder 'evals'\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, '', message)
    result = invoke('cassette', 'check', str(SHORT))
    assert (result.exit_code, result.stdout) == (0, f'0 of 1 recordings {SENDS}\n')


@pytest.mark.parametrize('command', [('check',), ('diff', str(LONG)), ('rebase', '--accept', 'n')])
def test_a_file_that_is_no_recording(command: tuple[str, ...]) -> None:
    """One message of the format, without a traceback."""
    Path('other.yaml').write_text('a: 1\n')
    result = invoke('cassette', *command, 'other.yaml')
    assert (result.exit_code, result.stdout) == (2, '')
    assert result.stderr.startswith('error: other.yaml is not a cassette of HTTP traffic (VCR YAML, version 1): ')
    assert result.stderr.count('\n') == 1


# diff


def test_two_recordings_that_mean_the_same() -> None:
    """Another order of members is no difference: nothing is printed."""
    other = Path('other.yaml')
    other.write_text(yaml.safe_dump(yaml.safe_load(SHORT.read_text())))
    result = invoke('cassette', 'diff', str(SHORT), str(other))
    assert (result.exit_code, result.stdout, result.stderr) == (0, '', '')


def test_two_recordings_that_differ() -> None:
    """Every difference is a line, under its interaction."""
    result = invoke('cassette', 'diff', str(SHORT), str(LONG))
    assert (result.exit_code, result.stdout) == (
        1,
        'interaction 1\n'
        '  ~ request.body.messages[0].content: "ab" -> "abcdef"\n'
        '  ~ response.body.choices[0].message.content: "ba" -> "fedcba"\n',
    )


@pytest.mark.parametrize('paths', [('none.yaml', str(SHORT)), (str(SHORT), 'none.yaml')])
def test_a_side_that_is_not_there(paths: tuple[str, str]) -> None:
    """The missing file is named."""
    result = invoke('cassette', 'diff', *paths)
    assert (result.exit_code, result.stdout, result.stderr) == (2, '', "error: there is no recording 'none.yaml'\n")


# rebase


def test_a_rebase_shows_then_writes_then_replays() -> None:
    """Without `--write` files stay; with it the suite replays again, and a second rebase has nothing to do."""
    change(SHORT, n=1, temperature=0.5)
    before = SHORT.read_bytes()
    options = ('mirror', '--accept', 'n', '--accept', 'temperature')
    result = invoke('cassette', 'rebase', *options)
    lines = '    - n: 1\n    - temperature: 0.5\n'
    assert (result.exit_code, result.stdout) == (
        0,
        f'{SHORT} would be rebased\n{lines}1 of 2 recordings would be rebased; {NOTHING_WRITTEN}\n',
    )
    assert SHORT.read_bytes() == before
    assert invoke('run', '--quiet').exit_code == 2

    result = invoke('cassette', 'rebase', *options, '--write')
    assert (result.exit_code, result.stdout) == (0, f'{SHORT} rebased\n{lines}1 of 2 recordings rebased\n')
    assert invoke('run', '--quiet').exit_code == 0

    result = invoke('cassette', 'rebase', *options, '--write')
    assert (result.exit_code, result.stdout) == (0, '0 of 2 recordings rebased\n')


def test_a_rebase_leaves_files_with_another_difference() -> None:
    """The other files are rebased, and the exit code is 1."""
    change(SHORT, n=1, temperature=0.5)
    change(LONG, n=1)
    before = SHORT.read_bytes()
    result = invoke('cassette', 'rebase', '--accept', 'n', '--write')
    assert (result.exit_code, result.stdout) == (
        1,
        f'{SHORT} is left as it is\n'
        '    interaction 1: - temperature: 0.5 is another difference\n'
        f'{LONG} rebased\n'
        '    - n: 1\n'
        '1 of 2 recordings rebased, 1 left as it is\n',
    )
    assert SHORT.read_bytes() == before


def test_a_rebase_to_a_value() -> None:
    """`--set` takes over what is sent today only where it is this value."""
    change(SHORT, model='mirror-0')
    refused = invoke('cassette', 'rebase', '--set', 'model=mirror-2')
    assert refused.exit_code == 1
    assert '    interaction 1: ~ model: "mirror-0" -> "mirror-1" is another difference\n' in refused.stdout
    result = invoke('cassette', 'rebase', '--set', 'model=mirror-1', '--write')
    assert (result.exit_code, result.stdout) == (
        0,
        f'{SHORT} rebased\n    ~ model: "mirror-0" -> "mirror-1"\n1 of 2 recordings rebased\n',
    )


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (
            (),
            'say what may be taken over: `--accept PLACE` or `--set PLACE=VALUE`; `advisor-harness cassette check` '
            'names the places',
        ),
        (('--set', 'n'), "`--set`: 'n' is not PLACE=VALUE, such as max_tokens=128000"),
    ],
)
def test_a_rebase_that_names_nothing(options: tuple[str, ...], message: str) -> None:
    """Exit code 2 and the way out."""
    result = invoke('cassette', 'rebase', *options)
    assert (result.exit_code, result.stdout, result.stderr) == (2, '', f'error: {message}\n')


# prune


def test_a_prune_shows_then_drops_then_replays() -> None:
    """What neither the run nor a replay now has used is dropped; the rest of the file stays."""
    append_copy(SHORT, n=1)
    before = yaml.safe_load(SHORT.read_text())
    assert invoke('run', '--quiet').exit_code == 2
    result = invoke('cassette', 'prune')
    line = f'    2: POST {URL}\n'
    assert (result.exit_code, result.stdout) == (
        0,
        f'{SHORT}: 1 interaction would be dropped\n{line}1 of 2 recordings would be pruned; {NOTHING_WRITTEN}\n',
    )
    assert yaml.safe_load(SHORT.read_text()) == before

    result = invoke('cassette', 'prune', str(SHORT), '--write')
    assert (result.exit_code, result.stdout) == (
        0,
        f'{SHORT}: 1 interaction dropped\n{line}1 of 1 recording pruned\n',
    )
    assert yaml.safe_load(SHORT.read_text()) == {**before, 'interactions': before['interactions'][:1]}
    assert invoke('run', '--quiet').exit_code == 0
    assert invoke('cassette', 'prune').stdout == '0 of 2 recordings would be pruned\n'


def test_nothing_is_dropped_for_a_case_that_failed_or_missed() -> None:
    """A case that went another way may need the rest the next time."""
    for path in (SHORT, LONG):
        append_copy(path, n=1)
    edit(SHORT, 'content: ba', 'content: xx')
    change(LONG, temperature=0.5)
    assert invoke('run', '--quiet').exit_code == 2
    run = open_run('latest').id
    before = SHORT.read_bytes(), LONG.read_bytes()
    result = invoke('cassette', 'prune', '--write')
    assert (result.exit_code, result.stdout) == (
        1,
        f'{SHORT} is left as it is\n'
        f'    in run {run} the case failed\n'
        f'{LONG} is left as it is\n'
        f'    in run {run} 1 request had no recorded answer\n'
        '0 of 2 recordings pruned, 2 left as they are\n',
    )
    assert (SHORT.read_bytes(), LONG.read_bytes()) == before


def test_nothing_is_dropped_when_a_replay_does_not_end_as_the_run() -> None:
    """The record of a run that other files or another task made is no proof."""
    append_copy(SHORT, n=1)
    assert invoke('run', '--quiet').exit_code == 2
    run = open_run('latest').id
    append_copy(SHORT, n=2)
    result = invoke('cassette', 'prune', '--run', run, '--write')
    assert (result.exit_code, result.stdout) == (
        1,
        f'{SHORT} is left as it is\n'
        f'    a replay now does not end as in run {run}: run the suite again\n'
        '0 of 2 recordings pruned, 1 left as it is\n',
    )


def test_what_no_run_has_replayed_is_kept() -> None:
    """A file of no case, and a case that the run did not run."""
    assert invoke('run', '--case', 'short', '--quiet').exit_code == 0
    run = open_run('latest').id
    Path('other.yaml').write_bytes(SHORT.read_bytes())
    result = invoke('cassette', 'prune', str(LONG), 'other.yaml')
    assert (result.exit_code, result.stdout) == (
        1,
        f'{LONG} is left as it is\n'
        f'    run {run} did not replay it\n'
        'other.yaml is left as it is\n'
        '    no case replays it\n'
        '0 of 2 recordings would be pruned, 2 left as they are\n',
    )


def test_a_prune_needs_a_replay() -> None:
    """A run that recorded says nothing about what a replay uses, and neither does none."""
    run = open_run('latest').id
    result = invoke('cassette', 'prune', '--run', run)
    message = f'error: run {run} was no replay: start one with `advisor-harness run mirror`\n'
    assert (result.exit_code, result.stdout, result.stderr) == (2, '', message)
    Path('runs').rename('elsewhere')
    result = invoke('cassette', 'prune')
    message = "error: suite 'mirror' has no run that says what it uses: advisor-harness run mirror\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, '', message)
