"""Counts of launches of kernels that Triton compiles, whose instructions and memory traffic are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import irscope
from irscope.estimating.counting.counts import LaunchCounts, count_launch
from irscope.estimating.counting.steady_loops import SteadyLoops
from irscope.model import Launch
from irscope.model.integer_values import encoded_integers
from tests.estimating.conftest import Compiled

Count = Callable[..., LaunchCounts]
Arguments = dict[str, str]


@pytest.fixture(scope="module")
def count(compiled: Compiled) -> Count:
    """Counts one launch of a kernel under a config."""

    def run(
        kernel: str,
        signature: str,
        config: dict[str, object],
        grid: tuple[int, ...],
        values: tuple[tuple[str, str], ...] = (),
        **arguments: str,
    ) -> LaunchCounts:
        capture, variant = compiled(kernel, signature, config)
        ptx = capture.text(variant, "ptx")
        assert ptx is not None
        return count_launch(variant, Launch(grid, tuple(arguments.items()), values=values), ptx)

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


def integers(**values: list[int]) -> tuple[tuple[str, str], ...]:
    return tuple((name, encoded_integers("int32", own)) for name, own in values.items())


# Two experts of 40 and 8 used slots in blocks of 32 slots; the list is as long as the worst routing needs.
SLOTS = [*range(40), *[48] * 24, *range(40, 48), *[48] * 24, *[48] * 96]
ROUTING = integers(slots=SLOTS, experts=[0, 0, 1, 7, 7, 7], padded=[96])


def expert_rows(count: Count, values: tuple[tuple[str, str], ...]) -> LaunchCounts:
    return count(
        "expert_rows",
        "*fp16:16, *fp16:16, *fp32:16, *i32:16, *i32:16, *i32:16, i32:16, i32:16, i32:16",
        {"BM": 32, "BN": 32, "W": 64, "num_warps": 4},
        (6, 4),
        values=values,
        a="float16[48, 512]",
        b="float16[2, 512, 128]",
        c="float32[48, 128]",
        slots=f"int32[{len(SLOTS)}]",
        experts="int32[6]",
        padded="int32[1]",
        N="128",
        K="512",
        valid="48",
    )


def test_integers_of_a_launch_say_which_programs_end_and_what_the_others_read(count: Count) -> None:
    found = expert_rows(count, ROUTING)
    assert (found.programs, found.ended, found.depends, found.unknown) == (12, 12, (), ())
    traffic = {(one.name, one.direction): one for one in found.traffic}
    weights = traffic["b", "read"]
    assert weights.unique_bytes(12) == 2 * 512 * 128 * 2  # both experts, each once
    rows = sum(one.sectors for one in found.accesses if one.tensor == "a")
    assert rows * found.programs == 4 * 48 * 512 * 2 / 32  # each used slot once for each column of programs
    stores = sum(one.sectors for one in found.accesses if one.tensor == "c")
    assert stores * found.programs == 48 * 128 * 4 / 32


def test_an_estimate_says_which_values_it_depends_on(count: Count) -> None:
    found = expert_rows(count, ())
    (text,) = found.depends
    assert text.startswith("padded (line ")
    assert (found.programs, found.ended) == (24, 0)
    assert sum(one.warps for one in found.accesses if one.name == "store")  # taken to do their work


def ragged_sum(count: Count, values: tuple[tuple[str, str], ...], sequences: int = 40) -> LaunchCounts:
    return count(
        "ragged_sum",
        "*fp32:16, *i32:16, *fp32:16",
        {"B": 128, "num_warps": 4},
        (sequences,),
        values=values,
        x="float32[100000]",
        starts=f"int32[{sequences + 1}]",
        y=f"float32[{sequences}, 128]",
    )


def test_programs_of_a_ragged_batch_are_counted_by_their_lengths(count: Count) -> None:
    lengths = [128] * 30 + [1280] * 10
    starts = [sum(lengths[:number]) for number in range(len(lengths) + 1)]
    found = ragged_sum(count, integers(starts=starts))
    (loop,) = found.loops
    assert loop.iterations == pytest.approx(sum(lengths) / 128 / 40, rel=0.1)
    assert found.longest == pytest.approx(10 / 3.25, rel=0.35)
    assert found.depends == () and found.programs == 40
    (text,) = ragged_sum(count, ()).depends
    assert text.startswith("starts (line ")


def test_pages_of_a_table_are_shared_as_it_says(count: Count) -> None:
    def pages(table: list[int]) -> float:
        found = count(
            "paged_sum",
            "*fp32:16, *i32:16, *fp32:16",
            {"COUNT": 4, "W": 1024, "num_warps": 4},
            (32,),
            values=integers(pages=table),
            pool="float32[4096, 1024]",
            pages="int32[32, 4]",
            y="float32[32, 1024]",
        )
        read = [one for one in found.traffic if one.direction == "read" and one.name == "pool"]
        return sum(one.unique_bytes(32) for one in read) / 4096

    assert pages(list(range(128))) == pytest.approx(128)
    assert pages([number % 4 for number in range(128)]) == pytest.approx(4)  # all programs: the same four
