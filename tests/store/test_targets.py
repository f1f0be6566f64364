"""Targets by name: those that can be compiled for, and any other that a capture may hold."""

from __future__ import annotations

import pytest

from irscope.backends import TARGETS, parse_target, target_named
from irscope.model import Target


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_a_known_target_is_the_same_by_either_way(target: Target):
    assert target_named(str(target)) == parse_target(str(target)) == target


@pytest.mark.parametrize(
    ("name", "threads"), [("hip:gfx906", 64), ("hip:gfx803", 64), ("hip:gfx1030", 32), ("cuda:61", 32)]
)
def test_another_target_has_its_waves(name: str, threads: int):
    assert (str(target_named(name)), target_named(name).warp_size) == (name, threads)


@pytest.mark.parametrize(
    "name", ["cuda", "cuda:0", "cuda:9", "cuda:9000", "hip:90", "hip:gfx", "xpu:1", "cuda:90\n"]
)
def test_what_names_no_target_is_refused(name: str):
    with pytest.raises(ValueError, match="unknown target"):
        target_named(name)
