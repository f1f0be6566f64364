"""Targets by name: those that Triton compiles for, and others that a capture may contain."""

from __future__ import annotations

import pytest

from irscope.model import Target
from irscope.targets import TARGETS, parse_target, target_named


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


@pytest.mark.parametrize(
    ("name", "meant"),
    [("sm_90", "cuda:90"), ("90", "cuda:90"), ("cuda:90a", "cuda:90"), ("gfx942", "hip:gfx942"),
     ("hip:gfx90A", "hip:gfx90a"), ("cuda:sm100", "cuda:100"), ("CUDA:80", "cuda:80")],
)  # fmt: skip
def test_a_target_in_the_spelling_of_another_tool_is_suggested(name: str, meant: str):
    with pytest.raises(ValueError, match=f"unknown target '{name}'; do you mean {meant}\\?"):
        parse_target(name)


def test_nothing_is_suggested_for_a_name_that_no_tool_has():
    with pytest.raises(ValueError, match="unknown target 'h100'; known"):
        parse_target("h100")


def test_several_targets_are_several_options(capsys: pytest.CaptureFixture[str]):
    from irscope.cli.main import main

    assert main(["compile", "samples/vector_add.py", "--target", "cuda:80,cuda:90"]) == 2
    assert "repeat the option" in capsys.readouterr().err
