"""`irscope compile --passes`: records each pass and does not change any stage."""

from __future__ import annotations

import fnmatch
import os
import subprocess
import sys
from pathlib import Path

import pytest

from irscope.glossary.glossary import entry_for
from irscope.model import Pass, Variant
from irscope.model.stage import OPTIMIZE, TO_LLVM, pass_name
from irscope.store import CaptureReader
from tests.conftest import Irscope

# Each test compiles on the command line, which takes a second or more.
pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[2] / "samples"
MATMUL = (
    f"{SAMPLES / 'matmul.py'}::matmul_kernel", "--signature",
    "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1",
    "--config", "BLOCK_M=64", "--config", "BLOCK_N=64", "--config", "BLOCK_K=32", "--config", "GROUP_M=8",
    "--config", "num_warps=4", "--config", "num_stages=1,3",
)  # fmt: skip
SOFTMAX = (
    f"{SAMPLES / 'fused_softmax.py'}::softmax_kernel", "--signature",
    "*fp32:16, *fp32:16, i32:16, i32:16, i32:16", "--config", "BLOCK_SIZE=1024", "--config", "num_warps=4",
)  # fmt: skip
TARGETS = ("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx1100")
EVERY = [word for target in TARGETS for word in ("--target", target)]
DOT = """
import triton
import triton.language as tl

@triton.jit
def dot(a, b, c, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    places = rows[:, None] * BLOCK + rows[None, :]
    tl.store(c + places, tl.dot(tl.load(a + places), tl.load(b + places)))
"""


def read(path: Path) -> list[tuple[Variant, tuple[Pass, ...]]]:
    with CaptureReader(path) as capture:
        return [(variant, capture.passes(variant)) for variant in capture.variants()]


def named(passes: tuple[Pass, ...], stage: str) -> list[str]:
    return [pass_name(each.name) for each in passes if each.stage == stage]


@pytest.fixture(scope="module")
def matmul(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The matmul for every target with its passes, compiled with a cold cache."""
    folder = tmp_path_factory.mktemp("matmul")
    subprocess.run(
        [sys.executable, "-m", "irscope", "compile", *MATMUL, *EVERY, "--passes", "-o", "m.irscope"],
        cwd=folder,
        env=os.environ | {"TRITON_CACHE_DIR": str(folder / "cold")},
        check=True,
    )
    return folder / "m.irscope"


def test_every_stage_is_identical_with_and_without_passes(irscope: Irscope, tmp_path: Path, matmul: Path):
    assert irscope("compile", *MATMUL, *EVERY, "-o", "plain.irscope").returncode == 0
    for (plain, none), (recorded, passes) in zip(read(tmp_path / "plain.irscope"), read(matmul), strict=True):
        assert none == ()
        assert recorded.cache_key == plain.cache_key
        kept = [{stage: a.digest for stage, a in v.artifacts.items()} for v in (plain, recorded)]
        # ptxas-blackwell of Triton 3.6 to 3.8 may compile one PTX to two different .text sections.
        for digests in kept if str(plain.target) == "cuda:100" else []:
            digests.pop("cubin")
        assert kept[0] == kept[1]
        for stage in ("ttir", "ttgir", "llir"):
            names = named(passes, stage)
            assert names[0] == ""
            assert all(names[1:])
            last = [each.artifact for each in passes if each.stage == stage and each.artifact][-1]
            assert last == recorded.artifacts[stage]
        assert named(passes, "llir")[-2:] == [TO_LLVM, OPTIMIZE]
        assert all(each.seconds > 0 for each in passes if each.name)
        # Most passes change nothing, and then their module is not kept.
        assert 15 < sum(each.artifact is not None for each in passes) < len(passes) / 1.5


def test_the_passes_of_each_vendor_have_mlirs_names(matmul: Path):
    for variant, passes in read(matmul):
        names = named(passes, "ttgir")
        assert {"convert-triton-to-tritongpu", "tritongpu-coalesce"} <= set(names)
        own = "tritonamdgpu-*" if variant.target.backend == "hip" else "t*nvidia-*"
        assert len(fnmatch.filter(names, own)) >= 5
        assert named(passes, "ttir").count("cse") == 1


def test_passes_run_even_if_the_cache_has_the_variant(irscope: Irscope, tmp_path: Path):
    for _ in range(2):
        assert irscope("compile", *SOFTMAX, "--passes", "--force", "-o", "s.irscope").returncode == 0
        [(variant, passes)] = read(tmp_path / "s.irscope")
        assert not variant.cached
        assert len(passes) > 50


def test_a_stage_shared_with_another_variant_has_its_passes(irscope: Irscope, tmp_path: Path):
    words = ("--config", "num_stages=2,3", "--passes", "-j", "1", "-o", "s.irscope")
    assert irscope("compile", *SOFTMAX, *words).returncode == 0
    (first, first_passes), (second, second_passes) = read(tmp_path / "s.irscope")
    assert first.artifacts["ttgir"] == second.artifacts["ttgir"]
    assert "llir" not in second.seconds
    late = [[each for each in passes if each.stage == "llir"] for passes in (first_passes, second_passes)]
    assert late[0] == late[1]


def test_a_failed_pass_is_named_and_the_passes_before_it_are_kept(irscope: Irscope, tmp_path: Path):
    (tmp_path / "dot.py").write_text(DOT)
    signature = ("--signature", "*i8:16, *i8:16, *i32:16, 64", "--target", "cuda:70")
    assert irscope("compile", "dot.py", *signature, "--passes").returncode == 1
    [(variant, passes)] = read(tmp_path / "dot.irscope")
    assert variant.failure is not None
    name = pass_name(passes[-1].name)
    assert variant.failure.summary.startswith(f"in pass {name}: PassManager::run failed")
    assert (passes[-1].seconds, passes[-1].artifact) == (0, None)
    assert "tritongpu-coalesce" in named(passes, "ttgir")
    assert all(each.seconds > 0 for each in passes[:-1] if each.name)


def test_each_pass_is_in_the_glossary(matmul: Path):
    names = {pass_name(each.name) for _, passes in read(matmul) for each in passes}
    unknown = {
        name for name in names - {""} if (entry := entry_for(name)) is None or "passes" not in entry.stages
    }
    assert not unknown
