"""Rebuilding from a stage: what the compiler makes of an edit, and the line of what it rejects."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from irscope.compiling.toolchain.pass_edits import PassEditError, split_passes
from irscope.compiling.toolchain.rebuild import PassEdits, RebuildError, Rebuilt, rebuild
from irscope.model import UserError
from irscope.targets import target_named

STAGES = Path(__file__).parents[1] / "data" / "stages"
MATMUL = "matmul_kernel.cuda-80.BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=3.triton-3.9.0"
ADD = "add_kernel.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-3.9.0"
CDNA = "matmul_kernel.hip-gfx942.BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=2.triton-3.9.0"
WARPS = {"num_warps": 4, "num_stages": 3}


def text(name: str, stage: str) -> str:
    return (STAGES / f"{name}.{stage}").read_text()


def target_of(name: str) -> str:
    return name.split(".")[1].replace("-", ":")


def build(name: str, stage: str, old: str = "", new: str = "", edits: PassEdits | None = None) -> Rebuilt:
    """Rebuilds a stage with the first `old` replaced."""
    before = text(name, stage)
    assert old in before
    until = "llir" if stage in ("ttir", "ttgir") else None
    return rebuild(
        stage, before.replace(old, new, 1), target_named(target_of(name)), WARPS, edits=edits, until=until
    )


def line_of(name: str, stage: str, word: str) -> int:
    return next(number for number, line in enumerate(text(name, stage).split("\n"), 1) if word in line)


def as_recorded(*case: str) -> ParameterSet:
    """A case for the version of Triton that the stage is of: assemblers differ in their messages."""
    other = not version("triton").startswith("3.9.")
    return pytest.param(*case, marks=pytest.mark.skipif(other, reason="the stage is Triton 3.9's"))


@pytest.mark.slow
def test_an_edited_layout_changes_what_is_below_it() -> None:
    def stores(built: Rebuilt) -> list[bytes]:
        return re.findall(rb"st\.global[^ ]* ", built.artifacts["llir"])

    wide = build(ADD, "ttgir")
    narrow = build(ADD, "ttgir", "sizePerThread = [4]", "sizePerThread = [1]")
    assert wide.artifacts.keys() == narrow.artifacts.keys() == {"llir"}
    assert b".v4.b32" in b"".join(stores(wide))
    assert stores(narrow)
    assert b".v4.b32" not in b"".join(stores(narrow))


@pytest.mark.slow
def test_llvm_ir_and_ptx_are_built_to_a_cubin() -> None:
    from_llir, from_ptx = build(ADD, "llir"), build(ADD, "ptx")
    assert from_llir.artifacts.keys() == {"ptx", "cubin"}
    assert from_ptx.artifacts.keys() == {"cubin"}
    assert "registers" in (from_ptx.log or "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "stage", "old", "new", "message"),
    [
        (MATMUL, "ttgir", "tt.dot ", "tt.dott ", "custom op 'tt.dott' is unknown"),
        (MATMUL, "ttgir", "arith.muli ", "arith.mulf ", "'arith.mulf' op operand #0 must be floating-point"),
        (ADD, "llir", "ret void", "ret vod", "failed to parse IR: expected type"),
        as_recorded(ADD, "ptx", "mul.wide.s32", "mul.wide.s33", "Unknown modifier '.s33'"),
        as_recorded(ADD, "ptx", "ld.param.b64", "ld.parm.b64", "Unknown modifier '.parm'"),
        as_recorded(CDNA, "amdgcn", "s_load_dwordx2", "s_lod_dwordx2", "invalid instruction"),
    ],
)
def test_an_error_has_its_line(name: str, stage: str, old: str, new: str, message: str) -> None:
    with pytest.raises(RebuildError) as raised:
        build(name, stage, old, new)
    error = raised.value.diagnostics[0]
    assert message in error.message
    assert error.line == line_of(name, stage, old)
    assert str(raised.value).startswith(f"line {error.line}: ")


def test_mlir_verifies_layouts() -> None:
    with pytest.raises(
        RebuildError, match=r"Layout has 8 warps per CTA, but the context requires 4"
    ) as raised:
        build(ADD, "ttgir", "warpsPerCTA = [4]", "warpsPerCTA = [8]")
    assert raised.value.stage == "ttgir"
    assert raised.value.diagnostics[0].line == line_of(ADD, "ttgir", "#blocked>")


@pytest.mark.slow
def test_a_skipped_pass_does_not_run() -> None:
    with_it = build(MATMUL, "ttir")
    without = build(MATMUL, "ttir", edits=PassEdits(("tritongpu-pipeline",)))
    assert b"ttg.async_copy" in with_it.artifacts["ttgir"]
    assert b"ttg.async_copy" not in without.artifacts["ttgir"]
    assert without.skipped == ("tritongpu-pipeline",)


@pytest.mark.slow
def test_one_of_several_runs_of_a_pass_can_be_skipped() -> None:
    every = build(MATMUL, "ttir", edits=PassEdits(("tritongpu-remove-layout-conversions",)))
    second = build(MATMUL, "ttir", edits=PassEdits(("tritongpu-remove-layout-conversions#2",)))
    assert len(every.skipped) > 2
    assert second.skipped == ("tritongpu-remove-layout-conversions",)


@pytest.mark.slow
def test_a_list_of_passes_replaces_those_of_a_stage() -> None:
    passes = split_passes("convert-triton-to-tritongpu,tritongpu-coalesce, tritongpu-pipeline{num-stages=2}")
    target = target_named("cuda:80")
    built = rebuild(
        "ttir", text(MATMUL, "ttir"), target, WARPS, edits=PassEdits(replace={"ttgir": passes}), until="ttgir"
    )
    assert b"#ttg.nvidia_mma" not in built.artifacts["ttgir"]  # tritongpu-accelerate-matmul did not run


@pytest.mark.slow
def test_unknown_passes_and_options_are_named() -> None:
    with pytest.raises(
        RebuildError, match=r"no pass 'tritongpu-pipelin' runs below ttir; did you mean tritongpu-pipeline"
    ):
        build(MATMUL, "ttir", edits=PassEdits(("tritongpu-pipelin",)))
    for passes, problem in (
        (["nothing"], "no pass 'nothing' can be added here; known: .*tritongpu-coalesce"),
        (["tritongpu-pipeline{num-stags=2}"], "cannot have the option num-stags=2; options: .*num-stages"),
    ):
        with pytest.raises(RebuildError, match=problem):
            build(MATMUL, "ttir", edits=PassEdits(replace={"ttgir": passes}))
    with pytest.raises(PassEditError, match="not a list of passes"):
        split_passes("cse canonicalize")


@pytest.mark.slow
def test_an_essential_pass_is_missed_without_a_crash() -> None:
    with pytest.raises(RebuildError, match=r"number of warps.*in pass TritonGPUCoalesce") as raised:
        build(MATMUL, "ttir", edits=PassEdits(("convert-triton-to-tritongpu",)))
    assert raised.value.diagnostics[0].line == line_of(MATMUL, "ttir", "tt.load")


@pytest.mark.slow
def test_ptx_of_a_newer_version_is_lowered() -> None:
    built = build(ADD, "ptx", re.search(r"\.version \d\.\d", text(ADD, "ptx"))[0], ".version 9.9")  # type: ignore[index]
    assert re.match(r"\.version 9\.9 lowered to \d", built.diagnostics[0].message)


def test_machine_code_and_missing_pythons_are_rejected() -> None:
    target = target_named("cuda:90")
    with pytest.raises(UserError, match="cubin is machine code"):
        rebuild("cubin", "", target, {})
    with pytest.raises(UserError, match="nowhere/python: cannot be started"):
        rebuild("ttir", "module {}", target, {}, python=Path("/nowhere/python"))
