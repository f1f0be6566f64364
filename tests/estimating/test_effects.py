"""One physical effect per test: estimates of launches that differ only in that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from irscope.estimating.constants import CONSTANTS, DEFAULTS, DEVICES, H100, Constant
from irscope.estimating.counting.counts import AccessCount
from irscope.estimating.estimate import estimate
from irscope.estimating.model import term_times, total_time
from irscope.estimating.terms import Estimate
from irscope.estimating.work import atomic_passes
from irscope.model import Launch
from tests.estimating.conftest import Compiled

Estimated = Callable[..., Estimate]


@pytest.fixture(scope="module")
def estimated(compiled: Compiled) -> Estimated:
    """Estimates one launch of a kernel under a config."""

    def run(
        kernel: str, signature: str, config: dict[str, object], grid: tuple[int, ...], **arguments: str
    ) -> Estimate:
        capture, variant = compiled(kernel, signature, config)
        return estimate(
            variant, Launch(grid, tuple(arguments.items())), partial(capture.contents.read, variant)
        )

    return run


def added(estimated: Estimated, rows: int, order: str = "relaxed", programs: int = 65536) -> Estimate:
    """Adds 256 floats to one of the rows of a table per program."""
    return estimated(
        "added",
        "*fp32:16, *i64:16, i32:16",
        {"B": 256, "SEM": order, "num_warps": 2},
        (programs,),
        table=f"float32[{rows}, 256]",
        index=f"int64[{programs}]",
        C="256",
    )


def time_of(found: Estimate, name: str) -> float:
    """The microseconds of a term, 0 if the launch does not use that resource."""
    term = found.term(name)
    return term.microseconds if term else 0.0


def test_atomics_to_few_places_take_longer(estimated: Estimated) -> None:
    times = [time_of(added(estimated, rows), "atomics") for rows in (1, 4, 40, 4000)]
    assert times == sorted(times, reverse=True)
    # A row is one KiB, to which 1.71 sectors are added per cycle; 32 per program.
    alone = 65536 * 32 / 1.71 / 1980
    assert times[0] == pytest.approx(alone, rel=0.35)
    assert times[0] > 15 * times[-1]
    assert added(estimated, 1).bound == "atomics"
    term = added(estimated, 4).term("atomics")
    assert term is not None
    assert "2,097,152 sectors of atomics to 4.00 KiB at once" in term.text


def test_atomics_are_counted_for_the_whole_launch(estimated: Estimated) -> None:
    few, many = (added(estimated, 4000, programs=n) for n in (32768, 65536))
    assert time_of(many, "atomics") == pytest.approx(2 * time_of(few, "atomics"), rel=0.05)


def test_the_default_order_of_atomics_costs_a_fence(estimated: Estimated) -> None:
    relaxed, ordered = added(estimated, 4000), added(estimated, 4000, "acq_rel")
    assert ordered.facts["ordered atomics"] > 0 == relaxed.facts["ordered atomics"]
    assert time_of(ordered, "atomics") > time_of(relaxed, "atomics")
    assert time_of(ordered, "latency") > time_of(relaxed, "latency")
    assert ordered.microseconds > relaxed.microseconds


def test_an_estimate_says_where_it_takes_atomics_to_go(estimated: Estimated) -> None:
    notes = added(estimated, 40).notes
    assert any("table" in note and "40 KiB" in note for note in notes)


@pytest.mark.parametrize(
    ("opcode", "sectors", "passes"),
    [
        ("atom.global.gpu.relaxed.add.f32", 4.0, 4.0),
        ("atom.global.gpu.relaxed.add.v4.f32", 16.0, 16.0),
        ("atom.global.gpu.relaxed.add.noftz.v2.f16", 4.0, 4.0),
        ("atom.global.gpu.relaxed.add.noftz.f16", 2.0, 25.6),
        ("red.global.gpu.relaxed.add.f64", 8.0, 12.0),
        ("atom.global.gpu.relaxed.add.u32", 4.0, 4.0),
    ],
)
def test_passes_of_atomics_by_type(opcode: str, sectors: float, passes: float) -> None:
    access = AccessCount(0, "global", "atomic", opcode, "x", 4, warps=1, threads=32, sectors=sectors)
    assert atomic_passes(access) == pytest.approx(passes)


def test_programs_that_are_masked_off_read_nothing(estimated: Estimated) -> None:
    def half(start: int) -> Estimate:
        shape = f"float32[{1 << 24}]"
        config: dict[str, object] = {"B": 1024, "num_warps": 4}
        grid = ((1 << 24) // 1024,)
        return estimated(
            "late", "*fp32:16, *fp32:16, i32:16", config, grid, x=shape, y=shape, start=str(start)
        )

    every, some = half(0), half(3 << 22)  # the last quarter
    assert every.facts["unique bytes"] == pytest.approx(1 << 26, rel=0.02)
    assert some.facts["unique bytes"] == pytest.approx(1 << 24, rel=0.25)
    assert some.facts["stored bytes"] == pytest.approx(1 << 24, rel=0.25)
    assert time_of(some, "memory") < 0.4 * time_of(every, "memory")


def test_gathers_by_the_same_index_share_what_they_read(estimated: Estimated) -> None:
    found = estimated(
        "gathered_columns",
        "*fp32:16, *i64:16, *fp32:16, i32:16",
        {"W": 128, "num_warps": 4},
        (8, 4096),
        table="float32[1000000, 1024]",
        index="int64[4096]",
        y="float32[4096, 1024]",
        C="1024",
    )
    # 4,096 rows of 4 KiB, each read once by eight programs together, and the indices.
    assert found.facts["unique bytes"] == pytest.approx(4096 * 4096, rel=0.1)


def test_few_rows_that_are_gathered_often_stay_in_l2(estimated: Estimated) -> None:
    def gathered(rows: int) -> Estimate:
        return estimated(
            "gathered_columns",
            "*fp32:16, *i64:16, *fp32:16, i32:16",
            {"W": 128, "num_warps": 4},
            (8, 32768),
            table=f"float32[{rows}, 1024]",
            index="int64[32768]",
            y="float32[32768, 1024]",
            C="1024",
        )

    assert time_of(gathered(100), "memory") < 0.7 * time_of(gathered(1000000), "memory")


def matrix_product(estimated: Estimated, k: int, m: int = 8192) -> Estimate:
    return estimated(
        "product",
        "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16",
        {"BM": 128, "BN": 128, "BK": 64, "num_warps": 4, "num_stages": 3},
        (m // 128, 32),
        a=f"float16[{m}, {k}]",
        b=f"float16[{k}, 4096]",
        c=f"float32[{m}, 4096]",
        M=str(m),
        N="4096",
        K=str(k),
    )


def test_products_of_warp_groups_take_their_time(estimated: Estimated) -> None:
    found = matrix_product(estimated, 4096)
    peak = 8192 * 4096 * 4096 / (2048 * H100.multiprocessors * H100.clock * 1e3)  # us
    assert found.microseconds > peak
    assert peak < time_of(found, "tensor cores") < 2 * peak
    # The products of one program follow each other: 128 x 128 x 4096 multiply-adds at 2,048 per cycle.
    assert found.facts["latency 300"] > 128 * 128 * 4096 / 2048


def test_rows_that_programs_share_are_read_from_dram_once(estimated: Estimated) -> None:
    found = matrix_product(estimated, 1024)
    assert found.facts["unique bytes"] == pytest.approx(2 * (8192 + 4096) * 1024, rel=0.1)
    assert found.facts["touched bytes"] > 10 * found.facts["unique bytes"]


def test_more_work_takes_longer(estimated: Estimated) -> None:
    times = [matrix_product(estimated, k).microseconds for k in (512, 1024, 2048, 4096)]
    assert times == sorted(times)
    times = [matrix_product(estimated, 1024, m).microseconds for m in (2048, 4096, 8192)]
    assert times == sorted(times)


_FASTER = {"dram", "l2", "l2 reuse", "code cache", "power", "latency power", "shared misses"}


@pytest.mark.parametrize("constant", CONSTANTS, ids=lambda one: one.name)
def test_what_costs_more_takes_longer(estimated: Estimated, constant: Constant) -> None:
    """A larger cost never makes a launch faster, a larger rate never slower."""
    name = constant.name
    for found in (matrix_product(estimated, 1024), added(estimated, 40, "acq_rel")):
        x = {key: np.array([value]) for key, value in found.facts.items()}

        def total(value: float, x: dict[str, np.ndarray] = x) -> float:
            constants = dict(DEFAULTS) | {name: value}
            return float(total_time(term_times(x, H100, constants), constants)[0])

        low, high = total(constant.low), total(constant.high)
        assert low >= high if name in _FASTER else low <= high


def test_terms_are_in_microseconds(estimated: Estimated) -> None:
    """Twice the clock halves what multiprocessors and L2 do; twice the bandwidth halves what DRAM does."""
    found = added(estimated, 40, "acq_rel")
    x = {key: np.array([value]) for key, value in found.facts.items()}
    own = term_times(x, H100, DEFAULTS)
    clock = term_times(x, replace(H100, clock=2 * H100.clock), DEFAULTS)
    memory = term_times(x, replace(H100, memory=2 * H100.memory), DEFAULTS)
    for name in ("latency", "atomics", "issue"):
        assert float(clock[name][0]) == pytest.approx(float(own[name][0]) / 2)
    assert float(memory["memory"][0]) == pytest.approx(float(own["memory"][0]) / 2)
    assert float(memory["latency"][0]) == float(own["latency"][0])


def test_the_ramp_is_small_in_a_long_launch(estimated: Estimated) -> None:
    short, long = added(estimated, 4000, programs=512), added(estimated, 4000, programs=1 << 20)
    assert time_of(long, "ramp") / long.microseconds < 0.01 < time_of(short, "ramp") / short.microseconds


def test_every_device_has_a_rate_of_atomics() -> None:
    for device in DEVICES.values():
        assert 0 < device.atomics_per_kib < device.atomics
