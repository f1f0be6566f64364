"""Variants that are being compiled: the stages they are expected to have, and their facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.facts import measure
from irscope.facts.fact import Fact
from irscope.model import Config, Kernel, SourceFunction, Toolchain, Variant
from irscope.targets import parse_target
from irscope.workspace import Workspace
from irscope.workspace.growth import InProgress
from tests.tui import captures

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


def test_facts_measured_while_the_variant_is_compiled_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Workspace(captures.matmul(tmp_path / "x.irscope")) as workspace:
        whole = workspace.variants[0]
        partial = replace(whole, artifacts={"ttir": whole.artifacts["ttir"]})
        workspace.live.put(partial)

        original = measure.measure

        def slow(variant: Variant, read: Callable[[str], bytes | None]) -> Mapping[str, Fact]:
            found = original(variant, read)
            workspace.live.put(whole)
            return found

        with monkeypatch.context() as patch:
            patch.setattr(measure, "measure", slow)
            early = workspace.facts(partial)
        assert workspace.facts(whole) is not early
        assert workspace.facts(whole) is workspace.facts(whole)
