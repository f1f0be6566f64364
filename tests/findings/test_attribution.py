"""Findings name what an instruction belongs to: the descriptor, the helper, the outer loop, both blocks."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

import irscope
from irscope.targets.hip_instructions import AMDGCN
from irscope.targets.instructions import scan
from irscope.workspace import Comparison
from tests.diff.stages import diff_texts

FILE = Path(__file__).with_name("attribution_kernels.py")
LOOPS = Path(__file__).with_name("loop_kernels.py")
MATMUL = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, i32:16, i32:16"
TILES = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}


def line_of(comment: str) -> int:
    lines = FILE.read_text().split("\n")
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {comment}"))


@pytest.fixture
def pair(tmp_path: Path, triton_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable]:
    """Compiles a kernel for a target with two values of one axis, and compares the variants."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(triton_cache))
    opened = []

    def compare(file: Path, kernel: str, signature: str, target: str, axis: str, **const: int) -> Comparison:
        path = tmp_path / "kernel.irscope"
        words = [f"{file}::{kernel}", "--signature", signature, "--target", target, "--config", axis]
        words += [word for name, value in const.items() for word in ("--const", f"{name}={value}")]
        command = [sys.executable, "-m", "irscope", "compile", *words, "-o", str(path)]
        subprocess.run(command, check=True, capture_output=True)
        opened.append(irscope.open(path))
        return opened[-1].compare(*opened[-1].variants)

    yield compare
    for capture in opened:
        capture.close()


@pytest.mark.slow
@pytest.mark.skipif(
    version("triton").startswith("3.6."), reason="Triton 3.6 cannot specialize the warps of this kernel"
)
def test_a_copy_whose_tile_is_transposed_belongs_to_its_descriptor(pair: Callable):
    tile = "tensordesc<fp16[128, 64]>"
    signature = f"{tile}, {tile}, tensordesc<fp16[128, 128]>, i32:16, i32:16, i32:16"
    comparison = pair(FILE, "transposed", signature, "cuda:100", "WS=False,True", **TILES)
    copies = [one for one in comparison.findings if one.kind == "async copy"]
    assert not [one.text for one in copies if f"line {line_of('product')}" in one.text]
    (text,) = (one.text for one in copies if "b_desc" in one.text)
    assert text.startswith(f"Asynchronous copies of b_desc (line {line_of('load of b')}: b = b_desc.load")


@pytest.mark.slow
def test_scalar_loads_are_loads(pair: Callable):
    signature = "*fp32:16, *i32:16, *fp32:16"
    comparison = pair(FILE, "gathered", signature, "hip:gfx942", "SCALAR=0,1", B=1024)
    texts = [one.text for one in comparison.findings]
    (scalar,) = (text for text in texts if text.startswith("Scalar loads of x "))
    assert scalar.endswith("none -> 1 x s_load 4-byte")
    facts = [comparison.workspace.facts(one)["global_loads"] for one in (comparison.a, comparison.b)]
    assert str(facts[1]) == "2 x s_load 4 B", "of the index and of the value, but not of the arguments"
    assert str(facts[0]).endswith("1 x s_load 4 B")
    assert not [text for text in texts if "stores of o" in text and "none" in text]


@pytest.mark.slow
def test_arguments_are_told_behind_the_dispatch_and_queue_pointers(pair: Callable):
    """With asynchronous copies, a kernel for gfx950 starts with those in s[0:3]."""
    comparison = pair(LOOPS, "matmul", MATMUL, "hip:gfx950", "num_stages=1,2", **TILES)
    text = comparison.workspace.text(comparison.b, "amdgcn")
    if ".amdhsa_user_sgpr_queue_ptr 1" not in text:
        pytest.skip("this Triton passes no queue pointer")
    assert re.search(r"s_load_dword\w* \S+, s\[4:5\]", text)
    assert not [one.text for one in comparison.findings if one.kind == "scalar load"]


@pytest.mark.slow
def test_a_helper_is_named_at_the_line_that_calls_it(pair: Callable):
    comparison = pair(FILE, "nested", "*fp32:16, *fp32:16, i32:16", "cuda:90", "B=1024,2048")
    (text,) = (one.text for one in comparison.findings if one.kind == "global load")
    assert f"(line {line_of('call')}: acc = step(acc, x, offs * 4 + j * B)  # call, in step)" in text


@pytest.mark.slow
def test_what_an_outer_loop_repeats_is_not_said_to_run_once(pair: Callable):
    tiles = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
    comparison = pair(LOOPS, "persistent", MATMUL, "cuda:90", "num_stages=2,4", **tiles)
    loads = [one.text for one in comparison.findings if one.kind == "global load"]
    assert len(loads) == 2
    for text in loads:
        assert re.search(
            r"; before the loop, per iteration of the loop of line \d+: 2 x 16-byte -> 6 x ", text
        )


