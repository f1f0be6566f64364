"""`irscope build`: an edited stage becomes a variant next to its original, in captures of every version."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from irscope.model.variant import EDIT, Edit, edit_from_metadata, edit_to_json
from irscope.store import CaptureReader
from irscope.workspace import Workspace
from tests.cli.conftest import Run

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
STAGES = Path(__file__).parent.parent / "data" / "stages"
# The captures and the stages were made with this version; another one may not read them.
ARGUMENTS = ("--any-triton",)


@pytest.fixture
def adds(tmp_path: Path) -> Path:
    """add_kernel for cuda:90 (#1 to #3) and hip:gfx942 (#4 to #6), as the first release wrote it."""
    return Path(shutil.copy(CAPTURES / "v1.irscope", tmp_path / "adds.irscope"))


def stage(capture: Path, number: int, name: str) -> str:
    with CaptureReader(capture) as reader:
        variant = reader.variant(number)
        assert variant is not None
        return (reader.read(variant, name) or b"").decode()


def test_an_edited_layout_is_a_variant_next_to_its_original(adds: Path, irscope: Run) -> None:
    text = stage(adds, 3, "ttgir")
    edited = adds.with_name("narrow.ttgir")
    edited.write_text(text.replace("sizePerThread = [4]", "sizePerThread = [1]"))
    done = irscope("build", adds, "#3", edited, *ARGUMENTS, "--name", "narrow")
    assert done.returncode == 0, done.stderr
    assert "B  #7 BLOCK_SIZE=1024,target=cuda:90,edit=narrow" in done.stdout
    assert "B: edit: ttgir edited (+1 -1 lines)" in done.stdout
    assert "sizePerThread [4] -> [1]" in done.stdout
    assert "2 x 16-byte -> 8 x 4-byte" in done.stdout
    with Workspace(adds) as workspace:
        new = workspace.live.by_id(7)
        assert new.edit is not None
        assert "-#blocked = #ttg.blocked<{sizePerThread = [4]" in new.edit.diff
        assert (new.edit.of, new.config) == ("", workspace.live.by_id(3).config)
        assert workspace.text(new, "ttir") == workspace.text(workspace.live.by_id(3), "ttir")


def test_what_the_compiler_rejects_is_printed_with_its_line(adds: Path, irscope: Run) -> None:
    before = adds.read_bytes()
    done = irscope(
        "build",
        adds,
        "#3",
        "--from",
        "ttgir",
        "--edit",
        EDITOR="sed -i 's/warpsPerCTA = .4/warpsPerCTA = [8/'",
    )
    assert done.returncode == 1
    first, second = done.stderr.splitlines()[:2]
    assert first.startswith("irscope: ttgir could not be made: line ")
    assert "Layout has 8 warps per CTA, but the context requires 4 warps per CTA" in second
    assert second.startswith("error: line ")
    assert "vector_add.py:" in second
    assert adds.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["#3"], "nothing to change: give STAGE_FILE, --edit, --skip-pass, --passes or --ptxas"),
        (["#3", "--from", "ptx", "--edit"], "ptx of #3 was not changed; there is nothing to build"),
        (["#3", "--from", "amdgcn", "--skip-pass", "cse"], "#3 has no amdgcn; it has source, "),
        (["#2", "--skip-pass", "cse"], "#2 has none of source, ttir and ttgir to build from"),
        (["#3", "--from", "cubin", "--skip-pass", "cse"], "cubin is machine code: nothing is built from it"),
        (["#3", "x.txt"], "x.txt: its suffix names no stage"),
        (["#3", "x.cubin"], "x.cubin: nothing can be built from cubin"),
        (["#3", "x.ttgir"], "x.ttgir: cannot be read: No such file or directory"),
        (["#3", "--passes", "cse canonicalize"], "--passes: not a list of passes"),
        (["#3", "--skip-pass", "cse", "--name", "a=b"], "--name a=b: use letters"),
        (["#3", "--skip-pass", "cse", "--target", "cuda:90"], "--target, --option and -o apply only"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line(adds: Path, irscope: Run, words: list[str], problem: str) -> None:
    done = irscope("build", adds, *words, EDITOR="true")
    assert done.returncode == 2
    assert done.stderr.startswith(f"irscope: {problem}")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_edits_of_edits_and_skipped_passes(adds: Path, irscope: Run) -> None:
    assert irscope("build", adds, "#3", "--skip-pass", "tritongpu-coalesce", *ARGUMENTS).returncode == 0
    done = irscope("build", adds, "#7", "--skip-pass", "cse", *ARGUMENTS, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["b"]["config"] == json.loads(done.stdout)["a"]["config"]
    with Workspace(adds) as workspace:
        first, second = workspace.live.by_id(7), workspace.live.by_id(8)
        assert first.edit is not None
        assert second.edit is not None
        assert (first.edit.name, first.edit.of, first.edit.skipped) == (
            "no-tritongpu-coalesce", "", ("tritongpu-coalesce",),
        )  # fmt: skip
        assert (second.edit.of, second.edit.skipped) == (first.edit.name, ("tritongpu-coalesce", "cse"))
    above = irscope("build", adds, "#7", "--from", "ttgir", "--skip-pass", "cse", *ARGUMENTS)
    assert above.returncode == 0, above.stderr  # a stage below the one that #7 was built from
    lost = irscope("build", adds, "#9", "--from", "ttir", "--skip-pass", "cse", *ARGUMENTS)
    assert "#9 was built from its ttgir: build from that or a stage below, not from ttir" in lost.stderr


@pytest.mark.slow
def test_no_other_command_takes_an_edit_for_a_config(adds: Path, irscope: Run) -> None:
    before = irscope("why", adds).stdout
    lint = irscope("lint", adds).stdout
    # Without this pass, nothing changes: the edit is a duplicate of the original.
    assert irscope("build", adds, "#3", "--skip-pass", "sccp", *ARGUMENTS).returncode == 0
    assert irscope("why", adds).stdout == before
    assert irscope("lint", adds).stdout == lint
    assert "benchmarking" not in irscope("table", adds, "--target", "cuda:90").stdout
    assert "edit=no-sccp" in irscope("list", adds).stdout


@pytest.mark.slow
def test_a_pass_that_does_not_run_is_wrong_use(adds: Path, irscope: Run) -> None:
    done = irscope("build", adds, "#3", "--skip-pass", "tritongpu-prefetch", *ARGUMENTS)
    assert done.returncode == 2
    assert done.stderr.startswith("irscope: no pass 'tritongpu-prefetch' runs")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("number", "name"), [(3, "ptx"), (6, "ttgir"), (6, "amdgcn")])
def test_a_stage_file_alone_becomes_a_capture(adds: Path, irscope: Run, number: int, name: str) -> None:
    file = adds.with_name(f"alone.{name}")
    file.write_text(stage(adds, number, name))
    done = irscope("build", file)
    assert done.returncode == 0, done.stderr
    assert "add_kernel  " in done.stdout
    with CaptureReader(file.with_suffix(".irscope")) as reader:
        (variant,) = reader.variants()
        assert str(variant.target) == ("cuda:90" if number == 3 else "hip:gfx942")
        assert variant.edit is None


def test_a_stage_file_says_what_it_lacks(adds: Path, irscope: Run) -> None:
    file = adds.with_name("alone.llir")
    file.write_text(stage(adds, 3, "llir"))
    assert "alone.llir: does not say what it is compiled for; give --target" in irscope("build", file).stderr
    assert "need a capture and a variant" in irscope("build", file, "--edit").stderr


def test_malformed_edits_in_a_capture_are_read_as_far_as_possible() -> None:
    edit = Edit(
        "x", "y", "ttgir", "--- a\n+++ b\n@@ -1 +1 @@\n-1\n+2\n", ("cse",), (("ttgir", "a,b"),), "doubt"
    )
    assert edit_from_metadata({EDIT: edit_to_json(edit)}) == edit
    assert edit.sentence == (
        "edit of y: ttgir edited (+1 -1 lines), built without cse, with 2 passes in ttgir; doubt"
    )
    assert edit_from_metadata({}) is None
    assert edit_from_metadata({EDIT: {"name": 3}}) is None
    broken = {"name": "x", "of": 1, "skipped": "cse", "replaced": [["a"], 3, ["a", 1]], "diff": None}
    assert edit_from_metadata({EDIT: broken}) == Edit("x")


def test_a_stage_of_another_kernel_is_refused(adds: Path, irscope: Run) -> None:
    text = stage(adds, 3, "ptx")
    other = adds.with_name("other.ptx")
    for edited, problem in (
        (text.replace("add_kernel", "mul_kernel"), "has the kernel mul_kernel, and #3 is add_kernel: "),
        (".version 8.0\n", "has no kernel, and #3 is add_kernel: "),
    ):
        other.write_text(edited)
        done = irscope("build", adds, "#3", other, *ARGUMENTS)
        assert done.returncode == 2
        assert done.stderr.startswith(f"irscope: the edited ptx {problem}")
    with CaptureReader(adds) as reader:
        assert len(reader.variants()) == 6
