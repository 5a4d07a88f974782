from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from advisor_harness.cassettes.prune import without_interactions

from .support import entry, read_yaml, write_cassette


@given(st.integers(2, 6).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(1, n), max_size=n - 1))))
def test_the_others_stay_as_they_are(
    tmp_path_factory: pytest.TempPathFactory, count_and_numbers: tuple[int, set[int]]
) -> None:
    """What is not named stays, in order, with everything around it."""
    count, numbers = count_and_numbers
    entries = [entry({'n': n}, {'answer': n}) for n in range(1, count + 1)]
    path = write_cassette(tmp_path_factory.mktemp('p') / 'a.yaml', *entries, recorded_with={'by': 'emulator'})
    before = read_yaml(path)
    path.write_text(without_interactions(path, numbers))
    left = [each for n, each in enumerate(before['interactions'], start=1) if n not in numbers]
    assert read_yaml(path) == {**before, 'interactions': left}


def test_what_cannot_be_dropped_is_named(tmp_path: Path) -> None:
    """Interactions that are not there, and all that are."""
    path = write_cassette(tmp_path / 'a.yaml', entry({}, {}))
    with pytest.raises(ValueError) as caught:
        without_interactions(path, [2])
    assert str(caught.value) == f'there is no interaction 2 in {path}: it holds 1'
    with pytest.raises(ValueError) as caught:
        without_interactions(path, [1])
    assert str(caught.value) == f'no interaction of {path} would be left: remove the file instead'
