"""Targets by name: those that Triton compiles for, and others that a capture may contain."""

from __future__ import annotations

import pytest

from irscope.backends import TARGETS, parse_target, target_named
from irscope.model import Target


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_target_named_and_parse_target_agree(target: Target):
    assert target_named(str(target)) == parse_target(str(target)) == target


@pytest.mark.parametrize(
    ("name", "threads"), [("hip:gfx906", 64), ("hip:gfx803", 64), ("hip:gfx1030", 32), ("cuda:61", 32)]
)
def test_other_targets_have_their_warp_size(name: str, threads: int):
    assert (str(target_named(name)), target_named(name).warp_size) == (name, threads)


@pytest.mark.parametrize(
    "name", ["cuda", "cuda:0", "cuda:9", "cuda:9000", "hip:90", "hip:gfx", "xpu:1", "cuda:90\n"]
)
def test_invalid_targets_are_rejected(name: str):
    with pytest.raises(ValueError, match="unknown target"):
        target_named(name)
