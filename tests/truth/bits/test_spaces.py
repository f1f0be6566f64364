"""Checks the spaces, and that a measurement goes on where the last one stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from tests.truth.bits.measure import finished, key
from tests.truth.bits.spaces import spaces


def test_names_and_configs_are_distinct() -> None:
    """A line of a measurement names one launch."""
    names = [key(space.name, config) for space in spaces() for config in space.configs]
    assert len(names) == len(set(names))
    assert len(names) >= 5000
    assert len({space.kernel.__name__ for space in spaces()}) >= 45


def test_globs_choose_spaces() -> None:
    """Patterns match whole names."""
    assert {space.name for space in spaces(["gemm_e*"])} == {"gemm_e4m3", "gemm_e5m2"}


def test_inputs_are_the_same_every_time() -> None:
    """Equal bits mean something only from equal inputs."""
    (space,) = spaces(["special_choices"])
    first, second = space.tensors("cpu"), space.tensors("cpu")
    assert first[0].numpy().tobytes() == second[0].numpy().tobytes()


def test_half_a_line_is_measured_again(tmp_path: Path) -> None:
    """A program that is killed while it writes leaves such a line."""
    file = tmp_path / "bits.jsonl"
    file.write_text(json.dumps({"kernel": "a", "config": {"B": 1}}) + '\n{"kernel": "a", "conf')
    assert list(finished([file])) == [key("a", {"B": 1})]
