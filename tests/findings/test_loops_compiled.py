"""Loops of kernels that Triton compiles: their statements, factors, depths and counts, on four targets."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import irscope
from irscope.facts.loops.kernel_loops import Loop, LoopMix, classified
from irscope.model import Variant
from irscope.targets import backend_of
from irscope.workspace import Workspace
from irscope.workspace.gate import gate_pair
from tests.exhaustive import EXHAUSTIVE

pytestmark = pytest.mark.slow

FILE = Path(__file__).with_name("loop_kernels.py")
TARGETS = ("cuda:80", "cuda:90", "cuda:100", "hip:gfx942") if EXHAUSTIVE else ("cuda:90", "hip:gfx942")
MATMUL = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, i32:16, i32:16"
TILES = ["BLOCK_M=64", "BLOCK_N=64", "BLOCK_K=32"]
SWEEPS = {
    "matmul": (MATMUL, [*TILES, "num_stages=1,2,4"]),
    "persistent": (MATMUL, [*TILES, "num_stages=1,3"]),
    "unrolled": ("*fp32:16, *fp32:16, i32:16", ["BLOCK=1024", "FACTOR=1,2,4"]),
    "scaled": ("*fp32:16, *fp32:16, *fp32:16, i32:16", ["BLOCK=1024", "num_warps=8"]),
    "counted": ("*fp32:16, *fp32:16", ["BLOCK=1024", "TIMES=4,64"]),
    "searching": ("*i32:16, *i32:16, i32", ["num_warps=4"]),
}


def statement(comment: str) -> int:
    """The line of the statement that ends with a comment."""
    lines = FILE.read_text().split("\n")
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {comment}"))


@pytest.fixture(scope="module")
def captures(
    tmp_path_factory: pytest.TempPathFactory, triton_cache: Path, monkeypatch_module: pytest.MonkeyPatch
) -> Iterator[dict[str, Workspace]]:
    monkeypatch_module.setenv("TRITON_CACHE_DIR", str(triton_cache))
    folder = tmp_path_factory.mktemp("loops")
    found = {}
    for kernel, (signature, configs) in SWEEPS.items():
        path = folder / f"{kernel}.irscope"
        words = [f"{FILE}::{kernel}", "--signature", signature, "-o", str(path), "--sass"]
        words += [word for config in configs for word in ("--config", config)]
        words += [word for target in TARGETS for word in ("--target", target)]
        compile_capture(words)
        found[kernel] = irscope.open(path)
    yield found
    for capture in found.values():
        capture.close()


def compile_capture(words: list[str]) -> None:
    subprocess.run([sys.executable, "-m", "irscope", "compile", *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def of(capture: irscope.Capture, target: str, **config: int) -> Variant:
    (variant,) = (
        one
        for one in capture.variants
        if str(one.target) == target and config.items() <= dict(one.config.values).items()
    )
    return variant


def main_loops(capture: irscope.Capture, variant: Variant, stage: str = "") -> list[Loop]:
    name = stage or backend_of(variant.target).assembly
    return [loop for loop in capture.loops(variant, name) if not loop.remainder]


def sentences(capture: irscope.Capture, a: Variant, b: Variant, kind: str = "loop") -> list[str]:
    return [str(finding) for finding in capture.compare(a, b).findings if finding.kind == kind]


@pytest.mark.parametrize("target", TARGETS)
def test_each_loop_is_tied_to_its_statement(captures: dict[str, Workspace], target: str):
    wanted = {
        "matmul": [(statement("loop of matmul"), 1)],
        "persistent": [
            (statement("outer loop of persistent"), 1),
            (statement("inner loop of persistent"), 2),
        ],
        "unrolled": [(statement("loop of unrolled"), 1)],
        "searching": [(statement("loop of searching"), 1)],
    }
    for kernel, loops in wanted.items():
        capture = captures[kernel]
        for variant in (one for one in capture.variants if str(one.target) == target):
            stages = {"ttgir", backend_of(variant.target).assembly, backend_of(variant.target).machine_code}
            for stage in stages:
                found = {(loop.place.line, loop.depth) for loop in capture.loops(variant, stage)}
                assert found == set(loops), (kernel, variant.config, stage)


@pytest.mark.parametrize("target", TARGETS)
def test_pipelines_are_as_deep_as_num_stages(captures: dict[str, Workspace], target: str):
    capture = captures["matmul"]
    (plain,) = main_loops(capture, of(capture, target, num_stages=1))
    (deep,) = main_loops(capture, of(capture, target, num_stages=4))
    assert (plain.pipelined, deep.pipelined) == (1, 4)
    (text,) = sentences(capture, of(capture, target, num_stages=1), of(capture, target, num_stages=4))
    assert "pipelined, 4 deep (A: not pipelined)" in text
    (text,) = sentences(capture, of(capture, target, num_stages=4), of(capture, target, num_stages=1))
    assert "no longer pipelined (A: 4 deep)" in text


def test_loads_that_only_the_prologue_has_more_of_are_covered(captures: dict[str, Workspace]):
    capture = captures["matmul"]
    two, four = (of(capture, "cuda:90", num_stages=stages) for stages in (2, 4))
    loads = [one for one in capture.compare(two, four).findings if one.kind == "global load"]
    line = statement("loop of matmul")
    assert [one.covered for one in loads] == [True, True]
    assert all(f"in the loop of line {line}: 2 x 16-byte per iteration in both" in str(one) for one in loads)
    assert all("before the loop: 2 x 16-byte -> 6 x 16-byte" in str(one) for one in loads)
    (text,) = sentences(capture, two, four)
    assert "pipelined, 2 -> 4 deep, its prologue has 3 copies of the loads" in text


@pytest.mark.parametrize("target", [target for target in TARGETS if target.startswith("cuda")])
def test_unrolling_by_triton(captures: dict[str, Workspace], target: str):
    capture = captures["unrolled"]
    variants = {factor: of(capture, target, FACTOR=factor) for factor in (1, 2, 4)}
    assert [main_loops(capture, one)[0].unrolled for one in variants.values()] == [1, 2, 4]
    assert "unrolled x4;" in sentences(capture, variants[1], variants[4])[0]
    assert "no longer unrolled (A: x4)" in sentences(capture, variants[4], variants[1])[0]
    # The loads of an iteration are the same, so no finding says that there are more of them.
    assert not sentences(capture, variants[1], variants[4], "global load")


def test_unrolling_by_ptxas_and_llvm(captures: dict[str, Workspace]):
    capture = captures["unrolled"]
    cuda = of(capture, "cuda:90", FACTOR=1)
    assert (main_loops(capture, cuda, "ptx")[0].unrolled, main_loops(capture, cuda, "sass")[0].unrolled) == (
        1,
        4,
    )
    counted = captures["counted"]
    amd = of(counted, "hip:gfx942", TIMES=64)
    (loop,) = main_loops(counted, amd)
    # The text agrees: the loop has that many iterations' loads of 16 bytes (1,024 floats, 256 threads).
    text = counted.lines(amd, "amdgcn")
    loads = sum("_load_dwordx4" in text[line] for lines in loop.lines for line in lines)
    assert loop.unrolled == loads > 1


def test_loads_of_an_unknown_size_do_not_make_an_unrolling_of_sass(captures: dict[str, Workspace]):
    """In SASS, the bytes of the scalar loads would count as more iterations of the tensor's loads."""
    capture = captures["scaled"]
    cuda = of(capture, "cuda:90")
    (loop,) = main_loops(capture, cuda, "sass")
    text = capture.lines(cuda, "sass")
    loads = [text[line] for lines in loop.lines for line in lines if "LDG.E" in text[line]]
    wide = sum("LDG.E.128" in load for load in loads)
    assert 1 < wide < len(loads)
    assert loop.unrolled is None
    assert main_loops(capture, cuda, "ptx")[0].unrolled == 1


