from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from advisor_harness.evals.reports import json_lines
from tests.evals.reports.sample import mixed


def test_the_verdict_is_one_line_of_what_verdict_json_holds(tmp_path: Path) -> None:
    """The last line of `--json` is the whole verdict."""
    verdict, _ = mixed(tmp_path)
    text = json_lines.render(verdict)
    assert '\n' not in text
    assert json.loads(text) == json.loads(json.dumps(verdict.to_json()))


def test_every_parser_can_read_a_line() -> None:
    """No NaN, no infinity, no character outside ASCII and no line break inside a line."""
    data = {'a': float('nan'), 'b': [1.5, float('-inf')], 'c': ('é\n', {'d': float('inf')})}
    assert json_lines.line(data) == '{"a": null, "b": [1.5, null], "c": ["\\u00e9\\n", {"d": null}]}'


def test_what_is_no_json_is_refused() -> None:
    """A value without a JSON form is an error, not its `repr`."""
    with pytest.raises(TypeError, match='Object of type date is not JSON serializable'):
        json_lines.line(date(2027, 1, 1))
