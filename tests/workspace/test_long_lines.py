"""Stages with a line that no compiler writes: every command says so at once, and shows the others."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from irscope.model import UserError
from irscope.store.encoding import MAX_LINE, has_long_line
from irscope.workspace import Workspace
from tests.hardening.captures import with_stages


@pytest.mark.parametrize(
    ("content", "is_long"),
    [
        (b"", False),
        (b"x" * MAX_LINE, False),
        (b"x" * (MAX_LINE + 1), True),
        (b"x" * MAX_LINE + b"\n" + b"x" * MAX_LINE, False),
        (b"\n" + b"x" * MAX_LINE + b"\n" + b"y" * (MAX_LINE + 1) + b"\n", True),
        (b"a\n" * MAX_LINE, False),
    ],
)
def test_a_long_line_is_found_wherever_it_is(content: bytes, is_long: bool) -> None:
    assert has_long_line(content) == is_long


def test_a_stage_with_a_long_line_is_refused_and_others_are_shown(tmp_path: Path) -> None:
    line = b"tensor<4xf32, #blocked> " * (MAX_LINE // 24 + 1)
    path = with_stages(tmp_path / "long.irscope", {"ttgir": b"module {\n" + line + b"\n}\n"})
    with Workspace(path) as capture:
        variant = capture.variants[0]
        with pytest.raises(UserError, match="#1 ttgir has a line of more than 262,144 bytes"):
            capture.document(variant, "ttgir")
        with pytest.raises(UserError, match="which irscope does not read"):
            capture.text(variant, "ttgir")  # from memory: it is not decompressed again
        assert capture.text(variant, "ptx")
        assert capture.content(variant, "cubin")


@pytest.mark.slow
def test_a_line_of_255_mib_costs_a_second(tmp_path: Path) -> None:
    path = with_stages(tmp_path / "long.irscope", {"ttgir": b"tensor<4xf32, #b> " * (14 << 20)})
    start = time.process_time()
    with pytest.raises(UserError, match="has a line of"), Workspace(path) as capture:
        a, b = [variant for variant in capture.variants if "ttgir" in variant.artifacts][:2]
        capture.diff(a, b, "ttgir")
    assert time.process_time() - start < 5


def test_the_source_map_of_a_long_stage_stays_while_others_are_read(tmp_path: Path) -> None:
    """Each key in the app's panel of Python reads those of all stages."""
    ptx = ".version 8.4\n" + "add.s32 %r1, %r0, 1;\n" * 60_000
    path = with_stages(tmp_path / "long.irscope", {"ttgir": b"module {\n}\n", "ptx": ptx.encode()})
    with Workspace(path) as capture:
        variant = capture.variants[0]
        first = capture.source_map(variant, "ptx")
        capture.source_map(variant, "ttgir")
        assert capture.source_map(variant, "ptx") is first
