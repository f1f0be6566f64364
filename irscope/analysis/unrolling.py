"""How many iterations of the Python loop one pass through a loop of the assembly runs.

Triton unrolls on request (`tl.range(loop_unroll_factor=4)`): TTGIR then has two loops of one statement, the
second of which starts where the first ends, with steps in the ratio of the factor. LLVM and ptxas unroll
without any mark. The factor follows from the work: a load of tensor<1024xf32> in a layout that gives each
thread 8 elements moves 32 bytes per thread and iteration, so a pass that moves 128 bytes is four iterations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod

from irscope.analysis.loop_regions import LoopRegions, Region, Where
from irscope.analysis.scf_loops import Chain, Evaluator, ScfLoop, location_chain, loops_around
from irscope.backends import backend_with_assembly, instructions_of
from irscope.backends.instructions import InstructionKind, scan
from irscope.languages.document import Document, Layout, Operation
from irscope.languages.mlir.value_types import ShapedType, operand_types

_ACCESSES = {
    "tt.load": "global load",
    "amdg.buffer_load": "global load",
    "amdgpu.buffer_load": "global load",
    "ttg.async_copy_global_to_local": "global load",
    "amdg.buffer_load_to_local": "global load",
    "amdgpu.buffer_load_to_local": "global load",
    "tt.store": "global store",
    "amdg.buffer_store": "global store",
    "amdgpu.buffer_store": "global store",
}
_POINTER = re.compile(r"!tt\.ptr<([a-z]+\d+)")
_BITS = re.compile(r"[a-zA-Z]+(\d{1,3})")

# Bytes per thread, by kind of access and position in Python; in SASS, all positions are ().
Moved = Mapping[tuple[str, Chain], int]


def unroll_factor(regions: LoopRegions, chain: Chain, stage: str) -> int | None:
    """How many iterations of a loop statement one pass runs; None if that is not known.

    `stage` is the name of the stage of `regions`.
    """
    if not regions.main(chain):
        return None
    # The line numbers of SASS count the lines of inline assembly, which the loads are made with.
    by_line = backend_with_assembly(stage) is not None
    ratios = _ratios(_expected(regions, chain, by_line), _moved(regions, chain, stage, by_line))
    factor, ratio = _of_triton(regions, chain), next(iter(ratios), 0.0)
    if factor is None or len(ratios) != 1 or not ratio.is_integer() or ratio < 1:
        return None
    return factor * int(ratio)


def classified(document: Document, stage: str) -> Mapping[InstructionKind, Sequence[int]]:
    """The lines of an assembly stage by what the instruction on them does."""
    instructions = instructions_of(stage)
    return scan(document.text, instructions).lines if instructions else {}


def _ratios(expected: Moved, moved: Moved) -> set[float]:
    """How many times the bytes of one iteration a pass moves, by access."""
    return {moved.get(key, 0) / size for key, size in expected.items() if size}


def _of_triton(regions: LoopRegions, chain: Chain) -> int | None:
    """The factor by which Triton unrolled a loop; None if its steps do not say."""
    loops = [loop for loop in regions.scf if loop.chain == chain]
    evaluator = Evaluator(regions.ttgir, {})
    factors = set()
    for loop in loops:
        after = [other for other in loops if other is not loop and _goes_on(loop, other)]
        before = [other for other in loops if other is not loop and _goes_on(other, loop)]
        if after:
            own, rest = evaluator.integer(loop.step), evaluator.integer(after[0].step)
            known = own and rest and rest.value > 0 and own.value % rest.value == 0
            factors.add(own.value // rest.value if own and rest and known else None)
        elif not before:
            factors.add(1)
    return next(iter(factors)) if len(factors) == 1 else None


def _goes_on(loop: ScfLoop, other: ScfLoop) -> bool:
    """Whether `other` runs what a loop of the same statement leaves over."""
    return other.chain == loop.chain and other.lower is not None and other.lower == loop.upper


def _expected(regions: LoopRegions, chain: Chain, by_line: bool) -> Moved:
    """Return the bytes that the accesses of a loop of TTGIR move per thread and iteration.

    Without the keys that have an access in a branch or one whose layout is not blocked: its bytes are in the
    same sum of `_moved`.
    """
    loops = list(regions.scf)
    around = loops_around(regions.ttgir, loops)
    mains = {
        index
        for index, loop in enumerate(loops)
        if loop.chain == chain and not any(_goes_on(other, loop) for other in loops if other is not loop)
    }
    found: Counter[tuple[str, Chain]] = Counter()
    unknown = set()
    for index, operation in enumerate(regions.ttgir.operations):
        kind = _ACCESSES.get(operation.opcode)
        if kind is None or around[index] not in mains:
            continue
        position = location_chain(operation.location)
        if regions.home(position) != chain:
            continue  # copied out of an inner loop
        key = kind, position if by_line else ()
        size = _bytes_per_thread(regions.ttgir, operation)
        if size is None or operation.parent != loops[around[index]].operation:
            unknown.add(key)
        else:
            found[key] += size
    return {key: size for key, size in found.items() if key not in unknown}


def _moved(regions: LoopRegions, chain: Chain, stage: str, by_line: bool) -> Moved:
    """Return the bytes that one pass through the loop moves per thread, as `_expected` has them."""
    found: Counter[tuple[str, Chain]] = Counter()
    document = regions.document
    for kind, lines in classified(document, stage).items():
        if kind.kind in ("global load", "global store"):
            for line in lines:
                index = document.operation_of_line.get(line)
                if index is not None and regions.region(index) == Region(Where.IN, chain):
                    position = location_chain(document.operations[index].location) if by_line else ()
                    found[kind.kind, position] += kind.width
    return found


def _bytes_per_thread(document: Document, operation: Operation) -> int | None:
    """The bytes that one thread accesses; None if the layout is not blocked."""
    text = document.lines[operation.line]
    for shaped in operand_types(text):
        layout = document.layouts.get(shaped.encoding)
        if shaped.kind == "tensor" and layout is not None and layout.kind == "ttg.blocked":
            elements = _elements_per_thread(shaped, layout)
            pointer = _POINTER.search(shaped.element)
            bits = _BITS.fullmatch(pointer[1] if pointer else shaped.element)
            return None if elements is None or bits is None else elements * int(bits[1]) // 8
    return None


def _elements_per_thread(shaped: ShapedType, layout: Layout) -> int | None:
    """Each thread has sizePerThread elements of each tile that the threads cover at once."""
    names = ("sizePerThread", "threadsPerWarp", "warpsPerCTA")
    own, lanes, warps = (_numbers(layout.fields.get(name, "")) for name in names)
    if not all(size.isdecimal() for size in shaped.shape):
        return None
    shape = [int(size) for size in shaped.shape]
    if not len(shape) == len(own) == len(lanes) == len(warps) or 0 in (*own, *lanes, *warps):
        return None
    tiles = [-(-size // (a * b * c)) for size, a, b, c in zip(shape, own, lanes, warps, strict=True)]
    return prod(own) * prod(tiles)


def _numbers(text: str) -> Sequence[int]:
    return [int(number) for number in re.findall(r"\d{1,9}", text)]