@pytest.mark.slow
def test_layouts_of_values_inside_tl_sort_are_covered(pair: Callable):
    comparison = pair(FILE, "sorted_rows", "*i32:16, *i32:16", "cuda:80", "num_warps=4,8", B=512)
    layouts = [one for one in comparison.findings if one.kind == "layout"]
    assert len(layouts) > 10
    # The only one that the kernel's own operations have is named by the finding about its loads.
    assert not [one.text for one in layouts if not one.covered]


@pytest.mark.slow
def test_atomics_of_lds_are_called_so(pair: Callable):
    comparison = pair(FILE, "counted_values", "*i32:16, *i32:16", "hip:gfx942", "BINS=64,256", B=1024)
    (text,) = (one.text for one in comparison.findings if one.kind == "shared atomic")
    assert text.startswith(f"LDS atomics of line {line_of('count')} ")


@pytest.mark.slow
def test_a_loop_that_no_assembly_has_is_no_finding(pair: Callable):
    """LLVM unrolls the loop of three iterations, so both sides are straight code."""
    comparison = pair(FILE, "summed", "*fp32:16, *fp32:16", "cuda:90", "STATIC=0,1", B=512)
    texts = [comparison.workspace.text(one, "ttgir") for one in (comparison.a, comparison.b)]
    assert [text.count("scf.for") for text in texts] == [1, 0]
    assert not [one.text for one in comparison.findings if one.kind == "loop"]


@pytest.mark.slow
def test_both_blocks_of_a_cluster_hold_the_accumulator(pair: Callable):
    comparison = pair(LOOPS, "matmul", MATMUL, "cuda:90", "num_ctas=1,2", **TILES)
    (text,) = (one.text for one in comparison.findings if one.kind == "registers")
    assert "acc 128x128 f32 over 128 threads -> 2 CTAs of 128 threads takes 128 -> 64" in text


def test_loads_of_the_arguments_are_told_by_the_address_that_the_kernel_starts_with():
    text = "\n".join(
        [
            "\ts_load_dwordx2 s[2:3], s[0:1], 0x0",
            "\ts_load_dwordx8 s[4:11], s[0:1], 0x8",
            "\ts_cmp_lt_i32 s0, 1",
            "\ts_load_dword s12, s[4:5], 0x0",
            "\ts_load_dwordx2 s[0:1], s[0:1], 0x10",
            "\ts_load_dword s13, s[0:1], 0x0",
            "\ts_buffer_load_dwordx4 s[16:19], s[20:23], 0x0",
        ]
    )
    found = {kind: lines for kind, lines in scan(text, AMDGCN).lines.items() if kind.kind == "scalar load"}
    assert {kind.width: lines for kind, lines in found.items()} == {4: [3, 5], 16: [6]}
    assert scan(text, AMDGCN).instructions == 7
    assert scan(text, AMDGCN) == scan(text, AMDGCN), "a text does not change how the next one is read"


SWIZZLED = "#ttg.swizzled_shared<{{vec = {}, perPhase = 1, maxPhase = 1, order = [0]}}>"
NVMMA = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"


def allocating(layouts: dict[str, str], *lines: str) -> str:
    """Return a module with these layouts and operations; `TYPE` stands for a buffer."""
    aliases = [f"{alias} = {body}" for alias, body in layouts.items()]
    body = [f"    {line.replace('TYPE', '!ttg.memdesc<64xf16')}, #smem, mutable>" for line in lines]
    head = [*aliases, "#smem = #ttg.shared_memory", "module {", "  tt.func public @k() {"]
    return "\n".join([*head, *body, "    tt.return", "  }", "}", ""])


def test_a_layout_that_has_a_match_of_its_kind_does_not_become_another_kind():
    tiles = "%0 = ttg.local_alloc : () -> TYPE, #a", "%1 = ttg.local_alloc : () -> TYPE, #a"
    a = allocating({"#a": NVMMA}, *tiles)
    b = allocating({"#a": NVMMA, "#b": SWIZZLED.format(1)}, tiles[0], tiles[1].replace("#a", "#b"))
    (change,) = diff_texts(a, b, "mlir").layouts
    assert change.left is None and change.right and change.right.alias == "#b"
    (mirrored,) = diff_texts(b, a, "mlir").layouts
    assert mirrored.right is None and mirrored.left and mirrored.left.alias == "#b"


def test_the_only_layouts_of_a_kind_that_no_operation_pairs_are_compared():
    tile = "%0 = ttg.local_alloc : () -> TYPE, #a"
    layouts = {"#a": NVMMA, "#b": SWIZZLED.format(8)}
    a = allocating(layouts, tile, "%1 = ttg.local_load %0 : TYPE, #b")
    b = allocating({**layouts, "#b": SWIZZLED.format(2)}, tile, "ttg.local_dealloc %0 : TYPE, #b")
    (change,) = diff_texts(a, b, "mlir").layouts
    assert change.left and change.right and change.fields == (("vec", "8", "2"),)
