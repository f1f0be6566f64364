"""Findings of pairs that were recomputed by hand: what each blames, quotes and leaves out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from irscope.compiling.messages import SweepRequest
from irscope.compiling.pool import Stop
from irscope.findings.finding import Finding
from irscope.mcp.warm_compiler import Compiler, Limits
from irscope.model import Target, Value
from irscope.workspace import Workspace

pytestmark = pytest.mark.slow

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
GATHER = """def gather(x_ptr, i_ptr, o_ptr, stride, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, C)
    idx = tl.load(i_ptr + r)
    x = tl.load(x_ptr + idx[:, None] * stride + c[None, :])
    tl.store(o_ptr + r[:, None] * stride + c[None, :], x)
"""
LOCKED = """def add(x_ptr, lock_ptr, o_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + offs)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(o_ptr + offs, tl.load(o_ptr + offs) + x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)
"""
UNLOCKED = f"{LOCKED.partition('    while')[0]}    tl.atomic_add(o_ptr + offs, x)\n"
MATMUL = """def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr, BK: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BLOCK])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK, BLOCK])
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in tl.range(0, K, BK):
        a = a_desc.load([tl.program_id(0) * BLOCK, k])
        b = b_desc.load([k, tl.program_id(1) * BLOCK])
        acc = tl.dot(a, b, acc)
    c_desc.store([tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK], acc.to(tl.float16))
"""
SORT = """def sort(x_ptr, o_ptr, R: tl.constexpr, C: tl.constexpr):
    offs = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    x = tl.load(x_ptr + offs)
    tl.store(o_ptr + offs, tl.sort(x, dim=1))
"""

# A source, its signature and the config of a variant.
Version = tuple[str, str, dict[str, Value]]
Compare = Callable[[str, Version, Version], list[Finding]]


@pytest.fixture
def compare(tmp_path: Path, triton_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compare]:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(triton_cache))
    compiler, path = Compiler(Limits()), tmp_path / "pair.irscope"

    def compared(arch: str, *versions: Version) -> list[Finding]:
        for number, (source, signature, config) in enumerate(versions):
            file = tmp_path / str(number) / "kernels.py"
            file.parent.mkdir()
            file.write_text(HEAD + source)
            name = source.removeprefix("def ").partition("(")[0]
            axes = {key: (value,) for key, value in config.items()}
            target = Target("cuda", arch, 32)
            compiler.compile(SweepRequest(file, name, signature, {}, axes, (target,)), path, Stop())
        with Workspace(path) as workspace:
            return list(workspace.compare(workspace.live.by_id(1), workspace.live.by_id(2)).findings)

    yield compared
    compiler.close()


def test_a_slice_is_not_explained_by_the_dimension_that_it_lacks(compare: Compare) -> None:
    blocks: dict[str, Value] = {"R": 16, "C": 128}
    wide = GATHER, "*fp32:16, *i64:16, *fp32:16, i32:16", blocks
    narrow = GATHER, "*fp16:16, *i64:16, *fp32:16, i32", blocks
    loads = [finding.text for finding in compare("80", wide, narrow) if finding.kind == "global load"]
    (rows,) = (text for text in loads if "x_ptr" in text.partition(" (")[0])
    (indices,) = (text for text in loads if "i_ptr" in text.partition(" (")[0])
    assert "4 x 16-byte -> 16 x 2-byte (#blocked sizePerThread [1, 4] -> [1, 1])" in rows
    assert indices.endswith(": 4 x 8-byte -> 8 x 16-byte")


def test_a_removed_loop_and_its_atomics_are_quoted_from_a(compare: Compare) -> None:
    signature, block = "*fp32:16, *i32:16, *fp32:16, i32:16", {"BLOCK": 1024}
    findings = compare("90", (LOCKED, signature, dict(block)), (UNLOCKED, signature, dict(block)))
    atomics = [finding.text.partition("): ")[0] for finding in findings if finding.kind == "global atomic"]
    assert sorted(atomics) == [
        "Atomics of line 13 of A (tl.atomic_xchg(lock_ptr, 0)",
        "Atomics of line 9 (tl.atomic_add(o_ptr + offs, x)",
        "Atomics of line 9 of A (while tl.atomic_cas(lock_ptr, 0, 1) == 1:",
    ]
    (loop,) = (finding for finding in findings if finding.kind == "loop")
    assert loop.text == "Only A has the loop of line 9 of A"
    assert loop.covered


def test_the_loops_of_groups_of_warps_that_do_not_load_are_not_counted(compare: Compare) -> None:
    specialized = MATMUL.replace("range(0, K, BK)", "range(0, K, BK, warp_specialize=True)")
    signature = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16"
    blocks: dict[str, Value] = {"BLOCK": 128, "BK": 64}
    findings = compare("100", (MATMUL, signature, blocks), (specialized, signature, blocks))
    copies = [finding.text.partition(": in ")[2] for finding in findings if finding.kind == "async copy"]
    same = "1 x cp.async.bulk.tensor load per iteration in both"
    assert copies == [
        f"the loop of line 11: {same}; before the loop: 3 x cp.async.bulk.tensor load -> none"
    ] * len(copies)
    assert len(copies) == 2
    # What the groups of warps pass to each other is on the lines of `def` and `for`.
    shared = [finding for finding in findings if finding.kind in ("shared load", "shared store")]
    passed_on = [finding for finding in shared if finding.subject in ("line 6", "line 11")]
    assert len({finding.subject for finding in passed_on}) == 2
    assert all(finding.covered for finding in passed_on)


def test_layouts_that_follow_from_the_number_of_warps_are_covered(compare: Compare) -> None:
    sizes: dict[str, Value] = {"R": 16, "C": 64}
    signature = "*fp32:16, *fp32:16"
    findings = compare("90", (SORT, signature, sizes), (SORT, signature, {**sizes, "num_warps": 8}))
    layouts = [finding for finding in findings if finding.kind == "layout"]
    assert any("warp [[0], [0]] -> [[0], [0], [0]]" in finding.text for finding in layouts)
    assert all(finding.covered for finding in layouts)
    (registers,) = (finding.text for finding in findings if finding.kind == "registers")
    assert "; x 16x64 f32 over 128 -> 256 threads takes 8 -> 4" in registers  # and not iy of tl.sort
