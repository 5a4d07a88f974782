"""Every documented behaviour has a test that names it."""

from __future__ import annotations

import re
from pathlib import Path


def test_every_documented_behaviour_is_named_by_a_test() -> None:
    """A1 to A45 are in the names of tests; A41, durable execution, is another issue's."""
    text = '\n'.join(path.read_text() for path in Path(__file__).parent.glob('test_documented_*.py'))
    names = re.findall(r'def (test_\w+)', text)
    numbers = {int(number) for name in names for number in re.findall(r'_a(\d+)', name)}
    assert numbers == set(range(1, 46)) - {41}
