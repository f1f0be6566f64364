"""The replay of machine code, with instructions made for the purpose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from irscope.estimating.latency import PRODUCT_DRAIN, TENSOR_COPY, GroupReplay, Replay, ReplayInput
from irscope.estimating.machine_code import OPCODES, MachineInstructions, machine_runs

_CODES = {name: code for code, name in OPCODES.items()}
NONE = 7


def _code(*instructions: tuple[str, dict[str, int]]) -> MachineInstructions:
    columns = {
        "stall": 1,
        "sets": NONE,
        "reads": NONE,
        "waits": 0,
        "groups": -1,
        "target": -1,
        "ptx_line": -1,
    }
    rows = [columns | own for _, own in instructions]
    found = {name: np.array([row[name] for row in rows], np.int64) for name in columns}
    opcode = np.array([_CODES.get(name, 0x10) for name, _ in instructions], np.int64)
    return MachineInstructions(opcode=opcode, predicated=np.zeros(len(rows), bool), **found)


def _cycles(code: MachineInstructions, memory: float, times: list[float] | None = None) -> float:
    runs = machine_runs(code, np.array(times or [1.0]))
    return Replay(code, runs, ReplayInput({}, warps=4)).cycles(memory, memory)


LOAD_AND_USE = _code(("LDG", {"sets": 2}), ("IADD3", {}), ("IADD3", {"waits": 4}), ("EXIT", {}))


def test_an_instruction_waits_for_the_scoreboard_of_a_load() -> None:
    assert _cycles(LOAD_AND_USE, 700) - _cycles(LOAD_AND_USE, 300) == 400


def test_a_load_that_nothing_waits_for_is_hidden() -> None:
    code = _code(("LDG", {"sets": 2}), ("IADD3", {}), ("EXIT", {}))
    assert _cycles(code, 700) == _cycles(code, 300) == 3


def test_a_loop_takes_its_passes_times_one() -> None:
    code = _code(
        ("LDG", {"sets": 0, "ptx_line": 1}),
        ("IADD3", {"waits": 1, "ptx_line": 2}),
        ("BRA", {"target": 0, "ptx_line": 3}),
        ("EXIT", {}),
    )
    assert _cycles(code, 500, [1, 100, 100, 100]) == pytest.approx(100 * 502, rel=0.02)


def test_an_unrolled_loop_runs_fewer_passes() -> None:
    load = ("LDG", {"sets": 0, "ptx_line": 1})
    code = _code(load, load, ("BRA", {"target": 0, "ptx_line": 3}), ("EXIT", {}))
    (loop,) = machine_runs(code, np.array([1.0, 100, 100, 100])).loops
    assert (loop.passes, loop.unrolled) == (50, 2)


def test_copies_in_flight_hide_latency() -> None:
    def pipeline(left: int) -> MachineInstructions:
        copy = [("LDGSTS", {"ptx_line": 1}), ("LDGDEPBAR", {"ptx_line": 1})]
        return _code(
            *(("LDGSTS", {}), ("LDGDEPBAR", {})) * left,
            *copy,
            ("DEPBAR", {"groups": left, "ptx_line": 2}),
            *[("IADD3", {"stall": 15, "ptx_line": 2})] * 20,
            ("BRA", {"target": 2 * left, "ptx_line": 3}),
            ("EXIT", {}),
        )

    times = [1.0, 64, 64, 64]
    assert _cycles(pipeline(0), 600, times) > 1.8 * _cycles(pipeline(2), 600, times)


def _pace(code: MachineInstructions, groups: int, products: dict[int, float]) -> float:
    runs = machine_runs(code, np.ones(9))
    runs = replace(runs, times=np.ones(len(code)))
    return GroupReplay(code, runs, ReplayInput(products, 4)).pace(runs.loops[0], 24, 500, groups)


_PRODUCT_AND_WORK = (
    ("HGMMA", {}),
    ("WARPGROUP", {"groups": 0}),
    *[("IADD3", {"stall": 4})] * 50,
    ("BRA", {"target": 0}),
    ("EXIT", {}),
)


def test_a_group_works_while_the_other_multiplies() -> None:
    code = _code(*_PRODUCT_AND_WORK)
    alone, both = (_pace(code, groups, {0: 200.0}) for groups in (1, 2))
    assert alone == pytest.approx(200 + PRODUCT_DRAIN + 50 * 4, rel=0.02)
    # Products of 200 cycles for each of the two fill the tensor cores, and the work of one is hidden.
    assert alone <= both < 1.1 * alone


def test_groups_wait_for_each_other_at_a_barrier() -> None:
    code = _code(("BAR", {}), *_PRODUCT_AND_WORK[:-2], ("BRA", {"target": 0}), ("EXIT", {}))
    alone, both = (_pace(code, groups, {1: 200.0}) for groups in (1, 2))
    # Both multiply at once, so that the second waits for the first.
    assert alone + 190 < both < alone + 220


def test_groups_share_the_schedulers() -> None:
    code = _code(*[("IADD3", {"stall": 1})] * 100, ("BRA", {"target": 0}), ("EXIT", {}))
    assert _pace(code, 2, {}) == pytest.approx(2 * _pace(code, 1, {}), rel=0.03)


def test_the_first_group_copies_for_all() -> None:
    wait = ("SYNCS", {"groups": 0})
    code = _code(("UTMALDG", {}), ("UTMALDG", {}), wait, ("BRA", {"target": 0}), ("EXIT", {}))
    assert _pace(code, 2, {}) == pytest.approx(500 + TENSOR_COPY, rel=0.05)
