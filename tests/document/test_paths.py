"""Names as parts of paths: always safe, and readable and distinct if possible."""

from __future__ import annotations

import os
from pathlib import PurePosixPath, PureWindowsPath

from hypothesis import given
from hypothesis import strategies as st

from irscope.document.dump import MAX_BYTES, path_part, unique_paths

nasty = st.one_of(
    st.text(),
    st.text(alphabet="./\\ \0\n:~-aA\u202e", max_size=12),
    st.text(alphabet="ab=,", min_size=200, max_size=400),
    st.sampled_from(["..", ".", "", "con", "NUL.txt", "index.json", "../..", "a/../b", "\ud800"]),
)


@given(nasty)
def test_a_part_is_one_harmless_name(text):
    part = path_part(text)
    assert 0 < len(os.fsencode(part)) <= MAX_BYTES
    assert part not in (".", "..") and not part.startswith((".", "-")) and not part.endswith(".")
    assert part.isascii() and part.isprintable()
    for kind in (PurePosixPath, PureWindowsPath):
        assert kind(part).parts == (part,)
    assert not PureWindowsPath(part).is_reserved()


@given(nasty, nasty)
def test_different_names_stay_different(one, other):
    assert (path_part(one) == path_part(other)) == (one == other)


@given(st.text(alphabet="abcXYZ019_=,.", min_size=1, max_size=60).filter(str.isidentifier))
def test_a_plain_name_is_unchanged(text):
    if path_part(text) != text:
        assert text.lower() in ("con", "prn", "aux", "nul") or text[:3].lower() in ("com", "lpt")


def test_a_changed_name_stays_readable():
    assert path_part("BLOCK_M=64,num_warps=4") == "BLOCK_M=64,num_warps=4"
    assert path_part("a/b").startswith("a_b~")
    assert path_part("BLOCK=1," * 100).startswith("BLOCK=1,BLOCK=1,")


@given(st.lists(st.sampled_from(["a", "A", "b", "a,#1", "A,#3"])))
def test_paths_are_unique_if_case_is_ignored(names):
    paths = unique_paths(enumerate(names))
    assert len({path.casefold() for path in paths.values()}) == len(names)
    assert all(path.casefold().startswith(names[number].casefold()) for number, path in paths.items())
