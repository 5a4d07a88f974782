from __future__ import annotations

import pytest
import typer

from advisor_harness.cli.ending import ending


def ended(error: BaseException) -> int:
    """The exit code of a command that raises `error`."""

    def command() -> int:
        raise error

    with pytest.raises(typer.Exit) as raised:
        ending(command)()
    return raised.value.exit_code


def test_an_interrupted_command_ends_as_shells_expect() -> None:
    """SIGINT is 130 in every command."""
    assert ended(KeyboardInterrupt()) == 130


@pytest.mark.parametrize('name', ['pydantic_evals', 'opentelemetry.sdk', 'yaml'])
def test_a_missing_part_is_named_with_what_to_install(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A command whose packages are not all there says so in one line."""
    assert ended(ModuleNotFoundError(f'No module named {name!r}', name=name)) == 2
    assert capsys.readouterr() == (
        '',
        f"error: {name} is not installed: python -m pip install 'advisor-harness[evals,cli]'\n",
    )


def test_a_broken_import_of_ours_shows_where(capsys: pytest.CaptureFixture[str]) -> None:
    """A module that is missing for another reason is a fault, with its traceback."""
    assert ended(ModuleNotFoundError("No module named 'ours'", name='ours')) == 2
    assert capsys.readouterr().err.endswith("ModuleNotFoundError: No module named 'ours'\n")
