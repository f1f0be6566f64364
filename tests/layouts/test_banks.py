"""Bank conflicts, compared with a count lane by lane and with measurements on an H200."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.banks import Addresses, Wavefronts, bank_conflicts
from irscope.layouts.shared import Padding

from .builders import layout

MMA = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"


def blocked(per_thread: list[int], lanes: list[int], order: list[int]) -> str:
    return (
        f"#ttg.blocked<{{sizePerThread = {per_thread}, threadsPerWarp = {lanes}, "
        f"warpsPerCTA = [1, 1], order = {order}}}>"
    )


def swizzled(vec: int, per_phase: int, phases: int, order: str = "[1, 0]") -> str:
    return (
        f"#ttg.swizzled_shared<{{vec = {vec}, perPhase = {per_phase}, maxPhase = {phases}, order = {order}}}>"
    )


# Wavefronts that Nsight Compute counted on an H200 with Triton 3.6.0: tools/calibration/bank_conflicts.py.
MEASURED = [
    (blocked([1, 1], [32, 1], [0, 1]), swizzled(1, 1, 1), (32, 32), 32, 8, 256),
    (blocked([1, 1], [32, 1], [0, 1]), swizzled(1, 1, 32), (32, 32), 32, 1, 32),
    (blocked([1, 1], [16, 2], [1, 0]), swizzled(1, 1, 1), (32, 32), 32, 16, 512),
    (blocked([1, 1], [32, 1], [0, 1]), swizzled(1, 1, 8), (32, 32), 32, 4, 128),
    (blocked([1, 8], [32, 1], [1, 0]), swizzled(8, 1, 1), (32, 64), 16, 8, 256),
    (blocked([1, 8], [32, 1], [1, 0]), swizzled(8, 1, 8), (32, 64), 16, 1, 32),
    (blocked([1, 4], [32, 1], [1, 0]), swizzled(4, 1, 1), (32, 32), 16, 4, 64),
    (blocked([4, 4], [1, 32], [0, 1]), swizzled(1, 4, 2, "[0, 1]"), (32, 64), 16, 16, 2048),
    (f"#ttg.dot_op<{{opIdx = 0, parent = {MMA}, kWidth = 2}}>", swizzled(8, 1, 1), (16, 64), 16, 8, 128),
    (f"#ttg.dot_op<{{opIdx = 0, parent = {MMA}, kWidth = 2}}>", swizzled(8, 1, 8), (16, 64), 16, 1, 16),
    (f"#ttg.dot_op<{{opIdx = 1, parent = {MMA}, kWidth = 2}}>", swizzled(8, 1, 1), (64, 64), 16, 8, 512),
    (f"#ttg.dot_op<{{opIdx = 1, parent = {MMA}, kWidth = 2}}>", swizzled(8, 1, 8), (64, 64), 16, 1, 64),
]


@pytest.mark.parametrize(("registers", "memory", "shape", "bits", "ways", "wavefronts"), MEASURED)
def test_wavefronts_match_nsight_compute_on_an_h200(
    registers: str, memory: str, shape: tuple[int, int], bits: int, ways: int, wavefronts: int
):
    found = bank_conflicts(layout(registers, *shape), layout(memory, *shape), bits, matrices=True)
    assert (found.ways, found.wavefronts) == (ways, wavefronts)


@settings(max_examples=settings().max_examples // 2)
@given(st.data())
def test_wavefronts_match_a_count_lane_by_lane(data: st.DataObject):
    bits = data.draw(st.sampled_from([8, 16, 32]))
    order = data.draw(st.sampled_from(["[1, 0]", "[0, 1]"]))
    power = st.integers(0, 3).map(lambda bit: 1 << bit)
    down = data.draw(st.sampled_from([1, 2, 4, 8, 16, 32]))
    text = blocked(
        [data.draw(power), data.draw(power)], [down, 32 // down], data.draw(st.sampled_from([[0, 1], [1, 0]]))
    )
    registers = layout(text, 32, 64)
    memory = layout(swizzled(data.draw(power), data.draw(power), data.draw(power), order), 32, 64)
    found = bank_conflicts(registers, memory, bits)

    addresses = Addresses(memory, bits)
    run = found.width * 8 // bits
    accesses: dict[tuple[int, ...], list[int]] = {}
    for register in range(registers.size("register")):
        starts = tuple(
            addresses.offset(registers.element(register=register, lane=lane)) // run for lane in range(32)
        )
        accesses.setdefault(starts, []).append(register)
    lanes = min(32, 128 // max(found.width, 4))
    wavefronts = 0
    for starts in accesses:
        for first in range(0, 32, lanes):
            words: dict[int, set[int]] = {}
            for start in starts[first : first + lanes]:
                for byte in range(start * found.width, (start + 1) * found.width):
                    words.setdefault(byte // 4 % 32, set()).add(byte // 4)
            wavefronts += max(map(len, words.values()))
    assert (found.wavefronts, found.instructions) == (wavefronts, len(accesses))


def test_lanes_that_access_one_word_share_it():
    assert Wavefronts((0, 1, 2), (0, 0, 2), 2).count == 1
    assert Wavefronts((0, 1), (0, 128), 4).count == 2


def test_padding_moves_rows_apart():
    row = blocked([1, 1], [16, 2], [1, 0])
    plain = layout(swizzled(1, 1, 1), 32, 32)
    padded = bank_conflicts(layout(row, 32, 32), plain, 32, [Padding(32, 1)])
    assert bank_conflicts(layout(row, 32, 32), plain, 32).ways == 16
    assert padded.ways <= 2


def test_unsupported_layouts_are_rejected():
    plain, row = layout(swizzled(1, 1, 1), 32, 32), layout(blocked([1, 1], [16, 2], [1, 0]), 32, 32)
    with pytest.raises(UnknownLayoutError, match="4 bits"):
        bank_conflicts(row, plain, 4)
    with pytest.raises(UnknownLayoutError, match="not in shared memory"):
        bank_conflicts(row, row, 32)
    with pytest.raises(UnknownLayoutError, match="64 lanes"):
        bank_conflicts(layout(blocked([1, 1], [16, 4], [1, 0]), 32, 32), plain, 32)
