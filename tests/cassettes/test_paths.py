from __future__ import annotations

from advisor_harness.cassettes.paths import Paths, without


def test_members_are_left_out_at_any_depth() -> None:
    """A dotted path names a member, `*` any key or index, and a number one index."""
    value = {'user': 'u', 'messages': [{'id': 1, 'text': 'a'}, {'id': 2, 'text': 'b'}], 'tags': ['x', 'y']}

    left = without(value, Paths.parse(['user', 'messages.*.id', 'tags.0', 'absent.path']))

    assert left == {'messages': [{'text': 'a'}, {'text': 'b'}], 'tags': ['y']}
    assert value['user'] == 'u'


def test_named_and_wild_steps_add_up() -> None:
    """Where a named step and `*` both lead on, both paths apply."""
    paths = Paths.parse(['a.*.x', 'a.b.y', 'a.b.z.*', '*.b.w'])

    assert without({'a': {'b': {'x': 1, 'y': 2, 'z': [3], 'w': 4, 'v': 5}}}, paths) == {'a': {'b': {'z': [], 'v': 5}}}


def test_values_without_members_have_no_paths() -> None:
    """A path below a scalar names nothing."""
    assert without({'a': 1}, Paths.parse(['a.b'])) == {'a': 1}
