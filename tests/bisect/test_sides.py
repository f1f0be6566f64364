import sys
from pathlib import Path

import pytest

from irscope.jobs.bisect.toolchains import SideOptions, make_sides, parse_versions, split_range
from irscope.model import UserError

NOTHING = SideOptions()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3.6.0..3.8.0", ("3.6.0", "3.7.1", "3.8.0")),
        ("3.9.0..3.7.1", ("3.9.0", "3.8.0", "3.7.1")),
        ("3.6.0,3.9.0", ("3.6.0", "3.9.0")),
        ("../mine..3.9.0", ("../mine", "3.9.0")),
        ("3.8.0..../mine", ("3.8.0", "../mine")),
        ("/a/../b../c", ("/a/../b", "/c")),
    ],
)
def test_versions_of_a_range_or_list(text, expected):
    assert parse_versions(text, NOTHING) == expected


def test_a_path_with_dots_is_no_range():
    assert split_range("../venv") is None
    assert split_range("/opt/../venv") is None


def test_one_version_is_both_ends_if_they_differ_in_something_else():
    assert parse_versions("3.9.0", SideOptions(env_bad=(("A", "1"),))) == ("3.9.0", "3.9.0")
    assert parse_versions("3.9.0", NOTHING) == ("3.9.0",)


def test_the_options_of_the_bad_end_are_only_the_last_versions():
    own = str(Path(sys.executable))
    options = SideOptions(env_good=(("A", "good"),), env_bad=(("A", "bad"),))
    sides = list(make_sides((own, own, own), options, lambda _: None))
    assert [side.variables["A"] for side in sides] == ["good", "good", "bad"]
    assert sides[0].identity == sides[1].identity != sides[2].identity


@pytest.mark.parametrize("place", ["python", "folder"])
def test_a_path_without_triton_is_refused_in_one_line(tmp_path, place):
    path = tmp_path / "none" if place == "python" else tmp_path
    (error,) = make_sides((str(path),), NOTHING, lambda _: None)
    assert isinstance(error, UserError)
    assert str(path) in str(error)
    assert "\n" not in str(error)
