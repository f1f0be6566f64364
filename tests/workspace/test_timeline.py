"""The same variant in several versions: captures of an edited kernel, one after the other or merged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from irscope.model import UserError
from irscope.store.merge_captures import MergedCapture
from irscope.workspace import Workspace
from irscope.workspace.compiler_version import version_name
from irscope.workspace.timeline import Timeline, TimelineStep
from tests.tui import captures
from tests.tui.captures import KERNEL, LARGE, SMALL, stage

VERSIONS = ("+ 1", "+ 2", "+ 3")


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    """Three captures of an edited kernel with two configs; the last one lacks the second config."""
    made = []
    for number, text in enumerate(VERSIONS):
        source = replace(KERNEL, text=f"{KERNEL.text}    x = pid {text}\n")
        variants = [
            (
                {"BLOCK_M": block, "num_warps": 4},
                {kind: stage("matmul_kernel", SMALL, kind) for kind in ("ttir", "ttgir")},
            )
            for block in (64, 128)
        ]
        # The second version compiles the first config to something else.
        if number == 1:
            large = {kind: stage("matmul_kernel", LARGE, kind) for kind in ("ttir", "ttgir")}
            variants[0] = variants[0][0], large
        path = tmp_path / f"v{number + 1}.irscope"
        made.append(captures.write(path, variants[: 1 if number == 2 else 2], source))
    return made


def steps(workspace: Workspace, *directions: int) -> list[tuple[int, int, int] | str]:
    """A, B and the number of B's version per step, from the first variant on."""
    a = b = workspace.variants[0]
    found: list[tuple[int, int, int] | str] = []
    for direction in directions:
        step = Timeline(workspace, b).step(a, b, direction)
        if isinstance(step, TimelineStep):
            a, b = step.a, step.b
            found.append((a.id, b.id, step.number))
        else:
            found.append(step)
    return found


def test_a_variant_is_followed_through_captures(paths: list[Path]) -> None:
    with Workspace(paths[0], also=paths[1:]) as workspace:
        assert [variant.id for variant in workspace.variants] == [1, 2, 3, 4, 5]
        assert [version_name(workspace, v) for v in workspace.variants] == [
            "v1.irscope", "v1.irscope", "v2.irscope", "v2.irscope", "v3.irscope",
        ]  # fmt: skip
        assert steps(workspace, 1, 1, 1, -1, -1) == [
            (1, 3, 2), (3, 5, 3), "v3.irscope is the newest version",
            (1, 3, 2), "v1.irscope is the oldest version",
        ]  # fmt: skip
        first = Timeline(workspace, workspace.variants[0]).first()
        assert first is not None
        assert "Version 2 of 3: v2.irscope, Triton 3.9.0, source " in first.text
        assert "(edited)" in first.text


def test_a_version_without_the_variant_is_left_out(paths: list[Path]) -> None:
    with Workspace(paths[0], also=paths[1:]) as workspace:
        second = workspace.live.by_id(2)
        step = Timeline(workspace, second).step(second, second, 1)
        assert isinstance(step, TimelineStep)
        assert (step.a.id, step.b.id) == (2, 4)
        assert Timeline(workspace, step.b).step(step.a, step.b, 1) == "v2.irscope is the newest version"


def test_a_merged_capture_has_the_sources_as_versions(paths: list[Path], tmp_path: Path) -> None:
    merged = tmp_path / "all.irscope"
    MergedCapture.write(paths, merged)
    with Workspace(merged) as workspace:
        assert steps(workspace, 1, 1, -1) == [(1, 3, 2), (3, 5, 3), (1, 3, 2)]
        assert [len(one.variants) for one in Timeline(workspace, workspace.variants[0]).versions] == [2, 2, 1]


def test_one_version_has_no_timeline(paths: list[Path]) -> None:
    with Workspace(paths[0]) as workspace:
        a, b = workspace.variants
        assert "There is one version" in str(Timeline(workspace, b).step(a, b, 1))


def test_joined_captures_have_the_stages_and_facts_of_each(paths: list[Path]) -> None:
    with Workspace(paths[0], also=paths[1:]) as workspace:
        for index, path in enumerate(paths):
            with Workspace(path) as alone:
                joined = [v for v in workspace.variants if workspace.contents.place(v) == index]
                for own, other in zip(joined, alone.variants, strict=True):
                    assert workspace.text(own, "ttgir") == alone.text(other, "ttgir")
                    assert workspace.facts(own).keys() == alone.facts(other).keys()
                    assert own.kernel.source == other.kernel.source
        assert len({variant.kernel.id for variant in workspace.variants}) == 3
        assert workspace.live.reread() == set()


def test_a_later_capture_that_is_none_is_refused(paths: list[Path], tmp_path: Path) -> None:
    wrong = tmp_path / "text.irscope"
    wrong.write_text("no capture")
    with pytest.raises(UserError, match="text"):
        Workspace(paths[0], also=[wrong])
