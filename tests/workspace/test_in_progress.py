"""The stages that a variant is expected to have while it is being compiled."""

from __future__ import annotations

import pytest

from irscope.backends import parse_target
from irscope.model import Config, Kernel, SourceFunction, Toolchain, Variant
from irscope.workspace import InProgress

KERNEL = Kernel(1, "copy", SourceFunction("copy", "c.py", 1, "def copy(): pass\n"), (), ())
GLUON = b'module attributes {"ttg.num-warps" = 4 : i32} {\n}\n'


@pytest.mark.parametrize(
    ("stages", "status"),
    [
        ([("source", b"module {\n}\n")], "compiling ttir"),
        ([("source", b"module {\n}\n"), ("ttir", b"module {\n}\n")], "compiling ttgir"),
        ([("source", GLUON)], "compiling ttgir"),
        ([("source", GLUON), ("glir", GLUON)], "compiling ttgir"),
        ([("source", GLUON), ("glir", GLUON), ("ttgir", GLUON)], "compiling llir"),
    ],
)
def test_the_next_stage_of_gluon_is_ttgir(stages: list[tuple[str, bytes]], status: str):
    target, toolchain = parse_target("cuda:90"), Toolchain(1, {"triton": "3.9.0"}, "")
    variant = Variant(1, KERNEL, target, (), Config(), toolchain)
    progress = InProgress()
    progress.start(1)
    for stage, content in stages:
        variant = progress.with_stage(variant, stage, content)
    assert progress.status(1) == status
    assert ("ttir" in progress.expected_stages(variant)) == (GLUON not in dict(stages).values())
