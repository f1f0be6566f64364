"""The cycles that the machine code takes per iteration of a kernel's main loop, without a launch.

    loop of SASS: 8 HGMMA of 64 cycles = 512 cycles of products = 1 iteration of the TTGIR
    replayed 24 times instead of 12 -> the difference is that of 12 passes

The work of an iteration, the bytes that it copies and the cycles of its products, comes from the TTGIR; the
instructions of a pass share it. Partitions run side by side, which a replay cannot do: they have no answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irscope.estimating.constants import DeviceRates, shipped_fit
from irscope.estimating.latency import Replay, ReplayInput
from irscope.estimating.machine_code import (
    OPCODES,
    MachineInstructions,
    MachineRuns,
    machine_instructions,
    machine_runs,
)
from irscope.estimating.work import COUNTED_TENSOR, operand_cycles, product_cycles, with_products
from irscope.facts.artifacts import VariantArtifacts
from irscope.model import UserError
from irscope.model.records import frozen
from irscope.targets import CUDA

_PASSES = (12, 24)
_LOADS = ("LDG", "LDGSTS", "UTMALDG")
_READS = ("LDS", "LDSM")


@frozen
class IterationWork:
    """What all warps of a program do in an iteration, in cycles of the unit that does it.

    `products` occupy the tensor cores, `transfers` the way from L2, `reads` shared memory.
    """

    products: float
    transfers: float
    reads: float
    warps: int


def steady_cycles(
    artifacts: VariantArtifacts, work: IterationWork, memory: float, device: DeviceRates
) -> float | None:
    """Return the cycles per iteration if loads are answered after `memory` cycles.

    Returns None if there is no machine code that can be replayed, or no loop with products in it.
    """
    variant = artifacts.variant
    if variant.target.backend != CUDA.name or not artifacts.assembly or not artifacts.binary:
        return None
    name = str(variant.metadata.get("name", variant.kernel.name))
    code = machine_instructions(artifacts.binary, name, int(variant.target.arch))
    if code is None:
        return None
    ptx = artifacts.assembly.split("\n")
    code = with_products(code, ptx)
    return _replayed(code, work, memory, _product_cycles(code, ptx, work.warps, device))


def _product_cycles(
    code: MachineInstructions, ptx: Sequence[str], warps: int, device: DeviceRates
) -> dict[int, float]:
    """Return how long each matrix instruction of all warps occupies the tensor cores, by its index."""
    cycles: dict[int, float] = {}
    slower = shipped_fit(device.name).values["mma"] if device.warp_groups else 1.0
    for index, opcode in enumerate(code.opcode.tolist()):
        name, line = OPCODES.get(opcode, ""), int(code.ptx_line[index])
        if not name.endswith("MMA") or not 0 <= line < len(ptx):
            continue
        alone = product_cycles(ptx[line]) * COUNTED_TENSOR / device.tensor
        if "GMMA" in name:
            cycles[index] = max(alone, operand_cycles(ptx[line])) * warps / 4
        else:
            cycles[index] = alone * slower * warps
    return cycles


def _replayed(
    code: MachineInstructions, work: IterationWork, memory: float, products: dict[int, float]
) -> float | None:
    """Return the cycles per iteration of the loop that has most products; None without one."""
    runs = machine_runs(code, np.ones(int(code.ptx_line.max(initial=0)) + 2))
    cycles = np.zeros(len(code))
    cycles[list(products)] = list(products.values())
    by_loop = [float(cycles[runs.innermost == number].sum()) for number in range(len(runs.loops))]
    if not work.products or not any(by_loop):
        return None
    main = int(np.argmax(by_loop))
    iterations = by_loop[main] / work.products
    for number, loop in enumerate(runs.loops):
        loop.passes, loop.unrolled = 1.0, 1
        loop.children = [child for child in loop.children if child != main] if number != main else []
    names = [OPCODES.get(opcode, "") for opcode in code.opcode.tolist()]
    inside = [index for index, loop in enumerate(runs.innermost.tolist()) if loop == main]
    copies = [index for index in inside if names[index] in _LOADS]
    reads = [index for index in inside if names[index] in _READS]
    waits = [index for index in inside if names[index] == "SYNCS" and code.groups[index] >= 0]
    tensor_copies = [index for index in inside if names[index] == "UTMALDG"]
    groups = [index for index in inside if names[index] == "WARPGROUP" and code.groups[index] >= 0]
    multiplying = [index for index in inside if index in products]
    given = ReplayInput(
        products,
        work.warps,
        dict.fromkeys(copies, work.transfers * iterations / max(1, len(copies))),
        dict.fromkeys(reads, work.reads * iterations / max(1, len(reads))),
        max(1, len(tensor_copies) // max(1, len(waits))),
        max(1, len(multiplying) // max(1, len(groups))),
    )
    times = []
    for passes in _PASSES:
        runs.loops[main].passes = float(passes)
        everything = MachineRuns(runs.loops, runs.innermost, np.ones(len(code)))
        try:
            times.append(Replay(code, everything, given).cycles(memory, memory))
        except UserError:
            return None
    return (times[1] - times[0]) / (_PASSES[1] - _PASSES[0]) / iterations
