"""Counts of launches of kernels that Triton compiles, whose instructions and memory traffic are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import irscope
from irscope.estimating.counting.counts import LaunchCounts, count_launch
from irscope.estimating.counting.steady_loops import SteadyLoops
from irscope.model import Launch
from tests.estimating.conftest import Compiled

Count = Callable[..., LaunchCounts]
Arguments = dict[str, str]


@pytest.fixture(scope="module")
def count(compiled: Compiled) -> Count:
    """Counts one launch of a kernel under a config."""

    def run(
        kernel: str, signature: str, config: dict[str, object], grid: tuple[int, ...], **arguments: str
    ) -> LaunchCounts:
        capture, variant = compiled(kernel, signature, config)
        ptx = capture.text(variant, "ptx")
        assert ptx is not None
        return count_launch(variant, Launch(grid, tuple(arguments.items())), ptx)

    return run


def strided(count: Count, stride: int, n: int) -> LaunchCounts:
    return count(
        "strided",
        "*fp32:16, *fp32:16, i32:16",
        {"STRIDE": stride, "B": 1024, "num_warps": 4},
        (2,),
        x=f"float32[{2048 * stride}]",
        y="float32[2048]",
        n=str(n),
    )


def test_a_masked_tail_reads_the_sectors_of_the_elements_that_there_are(count: Count) -> None:
    found = strided(count, 1, 1504)
    assert found.unknown == ()
    assert found.sectors("load") * found.programs == 188  # 1504 elements of 4 bytes
    assert found.sectors("store") * found.programs == 188
    loads = [one for one in found.accesses if one.name == "load"]
    assert sum(one.bytes for one in loads) * found.programs == 1504 * 4
    assert {one.tensor for one in loads} == {"x"}
    assert any(one.threads < one.warps * 32 for one in loads)


def test_strided_elements_are_in_a_sector_each(count: Count) -> None:
    found = strided(count, 8, 2048)
    assert found.sectors("load") == 1024
    assert found.sectors("store") == 128
    (read,) = [one for one in found.traffic if one.direction == "read"]
    assert read.bytes == 1024 * 32
    assert read.unique_bytes(2) == 2 * read.bytes


def test_programs_of_a_causal_loop_have_different_lengths(count: Count) -> None:
    found = count(
        "causal", "*fp32:16, *fp32:16", {"B": 256, "num_warps": 2}, (8,), x="float32[2048]", y="float32[2048]"
    )
    (loop,) = found.loops
    assert loop.iterations == 4.5
    assert found.sectors("load") == 4.5 * 256 * 4 / 32
    assert 1.2 < found.longest < 2
    (read,) = [one for one in found.traffic if one.direction == "read"]
    assert read.unique_bytes(8) == pytest.approx(8192, rel=0.35)  # the longest reads all


def product(count: Count, m: int, k: int, stages: int = 3) -> LaunchCounts:
    return count(
        "product",
        "*fp16:16, *fp16:16, *fp32:16, i32, i32:16, i32:16",
        {"BM": 64, "BN": 64, "BK": 64, "num_warps": 4, "num_stages": stages},
        (-(-m // 64), 4),
        a=f"float16[{m}, {k}]",
        b=f"float16[{k}, 256]",
        c=f"float32[{m}, 256]",
        M=str(m),
        N="256",
        K=str(k),
    )


def test_a_pipelined_product(count: Count) -> None:
    found = product(count, 256, 4096)
    assert found.unknown == found.assumptions == ()
    assert [loop.iterations for loop in found.loops] == [64]
    assert found.matrix() == {"wgmma.m64n64k16": 64 * 4 * 4}
    # Both tiles of 64 x 64 halves per iteration; the last two prefetches copy nothing.
    assert found.sectors("copy") == 64 * 2 * 64 * 64 * 2 / 32
    assert sum(one.warps for one in found.accesses if one.space == "global" and one.name == "copy") == (
        66 * 2 * 64 * 64 * 2 / 512
    )
    by_name = {one.name: one for one in found.traffic}
    assert by_name["a"].bytes == by_name["b"].bytes == 64 * 4096 * 2
    assert by_name["a"].unique_bytes(16) == 256 * 4096 * 2
    assert by_name["c"].direction == "write"
    assert by_name["c"].unique_bytes(16) == 256 * 256 * 4


def test_rows_outside_of_the_matrix_are_not_read(count: Count) -> None:
    found = product(count, 16, 1024)
    assert found.sectors("copy") == (16 + 64) * 1024 * 2 / 32
    assert found.sectors("store") == 16 * 64 * 4 / 32


def test_repeated_iterations_count_as_executed_ones(count: Count, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = [product(count, 256, 1280, stages) for stages in (1, 3, 4)]
    monkeypatch.setattr(SteadyLoops, "arrive", lambda *_: None)
    slow = [product(count, 256, 1280, stages) for stages in (1, 3, 4)]
    for one, other in zip(quick, slow, strict=True):
        assert one.accesses == other.accesses
        assert (one.kinds, one.blocks) == (other.kinds, other.blocks)
        assert one.loops == other.loops
        assert [tensor.bytes for tensor in one.traffic] == [tensor.bytes for tensor in other.traffic]


def test_blocks_that_the_tma_unit_copies(count: Count) -> None:
    found = count(
        "described",
        "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 64]>, i32:16",
        {"BM": 64, "BN": 64, "BK": 64, "num_warps": 4, "num_stages": 3},
        (4, 4),
        a="tensordesc float16[256, 1024] in blocks of [64, 64]",
        b="tensordesc float16[256, 1024] in blocks of [64, 64]",
        c="tensordesc float16[256, 256] in blocks of [64, 64]",
        K="1024",
    )
    assert found.unknown == ()
    reads = [copy for copy in found.copies if not copy.stores]
    assert {copy.block_bytes for copy in found.copies} == {64 * 64 * 2}
    assert sum(copy.bytes for copy in reads) == 2 * 64 * 1024 * 2
    assert sum(copy.copies for copy in found.copies if copy.stores) == 1
    assert {one.name: one.unique_bytes(16) for one in found.traffic} == {
        "a": 256 * 1024 * 2,
        "b": 256 * 1024 * 2,
        "c": 256 * 256 * 2,
    }


def test_addresses_that_depend_on_data_are_an_assumption(count: Count) -> None:
    found = count(
        "gathered",
        "*fp16:16, *i64:16, *fp16:16, i32:16",
        {"B": 32, "W": 64, "num_warps": 4},
        (64,),
        table="float16[50000, 64]",
        index="int64[2048]",
        y="float16[2048, 64]",
        C="64",
    )
    assert found.unknown == ()
    assert any("depends on data" in text for text in found.assumptions)
    rows = [one for one in found.accesses if one.tensor == "table"]
    assert sum(one.sectors for one in rows) == 32 * 64 * 2 / 32  # whole rows, wherever they are


@pytest.mark.slow
def test_a_warp_specialized_product(tmp_path: Path) -> None:
    from samples import warp_specialization

    with irscope.compile(
        warp_specialization.specialized_matmul_kernel,
        tmp_path / "specialized.irscope",
        "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 128]>, tensordesc<fp16[64, 128]>, "
        "i32:16, i32:16, i32:16",
        config={
            "BLOCK_M": [64],
            "BLOCK_N": [128],
            "BLOCK_K": [64],
            "STAGES": [3],
            "WARP_SPECIALIZE": [False, True],
        },
        target=["cuda:90", "cuda:100"],
    ) as capture:
        tensors = {
            "a_desc": "tensordesc float16[1024, 2048] in blocks of [64, 64]",
            "b_desc": "tensordesc float16[2048, 1024] in blocks of [64, 128]",
            "c_desc": "tensordesc float16[1024, 1024] in blocks of [64, 128]",
        }
        launch = Launch((128,), (*tensors.items(), ("M", "1024"), ("N", "1024"), ("K", "2048")))
        for variant in capture.variants:
            found = count_launch(variant, launch, capture.text(variant, "ptx") or "")
            assert found.unknown == ()
            reads = [copy for copy in found.copies if not copy.stores]
            assert sum(copy.bytes for copy in reads) == (64 + 128) * 2048 * 2
            assert sum(found.matrix().values()) > 0


def test_an_argument_that_was_not_recorded_is_unknown(count: Count) -> None:
    found = count("strided", "*fp32:16, *fp32:16, i32:16", {"STRIDE": 1, "B": 1024, "num_warps": 4}, (2,))
    assert found.unknown == ("argument n is not recorded",)