def test_a_short_loop_is_fully_unrolled(captures: dict[str, Workspace]):
    capture = captures["counted"]
    short, long = (of(capture, "cuda:90", TIMES=times) for times in (4, 64))
    line = statement("loop of counted")
    assert sentences(capture, long, short) == [f"The loop of line {line}: fully unrolled in B (4 iterations)"]
    assert str(main_loops(capture, long)[0].trip_count) == "64 iterations"


@pytest.mark.parametrize("target", [target for target in TARGETS if target in ("cuda:80", "cuda:90")])
def test_counts_agree_with_an_independent_counter(captures: dict[str, Workspace], target: str):
    """Between the label of the loop's header and the branch back to it, count with regular expressions."""
    capture = captures["matmul"]
    checked = 0
    for variant in (one for one in capture.variants if str(one.target) == target):
        text = capture.text(variant, "ptx")
        labels = {match[1]: match.start() for match in re.finditer(r"^(\$L__BB\d+_\d+):", text, re.M)}
        branches = re.finditer(r"\bbra(?:\.uni)?\s+(\$L__BB\d+_\d+);", text)
        ((start, end),) = (
            (labels[branch[1]], branch.start()) for branch in branches if labels[branch[1]] < branch.start()
        )
        (loop,) = main_loops(capture, variant)
        own = [text.split("\n")[line] for lines in loop.lines for line in lines]
        for pattern in (r"cp\.async\.cg", r"ld\.global", r"ldmatrix", r"mma\.sync", r"wgmma\.mma_async"):
            inside = len(re.findall(rf"\b{pattern}\b", text[start:end]))
            assert sum(bool(re.search(rf"\b{pattern}\b", line)) for line in own) == inside
            checked += inside
    assert checked > 10


def test_every_instruction_is_in_one_region(captures: dict[str, Workspace]):
    """The counts of regions add up to those of the kernel."""
    for capture in captures.values():
        for variant in capture.variants:
            stage = backend_of(variant.target).assembly
            mix = LoopMix(capture.document(variant, stage), stage, capture.document(variant, "ttgir"))
            for kind, lines in classified(capture.document(variant, stage), stage).items():
                regions = mix.counts(kind.kind, lines)
                remainder = sum(mix.region(line).where.value == "remainder" for line in lines)
                counted = sum(counts.get(kind, 0) for counts in regions.values())
                assert counted + remainder == len(lines)


@pytest.mark.parametrize("target", TARGETS)
def test_the_gate_calls_a_lost_pipeline_worse(captures: dict[str, Workspace], target: str):
    capture = captures["matmul"]
    deep, flat = of(capture, target, num_stages=4), of(capture, target, num_stages=1)
    lost = gate_pair(capture.compare(deep, flat), ["worse"])
    assert lost.failed and "Pipeline 4 -> 1" in lost.violations[0].text
    gained = gate_pair(capture.compare(flat, deep), ["worse"])
    assert not any("Pipeline" in violation.text for violation in gained.violations)


def test_the_finding_about_spills_covers_the_lines_that_reload_and_store_them(tmp_path: Path):
    path = tmp_path / "spilling.irscope"
    words = [f"{FILE}::matmul", "--signature", MATMUL, "-o", str(path), "--target", "hip:gfx942"]
    configs = ["BLOCK_M=128", "BLOCK_N=128", "BLOCK_K=32", "waves_per_eu=1,8"]
    compile_capture([*words, *(word for config in configs for word in ("--config", config))])
    with irscope.open(path) as capture:
        listed = capture.compare(*capture.variants).findings
    assert [one.text for one in listed if one.kind == "spills" and not one.covered]
    lines = [one for one in listed if one.kind in ("local load", "local store")]
    assert lines and all(one.covered for one in lines)
